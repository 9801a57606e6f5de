#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Kills what belongs to private mounts of `fsd run` and `fsd batch`, and looks at what
is left.

private.py client FSD COUNT   the client alone, by SIGKILL: within 2 s no process
                              of its mount lives, and its directory is gone
private.py all FSD COUNT      every process at once: the next `fsd run` removes the
                              directory and what is mounted there
private.py mounted FSD COUNT  the same where a mount must have been left
private.py term FSD           SIGTERM to every process: the program gets it
private.py batch FSD COUNT    `fsd batch --private`, at any moment: by turns its client
                              alone, and every process; within 2 s no process lives
private.py part FSD COUNT     `fsd batch --part` in the mount $FSD_MOUNT: within 2 s
                              that has no job of it, and none of its machines runs. A
                              draft that was not held yet goes with the next start
Directories are in $TMPDIR. Bounds are multiplied by $SLOW.
"""
import ctypes
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
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


# --- fsd batch -------------------------------------------------------------------

INPUTS = 400
PR_SET_CHILD_SUBREAPER = 36


def start_batch(fsd, option, before=()):
    for name, text in (("prog.sh", "sleep 20\nout x\n"),
                       ("list", "".join("%d\n" % i for i in range(INPUTS)))):
        with open(BASE + "/" + name, "w") as f:
            f.write(text)
    return subprocess.Popen(
        [*before, fsd, "batch", *option, "-o", BASE + "/OUT", "--progress", "none",
         "--args", BASE + "/list", BASE + "/prog.sh"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def until(seconds, fn):
    """What fn gives as soon as it is true; else its last value."""
    end = time.monotonic() + seconds
    while not fn() and time.monotonic() < end:
        threading.Event().wait(0.005)
    return fn()


def no_child():
    """Has this process no child any more? An orphan of it becomes its child."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


def kill_at_any_time(start, count, look):
    """Kills what start(n) gives until that were so many. Each goes on with what the one
    before has left. look(n): what is wrong then."""
    killed = 0
    while killed < count:
        client = start(killed)
        select.select([], [], [], random.random() * SLOW * 0.8)
        lives = client.poll() is None
        client.kill()
        status = client.wait()
        if not lives and status:
            return "the client ended with %d" % status
        wrong = look(killed)
        if wrong:
            return "kill %d: %s" % (killed + 1, wrong)
        killed += lives
        if not lives:  # all inputs are done
            shutil.rmtree(BASE + "/OUT")
    return None


def kill_batches(fsd, count):
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)

    before = []

    def start(n):
        before[:] = left()
        return start_batch(fsd, ["--private"], [
            "unshare", "--pid", "--fork", "--kill-child"] if n % 2 else ())

    def look(n):
        if not until(2 * SLOW, no_child):
            return "processes live"
        # When all are killed, a directory is the next client's to remove. That one may
        # be killed as well before it has.
        found = [x for x in left() if "/" in x or (n % 2 == 0 and x not in before)]
        return "there is %s" % found if found else None
    return kill_at_any_time(start, count, look)


def kill_parts(fsd, count):
    mnt = os.environ["FSD_MOUNT"]

    def start(_=0):
        return start_batch(fsd, ["--part", "1/2"])

    def names():
        return [n for n in os.listdir(mnt) if n != ".fsd"]

    def is_quiet():
        with open(mnt + "/.fsd/stats") as f:
            leased = int(re.search(r"(?m)^fsd_machines_leased (\d+)", f.read())[1])
        return leased == 0 and all(n[0] == "." for n in names())

    def look(_):
        return None if until(2 * SLOW, is_quiet) else "the mount has %s" % names()
    wrong = kill_at_any_time(start, count, look)
    if wrong:
        return wrong
    status = start().wait()
    # close(2) of a job's `hold` returns before the server has removed the job.
    quiet = until(2 * SLOW, lambda: not names())
    return None if quiet and not status else "it ends with %d and leaves %s" % (
        status, names())


def main(how, fsd, count="1"):
    found = {"client": kill_clients, "all": kill_all,
             "batch": kill_batches, "part": kill_parts,
             "mounted": lambda f, n: kill_all(f, n, True),
             "term": lambda f, _: term_all(f)}[how](fsd, int(count))
    if found:
        print(found)
        return
    client = start(fsd, "out next\n")
    print(client.communicate()[0], end="")
    print("left:", *left())


main(*sys.argv[1:])
