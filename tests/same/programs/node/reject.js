// An unhandled rejection ends the program with 1 and its stack.
async function fails() {
	await null;
	throw new Error('rejected');
}
process.on('exit', (code) => console.log('exit', code));
setTimeout(() => console.log('never'), 50);
fails();
