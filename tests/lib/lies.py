#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A guest that was taken over: what it says, when, and what must come of it.

lies.py MNT STATE GROUP — the cases of one group, each a job of its own, all at
once. The status is 0 if every one came to what its row says within its bound,
and nothing half or wrong was published; otherwise a sentence for each that did
not. The frames are built from guest/wire/wire.h, so a new version needs no change
here as long as the frames themselves stay.

The fake machine's verbs are told in vm/fake/fake_script.c.
"""
import json
import os
import re
import select
import stat
import struct
import sys
import urllib.parse
import time

SLOW = int(os.environ.get("SLOW", "1"))
BOUND = 60 * SLOW   # seconds from a job's start to its end, at most
HERE = os.path.dirname(os.path.abspath(__file__))
GROUPS = {}


# --- frames ------------------------------------------------------------------

def constants():
    """Every WIRE_X = n and #define WIRE_X n of the header."""
    with open(os.path.join(HERE, "../../guest/wire/wire.h")) as f:
        text = f.read()
    found = re.findall(r"\bWIRE_([A-Z_]+) = (\d+)", text)
    found += re.findall(r"#define WIRE_([A-Z_]+) (\d+)u", text)
    return {name: int(value) for name, value in found}


C = constants()
MAGIC = 0xf500 | C["VERSION"]
HELLO, READY, HEATED, PONG = (C[n] for n in ("HELLO", "READY", "HEATED",
                                             "PONG"))
STARTED, STDIN_ACK, OUT, ERR, RESULT = (
    C[n] for n in ("STARTED", "STDIN_ACK", "OUT", "ERR", "RESULT"))
EXIT, OUTPUT_END, FAILED, FS_REPLY = (
    C[n] for n in ("EXIT", "OUTPUT_END", "FAILED", "FS_REPLY"))
CLOSED_FRAME = C["CLOSED"]
FILE, FILE_DATA, FILE_END = C["FILE"], C["FILE_DATA"], C["FILE_END"]
UNKNOWN = 2 ** 64 - 1
REG, DIR = 0, 1


def u32(*numbers):
    return b"".join(struct.pack("<I", n) for n in numbers)


def u64(*numbers):
    return b"".join(struct.pack("<Q", n) for n in numbers)


def text(data, length=None):
    data = data.encode() if isinstance(data, str) else data
    return u32(len(data) if length is None else length) + data


def header(length, kind, arg=0, magic=None):
    return struct.pack("<IHBB", length, MAGIC if magic is None else magic,
                       kind, arg)


def frame(kind, payload=b"", arg=0):
    return header(len(payload), kind, arg) + payload


def exit_payload(kind=0, value=0, lives=0, unasked=1, left=0, figures=None,
                 begun=0, begun_by=""):
    return u32(kind, value, lives, unasked, left, begun) + u64(
        *(figures or [0] * 11)) + text(begun_by)


def ready():
    return frame(READY, u32(1, 1) + text(""))


def ended(**how):
    return frame(EXIT, exit_payload(**how))


def entry(path, size=0, mode=0o644, kind=REG):
    return frame(FILE, u32(mode) + u64(size) + text(path), kind)


def whole(path, data=b"x", mode=0o644):
    return (entry(path, len(data), mode) + frame(FILE_DATA, data) +
            frame(FILE_END))


def link(path, target):
    return frame(FILE, u32(0o777) + u64(0) + text(path) + text(target), arg=2)


def left(path, reason=0, size=0):
    """An entry that the guest does not send."""
    return frame(FILE, u32(reason) + u64(size) + text(path), arg=3)


def output_end(files, left_out=0):
    return frame(OUTPUT_END, u32(files, left_out))


# --- programs ------------------------------------------------------------------

def raw(*frames):
    return "raw " + b"".join(frames).hex()


def program(*lines):
    return "".join(line + "\n" for line in lines)


def running(*frames):
    """Said in the middle of the run; then the honest end follows."""
    return program(raw(*frames))


def collecting(*frames):
    """Said behind EXIT, and nothing else."""
    return program(raw(ended(), *frames), "mute")


# --- what must come of it --------------------------------------------------------

class Case:
    def __init__(self, name, code, config=None, files=(), **expected):
        self.name, self.code, self.config = name, code, config or {}
        self.files, self.expected = dict(files), expected
        self.faults = []

    def fault(self, sentence, *args):
        self.faults.append(sentence % args)


def lost(name, code, message, **more):
    """The outcome is unknown and the message says why."""
    return Case(name, code, status="failed", exit_code=125, message=message,
                **more)


def torn(name, code, message, **more):
    """The end is known; the output tree broke off."""
    return Case(name, code, status="exited", exit_code=0,
                message="the output tree is incomplete: .*" + message, **more)


def fine(name, code, **more):
    """Of no consequence."""
    more.setdefault("status", "exited")
    more.setdefault("exit_code", 0)
    return Case(name, code, **more)


def group(fn):
    GROUPS[fn.__name__] = fn
    return fn


NO_FRAME = "sent bytes that are no frame"
NOT_NOW = "frame that is not allowed now"
MALFORMED = "frame that is malformed"
BAD_PATH = "malformed, out of order or names a bad path"
BEYOND = "beyond the limit"
CLOSED = "closed its wire"


