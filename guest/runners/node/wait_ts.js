// SPDX-License-Identifier: Apache-2.0
// The runner of TypeScript: as wait.js, and types are erased on loading. A program's
// Workers come here, and its children that are Node with a program in TypeScript.
'use strict';

const own = require('./own.js');
const typescript = own('./typescript.js');
typescript.start();
if (typescript.isChild)
	own('./children.js').vanish();
else if (require('worker_threads').isMainThread)
	own('./job.js').wait(module, typescript.prepare, typescript.forget);
else
	own.vanish();
delete require.cache[__filename];
