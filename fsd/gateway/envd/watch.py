# SPDX-License-Identifier: Apache-2.0
"""Runs in a sandbox, as `python3 -c`: tells what changes in a directory.

argv: PATH, then "deep" for all below it, then "ask" to tell when it is asked.

It prints JSON, one object a line: {"ready": true} first, then {"events": [[TYPE,
NAME], ...]}. With "ask" events wait until a line comes in; they are printed, then
{"answer": that line}.
"""
import ctypes
import json
import os
import select
import struct
import sys

TYPES = [(0x100, "CREATE"), (0x80, "CREATE"), (0x2, "WRITE"), (0x200, "REMOVE"),
         (0x40, "RENAME"), (0x4, "CHMOD")]
MASK = 0x3c6 | 0x01000000  # these, of directories only
IS_DIR, IGNORED, OVERFLOW = 0x40000000, 0x8000, 0x4000
MOST, LINE = 100000, 200

top = os.fsencode(sys.argv[1])
deep, ask = "deep" in sys.argv[2:], "ask" in sys.argv[2:]
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(os.O_CLOEXEC)
names = {}  # of directories, by watch: relative to the top


def watch(name, events):
    """name, and what is in it if all is wanted; events None: that is not told."""
    path = os.path.join(top, name) if name else top
    number = libc.inotify_add_watch(fd, path, MASK)
    if number < 0:
        if not name:
            sys.exit("%s: %s" % (sys.argv[1], os.strerror(ctypes.get_errno())))
        return
    names[number] = name
    if not deep:
        return
    try:
        entries = list(os.scandir(path))
    except OSError:
        return
    for entry in entries:
        inner = os.path.join(name, entry.name)
        if events is not None:
            events.append(["CREATE", inner.decode(errors="replace")])
        if entry.is_dir(follow_symlinks=False):
            watch(inner, events)


def read():
    """What the kernel tells now."""
    events, data, at = [], os.read(fd, 65536), 0
    while at < len(data):
        number, mask, _, size = struct.unpack_from("iIII", data, at)
        name = data[at + 16:at + 16 + size].rstrip(b"\0")
        at += 16 + size
        if mask & IGNORED:
            names.pop(number, None)
        if number not in names or not name:
            continue
        name = os.path.join(names[number], name)
        inner = []
        if deep and mask & IS_DIR and mask & 0x180:
            watch(name, inner)
        for bit, kind in TYPES:
            if mask & bit:
                events.append([kind, name.decode(errors="replace")])
        events += inner
    return events


def put(events, answer=None):
    for i in range(0, len(events), LINE):
        print(json.dumps({"events": events[i:i + LINE]}), flush=True)
    if answer is not None:
        print(json.dumps({"answer": answer}), flush=True)


watch(b"", None)
print('{"ready": true}', flush=True)
kept, said = [], b""
while True:
    ready = select.select([fd, 0] if ask else [fd], [], [])[0]
    if fd in ready:
        kept = (kept + read())[-MOST:]
    if not ask:
        put(kept)
        kept = []
    elif 0 in ready:
        data = os.read(0, 4096)
        if not data:
            break
        *lines, said = (said + data).split(b"\n")
        for line in lines:
            put(kept, line.decode())
            kept = []
