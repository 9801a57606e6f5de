// SPDX-License-Identifier: Apache-2.0
// A function is to be called: Node loads this module as its main one, which
// loads the program as the main module in its place, finds the function,
// awaits it and sends what it returned.
'use strict';

const fs = require('fs');
const path = require('path');
const Module = require('module');
const { pathToFileURL } = require('url');

const key = Symbol.for('fsd.call');

// In a CommonJS program the function need not be exported: a line behind the
// program's last one hands it over, where no line number changes.
function handOver(file, name) {
	const compile = Module.prototype._compile;
	Module.prototype._compile = function (text, filename) {
		if (filename !== file)
			return compile.call(this, text, filename);
		Module.prototype._compile = compile;
		const own = `typeof ${name} === 'function' ? ${name} : undefined`;
		return compile.call(this, `${text}\n;globalThis[` +
			`Symbol.for('fsd.call')].found = ${own};`, filename);
	};
}

function readInput(file) {
	const input = path.join(path.dirname(file), 'input.json');
	if (!fs.existsSync(input))
		return [];
	return [JSON.parse(fs.readFileSync(input, 'utf8'))];
}

// require() where it can, import() where it must. Node takes an ES module as its
// main one without an error, and loads it later: import() waits for the same.
async function load(file, linked) {
	if (linked)
		return require('./esm.js').load(file);
	try {
		Module._load(file, null, true);
		if ('found' in globalThis[key])
			return require.cache[file]?.exports;
	} catch (error) {
		if (error?.code !== 'ERR_REQUIRE_ESM')
			throw error;
	}
	return import(pathToFileURL(file));
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

async function run({ file, name, send, refuse, linked }) {
	const exported = await load(file, linked);
	const call = globalThis[key].found ?? exported?.[name] ??
		exported?.default?.[name];
	delete globalThis[key];
	if (typeof call !== 'function')
		return refuse(refusal(ReferenceError,
			`the program has no function "${name}"; ` +
			'an ES module must export it'));
	const json = toJson(await call(...readInput(file)));
	if (typeof json !== 'string')
		return refuse(refusal(TypeError,
			`what ${name}() returned cannot be JSON: ${json.why}`));
	return send(`{"value":${json}}`);
}

function prepare(message, send, refuse, linked) {
	const file = message.argv[0];
	if (!/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(message.call))
		throw new TypeError(`"${message.call}" is no function's name`);
	Object.defineProperty(globalThis, key, {
		value: { file, name: message.call, send, refuse, linked },
		configurable: true,
	});
}

if (require.main === module) {
	const job = globalThis[key];
	delete require.cache[__filename];
	handOver(job.file, job.name);
	require('./unsettled.js').settled(run(job));
} else {
	delete require.cache[__filename];
}

module.exports = { prepare };
