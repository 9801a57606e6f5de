// Causes, aggregates and properties of an uncaught error are shown.
function load() {
	try {
		JSON.parse('{nope');
	} catch (cause) {
		throw new Error('cannot load', { cause });
	}
}
const errors = [];
try {
	load();
} catch (e) {
	errors.push(e);
}
const all = new AggregateError(errors, 'several');
all.extra = { a: 1 };
throw all;
