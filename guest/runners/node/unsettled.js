// SPDX-License-Identifier: Apache-2.0
// Node does this for a main module that awaits: if nothing is left that could
// settle it, that is exit code 13, and a warning as later Nodes have it.
'use strict';

const fs = require('fs');
const own = require('./own.js');

async function settled(promise) {
	let idle = false; // or else it is process.exit() that ends the program
	const onIdle = () => {
		idle = true;
		setImmediate(() => idle = false).unref(); // the loop goes on
	};
	const onExit = () => {
		// Node itself says 13 of an ES module that is its main one.
		if (!idle || (process.exitCode ?? 13) !== 13)
			return;
		process.exitCode = 13;
		fs.writeSync(2, 'Warning: Detected unsettled top-level await\n');
	};
	own.hidden.add(onIdle).add(onExit);
	process.on('beforeExit', onIdle).on('exit', onExit);
	try {
		return await promise;
	} finally {
		process.off('beforeExit', onIdle).off('exit', onExit);
	}
}

module.exports = { settled };
