// An error in a timer is uncaught, and the exit handler has its say.
process.on('exit', (code) => {
	console.log('exit', code);
});
setTimeout(function later() {
	throw new RangeError('later');
}, 1);
console.log('first');
