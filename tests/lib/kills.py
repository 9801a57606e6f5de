#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kills.py MNT KILLS WORKERS — kill -9 of the serving process, again and again,
while workers use the mount as if nothing happened.

Each worker knows what every call must answer: a directory that it has made is
there, a second mkdir fails with EEXIST and nothing else does, what was appended
is there once, a job whose config.json was closed ends. Prints the times from a
kill to the first answer (ms: median, worst); the status is 0 if all held.
"""
import errno
import os
import random
import signal
import sys
import threading
import time
import traceback

MNT, KILLS, WORKERS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
wrong = []
stop = threading.Event()
rounds = [0] * WORKERS


def server():
    return int(os.getxattr(MNT, "user.fsd.pid"))


def must_fail(number, fn, *args):
    try:
        fn(*args)
    except OSError as e:
        if e.errno == number:
            return
        raise AssertionError("%s%r gave %s; it must be %s" % (
            fn.__name__, args, errno.errorcode.get(e.errno),
            errno.errorcode[number]))
    raise AssertionError("%s%r worked; it must give %s" % (
        fn.__name__, args, errno.errorcode[number]))


def expect(what, found, wanted):
    if found != wanted:
        raise AssertionError("%s is %r; it must be %r" % (what, found, wanted))


def write(path, data, flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
    fd = os.open(path, flags, 0o644)
    try:
        expect("written to " + path, os.write(fd, data), len(data))
    finally:
        os.close(fd)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def nameless(job, n):
    """A file is what it was for who has it open when its name is gone."""
    fd = os.open(job + "/nameless", os.O_RDWR | os.O_CREAT | os.O_EXCL)
    os.write(fd, b"one ")
    if n % 2:
        os.unlink(job + "/nameless")
    else:
        write(job + "/other", b"")
        os.rename(job + "/other", job + "/nameless")
    for word in (b"two ", b"three "):
        os.write(fd, word)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    expect("nameless", os.pread(fd, 100, 0), b"one two three ")
    expect("its size", os.fstat(fd).st_size, 14)
    os.close(fd)
    if not n % 2:
        expect("what has its name", read(job + "/nameless"), b"")
        os.unlink(job + "/nameless")


def one_round(name, n):
    job = "%s/%s-%d" % (MNT, name, n)
    os.mkdir(job)
    must_fail(errno.EEXIST, os.mkdir, job)
    os.mkdir(job + "/sub")
    write(job + "/sub/x", b"x" * 5000)
    os.mkdir(job + "/output")  # as who copies a finished job
    must_fail(errno.EEXIST, os.mkdir, job + "/output")
    os.mkdir(job + "/output/d")
    write(job + "/output/d/f", b"copied")
    write(job + "/exit_code", b"0\n")
    os.utime(job + "/exit_code", (1, 1))
    must_fail(errno.ENOTEMPTY, os.rmdir, job + "/output")
    must_fail(errno.EEXIST, write, job + "/sub/x", b"",
              os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    fd = os.open(job + "/lines", os.O_WRONLY | os.O_CREAT | os.O_EXCL |
                 os.O_APPEND, 0o600)
    for i in range(8):
        os.write(fd, b"line %d\n" % i)
    os.close(fd)
    expect("lines", read(job + "/lines"),
           b"".join(b"line %d\n" % i for i in range(8)))
    nameless(job, n)
    os.rename(job + "/sub/x", job + "/sub/y")
    must_fail(errno.ENOENT, os.unlink, job + "/sub/x")
    expect("y", read(job + "/sub/y"), b"x" * 5000)
    os.unlink(job + "/sub/y")
    os.rmdir(job + "/sub")
    expect("names", sorted(set(os.listdir(job))),
           sorted(["ctl", "error", "lines", "log", "output", "state"]))
    expect("copied", read(job + "/output/d/f"), b"copied")
    if n % 2:
        os.unlink(job + "/output/d/f")
        os.rmdir(job + "/output/d")
        os.rmdir(job + "/output")
        must_fail(errno.ENOENT, os.stat, job + "/output")
    write(job + "/code.sh", b"out hello\nshow lines\n")
    write(job + "/config.json", b"{}")
    code = read(job + "/wait")
    status = read(job + "/exit_code")
    expect("exit_code", status, code)
    if code == b"0\n":
        expect("stdout", read(job + "/stdout"),
               b"hello\n" + read(job + "/lines"))
    else:
        expect("exit_code", code, b"125\n")
    other = job + "-renamed"
    os.rename(job, other)
    must_fail(errno.ENOENT, os.stat, job)
    expect("exit_code", read(other + "/exit_code"), code)
    os.unlink(other + "/stdout")
    must_fail(errno.ENOENT, os.stat, other + "/stdout")
    fds = [os.open(other + "/" + entry, os.O_RDONLY)
           for entry in ("result.json", "lines")]
    wanted = [os.fstat(fd).st_size for fd in fds]
    for entry in ("lines", "code.sh", "config.json"):
        os.unlink(other + "/" + entry)
    os.rmdir(other)
    must_fail(errno.ENOENT, os.stat, other)
    for fd, size in zip(fds, wanted):
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        expect("what is left of it", len(os.pread(fd, 1 << 20, 0)), size)
        os.close(fd)


def work(i):
    try:
        while not stop.is_set():
            one_round("w%d" % i, rounds[i])
            rounds[i] += 1
    except (OSError, AssertionError) as e:
        lines = [f.lineno for f in traceback.extract_tb(e.__traceback__)]
        wrong.append("worker %d, round %d, lines %s: %s: %s" % (
            i, rounds[i], lines, type(e).__name__, e))
        stop.set()


def kill_one(seed):
    pid = server()
    pidfd = os.pidfd_open(pid)
    stop.wait(seed.random() * 0.02)
    before = time.monotonic()
    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    os.close(pidfd)
    while server() == pid:  # answered before it died
        before = time.monotonic()
    return (time.monotonic() - before) * 1000


def main():
    seed = random.Random(int(os.environ.get("SEED", "1")))
    threads = [threading.Thread(target=work, args=(i,), daemon=True)
               for i in range(WORKERS)]
    times = []
    for t in threads:
        t.start()
    while len(times) < KILLS and not stop.is_set():
        times.append(kill_one(seed))
    stop.set()
    for t in threads:
        t.join(60)
        if t.is_alive():
            wrong.append("a worker hangs")
    times.sort()
    print("%d kills, %d rounds; first answer after %.0f ms (median), %.0f ms "
          "(worst)" % (len(times), sum(rounds), times[len(times) // 2],
                       times[-1]))
    for text in wrong:
        print(text, file=sys.stderr)
    sys.exit(1 if wrong or not sum(rounds) else 0)


main()
