// A CommonJS program has packages by require and by their defaults.
import plain from 'plain';
import * as star from 'plain';
import compiled, { named } from 'compiled';
import both from 'both';
console.log(plain.version, star.version, compiled, named, both);
(async () => {
	const esm = await import('only-esm');
	console.log(esm.default, esm.count, (esm.inc(), esm.count));
})();
