// SPDX-License-Identifier: Apache-2.0
// Reads tsconfig.json: where "paths" and "baseUrl" send an import, and what esbuild
// has to know of it. A file obeys the nearest one above it, and what that extends.
'use strict';

const fs = require('fs');
const path = require('path');
const { createRequire } = require('module');

const NAME = 'tsconfig.json';
const DEPTH = 16; // a configuration that extends itself ends here
const FOR_ESBUILD = ['alwaysStrict', 'experimentalDecorators', 'jsx', 'jsxFactory',
		     'jsxFragmentFactory', 'jsxImportSource',
		     'preserveValueImports', 'strict', 'target',
		     'useDefineForClassFields', 'verbatimModuleSyntax'];
const NONE = { options: {}, match: () => [], raw: '' };

const found = new Map(); // directory -> configuration

// JSON with comments and commas at the end of lists. Strings stay as they are.
function parse(text, file) {
	const plain = text.replace(/^\uFEFF/, '')
		.replace(/("(?:[^"\\]|\\.)*")|\/\/[^\n]*|\/\*[^]*?\*\//g, '$1')
		.replace(/("(?:[^"\\]|\\.)*")|,(?=\s*[\]}])/g, '$1');
	try {
		return plain.trim() ? JSON.parse(plain) : {};
	} catch (error) {
		error.message = `${file}: ${error.message}`;
		error.stack = `SyntaxError: ${error.message}`;
		throw error;
	}
}

// The file that `extends` names, or undefined: a project is often copied without
// the packages that only its compiler needs.
function extended(name, from) {
	const names = [name, `${name}.json`, `${name}/${NAME}`];
	const { resolve } = createRequire(from);
	for (const one of names) {
		try {
			return resolve(one);
		} catch {
			// another one may be there
		}
	}
	return undefined;
}

// Return: compilerOptions, with the places that they are relative to.
function read(file, depth = 0) {
	const { compilerOptions, extends: bases = [] } =
		parse(fs.readFileSync(file, 'utf8'), file) ?? {};
	const options = {};
	for (const name of [bases].flat()) {
		const base = typeof name === 'string' && depth < DEPTH &&
			extended(name, file);
		if (base)
			Object.assign(options, read(base, depth + 1));
	}
	Object.assign(options, compilerOptions);
	const directory = path.dirname(file);
	if (typeof compilerOptions?.baseUrl === 'string')
		options.baseUrl = path.resolve(directory, options.baseUrl);
	if (compilerOptions?.paths)
		options.pathsFrom = directory;
	return options;
}

// Return: a function from a specifier to the places where its file may be.
function matcher({ baseUrl, paths, pathsFrom }) {
	const patterns = Object.entries(paths ?? {}).map(([pattern, to]) => {
		const [prefix, suffix] = pattern.split('*');
		return { prefix, suffix, to: [to].flat() };
	});
	// The longest prefix wins, and a name without a star before all.
	patterns.sort((a, b) => (a.suffix !== undefined) - (b.suffix !== undefined) ||
		      b.prefix.length - a.prefix.length);
	const fits = (name, { prefix, suffix }) => (suffix === undefined
		? name === prefix
		: name.length >= prefix.length + suffix.length &&
		  name.startsWith(prefix) && name.endsWith(suffix));
	return (name) => {
		const one = patterns.find((pattern) => fits(name, pattern));
		const star = one?.suffix === undefined ? ''
			: name.slice(one.prefix.length,
				     name.length - one.suffix.length);
		const places = (one?.to ?? []).map((to) => path.resolve(
			baseUrl ?? pathsFrom, to.replace('*', () => star)));
		return baseUrl ? [...places, path.resolve(baseUrl, name)]
			: places;
	};
}

function forEsbuild(options) {
	const own = FOR_ESBUILD.filter((name) => name in options &&
		!(name === 'jsx' && /^preserve|native/.test(options.jsx)));
	if (!own.length)
		return '';
	return JSON.stringify({ compilerOptions: Object.fromEntries(
		own.map((name) => [name, options[name]])) });
}

function load(directory) {
	const file = path.join(directory, NAME);
	if (fs.existsSync(file)) {
		const options = read(file);
		return { match: matcher(options), raw: forEsbuild(options) };
	}
	const above = path.dirname(directory);
	return above === directory ? NONE : of(above);
}

function of(directory) {
	let config = found.get(directory);
	if (!config) {
		config = load(directory);
		found.set(directory, config);
	}
	return config;
}

const isPackage = (file) => file.includes('/node_modules/');

// Return: { match, raw } for a file of TypeScript; that of a package obeys none.
function configOf(file) {
	return isPackage(file) ? NONE : of(path.dirname(file));
}

module.exports = { configOf, forget: () => found.clear() };
