// SPDX-License-Identifier: Apache-2.0
// TypeScript for Node's loaders. Node's own resolver finds each module, from the
// importer's place, with the condition "import" for ES modules and "require" for
// CommonJS; here is added what TypeScript has beyond it: an import of ./x.js or ./x may
// mean x.ts, and tsconfig.json may send a name elsewhere. The sources of .ts files are
// then what esbuild has left of them, and all else of a module is Node's affair.
//
// Node's public hooks live in another thread, and two messages a module cost more than
// the program. So the three functions that the hooks would call are replaced in this
// thread: the runner is started with --expose-internals, and takes that back below.
'use strict';

const fs = require('fs');
const path = require('path');
const Module = require('module');
const { fileURLToPath, pathToFileURL } = require('url');
const workers = require('worker_threads');
const children = require('./children.js');
const erase = require('./erase.js');
const { settled } = require('./unsettled.js');
const { configOf } = require('./tsconfig.js');
const { loader, hide } = require('./internals.js');
// These two need each other, in this order.
const esmResolve = require('internal/modules/esm/resolve');
const esmLoad = require('internal/modules/esm/load');

const { isTypeScript, codeOf } = erase;
const SHARED = 'fsd.typescript';
// The sources that a compiled file's name, or a name without ending, may stand for.
const SOURCES = { '.js': ['.ts', '.tsx'], '.jsx': ['.tsx'], '.mjs': ['.mts'],
		  '.cjs': ['.cts'] };
const ENDINGS = ['.ts', '.tsx', '.mts', '.cts', '.js', '.mjs', '.cjs', '.json'];
const NOT_FOUND = /^(ERR_)?MODULE_NOT_FOUND$|^ERR_UNSUPPORTED_DIR_IMPORT$/;

// --- resolving

const isFile = (file) =>
	fs.statSync(file, { throwIfNoEntry: false })?.isFile();

// Return: the file that TypeScript means by a path, or undefined.
function fileAt(base) {
	const ending = path.extname(base);
	const stem = base.slice(0, base.length - ending.length);
	return (SOURCES[ending] ?? []).map((one) => stem + one).find(isFile) ??
		(isFile(base) ? base : undefined) ??
		ENDINGS.map((one) => base + one).find(isFile) ??
		ENDINGS.map((one) => path.join(base, `index${one}`)).find(isFile);
}

const isRelative = (specifier) => /^\.{0,2}\/|^\.{1,2}$/.test(specifier);

// Return: the file, where TypeScript has its own idea of it.
function ownIdea(specifier, parent) {
	if (isRelative(specifier))
		return fileAt(path.resolve(path.dirname(parent), specifier));
	if (specifier.startsWith('#') || Module.isBuiltin(specifier))
		return undefined;
	for (const place of configOf(parent).match(specifier)) {
		const file = fileAt(place);
		if (file)
			return file;
	}
	return undefined;
}

