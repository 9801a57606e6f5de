// SPDX-License-Identifier: Apache-2.0
// Loads the runner's files so that they are no files to a program: in stack traces they
// have names as Node's own modules have, and require.cache does not know them.
'use strict';

const fs = require('fs');
const path = require('path');
const vm = require('vm');
const Module = require('module');

const loaded = new Map([[__filename, module]]);

module.exports = own;

function own(name) {
	const file = path.join(__dirname, name);
	const known = loaded.get(file);
	if (known)
		return known.exports;
	const module = new Module(file);
	module.filename = file;
	module.paths = [];
	loaded.set(file, module);
	const wrapped = Module.wrap(fs.readFileSync(file, 'utf8'));
	const wrapper = new vm.Script(wrapped, {
		filename: `node:internal/modules/${path.basename(name, '.js')}`,
		columnOffset: -Module.wrapper[0].length,
	}).runInThisContext();
	const find = (id) => (id.startsWith('./') ? own(id) : require(id));
	wrapper.call(module.exports, module.exports, find, module, file,
		     __dirname);
	return module.exports;
}

// JSON that all can read: half of a surrogate pair, which JSON.stringify() writes as an
// escape and many readers refuse, is U+FFFD.
own.readable = (json) => (json.includes('\\ud') ? json.replace(
	/\\(?:(ud[89a-f][0-9a-f]{2})|.)/g,
	(escape, half) => (half ? '\\ufffd' : escape)) : json);

// native.c does what JavaScript cannot. null: an image without it
// works as well, and is slower.
own.native = () => {
	const file = path.join(__dirname, 'native.node');
	return fs.existsSync(file) ? require(file) : null;
};

// Listeners of process that are the runner's.
own.hidden = new Set();

// import(), which code of node:vm has not.
own.load = (url) => import(url);

// Takes what is left of the runner out of the program's sight.
own.vanish = () => {
	process.execArgv.length = 0;
	process._preload_modules.length = 0;
	own.forget();
};

own.forget = () => {
	for (const file of Object.keys(require.cache))
		if (file.startsWith(__dirname))
			delete require.cache[file];
};
