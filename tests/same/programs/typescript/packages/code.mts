// Packages: ES modules only, both kinds, subpaths, subpath imports, CommonJS.
import hi, { name } from 'only-esm';
import { sub } from 'only-esm/sub';
import both from 'both';
import plain from 'plain';
import { a } from '#lib/a';
console.log(hi(), name, sub, both, plain.version, a);
export {};
