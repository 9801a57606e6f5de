// Buffers, encodings, typed arrays, URLs and text.
console.log(Buffer.from('héllo').toString('base64url'), Buffer.from('ff00', 'hex').readInt16BE(), Buffer.byteLength('日本'));
console.log(Buffer.concat([Buffer.from('a'), Buffer.alloc(2, 'xy')]).toString(), Buffer.from([0xff, 0x41]).toString());
console.log(new Float64Array([1.5, NaN]), new DataView(new ArrayBuffer(4)).getInt8(0), new BigInt64Array(1));
const u = new URL('http://user:p@exämple.com:80/a b/../c?x=1&x=2#h');
console.log(u.href, u.searchParams.getAll('x'), require('url').fileURLToPath('file:///a%20b'));
console.log(require('querystring').parse('a=1&b=%C3%A9'), require('path').relative('/a/b', '/a/c/d'), require('path').parse('/x/y.tar.gz'));
console.log(escape('é'), encodeURIComponent('é&'), 'abc'.at(-1), 'x'.localeCompare('y'), 'aXbX'.replaceAll('X', '-'), /(?<y>\d{4})/.exec('in 2024').groups.y);
console.log([10, 9, 1].sort(), parseInt('12px'), (0.1 + 0.2).toFixed(20), 0xffn ** 10n, Number.MAX_SAFE_INTEGER + 2, [..."a😀"].length);
console.log(JSON.stringify({ u: undefined, d: new Date(0), n: NaN, s: '\u2028"' }), JSON.parse('[1e3]'), structuredClone([1n]));
