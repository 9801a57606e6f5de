// SPDX-License-Identifier: Apache-2.0
// What heats the way of a program: a little of what most programs do.
'use strict';

function first(values, { sep = ', ' } = {}) {
	if (values.length > 3)
		throw new Error('too many');
	for (const value of values.map((v) => v + 1)) {
		const text = `${value}`.replace(/[0-9]+/g, 'n');
		if (text !== 'n' && !text.includes('-'))
			return text;
	}
	return values.join(sep);
}

class Box {
	constructor(value) {
		this.value = value;
	}
	get twice() {
		return 2 * this.value;
	}
}

try {
	first([1, 2, 3, 4]);
} catch (error) {
	String(error.message);
}
first([1, 2, new Box(3).twice]);
JSON.parse(JSON.stringify({ a: [1, 'x', null], b: new Map([[1, 2]]).size }));
console.log(1);
