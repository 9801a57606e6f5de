// Standard input is read by lines, with an await at the top.
import * as readline from 'node:readline/promises';
const rl = readline.createInterface({ input: process.stdin });
for await (const line of rl)
	console.log(line.toUpperCase());
export {};
