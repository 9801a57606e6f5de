// A .tsx file is imported, with a factory of its own.
import { page } from './page';
console.log(JSON.stringify(page('you')));
