// The console's tables, groups, counters, formats and traces.
console.table([{ a: 1, b: 'x' }, { a: 2, c: true }]);
console.group('group');
console.warn('to stderr');
console.groupEnd();
console.count();
console.count('x');
console.assert(1 === 2, 'assertion %d', 5);
console.log('%s %d %i %f %j %o %O %c%%', 'text', 4.5, 4.5, '1.5', { j: 1 }, [1], { a: { b: { c: {} } } }, 'css');
console.dir({ deep: { a: { b: { c: 1 } } } }, { depth: 0 });
console.log(new Map([['k', new Set([1])]]), [, 1], Symbol('s'), 10n, -0, [1.5, 'x', null, undefined], class A {}, () => 1);
console.log(new Error('shown').stack.split('\n').slice(0, 3));
console.log(Object.assign(Object.create({ inherited: 1 }), { own: 1 }), new (class Foo { #p = 1; q = 2; })(), Buffer.from('hé'));
console.trace('here');
console.log(process.stdout.isTTY, process.stdout.columns, process.stdout.writableHighWaterMark, process.stdout.constructor.name, process.stdout.hasColors?.());
