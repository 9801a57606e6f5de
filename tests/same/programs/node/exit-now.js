// process.exit ends at once, and what was written is kept.
for (let n = 0; n < 500; n++)
	console.log(n, 'x'.repeat(60));
setTimeout(() => console.log('never'), 0);
process.exit(300);
