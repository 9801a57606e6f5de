// Without standard input every way of reading it ends at once.
const fs = require('fs');
console.log(JSON.stringify(fs.readFileSync(0, 'utf8')));
process.stdin.on('data', (d) => console.log('data', d));
process.stdin.on('end', () => console.log('end'));
