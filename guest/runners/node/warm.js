// SPDX-License-Identifier: Apache-2.0
// Loads the packages of an environment before the template is saved: "node" of
// /usr/lib/fsd-environment/warm.json (guest/os/environment.h) is a list of names.
//
// They are asked for from /node_modules, where they lie. From the program's place
// Node would remember for ever that the program has no package.json and no
// node_modules of its own.
//
// A package that draws random numbers while it loads is left out: all clones would
// have the same ones. What a package reads meanwhile of the variables, the arguments and
// the working directory is noted. At the program's first import of the package they are
// compared, and if one has changed, the package is loaded once more.
'use strict';

const crypto = require('crypto');
const fs = require('fs');
const Module = require('module');
const own = require('./own.js');

const PLACE = '/usr/lib/fsd-environment/warm.json';
const ASKER = '/node_modules/warm.js'; // no such file
const TURNS = 100000; // of the event loop, for an ES module
const draws = [
	[crypto, ['randomBytes', 'randomFillSync', 'randomFill', 'randomInt',
		  'randomUUID', 'getRandomValues', 'pseudoRandomBytes']],
	[Object.getPrototypeOf(crypto.webcrypto), ['getRandomValues', 'randomUUID']],
	[Math, ['random']],
];

// Runs act() while whoever draws fails. Return: has somebody?
function guarded(act) {
	let drawn = false;
	const kept = [];
	for (const [owner, names] of draws)
		for (const name of names) {
			const found = Object.getOwnPropertyDescriptor(owner, name);
			if (!found?.configurable)
				continue;
			kept.push([owner, name, found]);
			Object.defineProperty(owner, name, {
				configurable: true, enumerable: found.enumerable,
				writable: true, value() {
					drawn = true;
					throw new Error('no random numbers yet');
				} });
		}
	try {
		act();
	} finally {
		for (const [owner, name, found] of kept)
			Object.defineProperty(owner, name, found);
	}
	return drawn;
}

// Waits for import() of what require() does not take.
function importNow(load, name, turn) {
	let settled = false, failed;
	load(name).then(() => (settled = true),
			(error) => (settled = failed = error));
	for (let i = 0; !settled && i < TURNS; i++) {
		turn();
		process._tickCallback();
	}
	if (!settled)
		throw new Error('it waits for something');
	if (failed)
		throw failed;
}

function asker() {
	const module = new Module(ASKER, null);
	module.filename = ASKER;
	module.paths = ['/node_modules'];
	module._compile('exports.load = (name) => import(name);' +
			'exports.require = (name) => require(name);', ASKER);
	return module.exports;
}

function loadOne(ask, name, turn) {
	try {
		ask.require(name);
	} catch (error) {
		if (!['ERR_REQUIRE_ESM', 'ERR_PACKAGE_PATH_NOT_EXPORTED']
			.includes(error?.code))
			throw error;
		importNow(ask.load, name, turn);
	}
}

// --- what packages read while they load

// A package: what it has read (name -> value), what it has loaded, and the other packages
// that it needs.
class Package {
	reads = new Map();
	files = [];
	urls = [];
	needs = new Set();
	modules = []; // of files
	isTaken = false; // the program has it, or another in its place:
	isGone = false;

	constructor(name) {
		this.name = name;
		for (const variable of NATIVE)
			this.reads.set(VARIABLE + variable, env[variable]);
	}

	isStale() {
		for (const [ask, before] of this.reads)
			if (ASKS[ask[0]](ask.slice(1)) !== before)
				return true;
		return false;
	}
}

const VARIABLE = 'v', NAMES = 'n', ARGUMENTS = 'a', DIRECTORY = 'd';
// Node asks for these itself, for the zone of dates and for os.homedir() and os.tmpdir().
const NATIVE = ['TZ', 'HOME', 'TMPDIR', 'TMP', 'TEMP'];
const { env, cwd } = process;
const ASKS = {
	[VARIABLE]: (name) => process.env[name],
	[NAMES]: () => Object.keys(process.env).sort().join(),
	[ARGUMENTS]: () => process.argv.length,
	[DIRECTORY]: () => Reflect.apply(cwd, process, []),
};
const cache = Module._cache;
const byUrl = new Map();
let loading = null; // the package that loads now

