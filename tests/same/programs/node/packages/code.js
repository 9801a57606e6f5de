// Packages of node_modules: main, exports, scopes, nested versions, a program in .bin.
console.log(require('plain'), require('@scope/pkg'), require('@scope/pkg/deep/file'));
console.log(require('outer')(), require.resolve('plain'));
try {
	require('@scope/pkg/hidden');
} catch (e) {
	console.log(e.code, e.message);
}
const { execSync } = require('child_process');
console.log(execSync('node node_modules/plain/bin.js a b').toString());