@group
def headers():
    yield lost("an older version", running(header(0, OUT, magic=MAGIC - 1)),
               NO_FRAME)
    yield lost("a newer version", running(header(0, OUT, magic=MAGIC + 1)),
               NO_FRAME)
    yield lost("no magic", running(header(0, OUT, magic=0)), NO_FRAME)
    yield lost("magic the other way round",
               running(header(0, OUT, magic=MAGIC >> 8 | (MAGIC & 255) << 8)),
               NO_FRAME)
    for kind in (0, 14, 15, 19, 31, C["NETWORK_ENDED"] + 1, 127, 255):
        yield lost("unknown type %d" % kind, running(frame(kind)), NO_FRAME)
    for length in (65537, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1):
        yield lost("OUT of %d bytes" % length, running(header(length, OUT)),
                   NO_FRAME)
        yield lost("EXIT of %d bytes" % length, running(header(length, EXIT)),
                   NO_FRAME)
    yield lost("a JOB as large as only a host's may be",
               running(header(500000, C["JOB"])), NO_FRAME)
    for name in ("HEAT", "PING", "JOB", "RUN", "STDIN", "STDIN_END", "KILL",
                 "OWN", "FS", "SHARE", "CLOSE"):
        yield lost("the host's own %s" % name, running(frame(C[name])),
                   NOT_NOW)
    yield lost("CLOSED of no lane", running(frame(CLOSED_FRAME)), NOT_NOW)
    yield lost("OUT on a lane", running(header(1 | 1 << 24, OUT) + b"x"),
               NO_FRAME)
    yield lost("text", running(b"HTTP/1.1 200 OK\r\n\r\n"), NO_FRAME)
    yield lost("zeros", running(bytes(4096)), NO_FRAME)
    yield lost("a frame and a half, then another's middle",
               running(frame(OUT, b"good") + frame(OUT, b"bad")[:9] +
                       frame(OUT, b"x")), "")
    yield fine("an argument where none belongs",
               running(frame(OUT, b"x", arg=255)), stdout=b"x")


@group
def payloads():
    good = exit_payload()
    for name, kind, payload, why in (
            ("EXIT, empty", EXIT, b"", MALFORMED),
            ("EXIT, a byte short", EXIT, good[:-1], MALFORMED),
            ("EXIT, a byte long", EXIT, good + b"x", MALFORMED),
            ("EXIT of no kind", EXIT, exit_payload(kind=2), MALFORMED),
            ("EXIT of kind 2^32-1", EXIT, exit_payload(kind=2 ** 32 - 1),
             MALFORMED),
            ("exit code 256", EXIT, exit_payload(value=256), MALFORMED),
            ("exit code 2^32-1", EXIT, exit_payload(value=2 ** 32 - 1),
             MALFORMED),
            ("signal 0", EXIT, exit_payload(kind=1), MALFORMED),
            ("signal 65", EXIT, exit_payload(kind=1, value=65), MALFORMED),
            ("a script that lives on", EXIT, exit_payload(lives=1),
             "interpreter that lives on"),
            ("a signal that lives on", EXIT,
             exit_payload(kind=1, value=9, lives=1), MALFORMED),
            ("lives 2", EXIT, exit_payload(lives=2), MALFORMED),
            ("unasked 2", EXIT, exit_payload(unasked=2), MALFORMED),
            ("FAILED, empty", FAILED, b"", MALFORMED),
            ("FAILED, longer than its frame", FAILED, text("x", 400),
             MALFORMED),
            ("FAILED, 401 bytes", FAILED, text("x" * 401), MALFORMED),
            ("FAILED with a NUL", FAILED, text("a\0b"), MALFORMED),
            ("FAILED of 2^32-1 bytes", FAILED, u32(2 ** 32 - 1), MALFORMED),
            ("FAILED with something behind it", FAILED, text("a") + b"b",
             MALFORMED),
            ("STDIN_ACK, empty", STDIN_ACK, b"", "more than was sent"),
            ("STDIN_ACK, a byte long", STDIN_ACK, u32(0) + b"x",
             "more than was sent"),
            ("STDIN_ACK of a byte that was not sent", STDIN_ACK, u32(1),
             "more than was sent"),
            ("STDIN_ACK of 2^32-1", STDIN_ACK, u32(2 ** 32 - 1),
             "more than was sent")):
        yield lost(name, running(frame(kind, payload)), why)
    yield lost("STARTED with a payload", program(
        "nostart", raw(frame(STARTED, b"x"))), MALFORMED)
    for name, data in (
            ("FILE, empty", frame(FILE)),
            ("FILE without its path", frame(FILE, u32(0o644) + u64(0))),
            ("FILE, its path longer than its frame",
             frame(FILE, u32(0o644) + u64(0) + text("a", 2))),
            ("FILE with something behind it",
             frame(FILE, u32(0o644) + u64(0) + text("a") + b"b")),
            ("FILE, its path of 2^32-1 bytes",
             frame(FILE, u32(0o644) + u64(0) + u32(2 ** 32 - 1)))):
        yield torn(name, collecting(data), BAD_PATH)
    yield torn("FILE_END with a payload",
               collecting(entry("a"), frame(FILE_END, b"x")), "ends no file")
    yield torn("OUTPUT_END, empty", collecting(frame(OUTPUT_END)),
               "does not match")
    yield torn("OUTPUT_END, a byte long",
               collecting(frame(OUTPUT_END, u32(0, 0) + b"x")),
               "does not match")


