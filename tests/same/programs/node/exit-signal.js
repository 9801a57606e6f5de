// A signal without a handler ends the program.
process.on('SIGUSR2', (name, number) => {
	console.log(name, number);
	process.kill(process.pid, 'SIGTERM');
});
setInterval(() => {}, 1000);
process.kill(process.pid, 'SIGUSR2');
