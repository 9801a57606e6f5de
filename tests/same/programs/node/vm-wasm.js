// Contexts of vm, WebAssembly, proxies, and code made at run time.
const vm = require('vm');
console.log(vm.runInNewContext('x + 1', { x: 1 }), new Function('a', 'return a * 2')(4), eval('1 + 1'));
try {
	vm.runInThisContext('\n\nthrow new Error("inside")', { filename: 'made.js' });
} catch (e) {
	console.log(e.stack.split('\n').slice(0, 3));
}
const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 7, 1, 3, 97, 100, 100, 0, 0, 10, 9, 1, 7, 0, 32, 0, 32, 1, 106, 11]);
WebAssembly.instantiate(bytes).then(({ instance }) => console.log(instance.exports.add(2, 3)));
try {
	vm.runInNewContext('while (true);', {}, { timeout: 50 });
} catch (e) {
	console.log(e.code);
}
console.log(new Proxy({}, { get: (t, k) => k }).anything, Reflect.ownKeys({ b: 1, 2: 1, a: 1 }));
console.log(structuredClone({ d: new Date(0), m: new Map([[1, /x/g]]) }), [3, 1, 2].toSorted(), Object.groupBy === undefined);
