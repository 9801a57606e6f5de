// SPDX-License-Identifier: Apache-2.0
// The living Node: it runs one step after another in the main context.
// Descriptor 3 is the control socket; guest/runners/python/session.py says what
// is said there.
//
// A script ends when the event loop has nothing to do, which Node tells by
// 'beforeExit'. A cell ends when its code has run and its last value is settled;
// its servers and timers live on, for the loop turns between two steps as well.
// process.exit(), an interrupt or an uncaught error ends either: then the step's
// timers are cleared. What a step has left open holds up no later script.
//
// An interrupt ends a step likewise; interrupt.h says how it gets here. Without
// native.node it ends what a step runs before its first await, or waits for.
'use strict';

const fs = require('fs');
const net = require('net');
const path = require('path');
const timers = require('timers');
const { pathToFileURL } = require('url');
const vm = require('vm');
const Module = require('module');
const { syncBuiltinESMExports } = Module;
const { Writable } = require('stream');
const { inspect, types: { isPromise } } = require('util');
const own = require('./own.js');
const { rewrite } = require('./toplevel.js');
const { isTyped, erased } = require('./erase_step.js');
const { describe, takeShelf } = require('./cell.js');

const { openSync, closeSync, readSync, writeSync, existsSync } = fs;
const { reallyExit, chdir } = process;
const { setImmediate: soon, setTimeout: later, clearTimeout: clear } = timers;
const { defineProperty } = Object;
const { stringify } = JSON;
const { O_RDONLY, O_WRONLY, O_RDWR } = fs.constants;

