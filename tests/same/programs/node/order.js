// Ticks, promises, timers and immediates run in Node's order.
setTimeout(() => console.log('timeout'), 0);
setImmediate(() => console.log('immediate'));
process.nextTick(() => console.log('tick'));
Promise.resolve().then(() => console.log('promise')).then(() => console.log('then'));
queueMicrotask(() => console.log('microtask'));
(async () => {
	console.log('async begins');
	await null;
	console.log('async goes on');
	process.nextTick(() => console.log('tick in promise'));
})();
console.log('sync');
