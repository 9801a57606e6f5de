// SPDX-License-Identifier: Apache-2.0
// What both runners on Node share: the wait for the job, heating, and the
// program's end. RESULT and CONTROL are the descriptors of guest/runner.h.
'use strict';

const fs = require('fs');
const net = require('net');
const path = require('path');
const v8 = require('v8');
const Module = require('module');
const { Console } = require('console');

const CONTROL = 3;
const RESULT = 4;

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
	const texts = read(read(4).readUInt32LE(0)).toString().split('\0');
	const end = 4 + Number(texts[3]);
	return {
		verb: texts[0],
		call: texts[1] === 'call' ? texts[2] : '',
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

// V8 seeds a context's Math.random at its first call, from this flag when it
// is set. Nobody has called it before the template was saved; so it is seeded
// now, and stays V8's own. Other contexts and threads find the flag unset.
function seed() {
	const fd = fs.openSync('/dev/urandom', 'r');
	const bytes = Buffer.allocUnsafeSlow(4);
	fs.readSync(fd, bytes, 0, 4);
	fs.closeSync(fd);
	const number = (bytes.readUInt32LE(0) & 0x7fffffff) || 1;
	v8.setFlagsFromString(`--random-seed=${number}`);
	Math.random();
	v8.setFlagsFromString('--random-seed=0');
}

function send(value) {
	const data = Buffer.from(JSON.stringify(value));
	try {
		for (let at = 0; at < data.length;)
			at += fs.writeSync(RESULT, data, at);
	} catch {
		// The program closed it; its loss.
	}
}

function describe(error) {
	if (!(error instanceof Error))
		return { name: typeof error, value: String(error),
			 traceback: '' };
	return { name: String(error.name), value: String(error.message),
		 traceback: String(error.stack) };
}

// Node takes its whole heap apart when the program has run to its end, which
// no program can see. So the end is that of process.exit(): all exit
// listeners, then exit. After an uncaught error Node still has to print it,
// and ends in that way by itself.
function shortenEnd() {
	let failed = false;
	process.on('uncaughtExceptionMonitor', (error) => {
		failed = true;
		send({ error: describe(error) });
	});
	process.on('exit', function end(code) {
		process.removeListener('exit', end);
		if (failed)
			return;
		process.emit('exit', code);
		process.reallyExit(process.exitCode || 0);
	});
}

// The program's way with another module and another stream, so that the
// program finds both as if never used.
function heat(message, cool) {
	takeEnvironment(message.env);
	const file = message.argv[0];
	const fd = fs.openSync('/proc/self/fd/1', 'w');
	const socket = new net.Socket({ fd, readable: false, writable: true });
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
		cool();
	}
	void process.stdin, process.stdout, process.stderr;
	fs.writeSync(CONTROL, 'H');
}

function forget() {
	process.execArgv.length = 0;
	process._preload_modules.length = 0;
	for (const file of Object.keys(require.cache))
		if (file.startsWith(__dirname))
			delete require.cache[file];
}

// Waits, then makes this process ready to be the program. mainOf says which
// file Node is to load for a message; cool removes what heating left elsewhere.
function wait(caller, mainOf, cool = () => {}) {
	caller.children.length = 0;
	forget();
	fs.writeSync(CONTROL, 'R');
	let message;
	while ((message = readMessage()).verb === 'heat')
		heat(message, cool);
	takeEnvironment(message.env);
	seed();
	shortenEnd();
	fs.closeSync(CONTROL);
	process.argv.splice(1, Infinity, ...message.argv);
	const main = mainOf(message);
	process.argv[1] = main;
	if (message.call) {
		process.argv[1] = path.join(__dirname, 'call.js');
		require('./call.js').prepare(message, send,
					     main !== message.argv[0]);
	}
}

module.exports = { wait };
