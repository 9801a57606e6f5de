// Standard input is iterated, as text and to its end.
process.stdin.setEncoding('utf8');
let text = '';
for await (const chunk of process.stdin)
	text += chunk;
console.log(JSON.stringify(text), process.stdin.readableEnded);
