#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""unlinked.py MNT STATE PART: whoever has a file open whose name is gone uses it
on as before when the serving process is killed, once and again, and nothing of
it is left when he has closed it."""
import errno
import os
import select
import shutil
import signal
import sys
import time

MNT, STATE, PART = sys.argv[1:4]
JOB = MNT + "/a"
DATA = bytes(range(256)) * 400
PARTS = {}


def part(fn):
    PARTS[fn.__name__.replace("_", "-")] = fn
    return fn


def expect(what, found, wanted):
    if found != wanted:
        raise AssertionError("%s is %r; it must be %r" % (
            what, found if len(repr(found)) < 200 else "something else",
            wanted if len(repr(wanted)) < 200 else "what was written"))


def put(path, data):
    with open(path, "wb") as f:
        f.write(data)


def server():
    return int(os.getxattr(MNT, "user.fsd.pid"))


def await_end(pidfd):
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    if not poll.poll(20000):
        raise AssertionError("the server does not end")


def kill():
    pid = server()
    pidfd = os.pidfd_open(pid)
    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    await_end(pidfd)
    os.close(pidfd)


def parent(pid):
    with open("/proc/%d/stat" % pid) as f:
        return int(f.read().rsplit(")", 1)[1].split()[1])


def held():
    """What the service has of the state directory that has no name there, or one
    among those that are unlinked."""
    found = []
    pid = server()
    for p in (pid, parent(pid)):
        for fd in os.listdir("/proc/%d/fd" % p):
            try:
                name = os.readlink("/proc/%d/fd/%s" % (p, fd))
            except OSError:
                continue
            state = os.path.realpath(STATE) + "/"
            if name.startswith(state) and (
                    name.endswith(" (deleted)") or
                    name.startswith(state + "unlinked/")):
                found.append(name)
    return found


def becomes(what, fn, wanted):
    """A release is answered by nobody, and a directory is erased later."""
    end = time.monotonic() + 20
    while True:
        found = fn()
        if found == wanted:
            return
        if time.monotonic() > end:
            raise AssertionError("%s stays %r" % (what, found))
        select.poll().poll(5)


def stored():
    """Of jobs: the job directories and what lies on its way out."""
    return os.listdir(STATE + "/jobs") + os.listdir(STATE + "/trash")


def nothing_left():
    becomes("what the service has open", held, [])
    becomes("the names of what was open", lambda: os.listdir(STATE + "/unlinked"),
            [])
    becomes("the trash", lambda: os.listdir(STATE + "/trash"), [])


def content(fd):
    """As the server has it, not as the kernel remembers it."""
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    return os.pread(fd, 1 << 20, 0)


def is_nameless(fd, size):
    st = os.fstat(fd)
    expect("size and links", (st.st_size, st.st_nlink), (size, 0))


@part
def reading():
    put(JOB + "/data", DATA)
    fd = os.open(JOB + "/data", os.O_RDONLY)
    expect("the beginning", os.read(fd, 5000), DATA[:5000])
    os.unlink(JOB + "/data")
    for i in range(1, 4):
        kill()
        is_nameless(fd, len(DATA))
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        expect("what follows", os.read(fd, 5000),
               DATA[5000 * i:5000 * (i + 1)])
    anew = os.open("/proc/self/fd/%d" % fd, os.O_RDWR)
    os.close(fd)
    kill()
    expect("all of it", content(anew), DATA)
    os.pwrite(anew, b"X", 0)
    expect("all of it", content(anew), b"X" + DATA[1:])
    os.close(anew)
    nothing_left()


@part
def writing():
    fd = os.open(JOB + "/data", os.O_RDWR | os.O_CREAT)
    more = os.open(JOB + "/data", os.O_WRONLY | os.O_APPEND)
    os.write(fd, b"one ")
    os.unlink(JOB + "/data")
    kill()
    os.write(fd, b"two ")
    os.write(more, b"three ")
    kill()
    os.write(more, b"four ")
    expect("the file", content(fd), b"one two three four ")
    os.write(fd, b"THREE")
    is_nameless(more, 19)
    os.ftruncate(fd, 14)
    kill()
    expect("the file", content(fd), b"one two THREE ")
    os.ftruncate(more, 20)
    os.close(more)
    kill()
    is_nameless(fd, 20)
    expect("the file", content(fd), b"one two THREE " + bytes(6))
    os.fsync(fd)
    os.close(fd)
    nothing_left()


@part
def replaced():
    put(JOB + "/data", b"old")
    put(JOB + "/new", b"new data")
    fd = os.open(JOB + "/data", os.O_RDWR)
    os.rename(JOB + "/new", JOB + "/data")
    again = os.open(JOB + "/data", os.O_RDONLY)
    kill()
    expect("what was replaced", content(fd), b"old")
    os.pwrite(fd, b"er", 3)
    kill()
    expect("what was replaced", content(fd), b"older")
    is_nameless(fd, 5)
    expect("what has replaced it", content(again), b"new data")
    os.close(fd)
    os.close(again)
    nothing_left()
    with open(JOB + "/data", "rb") as f:
        expect("what has replaced it", f.read(), b"new data")


@part
def directory():
    os.mkdir(JOB + "/sub", 0o750)
    mode = os.stat(JOB + "/sub").st_mode
    fd = os.open(JOB + "/sub", os.O_RDONLY | os.O_DIRECTORY)
    os.rmdir(JOB + "/sub")
    for _ in range(2):
        st = os.fstat(fd)
        expect("mode and links", (st.st_mode, st.st_nlink), (mode, 0))
        kill()
    st = os.fstat(fd)
    expect("mode and links", (st.st_mode, st.st_nlink), (mode, 0))
    os.close(fd)
    nothing_left()


def finished_job():
    os.makedirs(JOB + "/sub", exist_ok=True)
    put(JOB + "/sub/data", DATA)
    put(JOB + "/code.sh", b"out hello\nwrite d/f left\n")
    put(JOB + "/config.json", b"{}")
    with open(JOB + "/wait") as f:
        f.read()
    names = {"sub/data": DATA, "stdout": b"hello\n", "stderr": b"",
             "output/d/f": b"left\n", "result.json": None, "log": None}
    for name in names:
        if names[name] is None:
            with open(JOB + "/" + name, "rb") as f:
                names[name] = f.read()
    return names


@part
def job():
    names = finished_job()
    fds = [(os.open(JOB + "/" + name, os.O_RDONLY), names[name])
           for name in list(names) * 2]
    writer = os.open(JOB + "/sub/data", os.O_WRONLY | os.O_APPEND)
    shutil.rmtree(JOB)
    becomes("what is stored", stored, [])
    for _ in range(3):
        kill()
        for fd, wanted in fds:
            is_nameless(fd, len(wanted))
            expect("what was open", content(fd), wanted)
    os.write(writer, b"more")
    kill()
    expect("the input", content(fds[0][0]), DATA + b"more")
    for fd, _ in fds[:len(names)]:
        os.close(fd)
    kill()
    expect("the input", content(fds[len(names)][0]), DATA + b"more")
    for fd, wanted in fds[len(names) + 1:]:
        expect("what is still open", content(fd), wanted)
        os.close(fd)
    os.close(fds[len(names)][0])
    os.close(writer)
    nothing_left()
    expect("what is stored", stored(), [])


@part
def many():
    """As many as there is room for in what is on its way to the holder, and
    more."""
    fds = []
    for i in range(600):
        put("%s/f%d" % (JOB, i), b"%d" % i)
        fds.append(os.open("%s/f%d" % (JOB, i), os.O_RDONLY))
    shutil.rmtree(JOB)
    kill()
    for i, fd in enumerate(fds):
        expect("a file", content(fd), b"%d" % i)
    for fd in fds[::2]:
        os.close(fd)
    kill()
    for i, fd in list(enumerate(fds))[1::2]:
        expect("a file", content(fd), b"%d" % i)
        os.close(fd)
    nothing_left()


@part
def hold():
    """Opened and removed; standard output tells, and standard input ends it."""
    finished_job()
    fds = [os.open(JOB + "/" + name, os.O_RDONLY)
           for name in ("sub/data", "stdout", "output/d/f")]
    shutil.rmtree(JOB)
    kill()
    expect("the input", content(fds[0]), DATA)
    print("held", flush=True)
    sys.stdin.read()
    for fd in fds:
        try:
            os.pread(fd, 1, 0)
        except OSError as e:
            expect("the errno", errno.errorcode[e.errno], "ENOTCONN")
        os.close(fd)


os.makedirs(JOB, exist_ok=True)
PARTS[PART]()
