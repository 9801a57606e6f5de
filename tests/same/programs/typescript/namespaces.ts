// Namespaces nest, merge and export.
namespace Outer {
	export const x = 1;
	const hidden = 2;
	export namespace Inner { export function f() { return x + hidden; } }
	export interface I { a: number }
}
namespace Outer { export const y = x + 10; }
class Merged { v = Merged.start; }
namespace Merged { export let start = 7; }
function fn() { return fn.prop; }
namespace fn { export const prop = 'on a function'; }
import Alias = Outer.Inner;
console.log(Outer, Alias.f(), new Merged().v, fn());
declare global { var other: number }
globalThis.other = 3;
console.log(other);
