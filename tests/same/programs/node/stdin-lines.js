// Lines of standard input come by readline.
const rl = require('readline').createInterface({ input: process.stdin });
rl.on('line', (line) => console.log('line', JSON.stringify(line)));
rl.on('close', () => console.log('closed'));
console.log(process.stdin.isTTY, process.stdin.fd, process.stdin.constructor.name);
