// A .cjs file is CommonJS, sloppy unless it says otherwise.
undeclared = 5;
console.log(undeclared, (function () { return this === globalThis; })(), typeof require, module.exports === this);
(function () {
	'use strict';
	try {
		undeclared2 = 1;
	} catch (e) {
		console.log(e.message);
	}
})();
with ({ inner: 3 })
	console.log(inner, 010);
label: for (const a of [1, 2])
	for (const b of [1, 2])
		if (b === 2)
			continue label;
		else
			console.log(a, b);
