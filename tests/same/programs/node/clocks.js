// Clocks of the process begin with it.
const { performance } = require('perf_hooks');
console.log(process.uptime() < 10, performance.now() < 10000, performance.nodeTiming.bootstrapComplete < 10000);
console.log(Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 1000);
console.log(process.cpuUsage().user < 5e6, performance.eventLoopUtilization().active < 10000);
const begin = process.hrtime.bigint();
setTimeout(() => console.log(process.hrtime.bigint() - begin >= 20000000n), 21);
console.log(new Date(0).toString(), Intl.DateTimeFormat().resolvedOptions().timeZone);
