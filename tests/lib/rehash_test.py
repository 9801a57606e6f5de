# SPDX-License-Identifier: Apache-2.0
"""Is anything left of the old hash secret?

rehash_test.py DIRECTORY-OF-REHASH [ROUNDS]

Takes new secrets and then reads all writable memory of this process, by other
code than rehash's own: no str or bytes anywhere may keep the hash that it had
with an old secret, every dict and set must find what is in it. It is run by the
interpreter that rehash is made for, with -s, PYTHONHASHSEED=1 and nothing else
in the environment: little is loaded then, and the first secret is known.
"""
import sys
import posix

sys.path.insert(0, sys.argv[1])
import rehash  # noqa: E402


class Slots:
    def __init__(self, extra):
        self.first = 1
        self.second = "second"
        if extra:
            self.__dict__[extra] = 3


class Text(str):
    pass


class Mapping(dict):
    pass


class Bag(set):
    pass


def things():
    """One of each kind that rehash has to know."""
    frozen = frozenset(["one", "two", b"three", ("four", 5)])
    mixed = {1: "int", "s": "str", b"b": "bytes", (1, "x"): "tuple",
             frozen: "frozenset", None: "none", 1.5: "float",
             1j: "complex", len: "builtin", int: "type", things: "function"}
    holes = {"a", "b", b"c", ("d", 1), 7, 2.5, None, frozenset([1, 2])}
    for name in ("deleted", "keys", "leave", "dummies"):
        mixed[name] = mixed[name + "2"] = 0
        del mixed[name]
        holes.add(name)
        holes.discard(name)
    wide = {"\u00e9t\u00e9": 1, "\u4e2d\u6587": 2, "\U0001f600": 3,
            "long " * 1000: 4, "": 5, Text("text"): 6, b"": 7}
    small = {"kept%d" % i: i for i in range(5)}
    small["kept0"] = small.pop("kept1")
    return [hash(frozen), frozen, mixed, holes, wide, small, Mapping(wide),
            Bag(holes), {"key%d" % i: i for i in range(50000)},
            {("key%d" % i, i): i for i in range(500)},
            {"member%d" % i for i in range(5000)},
            {b"member%d" % i for i in range(90)},
            [Slots(x) for x in (None, None, "x", "yy", "zzz")],
            {"gone": 1}.popitem()]


def siphash13(secret, data):
    """What a str or bytes of these bytes hashes to."""
    mask = (1 << 64) - 1
    if not data:
        return 0
    k0 = int.from_bytes(secret[:8], "little")
    k1 = int.from_bytes(secret[8:16], "little")
    v = [k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d,
         k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573]

    def turn(x, n):
        return (x << n | x >> (64 - n)) & mask

    def stir():
        a, b, c, d = v
        a = (a + b) & mask
        c = (c + d) & mask
        b = turn(b, 13) ^ a
        d = turn(d, 16) ^ c
        a = turn(a, 32)
        c = (c + b) & mask
        a = (a + d) & mask
        b = turn(b, 17) ^ c
        d = turn(d, 21) ^ a
        c = turn(c, 32)
        v[:] = a, b, c, d

    whole = len(data) & ~7
    words = [int.from_bytes(data[i:i + 8], "little")
             for i in range(0, whole, 8)]
    words.append((len(data) & 255) << 56
                 | int.from_bytes(data[whole:], "little"))
    for word in words:
        v[3] ^= word
        stir()
        v[0] ^= word
    v[2] ^= 0xff
    for _ in range(3):
        stir()
    h = v[0] ^ v[1] ^ v[2] ^ v[3]
    h -= (h >> 63) << 64
    return -2 if h == -1 else h


def first_secret():
    """What PYTHONHASHSEED=1 means."""
    x, out = 1, bytearray()
    while len(out) < 24:
        x = (x * 214013 + 2531011) & 0xffffffff
        out.append(x >> 16 & 255)
    return bytes(out)


def subtypes(base):
    found = {base}
    for sub in type.__subclasses__(base):
        found |= subtypes(sub)
    return found


def memory(ctypes):
    """All writable memory but the stack, as it is now."""
    regions = []
    with open("/proc/self/maps") as maps:
        for line in maps:
            where, mode = line.split()[:2]
            if mode.startswith("rw") and "[stack]" not in line:
                start, end = (int(x, 16) for x in where.split("-"))
                regions.append((start, end))
    return [(start, ctypes.string_at(start, end - start))
            for start, end in regions]


def find(blocks, types):
    """Every place where something of one of the types may begin."""
    for t in types:
        needle = id(t).to_bytes(8, "little")
        for start, block in blocks:
            at = block.find(needle)
            while at >= 0:
                if at % 8 == 0 and at >= 24:
                    yield t, start + at - 8, block, at - 8
                at = block.find(needle, at + 1)


def word(block, at):
    return int.from_bytes(block[at:at + 8], "little")


def signed(block, at):
    return int.from_bytes(block[at:at + 8], "little", signed=True)


def texts(blocks):
    """(address, cached hash, contents) of what may be a str or bytes."""
    for t, address, block, at in find(blocks, subtypes(str) | subtypes(bytes)):
        length, cached = word(block, at + 16), signed(block, at + 24)
        data = at + 32
        if issubclass(t, str):
            state = word(block, at + 32)
            kind, compact, ascii_ = state >> 2 & 7, state >> 5 & 1, \
                state >> 6 & 1
            length *= kind
            data = at + (48 if ascii_ else 72)
            if kind not in (1, 2, 4):
                continue
            if not compact:
                address_of = word(block, at + 72)
                for start, other in blocks:
                    if start <= address_of < start + len(other):
                        block, data = other, address_of - start
        if cached != -1 and data + length <= len(block):
            yield address, cached, block[data:data + length]


