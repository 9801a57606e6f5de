// Standard input is read as a whole.
import { readFileSync } from 'fs';
const lines: string[] = readFileSync(0, 'utf8').trim().split('\n');
const total = lines.map((l) => Number(l.split(',')[1])).reduce((a, b) => a + b, 0);
console.log(lines.length, total);
