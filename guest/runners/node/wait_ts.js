// SPDX-License-Identifier: Apache-2.0
// The runner of TypeScript: as wait.js, and types are erased on loading.
'use strict';

if (require('worker_threads').isMainThread) {
	const typescript = require('./typescript.js');
	typescript.start();
	require('./job.js').wait(module, typescript.prepare, typescript.forget);
}
delete require.cache[__filename];
