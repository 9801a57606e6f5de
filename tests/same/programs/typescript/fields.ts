// Fields of classes are defined as the target of today says.
class Base { constructor() { this.init(); } init() {} }
class Derived extends Base {
	value: number | undefined;
	kept = 'initial';
	init() { this.value = 5; this.kept = 'from init'; }
}
const d = new Derived();
console.log(d, Object.keys(d), JSON.stringify(d));
class Param { twice = this.n * 2; constructor(public n: number) {} }
console.log(new Param(4));
