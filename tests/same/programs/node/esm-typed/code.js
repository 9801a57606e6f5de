// With "type": "module" a .js file is an ES module, and packages are resolved by exports.
import { a } from '#lib/a';
import own from 'me/sub';
import hi from 'only-esm';
import both from 'both';
console.log(a, own, hi, both, import.meta.url);
const { createRequire } = await import('module');
console.log(createRequire(import.meta.url)('both'));
await import('both/hidden').catch((e) => console.log(e.code));
await import('#nothing').catch((e) => console.log(e.code));
console.log(typeof require, import.meta.resolve('both'));
