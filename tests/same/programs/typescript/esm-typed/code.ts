// With "type": "module" a .ts file is an ES module.
import { a } from './lib.js';
import { b } from './more.ts';
console.log(a, b, await Promise.resolve('top'));