const CONTROL = 3;
const OWN = /\(?node:(internal\/modules\/living|vm):/;
const OF_NODE = ['DeprecationWarning', 'ExperimentalWarning',
		 'MODULE_TYPELESS_PACKAGE_JSON'];
const EXIT = { stack: 'process.exit()' }; // thrown by it
const NAMES = ['in', 'out', 'err'];
const ownConsole = console;
const live = new Map(); // timer -> its step
const workers = new Set(); // that run: they are no handles
const left = new Set(); // handles and timers that were let go at a step's end
const texts = new Map(); // name of a step's code -> its lines
const { watch, arm, disarm, take, guard, place: placeFile } = own.native() ?? {};
let interrupts = false; // they come by native.node
let step = null;
let control; // set at the session's begin
let latest = null; // the step, or between two of them the one before

// --- descriptors and streams

function writeAll(fd, data) {
	for (let at = 0; at < data.length;) {
		try {
			at += writeSync(fd, data, at);
		} catch (error) {
			// A child may have made the pipe one that does not wait.
			if (error.code !== 'EAGAIN')
				throw error;
			Atomics.wait(new Int32Array(new SharedArrayBuffer(4)),
				     0, 0, 1);
		}
	}
}

// readFileSync() itself would use what a program has put into fs.
function readText(file) {
	const parts = [], fd = openSync(file, O_RDONLY);
	for (let n = 1; n;) {
		const part = Buffer.allocUnsafeSlow(16384);
		n = readSync(fd, part);
		parts.push(part.subarray(0, n));
	}
	closeSync(fd);
	return Buffer.concat(parts).toString();
}

// Node cannot duplicate descriptors, but the lowest free one is taken. What a step has
// left may take it first, in another thread; native.node knows better.
function replace(fd, file, flags) {
	if (placeFile) {
		if (placeFile(fd, file, flags) !== fd)
			throw new Error(`${file} cannot be opened`);
		return;
	}
	try {
		closeSync(fd);
	} catch {
		// The program has closed it.
	}
	if (openSync(file, flags) !== fd)
		throw new Error(`${file} is not descriptor ${fd}`);
}

// A program's output is written at once.
class Output extends Writable {
	constructor(fd) {
		super({ autoDestroy: false, emitClose: false });
		this.fd = fd;
		this._isStdio = true;
	}

	_write(chunk, encoding, done) {
		try {
			writeAll(this.fd, chunk);
			done();
		} catch (error) {
			done(error);
		}
	}
}

// As Node's own: it holds up the program's end only while somebody reads.
function input() {
	if (!fs.fstatSync(0).isFIFO())
		return fs.createReadStream(null, { fd: 0, autoClose: false });
	const stream = new net.Socket({ fd: 0, readable: true, writable: false,
					manualStart: true });
	const stop = () => {
		if (stream._handle && !stream.readableFlowing) {
			stream._handle.reading = false;
			stream._handle.readStop();
		}
	};
	stream.fd = 0;
	stream.on('pause', () => process.nextTick(stop));
	return stream;
}

function openStreams(place) {
	NAMES.forEach((name, fd) => replace(fd, `${place}/${name}`,
					    fd ? O_WRONLY : O_RDONLY));
	step.result = openSync(`${place}/result`, O_WRONLY);
	const make = [input, () => new Output(1), () => new Output(2)];
	['stdin', 'stdout', 'stderr'].forEach((name, fd) => {
		let stream;
		defineProperty(process, name, {
			__proto__: null,
			configurable: true,
			enumerable: true,
			get: () => stream ??= make[fd](),
		});
		if (fd === 0)
			step.closeInput = () => stream?.destroy();
	});
	// It has kept those of the step before.
	ownConsole._stdout = ownConsole._stderr = undefined;
}

function closeStreams() {
	try {
		step.closeInput();
	} catch {
		// The program has changed it.
	}
	NAMES.forEach((name, fd) => replace(fd, '/dev/null',
					    fd ? O_RDWR : O_RDONLY));
	try {
		closeSync(step.result);
	} catch {
		// The program has closed it.
	}
}

// --- timers and handles: what a step leaves

// The callback of a step's timer. An error of an earlier step's is no failure of the
// step that runs meanwhile.
function callOf(callback, mine, again) {
	return function fire(...args) {
		if (!again)
			live.delete(this);
		try {
			return guarded(() => callback.apply(this, args));
		} catch (error) {
			if (step === mine || error === EXIT || hasListener())
				throw error;
			show(error);
		}
	};
}

function track(name) {
	const original = timers[name];
	const again = name === 'setInterval';
	function tracked(callback, ...rest) {
		const timer = original(typeof callback === 'function'
			? callOf(callback, latest, again) : callback, ...rest);
		live.set(timer, latest);
		return timer;
	}
	Object.defineProperties(tracked,
				Object.getOwnPropertyDescriptors(original));
	globalThis[name] = timers[name] = tracked;
}

function untrack(name) {
	const original = timers[name];
	globalThis[name] = timers[name] = {
		[name](timer) {
			live.delete(timer);
			return original(timer);
		},
	}[name];
}

// The promise of timers/promises ends with its step, too.
function trackPromise() {
	const { promises, setTimeout: start } = timers;
	const original = promises.setTimeout;
	promises.setTimeout = function setTimeout(delay, value, options) {
		const isPlain = typeof (delay ?? 0) === 'number' &&
			(options === undefined || typeof options?.ref === 'boolean') &&
			options?.signal === undefined;
		if (!isPlain)
			return original(delay, value, options);
		return new Promise((done) => {
			const timer = start(done, delay, value);
			if (options && !options.ref)
				timer.unref();
		});
	};
	syncBuiltinESMExports();
}

function clearTimers() {
	for (const [timer, mine] of live) {
		if (mine !== step)
			continue;
		live.delete(timer);
		clear(timer);
		timers.clearImmediate(timer);
	}
}

function keepWorker(worker) {
	workers.add(worker);
	worker.once('exit', () => workers.delete(worker));
}

// Lets the loop end although timers and handles of the program are open.
function letGo() {
	for (const timer of live.keys()) {
		if (timer._destroyed)
			live.delete(timer);
		else if (timer.hasRef())
			left.add(timer);
	}
	for (const handle of [...process._getActiveHandles(), ...workers])
		left.add(handle);
	left.forEach((one) => one.unref?.());
}

// A cell may wait for what an earlier one has begun.
function takeBack() {
	left.forEach((one) => one.ref?.());
	left.clear();
}

// --- errors

// The stack without the frames of this file and below.
function cleaned(error) {
	const lines = error.stack.split('\n');
	const end = lines.findIndex((line) => /^ {4}at /.test(line) &&
		OWN.test(line));
	return end < 0 ? error.stack : lines.slice(0, end).join('\n');
}

// FILE:LINE, that line, and an arrow under its column.
function arrow(stack) {
	const place = /^ {4}at (?:.*? \()?((?:file:\/\/)?\/.*):(\d+):(\d+)\)?$/m
		.exec(stack);
	if (!place)
		return '';
	const [, file, line, column] = place;
	try {
		const text = (texts.get(file) ??
			readText(file.replace(/^file:\/\//, '')).split('\n')
		)[line - 1];
		const indent = text.slice(0, column - 1).replace(/[^\t]/g, ' ');
		return `${file}:${line}\n${text}\n${indent}^\n\n`;
	} catch {
		return '';
	}
}

// Node puts one before the stack of what a script throws.
const ARROW = /^((?:\/|node:|file:).*:\d+\n.*\n[ \t]*\^*\n)\n?/;

// Return: what is told of an error; where it was comes before.
function words(error) {
	if (typeof error?.stack === 'string') {
		const [whole] = ARROW.exec(error.stack) ?? [''];
		const stack = cleaned(error).slice(whole.length);
		// Wrong syntax has no frame of its own.
		const isCode = !whole || /^ {4}at /m.test(stack);
		try {
			error.stack = isCode ? stack : whole + stack;
		} catch {
			// It is frozen.
		}
		return isCode ? [whole || arrow(stack), inspect(error)]
			: ['', whole + stack];
	}
	return ['Uncaught:\n', inspect(error)];
}

function print([place, text]) {
	writeAll(2, Buffer.from(
		`${place}${text}\n\nNode.js ${process.version}\n`));
}

// Return: the result of ask() as a string, whatever the program's part in it does.
function attempt(ask, otherwise) {
	try {
		return String(ask());
	} catch {
		return otherwise;
	}
}

function told(error, traceback = () => error.stack) {
	if (!(error instanceof Error))
		return { name: typeof error, traceback: '',
			 value: attempt(() => error, '<unprintable>') };
	return { name: attempt(() => error.name, 'Error'),
		 value: attempt(() => error.message, '<unprintable>'),
		 traceback: attempt(traceback, '') };
}

function end() {
	if (!step.ends)
		soon(finish);
	step.ends = true;
}

// The step is over though the loop may have work. isDone: nothing of its code goes on.
function abandon(code, isDone = false) {
	if (!step || step.over)
		return;
	step.over = true;
	step.code = code;
	step.isCut = !(isDone && step.mode === 'cell');
	if (step.isCut)
		clearTimers();
	end();
}

function show(error) {
	try {
		print(words(error));
	} catch {
		writeAll(2, Buffer.from('Uncaught:\n<unprintable>\n'));
	}
}

// The interrupt goes to a child as well. The child's end may be seen before our own signal.
function isOfInterrupt(error) {
	try {
		return error instanceof Error && error.signal === 'SIGINT';
	} catch {
		return false;
	}
}

function fail(error, isDone = false) {
	if (error === EXIT || !step || step.over)
		return;
	// That of a cell is a result of it, as a notebook has it, and is told there alone.
	if (step.mode === 'cell') {
		step.said.error = told(error, () => words(error)[1]);
	} else {
		show(error);
		step.said.error = told(error);
	}
	const isTaken = interrupts && take();
	abandon(isTaken || isOfInterrupt(error) ? 130 : 1, isDone);
}

const hasListener = () => process.listenerCount('uncaughtException') > 0;

function onUncaught(error) {
	if (error === EXIT || step?.over)
		return;
	if (hasListener())
		process.emit('uncaughtException', error, 'uncaughtException');
	else
		fail(error);
}

const INTERRUPTED = 'Script execution was interrupted by `SIGINT`';

function interrupted() {
	if (!step || step.over)
		return;
	const error = new Error(INTERRUPTED);
	if (step.mode !== 'cell')
		writeAll(2, Buffer.from(`Error: ${INTERRUPTED}\n`));
	error.stack = `Error: ${INTERRUPTED}`;
	step.said.error = told(error);
	abandon(130);
}

// Return: the result of act(). An interrupted one leaves the callback, as exit() does.
function guarded(act) {
	if (!interrupts)
		return act();
	let value, done = false;
	guard(() => {
		value = act();
		done = true;
	});
	if (done)
		return value;
	interrupted();
	throw EXIT;
}

// As Node ends a program, unless it listens itself.
function onSignal() {
	if (process.listenerCount('SIGINT') < 2)
		interrupted();
}

function exit(code) {
	if (code !== undefined)
		process.exitCode = code;
	abandon(process.exitCode || 0);
	throw EXIT;
}

// --- steps

function exitCode() {
	try {
		return Number(step.code ?? process.exitCode ?? 0) & 0xff;
	} catch {
		return 1; // it is no number
	}
}

function strings(file) {
	return existsSync(file) ? readText(file).split('\0').slice(0, -1) : [];
}

// require, module and the rest as a program finds them.
function becomeMain(file) {
	const module = new Module(file, null);
	module.filename = file;
	module.paths = Module._nodeModulePaths(path.dirname(file));
	process.mainModule = module;
	const names = { module, exports: module.exports, __filename: file,
			__dirname: path.dirname(file),
			require: Module.createRequire(file),
			__import: importFrom(file) };
	for (const [name, value] of Object.entries(names))
		defineProperty(globalThis, name, {
			__proto__: null, value, configurable: true,
			writable: true, enumerable: false });
}

// A module in the program's place knows what import() means there.
function importFrom(file) {
	let load;
	function importIt(specifier, options) {
		if (!load) {
			const module = new Module(file, null);
			module.filename = file;
			module._compile('exports.load = (s, o) => import(s, o);',
					file);
			({ load } = module.exports);
		}
		return load(specifier, options);
	}
	// The names of an import are to be there, as in a module.
	importIt.names = async (specifier, names) => {
		const space = await importIt(specifier);
		const absent = names.find((name) => !(name in space));
		if (absent !== undefined)
			throw new SyntaxError(`The requested module '${specifier}' ` +
				`does not provide an export named '${absent}'`);
		return space;
	};
	importIt.meta = { dirname: path.dirname(file), filename: file,
			  url: pathToFileURL(file).href,
			  resolve: (specifier) => pathToFileURL(Module
				.createRequire(file).resolve(specifier)).href };
	return importIt;
}

// A variable shall be one even where Node has put an accessor.
function declare(names) {
	for (const name of names) {
		const found = Object.getOwnPropertyDescriptor(globalThis, name);
		if (found?.configurable && !found.writable)
			defineProperty(globalThis, name, {
				__proto__: null, value: undefined,
				configurable: true, writable: true,
				enumerable: true });
	}
}

function execute(file) {
	// With a shared home the program is beside the step's streams.
	const own = `${step.place}/${file.slice(file.lastIndexOf('/') + 1)}`;
	const source = readText(existsSync(own) ? own : file)
		.replace(/^\ufeff/, '');
	// All steps may have the same file, and what they declare runs later.
	const filename = texts.size ? `${file} (step ${texts.size + 1})` : file;
	texts.set(filename, source.split('\n'));
	const script = (code, columnOffset = 0) =>
		new vm.Script(code, { filename, columnOffset });
	const run = (compiled) => compiled.runInThisContext(
		{ breakOnSigint: !interrupts });
	const typed = step.language === 'typescript' || isTyped(file);
	const cell = step.mode === 'cell';
	const { names = [], functions, open = '', code, close = '' } =
		rewrite(typed ? erased(file, filename, source, cell) : source,
			cell, !typed);
	const main = script(open + code + close, -open.length);
	declare(names);
	if (functions !== undefined) {
		if (names.length)
			run(script(`var ${names};`));
		run(script(functions));
	}
	return { value: run(main), waits: functions !== undefined };
}

function say(value) {
	if (step.mode === 'cell' && !step.over)
		Object.assign(step.said, describe(value));
}

// The code has run, and its value is there. What is due at once belongs to a cell.
function complete(value) {
	say(value);
	if (step.mode !== 'cell' || step.over)
		return;
	const mine = step;
	for (const [{ _idleTimeout: delay, _repeat: again }, whose] of live)
		if (whose === mine && delay === 1 && !again) {
			later(() => step === mine && end(), 1); // behind it
			return;
		}
	end();
}

function start() {
	const mine = step;
	try {
		const { value, waits } = execute(step.file);
		if (!waits && !(mine.mode === 'cell' && isPromise(value))) {
			complete(value);
			return;
		}
		mine.waits = waits;
		mine.open = !waits && value; // until it is settled
		value.then((settled) => {
			mine.waits = mine.open = false;
			if (step === mine)
				complete(settled);
		}).catch((error) => {
			mine.waits = mine.open = false;
			if (step === mine)
				fail(error, true);
		});
	} catch (error) {
		if (error?.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED' &&
		    !interrupts)
			interrupted();
		else
			fail(error, true);
	}
}

const variables = (file) => strings(file).map((text) => {
	const at = text.indexOf('=');
	return [text.slice(0, at), text.slice(at + 1)];
});

// The first step's are there since Node's start; what they were without it is in a file.
function setVariables(place) {
	const was = texts.size ? [] : variables(`${place}/was`);
	const before = was.length ? Object.fromEntries(was) : { ...process.env };
	step.before = [];
	for (const [name, value] of variables(`${place}/env`)) {
		step.before.push([name, before[name]]);
		process.env[name] = value;
	}
}

function putVariablesBack() {
	for (const [name, value] of step.before)
		if (value === undefined)
			delete process.env[name];
		else
			process.env[name] = value;
}

function beginStep(mode, file, place, language) {
	step = latest = { mode, file, place, language, said: {}, over: false };
	if (mode === 'cell')
		takeBack();
	openStreams(place);
	setVariables(place);
	for (const directory of strings(`${place}/cwd`))
		chdir.call(process, directory);
	takeShelf(place);
	process.argv = [process.execPath, file, ...strings(`${place}/args`)];
	process.exitCode = undefined;
	becomeMain(file);
	if (interrupts && !process.listenerCount('SIGINT'))
		arm();
	writeAll(CONTROL, Buffer.from('S'));
	soon(() => guarded(start));
}

function finish() {
	const { said, waits, open } = step;
	if (interrupts)
		disarm();
	if (open)
		say(open);
	if (step.isCut) // it may have gone on in spite of process.exit()
		clearTimers();
	if (waits && !step.over) {
		writeAll(2, Buffer.from('Warning: Detected unsettled ' +
					'top-level await\n'));
		step.code = 13;
	}
	const code = exitCode();
	if (Object.keys(said).length) {
		try {
			writeAll(step.result,
				 Buffer.from(own.readable(stringify(said))));
		} catch {
			// The program closed it; its loss.
		}
	}
	orSpoilt(() => {
		putVariablesBack();
		closeStreams();
		letGo();
		step = null;
		writeAll(CONTROL, Buffer.from([0x45, code]));
		control.listen();
	});
}

// A session that the program has spoilt is of no use to another step.
function orSpoilt(act) {
	try {
		act();
	} catch {
		reallyExit.call(process, 1);
	}
}

// The lines of the control socket. It is read by Node's own handle, which is no stream
// and so none of what a program may have put something else into.
class Control {
	constructor() {
		const { Pipe, constants } = process.binding('pipe_wrap');
		const { kReadBytesOrError: length, streamBaseState } =
			process.binding('stream_wrap');
		this.text = '';
		this.handle = new Pipe(constants.SOCKET);
		this.handle.open(CONTROL);
		this.handle.onread = (data) => {
			if (streamBaseState[length] < 0)
				reallyExit.call(process, 0);
			if (data)
				this.text += Buffer.from(data).toString();
			orSpoilt(() => this.take());
		};
	}

	// Between two steps it is what keeps the loop from its end.
	listen() {
		this.handle.ref();
		this.handle.readStart();
	}

	take() {
		const end = this.text.indexOf('\n');
		if (end < 0)
			return;
		const words = this.text.slice(0, end).split(' ');
		this.text = this.text.slice(end + 1);
		this.handle.readStop();
		this.handle.unref();
		beginStep(...words.slice(1));
	}
}

// The loop has nothing to do. The program's listeners for this case come first,
// once, and may give it more. The program may remove all of them.
function onIdle(emit, rest) {
	if (interrupts && take()) {
		interrupted();
		return true;
	}
	if (step.idle || !process.listenerCount('beforeExit')) {
		finish();
		return true;
	}
	step.idle = true;
	soon(() => {}); // or Node would end
	return emit.call(process, 'beforeExit', ...rest);
}

// Node's words about itself are no affair of a cell's.
function quietWarnings() {
	const [show] = process.listeners('warning');
	if (!show)
		return;
	process.removeListener('warning', show);
	process.on('warning', function onWarning(warning) {
		const { name, code } = Object(warning);
		if (step?.mode !== 'cell' || !(OF_NODE.includes(name) ||
					       OF_NODE.includes(code)))
			Reflect.apply(show, process, [warning]);
	});
}

// Instead of a main module.
function beginSession() {
	quietWarnings();
	own.vanish();
	['setTimeout', 'setInterval', 'setImmediate'].forEach(track);
	['clearTimeout', 'clearInterval', 'clearImmediate'].forEach(untrack);
	trackPromise();
	interrupts = Boolean(watch?.(interrupted));
	if (!interrupts)
		process.on('SIGINT', onSignal);
	process.exit = exit;
	process.setUncaughtExceptionCaptureCallback(onUncaught);
	const { emit } = process;
	process.emit = function (name, ...rest) {
		if (name === 'worker')
			keepWorker(rest[0]);
		return name === 'beforeExit' && step ? onIdle(emit, rest)
			: emit.call(this, name, ...rest);
	};
	control = new Control();
	writeAll(CONTROL, Buffer.from('R'));
	control.listen();
}

module.exports = { begin: beginSession };
