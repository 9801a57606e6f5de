// SPDX-License-Identifier: Apache-2.0
// Loads the packages of an environment before the template is saved: "node" of
// /usr/lib/fsd-environment/warm.json (guest/environment.h) is a list of names.
//
// They are asked for from /node_modules, where they lie. From the program's place
// Node would remember for ever that the program has no package.json and no
// node_modules of its own.
//
// A package that draws random numbers while it loads is left out: all clones would
// have the same ones.
'use strict';

const crypto = require('crypto');
const fs = require('fs');
const Module = require('module');

const PLACE = '/usr/lib/fsd-environment/warm.json';
const ASKER = '/node_modules/warm.js'; // no such file
const TURNS = 100000; // of the event loop, for an ES module
const draws = [
	[crypto, ['randomBytes', 'randomFillSync', 'randomFill', 'randomInt',
		  'randomUUID', 'getRandomValues', 'pseudoRandomBytes']],
	[Object.getPrototypeOf(crypto.webcrypto), ['getRandomValues', 'randomUUID']],
	[Math, ['random']],
];

// Runs act() while whoever draws fails. Return: has somebody?
function guarded(act) {
	let drawn = false;
	const kept = [];
	for (const [owner, names] of draws)
		for (const name of names) {
			const found = Object.getOwnPropertyDescriptor(owner, name);
			if (!found?.configurable)
				continue;
			kept.push([owner, name, found]);
			Object.defineProperty(owner, name, {
				configurable: true, enumerable: found.enumerable,
				writable: true, value() {
					drawn = true;
					throw new Error('no random numbers yet');
				} });
		}
	try {
		act();
	} finally {
		for (const [owner, name, found] of kept)
			Object.defineProperty(owner, name, found);
	}
	return drawn;
}

// Waits for import() of what require() does not take.
function importNow(load, name, turn) {
	let settled = false, failed;
	load(name).then(() => (settled = true),
			(error) => (settled = failed = error));
	for (let i = 0; !settled && i < TURNS; i++) {
		turn();
		process._tickCallback();
	}
	if (!settled)
		throw new Error('it waits for something');
	if (failed)
		throw failed;
}

function asker() {
	const module = new Module(ASKER, null);
	module.filename = ASKER;
	module.paths = ['/node_modules'];
	module._compile('exports.load = (name) => import(name);' +
			'exports.require = (name) => require(name);', ASKER);
	return module.exports;
}

function loadOne(ask, name, turn) {
	try {
		ask.require(name);
	} catch (error) {
		if (!['ERR_REQUIRE_ESM', 'ERR_PACKAGE_PATH_NOT_EXPORTED']
			.includes(error?.code))
			throw error;
		importNow(ask.load, name, turn);
	}
}

function forget(known) {
	for (const file of Object.keys(Module._cache))
		if (!known.has(file))
			delete Module._cache[file];
}

// Return: a line for each package that is not warm.
function load(turn) {
	if (!fs.existsSync(PLACE))
		return [];
	const cold = [];
	const { node: names = [] } = JSON.parse(fs.readFileSync(PLACE, 'utf8'));
	const ask = names.length && asker();
	for (const name of names) {
		const known = new Set(Object.keys(Module._cache));
		let why;
		try {
			if (guarded(() => loadOne(ask, name, turn)))
				why = 'it draws random numbers when it is loaded';
		} catch (error) {
			[why] = String(error?.message).split('\n');
		}
		if (!why)
			continue;
		cold.push(`npm:${name}: ${why}`);
		forget(known);
	}
	return cold;
}

module.exports = { load };
