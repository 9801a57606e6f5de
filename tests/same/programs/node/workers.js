// Worker threads share memory, get messages, throw and end.
const { Worker, isMainThread, parentPort, workerData, threadId } = require('worker_threads');
if (isMainThread) {
	const shared = new Int32Array(new SharedArrayBuffer(8));
	const w = new Worker(__filename, { workerData: { shared, name: 'w' }, argv: ['a'], env: { X: '1' } });
	w.on('message', (m) => console.log('main got', m));
	w.on('error', (e) => console.log('error', e.message, e.stack.split('\n')[1]));
	w.on('exit', (code) => {
		console.log('exit', code, shared[0]);
		new Worker('console.log(require("worker_threads").workerData, process.argv.length, process.execArgv); process.exit(5)', { eval: true, workerData: 7 }).on('exit', (c) => console.log('second', c));
	});
	w.postMessage({ map: new Map([[1, 2]]) });
} else {
	parentPort.once('message', (m) => {
		Atomics.add(workerData.shared, 0, 42);
		parentPort.postMessage([m.map.get(1), workerData.name, process.env.X, process.argv.slice(2), threadId]);
		setImmediate(() => { throw new Error('in the worker'); });
	});
}
