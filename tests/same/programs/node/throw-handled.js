// uncaughtException and its monitor are called; the code is the program's.
process.on('uncaughtExceptionMonitor', (e, origin) => console.log('monitor', e.message, origin));
process.on('uncaughtException', (e, origin) => {
	console.log('caught', e.message, origin);
	process.exitCode = 9;
});
setImmediate(() => console.log('goes on'));
Promise.reject(new Error('a promise'));
throw new Error('sync');