@group
def order():
    for name, data in (("HELLO", frame(HELLO, u32(C["VERSION"]) + text("k") +
                                       text("i"))),
                       ("READY", ready()),
                       ("HEATED, which nobody asked for",
                        frame(HEATED, u32(1))),
                       ("PONG", frame(PONG, b"ping")),
                       ("STARTED again", frame(STARTED)),
                       ("FILE before EXIT", entry("a")),
                       ("FILE_DATA before EXIT", frame(FILE_DATA, b"x")),
                       ("FILE_END before EXIT", frame(FILE_END)),
                       ("OUTPUT_END before EXIT", output_end(0))):
        yield lost("in the middle: " + name, running(data), NOT_NOW)
    yield lost("in the middle: an answer about files of no session",
               running(frame(FS_REPLY, u32(0, 0))), "not asked for")
    for name, data in (("OUT", frame(OUT, b"x")), ("ERR", frame(ERR, b"x")),
                       ("RESULT", frame(RESULT, b"{}")),
                       ("FILE", entry("a")), ("OUTPUT_END", output_end(0)),
                       ("READY", ready()),
                       ("STDIN_ACK", frame(STDIN_ACK, u32(0)))):
        yield lost("before the start: " + name,
                   program("nostart", raw(data)), NOT_NOW)
    yield lost("EXIT before the start", program("nostart", raw(ended())),
               "before the program's start")
    yield lost("HEATED before the start",
               program("nostart", raw(frame(HEATED, u32(1)))),
               "not asked for")
    for name, data in (("OUT", frame(OUT, b"x")), ("ERR", frame(ERR, b"x")),
                       ("RESULT", frame(RESULT, b"{}")),
                       ("EXIT again", ended(value=1)),
                       ("STARTED", frame(STARTED)),
                       ("FAILED", frame(FAILED, text("no"))),
                       ("READY", ready()),
                       ("STDIN_ACK", frame(STDIN_ACK, u32(0)))):
        yield torn("behind EXIT: " + name, collecting(data), NOT_NOW)
    for name, data, why in (
            ("FILE_DATA of no file", frame(FILE_DATA, b"x"), "to no file"),
            ("FILE_END of no file", frame(FILE_END), "ends no file"),
            ("a file in a file", entry("a", 1) + entry("b", 1), BAD_PATH),
            ("OUTPUT_END in a file", entry("a", 1) + output_end(1),
             "does not match"),
            ("FILE_END twice", whole("a") + frame(FILE_END), "ends no file"),
            ("FILE_DATA behind FILE_END", whole("a") +
             frame(FILE_DATA, b"y"), "to no file"),
            ("FILE_DATA of a directory",
             entry("d", kind=DIR) + frame(FILE_DATA, b"x"), "to no file"),
            ("FILE_END of a directory",
             entry("d", kind=DIR) + frame(FILE_END), "ends no file"),
            ("a count too high", whole("a") + output_end(2),
             "does not match"),
            ("a count too low", whole("a") + output_end(0),
             "does not match")):
        yield torn(name, collecting(data), why)
    for name, data in (("OUTPUT_END again", output_end(0)),
                       ("another EXIT", ended(value=3)),
                       ("output", frame(OUT, b"late")),
                       ("no frame", b"garbage beyond the end"),
                       ("much", frame(OUT, bytes(60000)) * 4)):
        yield fine("behind the very end: " + name,
                   collecting(output_end(0), data), stdout=b"")
    yield lost("FAILED while it runs", running(frame(FAILED, text("alas"))),
               "outcome is unknown: alas")
    yield lost("FAILED in place of the start",
               program("nostart", raw(frame(FAILED, text("alas")))),
               "never ran: alas")


