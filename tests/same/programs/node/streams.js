// Streams with backpressure, errors, compression and hashes.
const { Readable, Writable, pipeline } = require('stream');
const { promisify } = require('util');
const zlib = require('zlib');
const crypto = require('crypto');
const fs = require('fs');
const pipe = promisify(pipeline);
(async () => {
	await pipe(Readable.from(['a', 'b', 'c'].map((s) => s.repeat(50000))), zlib.createGzip(), fs.createWriteStream('t.gz'));
	const hash = crypto.createHash('sha256');
	await pipe(fs.createReadStream('t.gz'), zlib.createGunzip(), hash);
	console.log(hash.digest('hex'));
	fs.unlinkSync('t.gz');
	try {
		await pipe(Readable.from([1]), new Writable({ objectMode: true, write(c, e, done) { done(new Error('full')); } }));
	} catch (e) {
		console.log(e.message);
	}
	console.log(await Readable.from([1, 2, 3]).map((x) => x * 2).toArray());
})();
