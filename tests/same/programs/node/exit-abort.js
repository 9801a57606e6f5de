// process.abort ends with 134.
require('fs').writeSync(1, 'before\n');
process.abort();
