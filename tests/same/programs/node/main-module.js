// The main module is the program's, with nothing else loaded.
console.log(require.main === module, module.id, module.filename, module.loaded);
console.log(module.paths, module.parent, module.children, module.exports);
console.log(Object.keys(require.cache), Object.keys(require.extensions));
console.log(process.mainModule === module, require.resolve('fs'), arguments.length);
console.log(this === module.exports, typeof globalThis.require, typeof __filename);
console.log(require('module')._pathCache !== undefined, require.resolve.paths('x'));
