// Other files are imported without an ending, as .js, by index, by name and as types.
import def, { named as other, type Shape } from './lib/shapes';
import * as all from './lib/index.js';
import type { Only } from './types-only';
import fs = require('fs');
import path from 'path';
import { EventEmitter } from 'node:events';
export { other };
export * from './lib/shapes';
const s: Shape & Only = { n: 1 };
console.log(def(2), other, Object.keys(all), s, path.join('a', 'b'), typeof fs.readFileSync, new EventEmitter().listenerCount('x'));
console.log(require('./lib').again, typeof module, __dirname, require('./plain.js').plain);
