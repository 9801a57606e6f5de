// readline asks questions and gets the lines as answers.
const readline = require('readline/promises');
const rl = readline.createInterface({ input: process.stdin, output: process.stdout });
(async () => {
	const name = await rl.question('name? ');
	console.log('hello', name);
	rl.close();
})();
