// A name that a module does not export is an error before anything runs.
import { there, absent } from './other.mjs';
console.log('never', there, absent);
