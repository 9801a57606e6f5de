interface Point { x: number; y: number }
enum Axis { X, Y }
const p = { x: 3, y: 4 } satisfies Point;
const norm = (q: Point): number => Math.hypot(q.x, q.y);
console.log("hello from TypeScript", Axis[Axis.Y], norm(p));
