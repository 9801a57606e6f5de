// SPDX-License-Identifier: Apache-2.0
// TypeScript as a step of the living Node: esbuild erases its types, and what is left
// runs as JavaScript, in the same state. esbuild writes lines of its own; here each
// statement goes back to the line where it was, as its source map tells, because
// errors name lines.
'use strict';

const childProcess = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const { SourceMap } = require('module');
const own = require('./own.js');
const { tokensOf } = require('./toplevel.js');
const esbuild = require('./esbuild.js');

// An import that this step does not use may be another's.
const CONFIG = JSON.stringify({ compilerOptions: {
	verbatimModuleSyntax: true, jsx: 'react' } });
const MAP = /\n\/\/# sourceMappingURL=data:application\/json;base64,(\S+)\s*$/;

const isTyped = (file) => /\.[cm]?tsx?$/.test(file);

// As V8 tells where a script is wrong: see print() of living.js.
function syntaxError(name, { text, location }) {
	const error = new SyntaxError(text);
	let place = name;
	if (location) {
		const { line, column, lineText, length } = location;
		const indent = lineText.slice(0, column).replace(/[^\t]/g, ' ');
		place = `${name}:${line}\n${lineText}\n` +
			`${indent}${'^'.repeat(Math.max(length, 1))}\n`;
	}
	error.stack = location ? `${place}\nSyntaxError: ${text}`
		: `SyntaxError: ${text}\n    at ${name}`;
	return error;
}

// Puts each line that esbuild has begun where its first token was. A line may be
// broken and joined between statements only, and there esbuild has a semicolon.
function relaid(code, map) {
	const tokens = tokensOf(code);
	if (!tokens)
		return code;
	let text = '', at = 0, line = 0, column = 0, reached = 0;
	const pass = (part) => {
		const lines = part.split('\n');
		line += lines.length - 1;
		column = lines.length > 1 ? lines.at(-1).length
			: column + part.length;
		return lines.length - 1;
	};
	for (const { start, end } of tokens) {
		const gap = code.slice(at, start), token = code.slice(start, end);
		if (pass(gap)) {
			const { originalLine = reached } = map.findEntry(line, column);
			const ahead = Math.max(0, originalLine - reached);
			text += ahead ? '\n'.repeat(ahead) : ' ';
			reached += ahead;
		} else {
			text += gap;
		}
		reached += pass(token);
		text += token;
		at = end;
	}
	return text;
}

// A session that has begun with TypeScript has the service already. Its start takes
// seconds in an emulated machine, so another one starts it once and keeps it. Node
// makes no pipes that block, so two fifos are the pipes.
function begin() {
	const place = fs.mkdtempSync(path.join(os.tmpdir(), 'step-'));
	const names = ['to', 'from'].map((name) => path.join(place, name));
	const fds = [];
	try {
		childProcess.spawnSync('/usr/bin/mkfifo', names);
		for (const name of names) // the first open() of each waits for no one
			fds.push(fs.openSync(name, 'r+'));
		const [read, to] = ['r', 'w'].map((how) => fs.openSync(names[0], how));
		const [from, write] = ['r', 'w'].map((how) =>
			fs.openSync(names[1], how));
		const service = new esbuild.Esbuild();
		service.start([read, write], [to, from]);
		return service;
	} finally {
		fds.forEach((fd) => fs.closeSync(fd));
		fs.rmSync(place, { recursive: true });
	}
}

function ask(source, flags) {
	try {
		own.esbuild ??= begin();
		return own.esbuild.ask(source, flags);
	} catch {
		own.esbuild = undefined; // the program has ended it, or closed its pipes
		return esbuild.transformOnce(source, flags);
	}
}

// A cell that looks like an object is one.
function transform(source, flags, cell) {
	const whole = cell && /^\s*\{/.test(source) && ask(`(${source}\n)`, flags);
	return whole && !whole.errors.length ? whole : ask(source, flags);
}

// Return: JavaScript. Throws what is wrong with the source, as of a script called name.
function erased(file, name, source, cell) {
	const flags = [...esbuild.FLAGS, `--sourcefile=${file}`,
		       `--loader=${file.endsWith('x') ? 'tsx' : 'ts'}`,
		       '--legal-comments=none', `--tsconfig-raw=${CONFIG}`];
	const { code, errors } = transform(source, flags, cell);
	if (errors.length)
		throw syntaxError(name, errors[0]);
	const [whole, data] = MAP.exec(code) ?? [''];
	const plain = code.slice(0, code.length - whole.length);
	return data ? relaid(plain, new SourceMap(JSON.parse(
		Buffer.from(data, 'base64').toString()))) : plain;
}

module.exports = { isTyped, erased };
