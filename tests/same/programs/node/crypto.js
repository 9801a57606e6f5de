// Hashes, ciphers, keys and random bytes.
const c = require('crypto');
console.log(c.createHash('sha512').update('é').digest('base64'), c.createHmac('md5', 'k').update('x').digest('hex'));
const cipher = c.createCipheriv('aes-256-gcm', Buffer.alloc(32), Buffer.alloc(12));
console.log(cipher.update('text', 'utf8', 'hex') + cipher.final('hex'), cipher.getAuthTag().toString('hex'));
console.log(c.scryptSync('p', 's', 16, { N: 16 }).toString('hex'), c.randomUUID().length, c.getHashes().length > 20);
const { publicKey, privateKey } = c.generateKeyPairSync('ed25519');
console.log(c.verify(null, Buffer.from('m'), publicKey, c.sign(null, Buffer.from('m'), privateKey)));
globalThis.crypto.subtle.digest('SHA-1', Buffer.from('x')).then((d) => console.log(Buffer.from(d).toString('hex')));
try {
	c.createHash('nothing');
} catch (e) {
	console.log(e.message);
}
