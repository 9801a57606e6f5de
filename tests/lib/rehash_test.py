# SPDX-License-Identifier: Apache-2.0
"""Is anything left of the old hash secret?

rehash_test.py DIRECTORY-OF-REHASH [ROUNDS]

Takes a new secret and then reads all writable memory of this process, by
other code than rehash's own: no str or bytes anywhere may keep the hash that
it had with the old secret, every dict and set must find what is in it. Run it
with the interpreter that rehash was compiled for, in isolated mode (-I), so
that little is loaded when it starts.
"""
import sys

if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    import rehash
    import posix

    KEPT = {"alpha", "beta", "gamma", b"delta", ("a", 1, b"c"), 7, 2.5, None}
    FROZEN = frozenset(["one", "two", b"three", ("four", 5)])
    HASHED = hash(FROZEN)
    MIXED = {1: "int", "s": "str", b"b": "bytes", (1, "x"): "tuple",
             FROZEN: "frozenset", None: "none", 1.5: "float", len: "builtin",
             int: "type"}
    for name in ("deleted", "keys", "leave", "dummies"):
        MIXED[name] = MIXED[name + "2"] = 0
        del MIXED[name]
        KEPT.add(name)
        KEPT.discard(name)
    LARGE = {"key%d" % i: i for i in range(50000)}
    LARGER = {("key%d" % i, i): i for i in range(500)}
    SOME = {"member%d" % i for i in range(5000)}
    LONG = "long " * 1000
    WIDE = {"\u00e9t\u00e9": 1, "\u4e2d\u6587": 2, "\U0001f600": 3, LONG: 4}

    class Slots:
        def __init__(self):
            self.first = 1
            self.second = 2

    class Text(str):
        pass

    class Mapping(dict):
        pass

    OBJECTS = [Slots() for _ in range(10)]
    for o in OBJECTS[:5]:
        o.__dict__["third"] = 3
    WIDE[Text("text")] = 5
    MAPPING = Mapping(WIDE)

    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    import_ctypes_later = True


def secrets():
    """The secret as it is, out of memory."""
    import ctypes
    return bytes((ctypes.c_ubyte * 24).in_dll(ctypes.pythonapi,
                                              "_Py_HashSecret"))


def siphash13(secret, data):
    """What a str or bytes of these bytes hashes to."""
    mask = (1 << 64) - 1
    if not data:
        return 0
    k0 = int.from_bytes(secret[:8], "little")
    k1 = int.from_bytes(secret[8:16], "little")
    v0, v1 = k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d
    v2, v3 = k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573

    def turn(x, n):
        return (x << n | x >> (64 - n)) & mask

    whole = len(data) & ~7
    last = (len(data) & 255) << 56 | int.from_bytes(data[whole:], "little")
    words = [int.from_bytes(data[i:i + 8], "little")
             for i in range(0, whole, 8)] + [last, None, None, None]
    for word in words[:-2] + [None]:
        if word is None:
            word = 0
            if words is not None:
                v2 ^= 0xff
                words = None
        v3 ^= word
        v0 = (v0 + v1) & mask
        v2 = (v2 + v3) & mask
        v1 = turn(v1, 13) ^ v0
        v3 = turn(v3, 16) ^ v2
        v0 = turn(v0, 32)
        v2 = (v2 + v1) & mask
        v0 = (v0 + v3) & mask
        v1 = turn(v1, 17) ^ v2
        v3 = turn(v3, 21) ^ v0
        v2 = turn(v2, 32)
        v0 ^= word
    h = v0 ^ v1 ^ v2 ^ v3
    h = h - (1 << 64) if h >> 63 else h
    return -2 if h == -1 else h
