#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Kills what belongs to private mounts of `fsd run` and looks at what is left.

private.py client FSD COUNT   the client alone, by SIGKILL: within 2 s no process
                              of its mount lives, and its directory is gone
private.py all FSD COUNT      every process at once: the next `fsd run` removes the
                              directory and what is mounted there
private.py mounted FSD COUNT  the same where a mount must have been left
private.py term FSD           SIGTERM to every process: the program gets it
Directories are in $TMPDIR. Bounds are multiplied by $SLOW.
"""
import os
import random
import select
import signal
import subprocess
import sys
import time

SLOW = int(os.environ.get("SLOW", "1"))
BASE = os.environ["TMPDIR"]
SLEEPS = "out up\nsleep 600000\n"


def start(fsd, program, before=(), stdin=subprocess.DEVNULL):
    with open(BASE + "/code.sh", "w") as f:
        f.write(program)
    return subprocess.Popen([*before, fsd, "run", "--private",
                             BASE + "/code.sh"], stdin=stdin,
                            stdout=subprocess.PIPE, text=True)


def descendants(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            children = [int(word) for word in f.read().split()]
    except OSError:
        return []
    return children + [d for c in children for d in descendants(c)]


def pidfds(pids):
    for pid in pids:
        try:
            yield os.pidfd_open(pid)
        except OSError:
            pass


def await_ends(fds, seconds):
    end = time.monotonic() + seconds
    while fds:
        ended = select.select(fds, [], [], max(0, end - time.monotonic()))[0]
        if not ended:
            return False
        for fd in ended:
            os.close(fd)
            fds.remove(fd)
    return True


def left():
    with open("/proc/self/mounts") as f:
        mounts = [line for line in f if BASE + "/fsd-run-" in line]
    return [n for n in os.listdir(BASE) if n.startswith("fsd-run-")] + mounts


def kill_clients(fsd, count):
    for i in range(count):
        client = start(fsd, SLEEPS)
        if i % 2:
            client.stdout.readline()
        else:
            # any moment of the start will do
            select.select([], [], [], random.random() * SLOW / 5)
        fds = list(pidfds(descendants(client.pid)))
        client.kill()
        client.wait()
        if not await_ends(fds, 2 * SLOW):
            return "processes live"
        if i % 2 and left():
            return "there is %s" % left()
    return None


def kill_all(fsd, count, mounted=False):
    for _ in range(count):
        client = start(fsd, SLEEPS, ["unshare", "--pid", "--fork",
                                     "--kill-child"])
        client.stdout.readline()
        fds = list(pidfds(descendants(client.pid)))
        client.kill()
        client.wait()
        if not await_ends(fds, 20 * SLOW):
            return "processes live"
        if mounted not in [" fuse.fsd " in line for line in left()]:
            return "what is left is %s" % left()
    return None


def term_all(fsd):
    client = start(fsd, "out up\nignoreterm\ncat\nout saved\nexit 5\n",
                   stdin=subprocess.PIPE)
    client.stdout.readline()
    for pid in [*descendants(client.pid), client.pid]:
        os.kill(pid, signal.SIGTERM)
    client.stdin.close()
    output = client.stdout.read()
    if (client.wait(), output) != (5, "saved\n"):
        return "it ended with %d and said %r" % (client.returncode, output)
    return None


def main(how, fsd, count="1"):
    found = {"client": kill_clients, "all": kill_all,
             "mounted": lambda f, n: kill_all(f, n, True),
             "term": lambda f, _: term_all(f)}[how](fsd, int(count))
    if found:
        print(found)
        return
    client = start(fsd, "out next\n")
    print(client.communicate()[0], end="")
    print("left:", *left())


main(*sys.argv[1:])
