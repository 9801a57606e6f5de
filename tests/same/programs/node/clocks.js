// Clocks of the process begin with it.
const { performance } = require('perf_hooks');
console.log(process.uptime() < 10, performance.now() < 10000, performance.nodeTiming.bootstrapComplete < 10000);
// A busy machine may stop between two clocks: the best of several.
const apart = () => Math.abs(performance.timeOrigin + performance.now() - Date.now());
console.log(Math.min(...Array.from({ length: 20 }, apart)) < 1000);
// It has used no more than all processors could give since then. Which part is the user's
// and which the system's is the kernel's estimate.
// The host may take the machine's processor between two calls, which the guest counts.
const { user, system } = process.cpuUsage();
const most = process.uptime() * 1e6 * require('os').cpus().length + 1e5;
console.log(user + system < most, performance.eventLoopUtilization().active < 10000);
const begin = process.hrtime.bigint();
setTimeout(() => console.log(process.hrtime.bigint() - begin >= 20000000n), 21);
console.log(new Date(0).toString(), Intl.DateTimeFormat().resolvedOptions().timeZone);
