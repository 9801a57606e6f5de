// ES modules with live bindings, cycles, dynamic imports, JSON and CommonJS.
import fs, { readFileSync } from 'node:fs';
import def, * as counter from './counter.mjs';
import cjs, { named } from './old.cjs';
import data from './data.json' with { type: 'json' };
import { createRequire } from 'module';
console.log(def, counter.count, counter.inc(), counter.count, counter);
console.log(cjs, named, data, fs.readFileSync === readFileSync);
console.log(import.meta.url, import.meta.dirname, import.meta.filename, import.meta.resolve('./x.mjs'));
const require = createRequire(import.meta.url);
console.log(require('./old.cjs') === cjs, require('./data.json'), typeof globalThis.require, this);
console.log((await import('./counter.mjs')).count, (await import('data:text/javascript,export default 9')).default);
for (const name of ['./nothing.mjs', 'no-package', './counter', './dir', './bad.mjs', './data.json', 'fs/nothing'])
	await import(name).catch((e) => console.log(name, e.name, e.code, e.message));
try {
	require('./counter.mjs');
} catch (e) {
	console.log(e.code);
}
console.log(typeof __filename, typeof module, process.argv[1], await Promise.resolve('top'));
