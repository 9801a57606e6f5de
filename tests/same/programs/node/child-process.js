// Children by exec, spawn, fork and at once, with input, errors and codes.
const cp = require('child_process');
if (process.argv[2] === 'child') {
	process.on('message', (m) => {
		process.send({ got: m, argv: process.argv.slice(2), execArgv: process.execArgv });
		process.disconnect();
	});
} else {
	console.log(cp.execFileSync('cat', { input: 'through' }).toString());
	try {
		cp.execSync('echo out; echo err >&2; exit 3', { stdio: 'pipe' });
	} catch (e) {
		console.log(e.status, e.stdout.toString(), e.stderr.toString(), e.message);
	}
	console.log(cp.spawnSync('kill -9 $$', { shell: true }).signal, cp.spawnSync('nothing-here').error.code);
	console.log(cp.spawnSync(process.execPath, ['-p', 'process.argv.length + require("os").EOL.length']).stdout.toString());
	cp.spawnSync('echo', ['inherited'], { stdio: 'inherit' });
	const c = cp.fork(__filename, ['child', 'x']);
	c.on('message', (m) => console.log(m));
	c.on('exit', (code, signal) => console.log('exit', code, signal));
	c.send({ n: 1 });
	const s = cp.spawn('sh', ['-c', 'read x; echo got $x; exec sleep 60']);
	s.stdout.on('data', (d) => {
		console.log(d.toString());
		s.kill();
	});
	s.on('close', (code, signal) => console.log('close', code, signal));
	s.stdin.write('line\n');
}
