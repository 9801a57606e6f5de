// An error in an imported module shows that module's stack.
import './first.mjs';
import { go } from './second.mjs';
await go();
