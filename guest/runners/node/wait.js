// SPDX-License-Identifier: Apache-2.0
// The runner of JavaScript: a preloaded module (`node --require wait.js
// /home/user/code.js`) that waits for the job, takes its arguments and
// environment, and returns. Node itself then loads process.argv[1] as its main
// module, so require.main, ES modules, stack traces and errors are Node's own.
'use strict';

const own = require('./own.js');
own('./internals.js').hide();
if (require('worker_threads').isMainThread)
	own('./job.js').wait(module);
else
	own.vanish();
delete require.cache[__filename];
