// A missing module names who has required it.
try {
	require('./nothing');
} catch (e) {
	console.log(e.code, e.message, e.requireStack);
}
require('no-such-package');
