// Stack frames are the program's and Node's, nobody else's.
function here() {
	return new Error('x').stack;
}
console.log(here());
Error.stackTraceLimit = 50;
Error.prepareStackTrace = (e, sites) => sites.map((s) => `${s.getFunctionName()} ${s.getFileName()}:${s.getLineNumber()}`);
console.log(here());
Error.prepareStackTrace = undefined;
setTimeout(function timer() {
	console.log(here());
}, 1);
(function deep(n) {
	try {
		deep(n + 1);
	} catch (e) {
		if (n === 0)
			console.log(e.message, e instanceof RangeError);
		else
			throw e;
	}
})(0);
