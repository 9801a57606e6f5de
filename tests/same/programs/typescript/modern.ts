// Newer syntax of the language works as in Node.
using resource = { [Symbol.dispose ?? Symbol.for('Symbol.dispose')]() { console.log('disposed'); } };
const o = { a: { b: null as null | { c: number } } };
o.a.b ??= { c: 5 };
let n: number | undefined = 0;
n ||= 7;
console.log(o.a?.b?.c, n, [1, [2, [3]]].flat(Infinity), Object.entries({ x: 1 }), [3, 1].toSorted(), 'ab'.at(-1), 2 ** 3);
label: for (const [k, v] of new Map([['a', 1]])) { console.log(k, v); continue label; }
const { a: renamed, ...rest } = { a: 1, b: 2, c: 3 };
console.log(renamed, rest, `t${1 + 1}`, String.raw`\n`, /(?<y>\d+)/u.exec('x12')?.groups?.y);
class P { static #n = 0; static next() { return ++P.#n; } get [Symbol.toStringTag]() { return 'P'; } }
console.log(P.next(), `${new P()}`, Array.from({ length: 3 }, (_, i) => i), structuredClone({ d: [1n] }));
