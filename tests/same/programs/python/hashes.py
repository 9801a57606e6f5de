# Hashes, HMACs, UUIDs, base64 and packed bytes are the same everywhere.
import base64
import binascii
import hashlib
import hmac
import secrets
import struct
import uuid

for name in sorted(hashlib.algorithms_guaranteed - {"shake_128", "shake_256"}):
    print(name, hashlib.new(name, b"text").hexdigest()[:16])
print(hmac.new(b"k", b"m", "sha256").hexdigest(), hashlib.pbkdf2_hmac("sha1", b"p", b"s", 10).hex())
print(uuid.uuid5(uuid.NAMESPACE_DNS, "x"), len(secrets.token_hex()), uuid.UUID(int=1))
print(base64.b85encode(b"text"), base64.urlsafe_b64encode(b"\xff\xfe"), binascii.hexlify(b"a", "-"))
print(struct.pack("<hIq3sd", -1, 2, 3, b"abc", 0.5), struct.calcsize("@ibq"), memoryview(b"abcd").cast("H").tolist())
try:
    hashlib.new("md4")
except ValueError as e:
    print(e)
import ssl
print(ssl.OPENSSL_VERSION.split()[0], hashlib.scrypt(b"p", salt=b"s", n=2, r=1, p=1).hex()[:8])
