// Generic functions, classes, iterators and conditional types.
class Stack<T> implements Iterable<T> {
	private items: T[] = [];
	push(x: T): this { this.items.push(x); return this; }
	pop(): T | undefined { return this.items.pop(); }
	*[Symbol.iterator](): Iterator<T> { yield* this.items; }
	map<U>(f: (x: T) => U): Stack<U> { const s = new Stack<U>(); for (const x of this) s.push(f(x)); return s; }
}
const first = <T,>(xs: readonly T[]): T | undefined => xs[0];
function pick<T extends object, K extends keyof T>(o: T, ...ks: K[]): Pick<T, K> {
	return Object.fromEntries(ks.map((k) => [k, o[k]])) as Pick<T, K>;
}
type Unwrap<T> = T extends Promise<infer U> ? U : T;
const v: Unwrap<Promise<number>> = 5;
console.log([...new Stack<number>().push(1).push(2).map((x) => `n${x}`)], first([v]), pick({ a: 1, b: 2, c: 3 }, 'a', 'c'));
async function* gen(n: number): AsyncGenerator<number> { for (let i = 0; i < n; i++) yield i; }
(async () => { for await (const x of gen(3)) console.log(x); })();
const partial = first<string>;
console.log(partial(['x']), 1_000_000n, a ?? 'none');
var a: undefined | string;