def check_texts(blocks, old, new):
    renewed = 0
    for address, cached, data in texts(blocks):
        if not data:
            continue
        if cached == siphash13(new, data):
            renewed += 1
        else:
            for secret in old:
                if cached == siphash13(secret, data):
                    sys.exit("%r at %#x keeps an old hash" % (data, address))
    return renewed


def objects(gc, struct, ctypes, blocks):
    """All that the collector knows, all that is referred to from there, and
    the dicts in memory that look alive: the collector does not know some."""
    gc.unfreeze()
    known = {id(o): o for o in gc.get_objects()}
    queue = list(known.values())
    while queue:
        for o in gc.get_referents(queue.pop()):
            if id(o) not in known:
                known[id(o)] = o
                queue.append(o)
    for t, address, _, _ in find(blocks, subtypes(dict)):
        if address % 16 or address in known:
            continue
        # As it is by now.
        nxt, prev, references, kind = struct.unpack(
            "<4q", ctypes.string_at(address - 16, 32))
        if nxt == prev == 0 < references < 0x400000 and kind == id(t):
            known[address] = ctypes.cast(address, ctypes.py_object).value
    # What interned strings are found by: the collector does not know it.
    if not any(type(o) is dict and o.get("__name__") == "__name__" and
               len(o) > 1000 for o in known.values()):
        sys.exit("the dict of interned strings was not found")
    return list(known.values())


def check_tables(found):
    """By the interpreter's own way of looking things up."""
    dicts = sets = 0
    for o in found:
        kind = type(o)
        if issubclass(kind, dict):
            dicts += 1
            for key, value in list(dict.items(o)):
                if dict.get(o, key, found) is not value:
                    sys.exit("a dict does not find %r" % (key,))
        elif issubclass(kind, (set, frozenset)):
            sets += 1
            base = set if issubclass(kind, set) else frozenset
            for key in base.__iter__(o):
                if not base.__contains__(o, key):
                    sys.exit("a set does not find %r" % (key,))
            if kind is frozenset and hash(o) != hash(frozenset(list(o))):
                sys.exit("a frozenset has an old hash")
    return dicts, sets


def digest(all_things):
    """All but the order of sets and what is random, as text."""
    frozen, first = all_things[1], all_things[2]
    if first[frozen] != "frozenset" or first["s"] != "str":
        sys.exit("a key is lost")
    out = []
    for t in all_things[1:]:
        if isinstance(t, dict):
            out.append([(k, v) if not isinstance(k, frozenset) else v
                        for k, v in t.items()])
        elif isinstance(t, (set, frozenset)):
            out.append(sorted(map(str, (k for k in t
                                        if not isinstance(k, frozenset)))))
        elif isinstance(t, list):
            out.append([(o.first, o.second, list(vars(o))) for o in t])
        else:
            out.append(t)
    return str(out)


def change(all_things):
    """Everything can still grow, shrink and be copied."""
    for t in all_things:
        if isinstance(t, dict):
            for i in range(100):
                t["new%d" % i] = i
            for i in range(100):
                del t["new%d" % i]
            if t.copy() != t or dict(t) != t:
                sys.exit("a copy of a dict differs")
        elif isinstance(t, set):
            t |= {"new%d" % i for i in range(100)}
            t -= {"new%d" % i for i in range(100)}
            if set(list(t)) != t or t & t != t or t - t:
                sys.exit("a copy of a set differs")


def main():
    kept = things()
    before = digest(kept)
    seeds = [posix.urandom(24) for _ in
             range(int(sys.argv[2]) if len(sys.argv) > 2 else 3)]
    hashes = {hash("x")}
    if hash("x") != siphash13(first_secret(), b"x"):
        sys.exit("run me with PYTHONHASHSEED=1")
    # What rehash itself refuses, and the arguments that are wrong.
    for wrong in (b"", bytes(23), "x" * 24):
        try:
            rehash.rehash(wrong)
        except ValueError:
            continue
        sys.exit("the secret %r was taken" % (wrong,))
    walk = iter({"walked", "over"})
    next(walk)
    for busy in (walk, None):
        name = "not audited"
        if busy is None:
            walk = None
            sys.modules[name] = sys
        try:
            rehash.rehash(seeds[0])
        except RuntimeError:
            sys.modules.pop(name, None)
            continue
        sys.exit("rehash did not refuse")
    if hash("x") not in hashes:
        sys.exit("rehash refused and changed something all the same")
    del busy
    for seed in seeds:
        rehash.rehash(seed)
        hashes.add(hash("x"))
        if hash("x") != siphash13(seed, b"x") or digest(kept) != before:
            sys.exit("something was lost")
    counts = rehash.check()
    if len(hashes) != len(seeds) + 1:
        sys.exit("a secret had no effect")
    if hash(kept[1]) != hash(frozenset(list(kept[1]))):
        sys.exit("a frozenset has an old hash")
    # Only now may anything be imported.
    import ctypes
    import gc
    import struct
    now = bytes((ctypes.c_ubyte * 24).in_dll(ctypes.pythonapi,
                                             "_Py_HashSecret"))
    if now != seeds[-1]:
        sys.exit("the secret is not the one that was given")
    blocks = memory(ctypes)
    renewed = check_texts(blocks, [first_secret()] + seeds[:-1], now)
    dicts, found_sets = check_tables(objects(gc, struct, ctypes, blocks))
    change(kept)
    if digest(kept) != before:
        sys.exit("something was lost at last")
    print("%d str and bytes, %d dicts, %d sets are consistent (rehash: %s)"
          % (renewed, dicts, found_sets, counts))


main()
