// SPDX-License-Identifier: Apache-2.0
// Notebook cells: what is said about a value.
'use strict';

const { inspect } = require('util');
const fs = require('fs');
const path = require('path');
const { getPrototypeOf } = Object;

// What is larger is put into a file, which comes out under output/.
const LARGE = 65536;
const FOLDER = 'results';
const home = process.cwd(); // where the session began

// Can JSON hold value as it is?
function isJson(value, above = []) {
	if (value === null || typeof value === 'string' ||
	    typeof value === 'boolean')
		return true;
	if (typeof value === 'number')
		return Number.isFinite(value);
	if (typeof value !== 'object' || above.includes(value))
		return false;
	const kind = getPrototypeOf(value);
	const inner = [...above, value];
	if (Array.isArray(value))
		return kind === Array.prototype &&
			Array.from(value).every((v) => isJson(v, inner));
	return (kind === Object.prototype || kind === null) &&
		typeof value.toJSON !== 'function' &&
		Object.getOwnPropertySymbols(value).length === 0 &&
		Object.values(value).every((v) => isJson(v, inner));
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
	return { text, results: results.map(keep) };
}

module.exports = { describe };
