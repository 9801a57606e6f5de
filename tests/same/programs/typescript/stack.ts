// A stack that the program prints has the source's lines and columns.
type T = {
	x: number
};

class Thing<K> {
	constructor(private readonly k: K) {}

	async fails(): Promise<never> {
		await null;
		throw new Error('in a method');
	}
}

new Thing<T>({ x: 1 }).fails().catch((e: Error) => {
	for (const m of e.stack!.matchAll(/at (.*?)\(?(?:file:\/\/)?\/home\/user\/(code\.ts:\d+:\d+)/g))
		console.log(m[1], m[2]);
});
