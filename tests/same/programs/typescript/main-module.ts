// The main module knows that it is that.
import { basename } from 'path';
console.log(require.main === module, basename(process.argv[1]).split('.')[0], module.exports, typeof exports, this === undefined);
console.log(Object.keys(process.binding ? {} : {}), process.execArgv.filter((x) => x !== '--enable-source-maps'));
