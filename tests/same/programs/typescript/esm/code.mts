// An ES module imports TypeScript, JavaScript and CommonJS, with live bindings.
import { count, inc } from './counter.mjs';
import { tsCount, tsInc } from './ts-counter.mts';
import cjs from './old.cjs';
import fs, { readFileSync } from 'node:fs';
inc(); inc(); tsInc();
console.log(count, tsCount, cjs, fs.readFileSync === readFileSync, this);
const lazy = await import('./lazy.mts');
console.log(lazy.value, await Promise.resolve('top'));
export default count;
