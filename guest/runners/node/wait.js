// SPDX-License-Identifier: Apache-2.0
// The runner of JavaScript: a preloaded module (`node --require wait.js
// /home/user/code.js`) that waits for the job, takes its arguments and
// environment, and returns. Node itself then loads process.argv[1] as its main
// module, so require.main, ES modules, stack traces and the end are Node's own.
'use strict';

const CONTROL = 3;
const RESULT = 4;

function wait() {
	const fs = require('fs');
	const v8 = require('v8');
	const net = require('net');
	const path = require('path');
	const Module = require('module');
	const { Console } = require('console');
	const here = __dirname;

	function read(length) {
		const data = Buffer.allocUnsafeSlow(length);
		for (let at = 0; at < length;) {
			const n = fs.readSync(CONTROL, data, at, length - at);
			if (!n)
				process.reallyExit(126);
			at += n;
		}
		return data;
	}

	function readMessage() {
		const texts = read(read(4).readUInt32LE(0)).toString()
			.split('\0');
		const end = 4 + Number(texts[3]);
		return {
			verb: texts[0],
			mode: texts[1],
			call: texts[2],
			argv: texts.slice(4, end),
			env: texts.slice(end, -1),
		};
	}

	function takeEnvironment(env) {
		for (const name of Object.keys(process.env))
			delete process.env[name];
		for (const text of env) {
			const at = text.indexOf('=');
			process.env[text.slice(0, at)] = text.slice(at + 1);
		}
	}

	// V8 seeds a context's Math.random at its first call, from this flag
	// when it is set. Nobody has called it before the template was saved;
	// so it is seeded now, and stays V8's own. Other contexts and threads
	// are to find the flag unset.
	function seed() {
		const fd = fs.openSync('/dev/urandom', 'r');
		const bytes = Buffer.allocUnsafeSlow(4);
		fs.readSync(fd, bytes, 0, 4);
		fs.closeSync(fd);
		v8.setFlagsFromString(`--random-seed=${
			(bytes.readUInt32LE(0) & 0x7fffffff) || 1}`);
		Math.random();
		v8.setFlagsFromString('--random-seed=0');
	}

	// Tells the host what ended the program, and changes nothing: a
	// monitor does not count as a handler.
	function report(error) {
		const isError = error instanceof Error;
		const text = JSON.stringify({
			error: {
				name: isError ? String(error.name) : typeof error,
				value: String(isError ? error.message : error),
				traceback: isError ? String(error.stack) : '',
			},
		});
		try {
			fs.writeSync(RESULT, text);
		} catch {
			// The program closed it; its loss.
		}
	}

	function forget() {
		process.execArgv.length = 0;
		process._preload_modules.length = 0;
		delete require.cache[__filename];
	}

	// The program's way with another module and another stream, so that
	// the program finds both as if never used.
	function heat(message) {
		takeEnvironment(message.env);
		const file = message.argv[0];
		const fd = fs.openSync('/proc/self/fd/1', 'w');
		const socket = new net.Socket({ fd, readable: false,
						writable: true });
		const kept = globalThis.console;
		globalThis.console = new Console(socket, socket);
		try {
			Module._load(file, null, false);
		} finally {
			globalThis.console = kept;
			delete require.cache[file];
			for (const key of Object.keys(Module._pathCache))
				if (key.includes(file))
					delete Module._pathCache[key];
			socket.destroy();
		}
		process.stdout;
		process.stderr;
		fs.writeSync(CONTROL, 'H');
	}

	forget();
	fs.writeSync(CONTROL, 'R');
	let message;
	while ((message = readMessage()).verb === 'heat')
		heat(message);
	takeEnvironment(message.env);
	seed();
	process.argv.splice(1, Infinity, ...message.argv);
	process.on('uncaughtExceptionMonitor', report);
	fs.closeSync(CONTROL);
	if (message.mode === 'call') {
		process.argv[1] = path.join(here, 'call.js');
		require(process.argv[1]).prepare(message.argv[0], message.call);
	}
}

if (require('worker_threads').isMainThread)
	wait();