@group
def paths():
    for name, path in (
            ("empty", ""), (".", "."), ("..", ".."), ("/", "/"),
            ("absolute", "/etc/cron.d/x"), ("../", "../x"),
            ("many ../", "../" * 20 + "etc/passwd"), ("a/../..", "a/../../x"),
            ("./", "./x"), ("a/./b", "a/./b"), ("a//b", "a//b"),
            ("a/", "a/"), ("a/..", "a/.."),
            ("a component of 256 bytes", "x" * 256),
            ("4096 bytes", ("x" * 127 + "/") * 32),
            ("5000 bytes", ("x" * 99 + "/") * 50),
            ("65 levels", "/".join("d" * 65)),
            ("1000 levels", "/".join("d" * 1000)),
            ("a NUL", "a\0b"), ("NUL alone", "\0")):
        yield torn("path: " + name, collecting(whole(path), output_end(1)),
                   BAD_PATH)
    for name, path in (
            ("newline", "a\nb"), ("carriage return", "a\rb"), ("tab", "\t"),
            ("escape", "\x1b[31mred"), ("DEL", "a\x7f"), ("C1", "a\u009bb"),
            ("invalid UTF-8", b"\xff\xfe"), ("overlong", b"\xc0\xae\xc0\xae"),
            ("a surrogate", b"\xed\xa0\x80"), ("cut UTF-8", b"a\xe2\x82"),
            ("a newline in a directory", "a\nb/c"),
            ("an escape in a directory", "ok/\x1b[2J/c"),
            ("invalid UTF-8 in a directory", b"a\xff/c"),
            ("newlines all the way down", "/".join(["\n"] * 30))):
        yield fine("name: " + name, collecting(whole(path, b"kept"),
                                               output_end(1)),
                   output={os.fsdecode(path): b"kept"}, dropped=0)
    yield fine("a directory with a newline",
               collecting(entry("a\nb", kind=DIR), output_end(1)),
               output={"a\nb": None}, dropped=0)
    for name, path, target in (
            ("a name", "l", "x"), ("up", "d/e/l", "../../x"),
            ("itself", "l", "l"), ("up and down", "l", "a/../b"),
            ("4000 bytes", "l", "x/" * 2000)):
        yield fine("link: " + name, collecting(link(path, target),
                                               output_end(1)), dropped=0)
    for name, path, target in (
            ("root", "l", "/"), ("above", "l", ".."), ("far", "d/l", "../.."),
            ("by a name", "l", "a/../../b"), ("nothing", "l", ""),
            ("a file", "l", "/etc/passwd"), ("4096 bytes", "l", "x/" * 2048),
            ("a long name", "l", "x" * 256), ("a NUL", "l", "a\0b"),
            ("itself above", "../l", "x")):
        yield torn("link: " + name, collecting(link(path, target),
                                               output_end(1)), BAD_PATH)
    yield torn("a link with a size", collecting(frame(
        FILE, u32(0o777) + u64(1) + text("l") + text("x"), arg=2)), BAD_PATH)
    yield fine("a file behind a link", collecting(
        link("l", "d"), whole("l/f", b"x"), output_end(2)), dropped=1,
        message="1 entry was left out")
    for name, data, told in (
            ("a word", b"x", "x"), ("a newline", b"a\nb", "a\nb"),
            ("invalid UTF-8", b"\xff%", "%FF%25"), ("a path", b"../x", "../x"),
            ("4095 bytes", b"x" * 4095, "x" * 4095)):
        yield fine("left out: " + name, collecting(
            left(data), output_end(0, 1)), output={}, dropped=1,
            left_out=[told], message="1 entry was left out")
    yield fine("left out, and more often than is told", collecting(
        left(b"a"), left(b"b"), output_end(0, 1)), output={}, dropped=2,
        left_out=["a", "b"], message="2 entries were left out")
    for name, bad in (("nothing", left(b"")), ("no reason", left(b"x", 6)),
                      ("4096 bytes", left(b"x" * 4096)),
                      ("a 101st", left(b"x") * 101)):
        yield torn("left out: " + name, collecting(bad, output_end(0, 1)),
                   "malformed|beyond the limit")
    long = "n" * 255
    for name, path in (("255 bytes", long), ("blanks", "  a  b "),
                       ("an option", "-rf"), ("hidden", ".x"),
                       ("exit_code", "exit_code"), ("a result", "result.json"),
                       ("backslashes", "..\\..\\x"), ("unicode", "日本/ünï"),
                       ("64 levels", "/".join("d" * 64)),
                       ("quotes", "\"a\",\"b\":1")):
        yield fine("good name: " + name,
                   collecting(whole(path, b"kept"), output_end(1)),
                   output={path: b"kept"}, dropped=0)
    yield fine("a file twice", collecting(
        whole("a", b"first"), whole("a", b"second"), output_end(2)),
        output={"a": b"first"}, dropped=1)
    yield fine("a file, then a directory of its name", collecting(
        whole("a", b"1"), entry("a", kind=DIR), whole("a/b"), output_end(3)),
        output={"a": b"1"}, dropped=2)
    yield fine("a directory, then a file of its name", collecting(
        entry("a", kind=DIR), whole("a"), whole("a/b", b"2"), output_end(3)),
        output={"a": None, "a/b": b"2"}, dropped=1)
    yield fine("a directory twice", collecting(
        entry("a", kind=DIR), entry("a", kind=DIR), output_end(2)),
        output={"a": None}, dropped=1)
    yield fine("a directory behind what is in it", collecting(
        whole("a/b", b"3"), entry("a", kind=DIR), output_end(2)),
        output={"a/b": b"3"}, dropped=1)


@group
def kinds():
    for kind in (2, 3, 127, 255):
        yield torn("kind %d: a link, a device, a socket" % kind,
                   collecting(entry("a", kind=kind)), BAD_PATH)
    for mode in (0o10644, 0o20666, 0o60666, 0o120777, 0o140777, 2 ** 32 - 1):
        yield torn("mode %o" % mode, collecting(entry("a", mode=mode)),
                   BAD_PATH)
    for mode in (0, 0o4755, 0o2755, 0o1777, 0o7777, 0o111):
        yield fine("mode %o" % mode,
                   collecting(whole("a", b"1", mode), output_end(1)),
                   output={"a": b"1"}, dropped=0)
        yield fine("a directory's mode %o" % mode,
                   collecting(entry("d", mode=mode, kind=DIR),
                              whole("d/a", b"1"), output_end(2)),
                   output={"d": None, "d/a": b"1"}, dropped=0)
    yield torn("a directory with a size",
               collecting(entry("d", size=1, kind=DIR)), BAD_PATH)
    # What a program could hope a host follows: a file is only ever bytes.
    yield fine("a link's target as bytes", collecting(
        whole("passwd", b"/etc/passwd"), whole("up", b"../../../../.."),
        output_end(2)), output={"passwd": b"/etc/passwd",
                                "up": b"../../../../.."}, dropped=0)


@group
def sizes():
    small = {"output_limit": 1000}
    for size in (1001, 2 ** 31, 2 ** 32, 2 ** 63 - 1, 2 ** 63, UNKNOWN):
        yield torn("a file of %d bytes" % size,
                   collecting(entry("a", size=size)), BEYOND, config=small)
    yield torn("files that are too much together",
               collecting(whole("a", bytes(600)), entry("b", size=401)),
               BEYOND, config=small, output={"a": bytes(600)})
    yield torn("more bytes than announced",
               collecting(entry("a", 3), frame(FILE_DATA, b"four")),
               "more than its size", output={})
    yield torn("more bytes than announced, one at a time",
               collecting(entry("a", 3), frame(FILE_DATA, b"x") * 4),
               "more than its size", output={})
    yield torn("bytes of an empty file",
               collecting(entry("a"), frame(FILE_DATA, b"x")),
               "more than its size", output={})
    yield torn("fewer bytes than announced",
               collecting(whole("whole", b"1"), entry("a", 3),
                          frame(FILE_DATA, b"12"), frame(FILE_END)),
               "too early", output={"whole": b"1"}, dropped=1)
    yield torn("fewer bytes, and the end of the tree",
               collecting(entry("a", 3), frame(FILE_DATA, b"12"),
                          output_end(1)), "does not match", output={})
    yield torn("fewer bytes, and then nothing",
               collecting(whole("b", b"1"), entry("a", 2 ** 20),
                          frame(FILE_DATA, b"12")),
               "silent for", output={"b": b"1"})
    yield torn("fewer bytes, and the wire closed",
               program(raw(ended(), whole("b", b"1"), entry("d/a", 9),
                           frame(FILE_DATA, b"12")), "close"), CLOSED,
               output={"b": b"1"})
    yield torn("a file without its end",
               collecting(entry("a", 2), frame(FILE_DATA, b"12"),
                          output_end(1)), "does not match", output={})
    yield torn("more entries than the limit",
               program(raw(ended()),
                       "flood 65537 " + entry("d", kind=DIR).hex(), "mute"),
               BEYOND, output={"d": None})
    yield fine("no output wanted, and some sent",
               collecting(whole("a")), config={"output_limit": 0}, output={})


