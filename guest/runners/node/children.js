// SPDX-License-Identifier: Apache-2.0
// Node as a child of a program in TypeScript: what it is to run may be TypeScript, too.
// So it gets the runner's options before its own, and in a file what has been erased
// already, for esbuild takes long to start.
'use strict';

const fs = require('fs');
const path = require('path');
const { threadId } = require('worker_threads');
const internal = require('internal/child_process');
const own = require('./own.js');

const RUNNER = path.join(__dirname, 'wait_ts.js');
const OPTIONS = ['--expose-internals', '--require', RUNNER];
const VARIABLE = 'FSD_ERASED'; // names the file; the program does not see it
// Options of Node whose value is the next argument, and those that name no program.
const WITH_VALUE = new Set(['-r', '--require', '--import', '--loader', '-C',
			    '--experimental-loader', '--conditions', '--title',
			    '--icu-data-dir', '--env-file']);
const NO_PROGRAM = /^(-|-[eipchv]|-pe|--(eval|print|interactive|help|version|test)(=.*)?)$/;

let erased = process.env[VARIABLE]; // the file
delete process.env[VARIABLE];

const isChild = erased !== undefined;

// Return: the place of the program among Node's arguments, or 0.
function programIn(args) {
	for (let at = 1; at < args.length; at++) {
		if (args[at] === '--')
			return at + 1 < args.length ? at + 1 : 0;
		if (NO_PROGRAM.test(args[at]))
			return 0;
		if (WITH_VALUE.has(args[at]))
			at++;
		else if (!args[at].startsWith('-'))
			return at;
	}
	return 0;
}

function put({ compiled, ...rest }) {
	const file = `/dev/shm/.erased-${process.pid}-${threadId}`;
	fs.writeFileSync(file, JSON.stringify({ compiled: [...compiled], ...rest }),
			 { mode: 0o600 });
	const remove = () => fs.rmSync(file, { force: true });
	own.hidden.add(remove);
	process.on('exit', remove);
	return file;
}

// Return: what the parent shares, or undefined if it has ended.
function take() {
	try {
		const { compiled, ...rest } = JSON.parse(fs.readFileSync(erased, 'utf8'));
		return { compiled: new Map(compiled), ...rest };
	} catch {
		return undefined;
	}
}

// Has children started with what they need. find: the file that TypeScript means by a
// path; isTypeScript: is it one of those?
function follow(find, isTypeScript, share) {
	const prepared = (options) => {
		const { file, args, envPairs, cwd } = Object(options);
		const at = Array.isArray(args) && Array.isArray(envPairs) &&
			/^node(js)?$/.test(path.basename(String(file))) &&
			programIn(args);
		const found = at && find(path.resolve(cwd ?? '', args[at]));
		if (!found || !isTypeScript(found))
			return options;
		erased ??= put(share());
		return { ...options, envPairs: [...envPairs, `${VARIABLE}=${erased}`],
			 args: [args[0], ...OPTIONS, ...args.slice(1, at), found,
				...args.slice(at + 1)] };
	};
	const { spawnSync, ChildProcess: { prototype } } = internal;
	const { spawn } = prototype;
	prototype.spawn = function (options) {
		return Reflect.apply(spawn, this, [prepared(options)]);
	};
	internal.spawnSync = (options) => spawnSync(prepared(options));
}

// The child's program sees the options that it was given.
function vanish() {
	process.execArgv.splice(0, OPTIONS.length);
	const preloaded = process._preload_modules;
	preloaded.splice(preloaded.indexOf(RUNNER), 1);
	own.forget();
}

module.exports = { isChild, take, follow, vanish };
