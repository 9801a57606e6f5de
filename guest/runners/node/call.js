// SPDX-License-Identifier: Apache-2.0
// A function is to be called: Node runs run() in place of its main module. It loads the
// program as the main module, finds the function, awaits it and sends what it returned.
'use strict';

const fs = require('fs');
const path = require('path');
const Module = require('module');
const { pathToFileURL } = require('url');
const own = require('./own.js');
const { settled } = require('./unsettled.js');

const key = Symbol.for('fsd.call');

// The program is loaded, and whoever loads it is not its file: so it is for
// require.main, which the program may ask for its directory as well, module.parent and
// process.argv.
function becomeCaller(module) {
	const { filename, paths } = module;
	const main = new Module('.', null);
	main.filename = path.join(path.dirname(filename), 'call');
	main.paths = paths;
	main.loaded = true;
	process.mainModule = module.require.main = main;
	module.id = filename;
	module.parent = main;
	main.children.push(module);
}

// In a CommonJS program the function need not be exported: a line behind the
// program's last one hands it over, where no line number changes.
function handOver(file, name) {
	const compile = Module.prototype._compile;
	Module.prototype._compile = function (text, filename, format) {
		if (filename !== file || format === 'module')
			return compile.call(this, text, filename, format);
		Module.prototype._compile = compile;
		becomeCaller(this);
		const own = `typeof ${name} === 'function' ? ${name} : undefined`;
		return compile.call(this, `${text}\n;globalThis[` +
			`Symbol.for('fsd.call')].found = ${own};`, filename,
				    format);
	};
}

function readInput(file) {
	// In a shared home both have a name of their own: see guest/run/lane.h.
	const own = /^\.code(-\d+)\./.exec(path.basename(file));
	const input = path.join(path.dirname(file),
				own ? `.input${own[1]}.json` : 'input.json');
	if (!fs.existsSync(input))
		return [];
	return [JSON.parse(fs.readFileSync(input, 'utf8'))];
}

// require() where it can, import() where it must. Node takes an ES module as its
// main one without an error, and loads it later: import() waits for the same.
async function load(file, handed) {
	try {
		Module._load(file, null, true);
		if ('found' in handed)
			return Module._cache[file]?.exports;
	} catch (error) {
		if (error?.code !== 'ERR_REQUIRE_ESM')
			throw error;
	}
	return own.load(pathToFileURL(file));
}

function toJson(value) {
	try {
		const json = JSON.stringify(value === undefined ? null : value);
		if (json !== undefined)
			return json;
	} catch (error) {
		return { why: error.message };
	}
	return { why: `it is a ${typeof value}` };
}

function refusal(Kind, text) {
	const error = new Kind(text);
	error.stack = `${Kind.name}: ${text}`;
	return error;
}

async function call({ argv: [file], call: name }, send, refuse) {
	const handed = {};
	Object.defineProperty(globalThis, key, { value: handed,
						 configurable: true });
	handOver(file, name);
	process.argv[1] = __filename;
	const exported = await load(file, handed);
	delete globalThis[key];
	const found = handed.found ?? exported?.[name] ??
		exported?.default?.[name];
	if (typeof found !== 'function')
		return refuse(refusal(ReferenceError,
			`the program has no function "${name}"; ` +
			'an ES module must export it'));
	const json = toJson(await found(...readInput(file)));
	if (typeof json !== 'string')
		return refuse(refusal(TypeError,
			`what ${name}() returned cannot be JSON: ${json.why}`));
	return send(`{"value":${json}}`);
}

function run(message, send, refuse) {
	if (!/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(message.call))
		throw new TypeError(`"${message.call}" is no function's name`);
	settled(call(message, send, refuse));
}

module.exports = { run };
