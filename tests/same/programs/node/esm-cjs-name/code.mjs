// A name that CommonJS does not show is explained with a way out.
import { hidden } from './old.cjs';
console.log(hidden);
