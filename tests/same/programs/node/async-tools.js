// Events, abort signals, local storage, timers and utilities.
const { EventEmitter, once, on } = require('events');
const { AsyncLocalStorage } = require('async_hooks');
const util = require('util');
const assert = require('assert');
(async () => {
	const e = new EventEmitter();
	setImmediate(() => e.emit('x', 1, 2));
	console.log(await once(e, 'x'));
	try {
		e.emit('error', new Error('unheard'));
	} catch (x) {
		console.log(x.message);
	}
	const store = new AsyncLocalStorage();
	await store.run({ id: 5 }, async () => { await null; console.log(store.getStore()); });
	const ac = new AbortController();
	const t = require('timers/promises').setTimeout(60000, null, { signal: ac.signal });
	ac.abort();
	await t.catch((x) => console.log(x.name, x.code));
	console.log(await Promise.allSettled([1, Promise.reject(2)]), util.format('%s', null), util.inspect('x'.repeat(20)));
	console.log(util.types.isPromise(t), util.isDeepStrictEqual([1], [1]), util.parseArgs({ args: ['-f', '--bar', 'b'], options: { f: { type: 'boolean', short: 'f' }, bar: { type: 'string' } } }).values);
	try {
		assert.deepStrictEqual({ a: 1, b: [1, 2] }, { a: 1, b: [1, 3] });
	} catch (x) {
		console.log(x.message);
	}
	e.on('x', () => {});
	for (let i = 0; i < 11; i++)
		e.on('many', () => {});
})();