const fileOf = (url) => (url?.startsWith('file:')
	? fileURLToPath(url.replace(/[?#].*$/, '')) : undefined);

const nodeResolve = esmResolve.defaultResolve;

// A package may say that a name is x.js, where there is x.ts.
function resolveByNode(specifier, context) {
	try {
		return nodeResolve(specifier, context);
	} catch (error) {
		const file = NOT_FOUND.test(error?.code) && error.url &&
			fileAt(fileOf(error.url));
		if (!file)
			throw error;
		return nodeResolve(pathToFileURL(file).href, context);
	}
}

function resolve(specifier, context) {
	const parent = fileOf(context.parentURL);
	if (!parent || !isTypeScript(parent))
		return nodeResolve(specifier, context);
	const [name, query = ''] = specifier.split(/(?=\?)/);
	const own = ownIdea(name, parent);
	const found = own ? nodeResolve(pathToFileURL(own).href + query, context)
		: resolveByNode(specifier, context);
	// With "resolveJsonModule" an import of JSON need not say so.
	if (found.format === 'json' && !context.importAttributes?.type)
		found.importAttributes = { __proto__: null, type: 'json' };
	return found;
}

const nodeFilename = Module._resolveFilename;

function resolveFilename(request, parent, ...rest) {
	const from = parent?.filename;
	if (!from || !isTypeScript(from))
		return nodeFilename.call(this, request, parent, ...rest);
	const own = ownIdea(request, from);
	if (own)
		return own;
	try {
		return nodeFilename.call(this, request, parent, ...rest);
	} catch (error) {
		// A package that has ES modules only: require() takes those.
		try {
			return fileURLToPath(loader().resolveSync(
				request, pathToFileURL(from).href).url);
		} catch {
			throw error;
		}
	}
}

// --- loading

// Return: what Node's load hook would say of a file of TypeScript, or undefined.
function sourceOf(url) {
	const file = fileOf(url);
	if (!file || !isTypeScript(file))
		return undefined;
	const { format, code } = codeOf(file);
	return { __proto__: null, responseURL: url, source: code,
		 format: format === 'esm' ? 'module' : 'commonjs-sync' };
}

const spaces = new WeakMap(); // exports -> what import() of them gives

// The exports of a CommonJS module, or of an ES one for require(), as they are at each
// moment. "default" is what the source calls so.
function spaceOf(exports, isEsm) {
	const known = spaces.get(exports);
	if (known)
		return known;
	const space = isEsm
		? Object.defineProperty({}, '__esModule', { value: true }) : {};
	for (const name of Object.keys(exports))
		Object.defineProperty(space, name, {
			enumerable: true, get: () => exports[name] });
	if (!isEsm && !exports.__esModule)
		Object.defineProperty(space, 'default', {
			enumerable: true, value: exports });
	spaces.set(exports, space);
	return space;
}

// import() of a file of TypeScript that is a CommonJS module.
function importCommonJs(url) {
	const file = fileOf(url);
	if (!file || !isTypeScript(file) || codeOf(file).format !== 'cjs')
		return undefined;
	const exports = Module._load(file, null, false);
	return Object(exports) === exports ? spaceOf(exports, false)
		: { default: exports };
}

function loadFile(module, file) {
	const { format, code } = codeOf(file);
	if (format === 'cjs') {
		module._compile(code, file, 'commonjs');
	} else if (process.mainModule === module) {
		module._compile('', file, 'module'); // Node imports it
	} else {
		const { namespace } = loader()
			.importSyncForRequire(module, file, code, false);
		module.exports = 'default' in namespace
			? spaceOf(namespace, true) : namespace;
	}
}

// Node loads a program by its name's ending, and one of another ending as JavaScript.
function adopt(program) {
	const ending = path.extname(program ?? '.ts');
	const { _extensions: loaders } = Module;
	if (erase.EXTENSIONS.includes(ending))
		return;
	const usual = loaders[ending] ? ending : '.js';
	const load = loaders[usual];
	loaders[usual] = (module, file) =>
		(file === program ? loadFile : load)(module, file);
}

function register() {
	const { defaultLoad, defaultLoadSync } = esmLoad;
	esmLoad.defaultLoad = async (url, context) =>
		sourceOf(url) ?? defaultLoad(url, context);
	esmLoad.defaultLoadSync = (url, context) =>
		sourceOf(url) ?? defaultLoadSync(url, context);
	esmResolve.defaultResolve = resolve;
	Module._resolveFilename = resolveFilename;
	for (const extension of erase.EXTENSIONS)
		Module._extensions[extension] = loadFile;
	const { import: nodeImport } = loader();
	loader().import = async function (specifier, parentURL, ...rest) {
		const load = () => nodeImport.call(this, specifier, parentURL,
						   ...rest);
		if (parentURL === undefined) // the main module
			return settled(load());
		const { url } = await this.resolve(specifier, parentURL,
						   ...rest);
		return importCommonJs(url) ?? load();
	};
}

// --- the runner's part

// A rehearsal leaves the service alive.
function prepare(file, refuse, really) {
	erase.forget();
	try {
		erase.compileProgram(file);
	} catch (error) {
		refuse(error);
	}
	if (really) {
		adopt(file);
		erase.stop();
		workers.setEnvironmentData(SHARED, erase.share());
	}
	return file;
}

function takeShared() {
	const shared = children.isChild ? children.take()
		: workers.getEnvironmentData(SHARED);
	if (shared)
		erase.take(shared);
	adopt(shared?.program);
	workers.setEnvironmentData(SHARED, erase.share());
}

const isProgram = workers.isMainThread && !children.isChild;

function start() {
	if (isProgram)
		erase.start();
	else
		takeShared();
	children.follow(fileAt, isTypeScript, erase.share);
	register();
	hide();
	process.setSourceMapsEnabled(true);
}

module.exports = { start, prepare, forget: erase.forget,
		   isChild: children.isChild && workers.isMainThread };
