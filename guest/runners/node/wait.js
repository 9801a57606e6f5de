// SPDX-License-Identifier: Apache-2.0
// The runner of JavaScript: a preloaded module (`node --require wait.js
// /home/user/code.js`) that waits for the job, takes its arguments and
// environment, and returns. Node itself then loads process.argv[1] as its main
// module, so require.main, ES modules, stack traces and errors are Node's own.
'use strict';

if (require('worker_threads').isMainThread)
	require('./own.js')('./job.js').wait(module);
else
	require('./own.js').vanish();
delete require.cache[__filename];
