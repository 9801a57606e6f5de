// SPDX-License-Identifier: Apache-2.0
// Notebook cells: what is said about a value.
'use strict';

const { inspect } = require('util');
const { getPrototypeOf } = Object;

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

// Return: "text" and "results" of a cell's value.
function describe(value) {
	if (value === undefined)
		return {};
	const text = inspect(value);
	const results = [{ mime: 'text/plain', data: text }];
	if (typeof value === 'object' && value !== null && isJson(value))
		results.unshift({ mime: 'application/json', data: value });
	return { text, results };
}

module.exports = { describe };
