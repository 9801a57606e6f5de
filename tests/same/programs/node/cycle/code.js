// Modules of CommonJS may require each other.
exports.early = 1;
const a = require('./a');
console.log(a.seen, a.b().name, module.children.length, require('./data.json').x, require('./dir').index);
console.log(Object.keys(require.cache), require.resolve('./a'), require('./a') === a);
delete require.cache[require.resolve('./a')];
console.log(require('./a') === a);
try {
	require('./broken');
} catch (e) {
	console.log(e.name, e.message, e.stack.split('\n')[0]);
}
require('./bad.json');
