// SPDX-License-Identifier: Apache-2.0
// It heats the way of a program: a little of what most programs do, and each
// for the first time, because a short program does everything only once.

// V8 keeps no notes on code that has not run so often.
const MANY = 30;

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
	#secret = 1;
	constructor(value) {
		this.value = value;
	}
	get twice() {
		return 2 * this.value * this.#secret;
	}
}

class Sum extends Box {
	static zero = 0;
	add(other) {
		this.value += other;
		return this;
	}
}

// A property that holds now this and now that, and is looked up by name.
function shapes() {
	const one = {}, two = {};
	one.a = new Box(1);
	two.a = new Sum(2);
	one.b = 1;
	two.b = 0.5;
	for (const key of ['a', 'b', 'c'])
		one[key] = two[key];
	delete one.c;
	return { ...one, key: 1, ['own' + 1]: 2, get most() { return 3; } };
}

// A literal makes its value in another way the second time.
function literals(name) {
	const all = { list: [1, { x: 2 }, [0.5]], deep: { a: 1, b: [] } };
	const more = { [name]: 1, [`${name}2`]: all, __proto__: null };
	return [more[name], more[name + 2].deep, [...all.list, /x/g]];
}

// A property of one, of two, of many shapes.
function lookUp() {
	const many = [{ a: 1 }, { b: 1, a: 2 }, { c: 1, a: 3 }, new Box(1),
		[], 'text', { d: 1, a: 4 }, () => 1];
	let found = 0;
	for (let round = 0; round < MANY; round++) {
		for (const one of many) {
			found += one.a ?? one.length ?? 0;
			if (typeof one === 'object')
				one.mark = one[round & 1 ? 'a' : 'mark'];
		}
	}
	const text = `${'part of a longer text'.slice(3, 17)}!`;
	return { [text]: found }[text] === found && text === text.concat('');
}

function collections() {
	const map = new Map(), weak = new WeakMap(), set = new Set();
	const keep = [];
	for (let i = 0; i < 20; i++) {
		const key = { i };
		keep.push(key);
		map.set(`${i}`, i);
		weak.set(key, i);
		set.add(i % 7);
	}
	keep.sort((a, b) => b.i - a.i).reverse();
	keep.pop();
	keep.shift();
	keep.splice(2, 3);
	return [...map.keys(), ...set].concat(keep.slice(1)).length + weak.has(1);
}

function closures() {
	'use strict';
	let count = 0, last;
	const next = () => {
		last ||= 'none';
		count = count + 1 || 0;
		return later(count ?? 1);
	};
	const later = (n) => (n > 2 && last ? n : next());
	function* some() {
		yield* [1, 2];
	}
	return next() + Math.max(...some());
}

function texts() {
	const words = 'a-b,c'.split(',').flatMap((word) => word.split('-'));
	const all = Buffer.from(words.join('\0')).toString().toUpperCase();
	Buffer.allocUnsafeSlow(8).fill(0).readUInt32LE(0);
	new Uint8Array(new ArrayBuffer(8)).set([1, 2]);
	return all.slice(1).trim().padEnd(9).indexOf('C') +
		parseInt('12', 10) + Number('1.5').toFixed(1).length;
}

async function promises() {
	await null;
	await Promise.all([1, new Promise((done) => setImmediate(done))]);
}

try {
	first([1, 2, 3, 4]);
} catch (error) {
	String(error.message);
}
first([1, 2, new Box(3).twice]);
shapes();
for (let i = 0; i < MANY; i++)
	literals('key');
lookUp();
collections();
closures();
texts();
promises();
JSON.parse(JSON.stringify({ a: [1, 'x', null], b: new Map([[1, 2]]).size }));
void [process.argv.length, process.env.HOME, typeof performance, typeof URL];
console.log(1);
import('data:text/javascript,export default 1').catch(() => {});
