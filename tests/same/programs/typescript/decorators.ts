// Decorators of the standard wrap classes, methods, fields and accessors.
function logged(value: Function, context: ClassMethodDecoratorContext) {
	return function (this: any, ...args: any[]) {
		console.log('call', String(context.name), args);
		return value.apply(this, args);
	};
}
function twice(_: undefined, context: ClassFieldDecoratorContext) {
	return (n: number) => n * 2;
}
function sealed(value: Function, context: ClassDecoratorContext) {
	console.log('class', context.name, context.kind);
}
@sealed
class A {
	@twice n = 21;
	@logged add(x: number) { return this.n + x; }
	accessor label = 'first';
	static #secret = 5;
	static { console.log('static block', A.#secret); }
}
const a = new A();
console.log(a.add(1), a.label, a.n);
class B { #x = 1; static has(o: object) { return #x in o; } }
console.log(B.has(new B()));
