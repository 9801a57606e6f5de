// SPDX-License-Identifier: Apache-2.0
// TypeScript for Node's loaders: files whose types esbuild has erased. A file
// is a CommonJS module unless its name (.mts), its package.json or an await at
// its top says otherwise.
'use strict';

const fs = require('fs');
const path = require('path');
const Module = require('module');
const { Esbuild } = require('./esbuild.js');

const EXTENSIONS = ['.ts', '.cts', '.mts', '.tsx'];
const TOP_AWAIT = /Top-level await/;
const FILES_MAX = 1000;

const esbuild = new Esbuild();
const erased = new Map(); // file -> format -> answer

function isTypeScript(file) {
	return EXTENSIONS.includes(path.extname(file));
}

function erase(file, format) {
	const known = erased.get(file)?.[format];
	if (known)
		return known;
	const source = fs.readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
	const loader = file.endsWith('.tsx') ? 'tsx' : 'ts';
	const answer = esbuild.transform(file, source, format, loader);
	erased.set(file, { ...erased.get(file), [format]: answer });
	return answer;
}

// As Node's for a file that it cannot parse.
function syntaxError(file, { text, location }) {
	const error = new SyntaxError(text);
	const where = location
		? `${file}:${location.line}\n${location.lineText}\n` +
		  `${' '.repeat(location.column)}^\n\n` : `${file}\n`;
	error.stack = `${where}SyntaxError: ${text}`;
	return error;
}

function codeOf(file, format) {
	const { code, errors } = erase(file, format);
	if (errors)
		throw syntaxError(file, errors[0]);
	return code;
}

function packageType(file) {
	for (let at = path.dirname(file); ; at = path.dirname(at)) {
		try {
			const text = fs.readFileSync(
				path.join(at, 'package.json'), 'utf8');
			return JSON.parse(text).type;
		} catch {
			if (at === path.dirname(at))
				return undefined;
		}
	}
}

function formatOf(file) {
	if (file.endsWith('.mts'))
		return 'esm';
	if (file.endsWith('.cts'))
		return 'cjs';
	return packageType(file) === 'module' ? 'esm' : 'cjs';
}

function register() {
	for (const extension of EXTENSIONS)
		Module._extensions[extension] = (module, file) =>
			module._compile(codeOf(file, 'cjs'), file);
	// TypeScript's own custom: import './x.js' means x.ts.
	const resolve = Module._resolveFilename;
	Module._resolveFilename = function (request, parent, ...rest) {
		try {
			return resolve.call(this, request, parent, ...rest);
		} catch (error) {
			if (!parent?.filename || !isTypeScript(parent.filename) ||
			    !/^\.{0,2}\/.*\.[cm]?js$/.test(request))
				throw error;
			return resolve.call(this, request.replace(/js$/, 'ts'),
					    parent, ...rest);
		}
	};
}

// What the program may load later is erased while the service is there.
function eraseOthers(directory, main) {
	const entries = fs.readdirSync(directory, { withFileTypes: true });
	for (const entry of entries) {
		const file = path.join(directory, entry.name);
		if (erased.size >= FILES_MAX)
			return;
		if (entry.isDirectory() && entry.name !== 'node_modules')
			eraseOthers(file, main);
		else if (entry.isFile() && isTypeScript(file) && file !== main)
			erase(file, formatOf(file));
	}
}

// Says which file is Node's main module: the program, or, for an ES module,
// the one that loads it. A rehearsal leaves the service alive.
function prepare(file, refuse, really) {
	let format = formatOf(file);
	erased.clear();
	if (format === 'cjs' &&
	    erase(file, 'cjs').errors?.some((e) => TOP_AWAIT.test(e.text)))
		format = 'esm';
	const { errors } = erase(file, format);
	if (errors)
		refuse(syntaxError(file, errors[0]));
	eraseOthers(path.dirname(file), file);
	if (really)
		esbuild.stop();
	if (format === 'cjs')
		return file;
	require('./esm.js').prepare(file);
	return path.join(__dirname, 'esm.js');
}

function start() {
	esbuild.start();
	register();
	process.setSourceMapsEnabled(true);
}

// Heating goes through the loader; nothing of it is kept.
function forget() {
	erased.clear();
}

module.exports = { start, prepare, forget, codeOf, isTypeScript };