// Does a package read, itself or by a function of Node's? Node's loaders read, too.
function isOfPackage() {
	const frames = new Error().stack.split('\n').slice(1)
		.filter((line) => !line.includes('node:internal/modules/warm:'));
	const at = frames.findIndex((line) => !/\(?node:|<anonymous>\)?$/.test(line));
	return at >= 0 && !frames.slice(0, at).some((line) =>
		/node:internal\/(modules|process)\//.test(line));
}

function note(kind, name = '') {
	const one = loading;
	if (!one || one.reads.has(kind + name) || !isOfPackage())
		return;
	loading = null; // what is asked here is no read of the package
	one.reads.set(kind + name, ASKS[kind](name));
	loading = one;
}

// Packages may keep it, so it stays right later.
const noted = new Proxy(env, {
	get(target, name) {
		note(VARIABLE, String(name));
		return target[name];
	},
	has(target, name) {
		note(VARIABLE, String(name));
		return name in target;
	},
	ownKeys(target) {
		note(NAMES);
		return Reflect.ownKeys(target);
	},
});

// Runs act() while what it reads is noted.
function reading(act) {
	const { argv } = process;
	const kept = Object.getOwnPropertyDescriptors(process);
	Object.defineProperty(process, 'env', { ...kept.env, value: noted });
	Object.defineProperty(process, 'argv', {
		configurable: true, enumerable: true,
		get: () => (note(ARGUMENTS), argv) });
	process.cwd = () => (note(DIRECTORY), Reflect.apply(cwd, process, []));
	Module.syncBuiltinESMExports();
	try {
		return act();
	} finally {
		for (const name of ['env', 'argv', 'cwd'])
			Object.defineProperty(process, name, kept[name]);
		Module.syncBuiltinESMExports();
	}
}

// --- what has been loaded

function forget({ files, urls }, loader) {
	for (const file of files)
		delete cache[file];
	for (const url of urls)
		loader.loadCache.delete(url);
}

function all(one, found = new Set()) {
	if (!found.has(one)) {
		found.add(one);
		one.needs.forEach((other) => all(other, found));
	}
	return found;
}

function put(file, value) {
	Object.defineProperty(cache, file, { value, writable: true,
					     configurable: true, enumerable: true });
}

// The program imports it, or another package in the template does.
function touch(one, loader) {
	if (loading) {
		if (loading !== one)
			loading.needs.add(one);
		return;
	}
	if (one.isTaken)
		return;
	const needed = [...all(one)];
	const wanted = needed.filter(({ isTaken }) => !isTaken);
	const isStale = needed.some(({ isGone }) => isGone) ||
		wanted.some((other) => other.isStale());
	for (const other of wanted) {
		other.isTaken = true;
		other.isGone = isStale;
		if (isStale)
			forget(other, loader);
		else
			other.modules.forEach((module, i) =>
				put(other.files[i], module));
	}
}

// From now on the package is asked for.
function guard(one, loader) {
	one.modules = one.files.map((file) => cache[file]);
	one.files.forEach((file, i) => Object.defineProperty(cache, file, {
		configurable: true, enumerable: true,
		get() {
			touch(one, loader);
			const now = Object.getOwnPropertyDescriptor(cache, file);
			return now?.get ? one.modules[i] : now?.value;
		},
		set: (value) => put(file, value) }));
	one.urls.forEach((url) => byUrl.set(url, one));
}

function watch(loader) {
	const { loadCache } = loader, { get } = loadCache;
	loadCache.get = function (url, ...rest) {
		const one = byUrl.get(url);
		if (one)
			touch(one, loader);
		return Reflect.apply(get, this, [url, ...rest]);
	};
}

// Return: why it is not warm, or undefined.
function loadPackage(ask, one, turn, loader) {
	const files = new Set(Object.keys(cache));
	const urls = new Set(loader.loadCache.keys());
	let why;
	loading = one;
	try {
		if (guarded(() => reading(() => loadOne(ask, one.name, turn))))
			why = 'it draws random numbers when it is loaded';
	} catch (error) {
		[why] = String(error?.message).split('\n');
	}
	loading = null;
	one.files = Object.keys(cache).filter((file) => !files.has(file));
	one.urls = [...loader.loadCache.keys()].filter((url) => !urls.has(url));
	if (why)
		forget(one, loader);
	else
		guard(one, loader);
	return why;
}

// Return: a line for each package that is not warm.
function load(turn) {
	if (!fs.existsSync(PLACE))
		return [];
	const { node: names = [] } = JSON.parse(fs.readFileSync(PLACE, 'utf8'));
	if (!names.length)
		return [];
	const ask = asker(), loader = own('./internals.js').loader(), cold = [];
	watch(loader);
	for (const name of names) {
		const why = loadPackage(ask, new Package(name), turn, loader);
		if (why)
			cold.push(`npm:${name}: ${why}`);
	}
	return cold;
}

module.exports = { load };
