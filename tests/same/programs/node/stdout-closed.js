// What the reader does not take: a broken pipe of a child, and large writes.
const { spawn } = require('child_process');
const c = spawn('head', ['-c', '10'], { stdio: ['pipe', 'pipe', 'inherit'] });
let code;
c.stdin.on('error', (e) => (code = e.code));
c.stdout.on('data', (d) => console.log(d.toString()));
c.on('close', (end) => {
	console.log('close', end, code);
	process.stdout.write('x'.repeat(200000) + '\n');
});
c.stdin.write('y'.repeat(1000000));
