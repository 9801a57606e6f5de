// The global object has what Node puts there, and nothing more.
console.log(Object.getOwnPropertyNames(globalThis).filter((n) => n !== 'x').sort().join(' '));
console.log(Object.keys(globalThis), Object.getOwnPropertySymbols(globalThis));
console.log(Object.keys(process.env).sort().join(' '));
console.log(process.eventNames(), process.listenerCount('exit'), process.listenerCount('uncaughtException'));
console.log(process.stdout.eventNames(), process.stdin.eventNames());
console.log(process._getActiveHandles().length, process.getActiveResourcesInfo());
console.log(Object.keys(process.features).sort(), process.allowedNodeEnvironmentFlags.size);
console.log(Object.keys(process.binding ? {} : {}), process.report.directory === '');
console.log(process.config.variables.node_shared, process.hasUncaughtExceptionCaptureCallback());
