// SPDX-License-Identifier: Apache-2.0
// Both runners on Node share this: the wait for the job, heating, and the
// program's end. RESULT and CONTROL are the descriptors of guest/run/runner.h.
'use strict';

const fs = require('fs');
const net = require('net');
const path = require('path');
const v8 = require('v8');
const Module = require('module');
const EventEmitter = require('events');
const { Console } = require('console');
const own = require('./own.js');

const { quit, hold, grow, turn, block, begin } = own.native() ?? {
	quit: process.reallyExit, hold: () => {}, grow: () => {}, turn: () => {},
	begin: () => {} };

const CONTROL = 3;
const RESULT = 4;
const INPUT = '/run/input/stdin'; // guest/os/sys.h
const started = process.argv[1]; // what Node would load by itself

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
	const end = 6 + Number(texts[5]); // texts[3] is for who has a fresh one
	return {
		verb: texts[0],
		isStep: texts[1] === 'session' || texts[1] === 'cell',
		call: texts[1] === 'call' ? texts[2] : '',
		cwd: texts[4],
		argv: texts.slice(6, end),
		env: texts.slice(end, -1),
	};
}

// The usual one is there already, and most jobs have it: to write it takes longer than
// to see that. What is written anew stands in the job's order.
function takeEnvironment(env) {
	const there = Object.keys(process.env);
	const isUsual = there.every((name, i) => env[i]?.startsWith(`${name}=`));
	if (!isUsual)
		for (const name of there)
			delete process.env[name];
	for (const text of env) {
		const at = text.indexOf('='), name = text.slice(0, at);
		if (process.env[name] !== text.slice(at + 1))
			process.env[name] = text.slice(at + 1);
	}
}

// V8 seeds a context's Math.random at its first call, from this flag when it
// is set. Nobody has called it before the template was saved; so it is seeded
// now, and stays V8's own. Other contexts and threads find the flag unset.
function seed(really) {
	const fd = fs.openSync('/dev/urandom', 'r');
	const bytes = Buffer.allocUnsafeSlow(4);
	fs.readSync(fd, bytes, 0, 4);
	fs.closeSync(fd);
	const number = (bytes.readUInt32LE(0) & 0x7fffffff) || 1;
	v8.setFlagsFromString(`--random-seed=${number}`);
	if (really)
		Math.random();
	v8.setFlagsFromString('--random-seed=0');
}

let seeded = false; // with this machine's own
let sent = false;

