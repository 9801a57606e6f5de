// With experimentalDecorators in tsconfig.json the older kind of decorators works.
const log: string[] = [];
function cls(target: Function) { log.push('class ' + target.name); }
function method(target: any, key: string, d: PropertyDescriptor) {
	const old = d.value;
	d.value = function (...a: any[]) { return 'wrapped ' + old.apply(this, a); };
}
function param(target: any, key: string, index: number) { log.push(`param ${key} ${index}`); }
function prop(target: any, key: string) { log.push('prop ' + key); }
@cls
class Service {
	@prop name: string = 'x';
	@method run(@param a: number) { return this.name + a; }
}
console.log(new Service().run(5), log);
