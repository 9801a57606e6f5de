// Types of all kinds are erased.
interface Shape { readonly kind: string; area?(): number }
type Named<T extends Shape = Shape> = T & { name: string };
type Keys = keyof Named | `on${Capitalize<string>}`;
abstract class Base<T> implements Shape {
	static count: number = 0;
	declare hidden: string;
	protected constructor(public readonly kind: string, private items: T[] = [], protected size?: number) {
		Base.count++;
	}
	abstract area(): number;
	add(this: this, ...more: T[]): this { this.items.push(...more); return this; }
	get all(): readonly T[] { return this.items; }
}
class Square extends Base<number> {
	override area = (): number => (this.size ?? 0) ** 2;
	constructor(side: number) { super('square', [], side); }
}
function over(x: string): string;
function over(x: number): number;
function over(x: any) { return x; }
function isString(x: unknown): x is string { return typeof x === 'string'; }
function fails(m: string): never { throw new Error(m); }
const s = new Square(3).add(1, 2);
console.log(s, s.area(), s.all, Base.count, over(5), isString('x'), s.hidden, 'hidden' in s);
const config = { a: 1, b: [1, 2] } as const satisfies object;
let definite!: number;
const cast = <any>config;
console.log(cast.b!.length, definite, config?.a, (s as unknown as Shape).kind, Object.keys(s));
try { fails('never returns'); } catch (e: unknown) { console.log((e as Error).message); }
const tuple: [first: string, rest?: number] = ['x'];
console.log(tuple, ((a: number, b?: string): void => {}).length, typeof (0 as Keys extends string ? 1 : 0));
