// A worker and a fork of files of JavaScript.
import { Worker } from 'worker_threads';
import { fork } from 'child_process';
const w: Worker = new Worker('./worker.js', { workerData: { n: 20 } });
w.on('message', (m: number) => {
	console.log('worker', m);
	fork('./child.js', ['x']).on('message', (m) => console.log('child', m)).on('exit', (c) => console.log('exit', c));
});
