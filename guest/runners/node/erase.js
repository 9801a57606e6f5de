// SPDX-License-Identifier: Apache-2.0
// TypeScript becomes JavaScript: esbuild erases its types, and here is decided whether a
// file is an ES or a CommonJS module. Its name says so (.mts, .cts), or its
// package.json. Otherwise it is what the program's main file is, and that is CommonJS
// unless it awaits at its top or uses import.meta.
'use strict';

const fs = require('fs');
const path = require('path');
const { readPackageScope } = require('internal/modules/package_json_reader');
const { internalBinding } = quietly(() => require('internal/test/binding'));
const { Esbuild } = require('./esbuild.js');
const tsconfig = require('./tsconfig.js');

// It has left these where the program would see them.
delete globalThis.internalBinding;
delete globalThis.primordials;

const { privateSymbols } = internalBinding('util');
const EXTENSIONS = ['.ts', '.cts', '.mts', '.tsx'];
const ONLY_ESM = /^Top-level await|^"import\.meta" is not available/;
const FILES_MAX = 1000;

const esbuild = new Esbuild();
// Workers get this of the main thread: file -> { format, code, error }. The program's file
// is TypeScript whatever its name is, for the job may say so.
let shared = { compiled: new Map(), usual: 'cjs', program: undefined };

// Node warns that this is for its tests; that is no affair of the program's.
function quietly(action) {
	const { emitWarning } = process;
	process.emitWarning = () => {};
	try {
		return action();
	} finally {
		process.emitWarning = emitWarning;
	}
}

function isTypeScript(file) {
	return EXTENSIONS.includes(path.extname(file)) || file === shared.program;
}

function declaredFormat(file) {
	if (/\.m[tj]s$/.test(file))
		return 'esm';
	if (/\.c[tj]s$/.test(file))
		return 'cjs';
	const type = readPackageScope(file)?.data?.type;
	return { module: 'esm', commonjs: 'cjs' }[type];
}

// Has it the syntax of CommonJS, or of neither and its names?
function looksCommonJs(source) {
	return !/^\s*(import|export)\b/m.test(source)
		? /\b(require|module|exports|__dirname|__filename)\b/.test(source)
		: /^\s*(export\s*=|import\s+\w+\s*=\s*require\b)/m.test(source);
}

function transform(file, source, format) {
	const answer = esbuild.transform(file, source, format,
					 tsconfig.configOf(file).raw);
	return { format, ...answer };
}

function compileAnew(file) {
	const source = fs.readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
	const declared = declaredFormat(file);
	if (declared)
		return transform(file, source, declared);
	if (shared.usual === 'esm')
		return transform(file, source, looksCommonJs(source) ? 'cjs'
								     : 'esm');
	const answer = transform(file, source, 'cjs');
	return [...answer.errors, ...answer.warnings].some(({ text }) =>
		ONLY_ESM.test(text)) ? transform(file, source, 'esm') : answer;
}

// Return: { format, code, errors }.
function compile(file) {
	let answer = shared.compiled.get(file);
	if (!answer) {
		answer = compileAnew(file);
		shared.compiled.set(file, answer);
	}
	return answer;
}

// Says where it is wrong as Node does for a file that it cannot parse. Node itself would
// show the line here where it is thrown.
function syntaxError(file, { text, location }) {
	const error = new SyntaxError(text);
	let place = file, shown = '';
	if (location) {
		const { line, column, lineText, length } = location;
		const indent = lineText.slice(0, column).replace(/[^\t]/g, ' ');
		shown = `${file}:${line}\n${lineText}\n` +
			`${indent}${'^'.repeat(Math.max(length, 1))}\n\n`;
		place = `${file}:${line}:${column + 1}`;
	}
	error.stack = `${shown}SyntaxError: ${text}\n    at ${place}`;
	error[privateSymbols.arrow_message_private_symbol] = shown;
	error[privateSymbols.decorated_private_symbol] = true;
	return error;
}

// Return: { format, code }; throws what is wrong with the file.
function codeOf(file) {
	const answer = compile(file);
	if (answer.errors.length)
		throw syntaxError(file, answer.errors[0]);
	return answer;
}

// A file that the program may load later is erased while the service is there.
function compileOthers(directory) {
	for (const entry of fs.readdirSync(directory, { withFileTypes: true })) {
		const file = path.join(directory, entry.name);
		if (shared.compiled.size >= FILES_MAX)
			return;
		if (entry.isDirectory() && entry.name !== 'node_modules')
			compileOthers(file);
		else if (entry.isFile() && isTypeScript(file))
			compile(file);
	}
}

// Erases the program's files. Throws what is wrong with its main one.
function compileProgram(file) {
	shared.program = file;
	shared.usual = compile(file).format;
	codeOf(file);
	compileOthers(path.dirname(file));
}

// A session that begins here keeps the service.
function start() {
	esbuild.start();
	require('./own.js').esbuild = esbuild;
}

function forget() {
	shared.compiled.clear();
	shared.usual = 'cjs';
	shared.program = undefined;
	tsconfig.forget();
}

module.exports = { isTypeScript, codeOf, compileProgram, forget, EXTENSIONS,
		   start, stop: () => esbuild.stop(),
		   share: () => shared, take: (from) => shared = from };
