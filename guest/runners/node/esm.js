// SPDX-License-Identifier: Apache-2.0
// ES modules in TypeScript. Node's own loader knows no .ts and its hooks live
// in another thread, so the program's modules are linked here; whatever else
// they import comes from Node's loader.
'use strict';

const fs = require('fs');
const path = require('path');
const vm = require('vm');
const { createRequire } = require('module');
const { fileURLToPath, pathToFileURL } = require('url');
const typescript = require('./typescript.js');

const key = Symbol.for('fsd.esm');
const modules = new Map(); // file -> vm.Module
const ready = new Map(); // vm.Module -> what import() of it waits for
let linked = Promise.resolve(); // what was begun to be linked before

// The TypeScript file that a specifier means, or undefined.
function findFile(specifier, from) {
	if (!/^(\.{0,2}\/|file:)/.test(specifier))
		return undefined;
	const base = specifier.startsWith('file:') ? fileURLToPath(specifier)
		: path.resolve(path.dirname(from), specifier);
	const names = [base, base.replace(/js$/, 'ts'), `${base}.ts`,
		       `${base}.mts`, path.join(base, 'index.ts')];
	return names.find((name) => typescript.isTypeScript(name) &&
			  fs.existsSync(name));
}

async function loadOther(specifier, from) {
	const url = /^\.{0,2}\//.test(specifier)
		? pathToFileURL(path.resolve(path.dirname(from), specifier)).href
		: specifier;
	let space;
	try {
		space = await import(url);
	} catch (error) {
		// A package is found from the program's place, not from here.
		if (error?.code !== 'ERR_MODULE_NOT_FOUND' || url !== specifier)
			throw error;
		space = await import(pathToFileURL(
			createRequire(from).resolve(specifier)));
	}
	const module = new vm.SyntheticModule(Object.keys(space), () => {
		for (const name of Object.keys(space))
			module.setExport(name, space[name]);
	}, { identifier: url });
	return module;
}

async function link(specifier, from) {
	const file = findFile(specifier, from);
	return file ? loadTypeScript(file) : loadOther(specifier, from);
}

function loadTypeScript(file) {
	const known = modules.get(file);
	if (known)
		return known;
	const module = new vm.SourceTextModule(typescript.codeOf(file, 'esm'), {
		identifier: pathToFileURL(file).href,
		initializeImportMeta(meta) {
			meta.url = pathToFileURL(file).href;
		},
		async importModuleDynamically(specifier) {
			return evaluate(await link(specifier, file));
		},
	});
	modules.set(file, module);
	return module;
}

// One after another: a module that another one's linking has begun with would
// be taken for linked.
async function linkAndEvaluate(module) {
	linked = linked.catch(() => {}).then(async () => {
		if (module.status === 'unlinked')
			await module.link((specifier, from) =>
				link(specifier, fileURLToPath(from.identifier)));
	});
	await linked;
	await module.evaluate();
}

// Who imports a module while another import of it is under way waits for that.
async function evaluate(module) {
	if (!ready.has(module))
		ready.set(module, linkAndEvaluate(module));
	await ready.get(module);
	return module;
}

async function load(file) {
	return (await evaluate(loadTypeScript(file))).namespace;
}

// Node warns once that vm's modules may change; that is no affair of the
// program's.
function withoutWarning(action) {
	const warn = process.emitWarning;
	process.emitWarning = () => {};
	try {
		action();
	} finally {
		process.emitWarning = warn;
	}
}

function prepare(file) {
	withoutWarning(() => new vm.SourceTextModule(''));
	Object.defineProperty(globalThis, key, { value: file,
						 configurable: true });
}

if (require.main === module) {
	const file = globalThis[key];
	delete globalThis[key];
	require('./unsettled.js').settled(load(file));
}
delete require.cache[__filename];

module.exports = { prepare, load };