@group
def full():
    """The host's disk takes no file of more than 256 KiB."""
    yield fine("a file that the disk does not take", program(
        raw(ended(), whole("a", b"1"), entry("large", 600000)),
        "flood 10 " + frame(FILE_DATA, bytes(60000)).hex(),
        raw(frame(FILE_END), whole("b", b"2"), output_end(3)), "mute"),
        output={"a": b"1", "b": b"2"}, dropped=1,
        message="1 entry was left out")
    yield lost("output that the disk does not take", program(
        "flood 10 " + frame(OUT, b"x" * 60000).hex()),
        "could not be kept on the host")


@group
def unannounced():
    """Directories that nobody announced are made, and count as well."""
    each = ["d"] * 62 + ["f"]
    most = 65536 // (len(each) + 1)
    yield fine("more directories than the limit", program(raw(ended()), *[
        raw(entry("/".join(["%x" % n] + each)), frame(FILE_END))
        for n in range(most + 76)], raw(output_end(most + 76)), "mute"),
        dropped=76, unseen=True, message="76 entries were left out")


@group
def figures():
    for name, n in (("2^64-1", UNKNOWN), ("2^64-2", UNKNOWN - 1),
                    ("2^63", 2 ** 63), ("2^63-1", 2 ** 63 - 1)):
        yield fine("every figure is " + name,
                   program("out x", raw(ended(figures=[n] * 11),
                                        output_end(0)), "mute"), stdout=b"x\n",
                   **({"message": "%d bytes over stdout_limit" % n}
                      if 0 < n < 2 ** 63 else {}))
    yield fine("more left out than can be",
               collecting(output_end(0, 2 ** 32 - 1)), dropped=2 ** 32 - 1,
               message="4294967295 entries were left out")
    yield fine("dropped what makes the sum begin anew",
               program("out 12345678", raw(
                   ended(figures=[0] * 7 + [UNKNOWN - 1, 0, UNKNOWN - 1, 0]),
                   output_end(0)), "mute"))
    yield fine("a memory kill without a kill",
               program(raw(ended(figures=[0] * 5 + [7] + [0] * 5),
                           output_end(0)), "mute"))
    yield fine("killed for memory, by its own words", program(
        raw(ended(kind=1, value=9, figures=[0] * 5 + [7] + [0] * 5),
            output_end(0)), "mute"), status="out_of_memory", exit_code=137,
        message="needed more than 256 MiB")


def value(data):
    """A RESULT of any length."""
    return b"".join(frame(RESULT, data[at:at + 60000])
                    for at in range(0, len(data), 60000))


