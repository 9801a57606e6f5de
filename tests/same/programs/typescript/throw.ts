// An uncaught error shows the lines of the TypeScript source.
interface Unused {
	a: number;
	b: string;
}

enum Level { A, B }

function deep(level: Level, text: string): number {
	if (level === Level.B)
		throw new RangeError(`too deep: ${text}`);
	return deep(Level.B, text) + 1;
}

type Alias = string;

console.log('before');
deep(Level.A, 'x' as Alias);
