#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no room calls or includes a room above it. Speaks TAP.

order.py — by the symbols of the objects in build/ and by the includes.
There are no exceptions.
The rules between the top folders (layout, guest, vm, fsd) are lint.sh's.
"""
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = subprocess.check_output(["git", "rev-parse", "--show-toplevel"],
                              cwd=HERE, text=True).strip()

# Lowest first. A room may use any room before it.
FSD = ("base users handover store files sched network fsd.h jobs builds run living submit mount "
       "control fuse server cli").split()
# The headers of vm/ stand below the first folder that needs them.
VM = ("os environment class.h net jail job.h channel inspect.h options.h backend.h qemu "
      "fake lease.h vm.h pool").split()
# Of the gateway: "program" is all files beside gateway.h.
GATEWAY = "base mount gateway.h jobs http control envd code mcp ui program".split()
GUEST = "wire os net files run agent warm init".split()
ORDERS = {"fsd": FSD, "vm": VM, "gateway": GATEWAY, "guest": GUEST}
# Beside each other: neither uses the other.
BESIDE = ({"users", "handover"}, {"store", "sched"}, {"qemu", "fake"},
          {"code", "mcp"}, {"code", "ui"}, {"mcp", "ui"})
# Clients of the mount: each uses the mount's files and no room, and has these callers.
# local knows nothing of a mount: it has what they do with the user's own files.
CLIENTS = {"local": {"client", "cli", "batch", "spool"},
           "client": {"cli", "batch", "spool"}, "batch": {"cli"}, "spool": {"cli"},
           "door": set()}  # a program of its own, which no room uses
# Files for other systems than Linux: the Makefile compiles none of them here.
FOREIGN = ("_kqueue.c", "_none.c")


def room(path):
    """(top folder, room), or None for what has no order."""
    words = path.split("/")
    if words[:2] == ["fsd", "gateway"]:
        return "gateway", words[2] if len(words) > 3 or words[2] == "gateway.h" \
            else "program"
    if words[0] == "fsd":
        return "fsd", words[1] if len(words) > 2 else "fsd.h"
    if words[0] == "vm" and words[1] != "zygote":
        return "vm", words[1]
    if words[0] == "guest" and words[1] != "runners":
        return "guest", words[1]
    return None


def may(user, used):
    """Whether a file of one path may use one of another."""
    a, b = room(user), room(used)
    if not a or not b or a == b:
        return True
    if a[0] != b[0]:  # the gateway is a program of its own, and a client of the mount
        return {a[0], b[0]} != {"fsd", "gateway"}
    order, a, b = ORDERS[a[0]], a[1], b[1]
    if b in CLIENTS:
        return a in CLIENTS[b]
    if a in CLIENTS:
        return False
    return order.index(b) < order.index(a) and {a, b} not in BESIDE


def sources():
    for top in ORDERS:
        for path in glob.glob(top + "/**/*.[ch]", recursive=True):
            yield path


def included(path):
    with open(path) as f:
        for name in re.findall(r'(?m)^\s*#\s*include\s+"([^"]+)"', f.read()):
            for base in (os.path.dirname(path), ""):
                found = os.path.normpath(os.path.join(base, name))
                if os.path.isfile(found):
                    yield found
                    break


def objects(*folders):
    """{object: its source}, of those whose source is still there."""
    found = {}
    for folder in folders or ("build/release/fsd", "build/release/vm",
                              "build/guest/guest"):
        for path in glob.glob(folder + "/**/*.o", recursive=True):
            source = re.sub(r"(\.qemu|\.fake)?\.o$", ".c", path.split("/", 2)[2])
            if os.path.isfile(source):
                found[path] = source
    return found


def symbols():
    """({(is it the guest's, name): its source}, [(source, name that it uses)])."""
    owner, uses, found = {}, [], objects()
    # "path: name kind": one nm for all
    for line in subprocess.check_output(["nm", "-P", "-A", *found],
                                        text=True).split("\n"):
        path, _, rest = line.partition(": ")
        name, kind = (rest.split() + ["", ""])[:2]
        if not name:
            continue
        source = found[path]
        if kind == "U":
            uses.append((source, name))
        elif kind.isupper() or kind == "":
            owner.setdefault((source.startswith("guest/"), name), source)
    return owner, uses


def upward():
    found = set()
    for path in sources():
        for used in included(path):
            if not may(path, used):
                found.add("%s includes %s" % (path, used))
    owner, uses = symbols()
    for path, name in uses:
        used = owner.get((path.startswith("guest/"), name))
        if used and not may(path, used):
            found.add("%s calls %s of %s" % (path, name, used))
    return found


def main():
    os.chdir(TOP)
    compiled = set(objects().values())
    unplaced = [p for p in sources() if room(p) and room(p)[1] not in
                ORDERS[room(p)[0]] + list(CLIENTS)]
    missing = [p for p in sources() if p.endswith(".c") and room(p) and
               p not in compiled and not p.endswith(FOREIGN)]
    checks = (
        ("each file is in a room that has a place in the order", unplaced),
        ("each file was compiled", missing),
        ("no room calls or includes one above it", sorted(upward())),
    )
    for number, (sentence, findings) in enumerate(checks, 1):
        print("%s %d - %s" % ("not ok" if findings else "ok", number,
                              sentence))
        for line in findings[:40]:
            print("#   " + line)
    print("1..%d" % len(checks))
    sys.exit(any(findings for _, findings in checks))


if __name__ == "__main__":
    main()