// The host takes one word: a value, or the error that ended the program. An error
// after the value is told by the exit code and on standard error.
function send(text) {
	if (sent)
		return;
	sent = true;
	const data = Buffer.from(own.readable(text));
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

// Node takes its threads, its heap and its libraries apart at the end, which
// no program can see. So the end is that of process.exit(): all exit
// listeners, and then the system call. After an uncaught error Node still has
// to print it, and ends in its own way; so it does where the program has put
// something in the place of what Node does at the end.
function shortenEnd(really) {
	const { emit, reallyExit } = process;
	const { rawListeners } = EventEmitter.prototype;
	let failed = false;
	function onError(error) {
		// The program handles it, and goes on.
		if (process.listenerCount('uncaughtException') ||
		    process.hasUncaughtExceptionCaptureCallback())
			return;
		failed = true;
		send(JSON.stringify({ error: describe(error) }));
	}
	// This is one of the listeners: those before it have run.
	function onExit(code) {
		if (really && (failed || !process._exiting ||
			       process.emit !== emit ||
			       process.reallyExit !== reallyExit))
			return;
		const all = rawListeners.call(process, 'exit');
		process.removeListener('exit', onExit);
		for (const listener of all.slice(all.indexOf(onExit) + 1))
			Reflect.apply(listener, process, [code]);
		if (really)
			quit(process.exitCode | 0); // "3" and true as well
	}
	own.hidden.add(onError).add(onExit);
	process.on('uncaughtExceptionMonitor', onError);
	process.on('exit', onExit);
	if (!really) {
		process.emit('exit', 0);
		void process.exitCode;
		process.removeListener('uncaughtExceptionMonitor', onError);
	}
}

// A time of this process counts from `born`; what was before is there at once.
function countFrom(born, timing, name) {
	const { get, ...rest } = Object.getOwnPropertyDescriptor(timing, name);
	if (get)
		Object.defineProperty(timing, name, { ...rest, get() {
			const at = Reflect.apply(get, this, []);
			return at > born ? at - born : Math.min(at, 0);
		} });
}

const { cpuUsage, resourceUsage } = process;

// The program has not used the processor time of the template, or of heating.
function countCpuFrom(born) {
	const asked = {
		cpuUsage(previous) {
			const used = Reflect.apply(cpuUsage, this, [previous]);
			used.user -= born.user;
			used.system -= born.system;
			return used;
		},
		resourceUsage() {
			const used = Reflect.apply(resourceUsage, this, []);
			used.userCPUTime -= born.user;
			used.systemCPUTime -= born.system;
			return used;
		},
	};
	for (const [name, value] of Object.entries(asked))
		Object.defineProperty(process, name, {
			value, configurable: true, enumerable: true,
			writable: true });
}

// This process began in the template, and the program's clocks begin with the program:
// begin() says so to Node, whose workers ask it as well. Heated, for the first time
// costs a fifth of a short program.
function resetOrigin() {
	const born = performance.now();
	begin();
	for (const name of ['nodeStart', 'v8Start', 'environment',
			    'bootstrapComplete', 'loopStart', 'loopExit'])
		countFrom(born, performance.nodeTiming, name);
	Object.defineProperty(performance, 'timeOrigin', {
		value: Date.now() - performance.now(),
		configurable: true, enumerable: true,
	});
	countCpuFrom(Reflect.apply(cpuUsage, process, []));
}

// Makes this process the program's, or does as if. A session has its own ends.
function prepare(message, really) {
	takeEnvironment(message.env);
	process.chdir(message.cwd || '/home/user');
	if (!seeded)
		seed(really);
	if (!message.isStep)
		shortenEnd(really);
	resetOrigin();
	process.argv.splice(1, Infinity, ...message.argv);
}

// Ends with an error that is no line of the program's.
function refuse(error) {
	fs.writeSync(2, `${error.stack}\n`);
	send(JSON.stringify({ error: describe(error) }));
	process.exit(1);
}

// The program's way with another module and another stream, so that the
// program finds both as if never used. Both the module's text and its place
// are new each time: V8 and Node's loader know again what they have seen.
// The place is not the program's, because Node also remembers for ever which
// package.json there was not.
function heat(message, mainOf, cool) {
	prepare(message, false);
	const name = `nothing${path.extname(message.argv[0])}`;
	const directory = `/dev/shm/${process.hrtime.bigint()}`;
	const file = path.join(directory, name);
	const text = fs.readFileSync(path.join(__dirname, name), 'utf8');
	fs.mkdirSync(directory);
	fs.writeFileSync(file, `${text}// ${directory}\n`);
	const fd = fs.openSync('/proc/self/fd/1', 'w');
	const socket = new net.Socket({ fd, readable: false, writable: true });
	const kept = globalThis.console;
	globalThis.console = new Console(socket, socket);
	try {
		replaceMain(mainOf(file, refuse, false));
		Module.runMain();
	} finally {
		process._tickCallback();
		globalThis.console = kept;
		process.mainModule = undefined;
		delete Module._cache[file];
		for (const key of Object.keys(Module._pathCache))
			if (key.includes(file))
				delete Module._pathCache[key];
		socket.destroy();
		fs.unlinkSync(file);
		fs.rmdirSync(directory);
		cool();
	}
	// Node looks for these on its way to the program; the kernel knows then
	// that they are not there.
	for (const place of ['/home/user', '/home', ''])
		fs.existsSync(`${place}/package.json`);
	// Its streams let writes return before all is written, and fs.writeSync()
	// would lose the rest. Standard input is not heated: a stream that waits
	// in read() would hold up all else.
	if (block) {
		void process.stdout, process.stderr;
		block(1);
		block(2);
	}
	/^/.exec(''); // Node's last act before it runs a main module
	for (let i = 0; i < 3; i++) {
		setImmediate(() => process.nextTick(() => {}));
		setImmediate(() => {});
		turn();
		process._tickCallback();
	}
}

// Node has taken the main module's name from its command line already. It asks for
// runMain once: a bound function, which is in no stack trace, has the true name.
function replaceMain(main) {
	const { runMain } = Module;
	const property = { configurable: true, enumerable: true, writable: true };
	Object.defineProperty(Module, 'runMain', {
		configurable: true, enumerable: true,
		get() {
			Object.defineProperty(Module, 'runMain',
					      { ...property, value: runMain });
			return typeof main === 'string'
				? runMain.bind(Module, main) : main;
		},
	});
}

// Programs that ask `process` are not told of the runner's listeners, nor of standard
// streams that heating has opened.
function hideOwn() {
	const { _getActiveHandles: handles } = process;
	process._getActiveHandles = function _getActiveHandles() {
		return handles().filter(({ fd }) => fd !== 1 && fd !== 2);
	};
	const { listeners, rawListeners, eventNames } = EventEmitter.prototype;
	const visible = (ask) => function (event) {
		return Reflect.apply(ask, this, [event])
			.filter((one) => !own.hidden.has(one));
	};
	const asked = {
		listeners: visible(listeners),
		rawListeners: visible(rawListeners),
		listenerCount(event, listener) {
			return this.listeners(event).filter((one) =>
				listener === undefined || one === listener).length;
		},
		eventNames() {
			return Reflect.apply(eventNames, this, [])
				.filter((name) => this.listenerCount(name));
		},
	};
	for (const [name, value] of Object.entries(asked))
		Object.defineProperty(process, name, {
			value, configurable: true, writable: true });
}

// Waits, then makes this process ready to be the program. mainOf says which
// file Node is to load for a message; cool removes what heating left elsewhere.
function wait(caller, mainOf = (file) => file, cool = () => {}) {
	for (const line of own('./warm.js').load(turn))
		fs.writeSync(CONTROL, `L${line.replace(/[^ -~]/g, '?')}\0`);
	caller.children.length = 0;
	own.vanish();
	hideOwn();
	hold();
	grow();
	fs.writeSync(CONTROL, 'R');
	let message;
	while (!['run', 'file'].includes((message = readMessage()).verb)) {
		if (message.verb === 'heat')
			heat(message, mainOf, cool);
		else
			seed(seeded = true);
		fs.writeSync(CONTROL, 'H');
	}
	if (message.verb === 'file') {
		fs.closeSync(0);
		fs.openSync(INPUT, 'r'); // the lowest descriptor that is free
	}
	prepare(message, true);
	if (message.isStep) {
		fs.closeSync(RESULT);
		replaceMain(own('./living.js').begin);
		return;
	}
	fs.closeSync(CONTROL);
	const file = mainOf(message.argv[0], refuse, true);
	if (message.call)
		replaceMain(() => own('./call.js').run(message, send, refuse));
	else if (file !== started)
		replaceMain(file);
}

module.exports = { wait };
