// SPDX-License-Identifier: Apache-2.0
// Notebook cells: what is said about a value.
'use strict';

const { inspect, types: { isProxy } } = require('util');
const fs = require('fs');
const path = require('path');
const { getPrototypeOf, getOwnPropertyDescriptor: getOwn } = Object;

// Larger data is put into a file, which comes out under output/.
const LARGE = 65536;
const FOLDER = 'results';
let home = process.cwd(); // where the session began, or its shelf

// A value that is deeper, or has more in it, is not looked at: an object may be in
// itself in many ways.
const DEPTH = 64;
const MANY = 250000;

// Can JSON hold value as it is? Nothing of the program's is called for it. NaN and
// infinity are null there.
function isJson(value, room = { left: MANY }, depth = 0) {
	if (value === null || ['string', 'boolean', 'number'].includes(typeof value))
		return true;
	if (typeof value !== 'object' || isProxy(value) || depth === DEPTH)
		return false;
	const isArray = Array.isArray(value);
	const kind = getPrototypeOf(value);
	if (isArray ? kind !== Array.prototype
		: kind !== Object.prototype && kind !== null)
		return false;
	if (Object.getOwnPropertySymbols(value).length || 'toJSON' in value)
		return false;
	for (const name of isArray ? value.keys() : Object.keys(value)) {
		const inner = getOwn(value, name);
		if (!inner || inner.get || !room.left-- ||
		    !isJson(inner.value, room, depth + 1))
			return false;
	}
	return true;
}

// Large results go to the directory shelf there, if there is one.
function takeShelf(place) {
	if (fs.existsSync(`${place}/shelf`))
		home = `${place}/shelf`;
}

// The same entry, with a path instead of much data.
function shelve(entry) {
	const text = typeof entry.data === 'string' ? entry.data
		: JSON.stringify(entry.data);
	if (text.length <= LARGE)
		return entry;
	const folder = path.join(home, FOLDER);
	fs.mkdirSync(folder, { recursive: true });
	const number = 1 + fs.readdirSync(folder).length;
	const ending = entry.mime === 'application/json' ? 'json' : 'txt';
	fs.writeFileSync(path.join(folder, `${number}.${ending}`), text);
	return { mime: entry.mime, path: `${FOLDER}/${number}.${ending}` };
}

function keep(entry) {
	try {
		return shelve(entry);
	} catch {
		return entry; // there is no room: as it is
	}
}

// Return: "text" and "results" of a cell's value.
function describe(value) {
	if (value === undefined)
		return {};
	const text = inspect(value);
	const results = [{ mime: 'text/plain', data: text }];
	if (typeof value === 'object' && value !== null && isJson(value))
		results.unshift({ mime: 'application/json', data: value });
	return { text, results: results.map((one) => ({
		...keep(one), bundle: 1, main: true })) };
}

module.exports = { describe, takeShelf };