@group
def results():
    not_kept = "the program's value was not kept"
    for name, data in (
            ("no JSON", b"hello"), ("half of it", b'{"value": [1, 2'),
            ("not an object", b"[1]"), ("a number", b"7"),
            ("two", b'{"value": 1}{"value": 2}'),
            ("invalid UTF-8", b'{"value": "\xff"}'),
            ("a NUL", b'{"value": "\0"}'), ("blanks", b"    "),
            ("nested too deep", b'{"value": ' + b"[" * 1000 + b"]" * 1000 +
             b"}"),
            ("very deep, never closed", b"[" * 60000),
            ("a name twice", b'{"value": 1, "value": 2}'),
            ("an escaped name twice", b'{"value": 1, "\\u0076alue": 2}'),
            ("a lone surrogate", b'{"value": "\\ud800"}'),
            ("a number that no one holds", b'{"results": [1e999]}')):
        yield fine("a value: " + name, running(value(data)),
                   message=not_kept, value=None)
    forged = json.dumps({"value": 1, "exit_code": 99, "status": "failed",
                         "message": "forged", "output": [{"path": "x"}],
                         "stdout": {"bytes": 9}, "job": "another"})
    yield fine("a value: the result's own names",
               running(value(forged.encode())), value=1, stdout=b"")
    yield fine("a value: by single bytes",
               program(*[raw(frame(RESULT, b'{"value": [1, 2]}'[n:n + 1]))
                         for n in range(17)]), value=[1, 2])
    yield fine("a value: 4000 digits",
               running(value(b'{"value": ' + b"9" * 4000 + b"}")))
    lies = [{"mime": "text/html\r\nX: y", "data": "x"},
            {"mime": "x" * 5000, "data": 1}, {"mime": 7, "data": "x"},
            {"mime": "image/png"}, {"mime": "image/png", "base64": 5},
            {"mime": "image/png", "base64": "no base 64 \u0000"},
            {"data": "no mime"}, "text", None, 5, [], [[]],
            {"mime": "a/b", "path": "../../../etc/passwd"},
            {"mime": "a/b", "path": "/etc/passwd"},
            {"mime": "a/b", "path": ["a"]}, {"mime": "a/b", "path": "gone"},
            {"mime": "a/b", "path": "there"}]
    yield fine("rich results that lie", program(
        raw(value(json.dumps({"results": lies, "text": 5,
                              "error": {"name": 1, "value": []}}).encode())),
        "write there x"), result_paths=["there"])
    yield fine("more rich results than the limit",
               running(value(json.dumps({"results": [
                   {"mime": "a/b", "data": 1}] * 1000}).encode())),
               most_results=256)
    for name, unit in (("objects", b"{},"), ("lists", b"[],"),
                       ("numbers", b"1,")):
        block = frame(RESULT, unit * (60000 // len(unit)))
        for key in ("value", "results"):
            yield fine("a %s of millions of %s" % (key, name), program(
                raw(value(b'{"%s": [' % key.encode())),
                "flood 270 " + block.hex(),
                raw(value(unit[:-1] + b"]}"))), message=not_kept, value=None)
    yield lost("a value past its limit", program(
        "flood 450 " + frame(RESULT, bytes(60000)).hex(), "mute"), BEYOND)


@group
def floods():
    few = {"stdout_limit": 1000, "stderr_limit": 1000}
    yield lost("standard output past its limit",
               running(frame(OUT, b"x" * 1001)), BEYOND, config=few,
               stdout=b"")
    yield lost("standard output past its limit by a byte",
               running(frame(OUT, b"x" * 1000), frame(OUT, b"y")), BEYOND,
               config=few, stdout=b"x" * 1000)
    yield lost("standard error past its limit",
               running(frame(ERR, b"x" * 1001)), BEYOND, config=few)
    yield lost("output where none was wanted", running(frame(OUT, b"x")),
               BEYOND, config={"stdout_limit": 0})
    yield fine("empty frames", program(
        "flood 300000 " + frame(OUT).hex()), stdout=b"")
    yield fine("single bytes", program(
        "flood 50000 " + (frame(OUT, b"o") + frame(ERR, b"e")).hex()),
        stdout=b"o" * 50000)
    yield fine("acknowledgements of nothing", program(
        "flood 200000 " + frame(STDIN_ACK, u32(0)).hex()), stdout=b"")
    yield lost("without an end", program(
        "flood 40 " + frame(OUT, bytes(60000)).hex(), "mute"), BEYOND,
        config={"stdout_limit": 1000000})
    for name, words in (("newlines", b"a\nb\r\nc"),
                        ("escapes", b"\x1b[2J\x1b]0;x\x07"),
                        ("C1", "a\u009b31mb".encode()),
                        ("invalid UTF-8", b"a\xff\xfe\xc3("),
                        ("nothing", b""), ("400 bytes", b"x" * 400),
                        ("a forged end", b"ok\", \"exit_code\": 0, \"x\": \"")):
        yield lost("FAILED: " + name, running(frame(FAILED, text(words))),
                   "outcome is unknown")


@group
def closing():
    yield lost("before the start", program("nostart", "close"),
               "outcome is unknown: .*" + CLOSED)
    yield lost("behind the start", program("close"), CLOSED)
    yield lost("behind some output", program("out kept", "close"), CLOSED,
               stdout=b"kept\n")
    for n in (1, 4, 7, 8, 9, 11):
        yield lost("%d bytes into a frame" % n,
                   program(raw(frame(OUT, b"text")[:n]), "close"), CLOSED,
                   stdout=b"")
    yield lost("within EXIT", program(raw(ended()[:-1]), "close"), CLOSED)
    yield torn("behind EXIT", program(raw(ended()), "close"), CLOSED)
    yield torn("behind FILE", program(raw(ended(), entry("a", 5)), "close"),
               CLOSED, output={})
    yield torn("behind a whole file",
               program(raw(ended(), whole("a", b"1")), "close"), CLOSED,
               output={"a": b"1"})
    yield torn("within OUTPUT_END",
               program(raw(ended(), output_end(0)[:-1]), "close"), CLOSED)
    yield fine("behind the very end",
               program(raw(ended(value=5), output_end(0)), "close"),
               exit_code=5)
    yield lost("the machine dies instead", program("out x", "crash"),
               "crashed", stdout=b"x\n")


@group
def waiting():
    short = {"timeout": 0.3}
    late = dict(status="timeout", exit_code=124)
    yield lost("never starts", program("nostart", "mute"),
               "silent for .* starting the program")
    yield Case("never ends, and hears no KILL", program("mute", "deaf"),
               config=short, message="silent for", **late)
    yield Case("half a frame, and no more",
               program(raw(frame(OUT, b"text")[:10]), "mute", "deaf"),
               config=short, message="silent for", **late)
    yield Case("a header, and no more",
               program(raw(header(60000, OUT)), "mute", "deaf"),
               config=short, message="silent for", **late)
    yield Case("the grace ignored", program("mute", "deaf"),
               config={"timeout": 0.3, "grace": 0.3}, message="silent for",
               **late)
    yield torn("no output tree", program(raw(ended()), "mute"),
               "silent for .* sending its output files")
    yield fine("a byte at a time", program(
        "trickle 2 " + (frame(OUT, b"slow") + ended(value=3) +
                        whole("a", b"1") + output_end(1)).hex(), "mute"),
        exit_code=3, stdout=b"slow", output={"a": b"1"})
    dripping = "too slow|was silent"
    for name, data in (("output", frame(OUT, b".")),
                       ("acknowledgements", frame(STDIN_ACK, u32(0))),
                       ("values", frame(RESULT, b" ")),
                       ("empty frames", frame(OUT))):
        yield Case("deaf, and a drip of " + name,
                   program("mute", "deaf", "drip 100 " + data.hex()),
                   config=short, message=dripping, **late)
    yield torn("a drip of a file", program(
        raw(ended(), entry("a", 2 ** 20)), "mute",
        "drip 100 " + frame(FILE_DATA, b".").hex()), dripping, output={})
    yield torn("a drip of nothing", program(
        raw(ended()), "mute", "drip 100 " + frame(FILE_DATA).hex()),
        "", output={})
    yield Case("a frame a byte at a time, past the timeout", program(
        "deaf", "mute", "trickle 100 " + frame(OUT, bytes(1000)).hex()),
        config=short, message="silent for", **late)


@group
def early():
    """Said when JOB comes, while the inputs are on their way."""
    large = {"data": bytes(8 << 20)}
    for name, data, why in (
            ("STARTED", frame(STARTED), NOT_NOW), ("EXIT", ended(), NOT_NOW),
            ("OUT", frame(OUT, b"x"), NOT_NOW),
            ("RESULT", frame(RESULT, b"{}"), NOT_NOW),
            ("FILE", entry("a"), NOT_NOW),
            ("OUTPUT_END", output_end(0), NOT_NOW),
            ("READY", ready(), NOT_NOW),
            ("HELLO", frame(HELLO), NOT_NOW),
            ("HEATED", frame(HEATED, u32(1)), "not asked for"),
            ("FS_REPLY", frame(FS_REPLY, u32(0, 0)), "not asked for"),
            ("no frame", b"no frame at all", NO_FRAME),
            ("FAILED", frame(FAILED, text("alas")), "never ran: alas")):
        yield lost("before the inputs: " + name, program("out ran"), why,
                   config={"env": {"FAKE_AT_JOB": data.hex()}}, files=large,
                   stdout=b"")


@group
def steps():
    """A session's machine, whose interpreter is said to live on."""
    lives = ended(lives=1)
    kept = {"session_state": "kept"}
    gone = {"session_state": "lost"}

    def step(*frames):
        return program(raw(*frames), "mute")

    def session(case, n, state):
        case.config = dict(case.config, session="lying-%d" % n)
        case.expected.update(state)
        return case

    cases = [(fine("behind a step: " + name,
                   step(lives, output_end(0), data)), kept)
             for name, data in (
                 ("output", frame(OUT, b"late")), ("no frame", b"zzzzzzzzzzz"),
                 ("STARTED", frame(STARTED)), ("EXIT", ended()),
                 ("FAILED", frame(FAILED, text("x"))),
                 ("READY", ready()), ("FILE", entry("a")),
                 ("an answer to nothing", frame(FS_REPLY, u32(0, 0))),
                 ("OUTPUT_END", output_end(0)))]
    cases += [
        (torn("EXIT twice", step(lives, lives), NOT_NOW), gone),
        (torn("lives, and then a lie of the tree",
              step(lives, whole("../x")), BAD_PATH), gone),
        (lost("an answer to nothing, in a step",
              running(frame(FS_REPLY, u32(0, 0))), "not asked for"), gone),
        (lost("a signal that lives on",
              running(ended(kind=1, value=15, lives=1)), MALFORMED), gone),
        (lost("lives 2^32-1", running(ended(lives=2 ** 32 - 1)), MALFORMED),
         gone),
        (torn("lives, and the wire closed",
              program(raw(lives), "close"), CLOSED), gone),
        (Case("lives, but was to be killed",
              program("mute", "deaf", "trickle 2500 " + lives.hex()[:2]),
              config={"timeout": 0.3}, status="timeout", exit_code=124,
              message="silent for|no frame"), gone)]
    for n, (case, state) in enumerate(cases):
        yield session(case, n, state)


# --- a mount ---------------------------------------------------------------------

def get(path):
    with open(path, "rb") as f:
        return f.read()


def put(path, data):
    with open(path, "wb") as f:
        f.write(data)


def begin(case, job):
    os.mkdir(job)
    put(job + "/code.sh", case.code.encode())
    for name, data in case.files.items():
        put(job + "/" + name, data)
    put(job + "/config.json", json.dumps(case.config).encode())
    case.began = time.monotonic()


def wait(case, job):
    """By a read that blocks, but with a bound: of all jobs together."""
    pid = os.fork()
    if not pid:
        try:
            get(job + "/wait")
        finally:
            os._exit(0)
    until = case.began + BOUND
    fd = os.pidfd_open(pid)
    done = select.select([fd], [], [], max(0, until - time.monotonic()))[0]
    os.close(fd)
    if not done:
        case.fault("it has not ended after %d s", BOUND)
        with open(job + "/ctl", "w") as ctl:
            ctl.write("kill\n")
        os.kill(pid, 9)
    os.waitpid(pid, 0)
    return bool(done)


def tree(top):
    """What is in output/: name to bytes, None for a directory."""
    found = {}
    for where, dirs, files in os.walk(os.fsencode(top)):
        for name in dirs + files:
            path = os.path.join(where, name)
            st = os.lstat(path)
            key = os.path.relpath(path, os.fsencode(top))
            found[key] = None if stat.S_ISDIR(st.st_mode) else st
            if stat.S_ISLNK(st.st_mode):
                continue
            if not (stat.S_ISDIR(st.st_mode) or stat.S_ISREG(st.st_mode)):
                raise ValueError("%r is neither a file nor a directory" % key)
            if st.st_mode & 0o7000:
                raise ValueError("%r has mode %o" % (key, st.st_mode))
    return found


def path_of(entry):
    """Its bytes, as jobtree(5) has it."""
    if "path_encoding" in entry:
        return urllib.parse.unquote_to_bytes(entry["path"])
    return entry["path"].encode()


def check_output(case, job, result):
    """The listing and the files say the same, and what the row says."""
    found = tree(job + "/output") if os.path.isdir(job + "/output") else {}
    for path in found:
        if not path or b"\0" in path:
            case.fault("%r is in output/", path)
    for e in result["output"]:
        st = found.get(path_of(e), "nothing")
        is_dir = e["mime"] == "inode/directory"
        if st == "nothing" or is_dir != (st is None):
            case.fault("%r is listed and not there", e["path"])
        elif st and stat.S_ISLNK(st.st_mode):
            way = os.path.join(job, "output", e["path"])
            if os.readlink(way) != e["target"]:
                case.fault("%r leads to %r", e["path"], os.readlink(way))
        elif st and st.st_size != e["bytes"]:
            case.fault("%r is listed with %d bytes and has %d", e["path"],
                       e["bytes"], st.st_size)
    listed = {path_of(e) for e in result["output"]}
    for path, st in found.items():
        if st and path not in listed:
            case.fault("%r is there and not listed", path)
    want = case.expected.get("output")
    if want is not None:
        got = {os.fsdecode(p): None if st is None else get(
            os.path.join(job, "output", os.fsdecode(p)))
            for p, st in found.items()
            if st or os.fsdecode(p) in want}
        if got != want:
            case.fault("output/ has %.300r", got)


def check_numbers(case, at, found):
    if isinstance(found, dict):
        for key, v in found.items():
            check_numbers(case, "%s.%s" % (at, key), v)
    elif isinstance(found, int) and not 0 <= found < 2 ** 63:
        case.fault("%s is %d", at, found)


def check_result(case, job):
    e = case.expected
    result = json.loads(get(job + "/result.json").decode("utf-8"))
    for key in ("status", "exit_code"):
        if result[key] != e[key]:
            case.fault("%s is %r: %s", key, result[key], result["message"])
    if not re.search(e.get("message", ""), result["message"] or ""):
        case.fault("its message is %r", result["message"])
    cut = e.get("dropped") and "left out" in (result["message"] or "")
    if "message" not in e and result["message"] and not cut:
        case.fault("its message is %r", result["message"])
    if result["session_state"] != e.get("session_state"):
        case.fault("its session is %r", result["session_state"])
    if "value" in e and result["value"] != e["value"]:
        case.fault("its value is %.100r", result["value"])
    told = [left["path"] for left in result["output_left_out"]]
    if "left_out" in e and told != e["left_out"]:
        case.fault("it has left out %.100r", told)
    if "dropped" in e and result["output_dropped"] != e["dropped"]:
        case.fault("%d entries were left out", result["output_dropped"])
    if len(result["results"] or []) > e.get("most_results", 256):
        case.fault("it has %d rich results", len(result["results"]))
    paths = [r["path"] for r in result["results"] or [] if "path" in r]
    if paths != e.get("result_paths", []):
        case.fault("its rich results have the paths %r", paths)
    for key in ("usage", "timing", "stdout", "stderr", "output_dropped"):
        check_numbers(case, key, result[key])
    for stream in ("stdout", "stderr"):
        if result[stream]["bytes"] != os.stat(job + "/" + stream).st_size:
            case.fault("%s has another size than is told", stream)
    return result


def check_case(case, job):
    e = case.expected
    if not wait(case, job):
        return
    if get(job + "/state") != b"done\n":
        case.fault("its state is %r", get(job + "/state"))
    if get(job + "/exit_code") != b"%d\n" % e["exit_code"]:
        case.fault("exit_code is %r", get(job + "/exit_code"))
    result = check_result(case, job)
    if "unseen" not in e:  # a walk to each takes longer than all the rest
        check_output(case, job, result)
    if "stdout" in e and get(job + "/stdout") != e["stdout"]:
        case.fault("stdout is %.100r", get(job + "/stdout"))
    error = get(job + "/error").decode("utf-8")
    if any(ord(c) < 32 and c != "\n" or 0x7f <= ord(c) < 0xa0
           for c in error):
        case.fault("error has control characters: %r", error)
    if (error.count("\n") == 1) != (e["status"] == "failed"):
        case.fault("error is %r", error)
    log = get(job + "/log").decode("utf-8")
    if any(ord(c) < 32 and c != "\n" for c in log):
        case.fault("log has control characters")
    if len(log) > 65536:
        case.fault("its log has %d bytes", len(log))


def check_state(state):
    """Nothing but files and directories, with modes that give nothing."""
    for where, dirs, files in os.walk(os.fsencode(state)):
        for name in dirs + files:
            st = os.lstat(os.path.join(where, name))
            if stat.S_ISLNK(st.st_mode):
                if not os.readlink(os.path.join(where, name)).startswith(
                        b"/dev/null/"):
                    yield "%r in the state directory leads away" % name
                continue
            if not (stat.S_ISREG(st.st_mode) or stat.S_ISDIR(st.st_mode)):
                yield "%r in the state directory is no file" % name
            if st.st_mode & 0o7000:
                yield "%r in the state directory has mode %o" % (
                    name, st.st_mode)


def main():
    mnt, state, name = sys.argv[1:]
    cases = list(GROUPS[name]())
    faults = []
    for n, case in enumerate(cases):
        begin(case, "%s/%s-%d" % (mnt, name, n))
    for n, case in enumerate(cases):
        job = "%s/%s-%d" % (mnt, name, n)
        try:
            check_case(case, job)
        except Exception as e:  # whatever it is, the others are looked at
            case.fault("%s: %s", type(e).__name__, e)
        faults += ["%s: %s: %s" % (name, case.name, f) for f in case.faults]
    faults += list(check_state(state))
    print("%d cases" % len(cases))
    sys.stderr.write("".join(f + "\n" for f in faults))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
