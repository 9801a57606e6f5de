// exitCode, beforeExit and exit handlers in their order.
process.exitCode = 3;
let again = 2;
process.on('beforeExit', (code) => {
	console.log('beforeExit', code);
	if (again-- > 0)
		setTimeout(() => console.log('more'), 1);
});
process.on('exit', (code) => {
	console.log('exit', code);
	process.exitCode = 4;
	setTimeout(() => console.log('never'), 0);
});
