// SPDX-License-Identifier: Apache-2.0
// What ordinary JavaScript does; the outcomes are expected in table.py.
'use strict';

const assert = require('assert');
const childProcess = require('child_process');
const crypto = require('crypto');
const dns = require('dns');
const fs = require('fs');
const net = require('net');
const os = require('os');
const { Worker } = require('worker_threads');

const once = (emitter, event) =>
	new Promise((resolve, reject) => {
		emitter.once(event, resolve);
		emitter.once('error', reject);
	});

// (module (func (export "f") (param i32) (result i32) local.get 0 i32.const 2
// i32.mul))
const WASM = Buffer.from('0061736d0100000001060160017f017f030201000705010166' +
			 '00000a09010700200041026c0b', 'hex');

const works = {
	async 'hot function'() {
		let sum = 0;
		for (let i = 0; i < 2e5; i++)
			sum = (sum + i * i) % 1000003;
		return sum;
	},
	async wasm() {
		const { instance } = await WebAssembly.instantiate(WASM);
		return instance.exports.f(21);
	},
	async worker() {
		const worker = new Worker(
			`const { parentPort, workerData } =
				require('worker_threads');
			Atomics.add(new Int32Array(workerData), 0, 7);
			parentPort.postMessage(0);`,
			{ eval: true, workerData: works.shared });
		await once(worker, 'message');
		return new Int32Array(works.shared)[0];
	},
	async server() {
		const server = net.createServer((s) => s.end('hi'));
		server.listen(0, '127.0.0.1');
		await once(server, 'listening');
		const client = net.connect(server.address().port, '127.0.0.1');
		const said = await once(client, 'data');
		server.close();
		return said.toString();
	},
	async 'local socket'() {
		const server = net.createServer((s) => s.end('hi'));
		server.listen('/tmp/node.sock');
		await once(server, 'listening');
		const said = await once(net.connect('/tmp/node.sock'), 'data');
		server.close();
		return said.toString();
	},
	async localhost() {
		const { address } = await dns.promises.lookup('localhost',
							      { family: 4 });
		return address;
	},
	async interfaces() {
		return Object.keys(os.networkInterfaces()).join();
	},
	async 'child process'() {
		return childProcess.execFileSync('echo', ['hi'])
			.toString().trim();
	},
	async fork() {
		fs.writeFileSync('/tmp/child.js',
				 'process.send("hello"); process.disconnect()');
		return once(childProcess.fork('/tmp/child.js'), 'message');
	},
	async watch() {
		const folder = fs.mkdtempSync('/tmp/watch-');
		const watcher = fs.watch(folder);
		const change = once(watcher, 'change');
		fs.writeFileSync(folder + '/made', '');
		await change;
		watcher.close();
		return 'seen';
	},
	async crypto() {
		const key = crypto.generateKeyPairSync('ed25519');
		const signed = crypto.sign(null, Buffer.from('x'),
					   key.privateKey);
		return crypto.verify(null, Buffer.from('x'), key.publicKey,
				     signed);
	},
	async processors() {
		return os.cpus().length >= 1 && os.totalmem() > 0;
	},
};
Object.defineProperty(works, 'shared', { value: new SharedArrayBuffer(4) });

(async () => {
	for (const [name, work] of Object.entries(works)) {
		let got;
		try {
			got = await work();
		} catch (e) {
			got = e.code || e.name;
		}
		assert(got !== undefined);
		console.log(`${name}\t${got}`);
	}
	process.exit(0);
})();
