#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a shell cannot express: errno numbers, offsets, poll, mmap.

check.py NAME ARGUMENT... — the status is 0 if the check holds; otherwise a
sentence on standard error says what was found.
"""
import ctypes
import errno
import os
import select
import signal
import sys
import time

CHECKS = {}


def check(fn):
    CHECKS[fn.__name__.replace("_", "-")] = fn
    return fn


def die(text):
    sys.stderr.write("check: %s\n" % text)
    sys.exit(1)


def expect(what, found, wanted):
    if found != wanted:
        die("%s is %r; it must be %r" % (what, found, wanted))


def interrupted(fd):
    """A blocked read of fd must end by a signal. The timer goes on: its first signal
    may come before the read."""
    def on_alarm(number, frame):
        begun = frame.f_lineno > fails.__code__.co_firstlineno
        if frame.f_code is fails.__code__ and begun:
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise InterruptedError(errno.EINTR, "interrupted")

    signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    fails(errno.EINTR, os.read, fd, 100)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(60)


def fails(number, fn, *args, **kw):
    """fn must raise this errno."""
    try:
        got = fn(*args, **kw)
    except OSError as e:
        if e.errno != number:
            die("%s%r gave %s; it must be %s" % (
                getattr(fn, "__name__", fn), args,
                errno.errorcode.get(e.errno, e.errno),
                errno.errorcode[number]))
        return
    die("%s%r gave %r; it must fail with %s" % (
        getattr(fn, "__name__", fn), args, got, errno.errorcode[number]))


def put(path, data, flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
    fd = os.open(path, flags, 0o644)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def get(path):
    with open(path, "rb") as f:
        return f.read()


# --- names --------------------------------------------------------------------

@check
def job_names(mnt):
    mnt = os.fsencode(mnt)
    for bad in (b"a\nb", b"a\tb", b"\x01", b"a\x7f", b"\xc2\x80", b"\xff",
                b"a\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf"):
        fails(errno.EILSEQ, os.mkdir, mnt + b"/" + bad)
    fails(errno.ENAMETOOLONG, os.mkdir, mnt + b"/" + b"n" * 256)
    os.mkdir(mnt + b"/a")
    for bad in (b"a\nb", b"\xff", b"\x1b[31m"):
        fails(errno.EILSEQ, os.rename, mnt + b"/a", mnt + b"/" + bad)
        put(mnt + b"/a/" + bad, b"x")
        os.mkdir(mnt + b"/a/d" + bad)
    put(mnt + b"/a/" + b"n" * 255, b"x")
    fails(errno.ENAMETOOLONG, os.open, mnt + b"/a/" + b"n" * 256,
          os.O_WRONLY | os.O_CREAT)


@check
def stats(path):
    """The text format of Prometheus, as its parser has it."""
    import re  # slow to load, and for this alone
    label = r'[a-z_]+="(?:[^"\\\n]|\\["\\n])*"'
    sample = re.compile(r"([a-z_][a-z0-9_]*)(?:\{(%s(?:,%s)*)\})? "
                        r"([0-9.]+|\+Inf|NaN)$" % (label, label))
    kinds, named, seen, buckets = {}, None, set(), {}
    for line in get(path).decode().splitlines():
        words = line.split(" ", 3)
        if line.startswith("# HELP "):
            expect("help comes once", words[2] in kinds, False)
            kinds[words[2]], named = None, words[2]
            continue
        if line.startswith("# TYPE "):
            expect("its type follows", words[2], named)
            kinds[named] = words[3]
            continue
        found = sample.match(line)
        expect("it is a sample: %r" % line, bool(found), True)
        name, labels, value = found.groups()
        base = name
        if kinds.get(named) == "histogram":
            base = re.sub("_(bucket|sum|count)$", "", name)
        if named != base and base not in kinds:
            raise AssertionError("%s has no TYPE" % name)
        expect("%s stands with its kind" % line, base, named)
        expect("once: " + line, (name, labels) in seen, False)
        seen.add((name, labels))
        if name.endswith("_bucket"):
            key = base, ",".join(part for part in labels.split(",")
                                 if not part.startswith("le="))
            before = buckets.get(key, 0)
            expect("buckets grow", float(value) >= before, True)
            buckets[key] = float(value)
        elif name.endswith("_count"):
            expect("+Inf has all", buckets[base, labels or ""], float(value))


@check
def virtual_files(job):
    """Of a job that is done."""
    for name in ("state", "error", "log", "stdout", "stderr", "result.json",
                 "exit_code", "wait", "stdout.follow"):
        path = job + "/" + name
        fails(errno.EPERM, os.open, path, os.O_WRONLY)
        fails(errno.EPERM, os.open, path, os.O_RDWR)
        fails(errno.EPERM, os.open, path, os.O_WRONLY | os.O_TRUNC)
        fails(errno.EPERM, os.rename, path, job + "/mine")
        fails(errno.EPERM, os.rename, path, job + "/../other")
        fails(errno.EPERM, os.link, path, job + "/mine")
        put(job + "/x", b"x")
        fails(errno.EPERM, os.rename, job + "/x", path)
        os.unlink(job + "/x")
    fails(errno.EPERM, os.rename, job + "/output", job + "/mine")
    fails(errno.EPERM, os.open, job + "/output/new", os.O_WRONLY | os.O_CREAT)
    fails(errno.EPERM, os.mkdir, job + "/output/new")
    for name in ("stdout", "result.json", "exit_code"):
        before = get(job + "/" + name)
        try:
            os.truncate(job + "/" + name, 0)
        except OSError as e:
            expect("truncate's errno", e.errno, errno.EPERM)
        expect(name, get(job + "/" + name), before)


# --- writing ------------------------------------------------------------------

def wait_end(job):
    return get(job + "/wait")


@check
def write_orders(mnt):
    """pwrite backwards, append, truncate up and down, rename over."""
    job = mnt + "/orders"
    os.mkdir(job)
    text = b"out one\nout two\nout three\n"
    fd = os.open(job + "/code.sh", os.O_WRONLY | os.O_CREAT, 0o644)
    for at in range(len(text) - 1, -1, -1):
        expect("pwrite", os.pwrite(fd, text[at:at + 1], at), 1)
    os.close(fd)
    expect("bytes written backwards", get(job + "/code.sh"), text)

    a = os.open(job + "/data", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    b = os.open(job + "/data", os.O_WRONLY | os.O_APPEND)
    for i in range(50):
        os.write(a if i % 2 else b, b"%02d\n" % i)
    os.close(a)
    os.close(b)
    expect("two appenders", get(job + "/data"),
           b"".join(b"%02d\n" % i for i in range(50)))

    os.truncate(job + "/data", 6)
    expect("truncated", get(job + "/data"), b"00\n01\n")
    os.truncate(job + "/data", 9)
    expect("extended", get(job + "/data"), b"00\n01\n\0\0\0")
    fd = os.open(job + "/data", os.O_RDWR)
    os.ftruncate(fd, 3)
    expect("st_size", os.fstat(fd).st_size, 3)
    os.pwrite(fd, b"end", 1 << 20)
    expect("st_size with a hole", os.fstat(fd).st_size, (1 << 20) + 3)
    expect("read and write on one file", os.pread(fd, 9, (1 << 20) - 3),
           b"\0\0\0end")
    os.lseek(fd, 0, os.SEEK_END)
    os.write(fd, b"!")
    os.close(fd)
    os.truncate(job + "/data", 3)

    put(job + "/tmp", b"old")
    put(job + "/tmp2", b"new")
    os.rename(job + "/tmp2", job + "/tmp")
    expect("renamed over", get(job + "/tmp"), b"new")
    fd = os.open(job + "/tmp", os.O_RDONLY)
    os.unlink(job + "/tmp")
    expect("an unlinked open file", os.read(fd, 9), b"new")
    os.close(fd)

    fd = os.open(job + "/excl", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.close(fd)
    fails(errno.EEXIST, os.open, job + "/excl",
          os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    expect("mode", os.stat(job + "/excl").st_mode & 0o777, 0o600)
    os.chmod(job + "/excl", 0o755)
    expect("mode", os.stat(job + "/excl").st_mode & 0o777, 0o755)
    os.utime(job + "/excl", ns=(10**18, 15 * 10**17))
    expect("mtime", os.stat(job + "/excl").st_mtime_ns, 15 * 10**17)
    os.chown(job + "/excl", os.getuid(), os.getgid())
    if os.getuid() == 0:  # without effect, see cp -a of another's files
        os.chown(job + "/excl", 12345, -1)
    else:
        fails(errno.EPERM, os.chown, job + "/excl", 12345, -1)
    expect("owner", os.stat(job + "/excl").st_uid, os.getuid())
    fails(errno.EISDIR, os.open, job, os.O_WRONLY)
    fails(errno.ENOTDIR, os.mkdir, job + "/excl/d")
    fails(errno.ENOENT, os.open, job + "/no/such",
          os.O_WRONLY | os.O_CREAT)
    fd = os.open(job, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(fd)
    os.close(fd)

    fd = os.open(job + "/config.json", os.O_WRONLY | os.O_CREAT, 0o644)
    os.write(fd, b"{}")
    os.fsync(fd)
    os.close(fd)
    expect("wait", wait_end(job), b"0\n")
    expect("stdout", get(job + "/stdout"), b"one\ntwo\nthree\n")


@check
def close_error(mnt, text, number):
    """The closing call fails, and dup2's and fsync's closes too."""
    number = getattr(errno, number)
    os.mkdir(mnt)
    fd = os.open(mnt + "/config.json", os.O_WRONLY | os.O_CREAT, 0o644)
    os.write(fd, os.fsencode(text))
    fails(number, os.close, fd)


# --- the end ------------------------------------------------------------------

@check
def exit_code_last(mnt, count):
    """Whenever exit_code is there, everything else is and does not change."""
    import json
    for i in range(int(count)):
        job = "%s/last%d" % (mnt, i)
        os.mkdir(job)
        put(job + "/code.sh", b"out %d\nwrite f %d\nexit %d\n" %
            (i, i, i % 256))
        put(job + "/config.json", b"{}")
        while True:
            try:
                code = get(job + "/exit_code")
                break
            except FileNotFoundError:
                if os.path.exists(job + "/result.json"):
                    json.loads(get(job + "/result.json") or b"half")
        expect("exit_code", code, b"%d\n" % (i % 256))
        expect("stdout", get(job + "/stdout"), b"%d\n" % i)
        expect("output", get(job + "/output/f"), b"%d\n" % i)
        expect("state", get(job + "/state"), b"done\n")
        expect("result.json", json.loads(get(job + "/result.json"))
               ["exit_code"], i % 256)


# --- reading ------------------------------------------------------------------

def start(mnt, name, program, config=b"{}"):
    job = "%s/%s" % (mnt, name)
    os.mkdir(job)
    put(job + "/code.sh", program)
    put(job + "/config.json", config)
    return job


def kill_job(job):
    put(job + "/ctl", b"kill\n", os.O_WRONLY)
    wait_end(job)


def opened(path, flags=os.O_RDONLY):
    return os.open(path, flags | os.O_CLOEXEC)


@check
def stream_reads(path, size):
    import mmap
    size = int(size)
    whole = get(path)
    expect("length", len(whole), size)
    fd = opened(path)
    for at in (0, 1, 4095, 4096, 65535, 131071, size - 1, size, size + 1,
               10**12):
        expect("pread at %d" % at, os.pread(fd, 5000, at),
               whole[at:at + 5000])
    expect("lseek to the end", os.lseek(fd, 0, os.SEEK_END), size)
    expect("read at the end", os.read(fd, 1), b"")
    os.lseek(fd, -7, os.SEEK_END)
    expect("the last bytes", os.read(fd, 100), whole[-7:])
    with mmap.mmap(fd, size, prot=mmap.PROT_READ) as m:
        expect("mapped", m[:], whole)
    os.close(fd)


def read_line(fd):
    """One line of a file whose reads block."""
    line = b""
    while not line.endswith(b"\n"):
        part = os.read(fd, 1)
        if not part:
            die("the file ends after %r" % line)
        line += part
    return line


def blocked(pid, mnt):
    """The process waits in a read of the file system mnt."""
    with open("/proc/%s/syscall" % pid) as f:
        words = f.read().split()
    if len(words) < 3 or words[0] != "0":
        return False
    try:
        return os.readlink("/proc/%s/fd/%d" % (pid, int(words[1], 16))
                           ).startswith(mnt + "/")
    except OSError:
        return False


def in_call(tid, numbers):
    """The thread waits in one of these system calls."""
    with open("/proc/self/task/%d/syscall" % tid) as f:
        return f.read().split()[0] in numbers


@check
def settles(pid, mnt):
    """The process has ended, or waits for the mount, which has heard of it and
    has had the time to answer."""
    last, looks = None, 0
    end = time.monotonic() + 20
    while looks < 100:
        try:
            with open("/proc/%s/syscall" % pid) as f:
                call = f.read()
            with open("/proc/%s/stat" % pid) as f:
                if f.read().rpartition(")")[2].split()[0] == "Z":
                    return
        except OSError:
            return
        looks = looks + 1 if call == last and call != "running\n" else 0
        last = call
        if time.monotonic() > end:
            die("process %s neither ends nor waits" % pid)
        os.getxattr(mnt, "user.fsd.pid")  # it came after that one's


def children(pid):
    with open("/proc/%s/task/%s/children" % (pid, pid)) as f:
        return f.read().split()


def blocked_reader(pid, mnt):
    """Waits until a process below pid is blocked in a read of mnt. There is
    no event for that: it yields the processor between two looks."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        todo = [pid]
        while todo:
            one = todo.pop()
            try:
                if blocked(one, mnt):
                    return
                todo += children(one)
            except OSError:
                pass
        os.sched_yield()
    die("process %s does not block" % pid)


@check
def asked_at_end(mnt, name, daemon, broker):
    """The service ends while a request waits for a question to the broker,
    which does not answer: the request is answered all the same."""
    import threading
    ends, tid = [], []

    def looker():
        tid.append(threading.get_native_id())
        try:
            os.readlink(mnt + "/" + name)  # a lookup, and no other request
        except OSError as e:
            ends.append(e.errno)

    os.kill(int(broker), signal.SIGSTOP)
    one = threading.Thread(target=looker, daemon=True)
    one.start()
    end = time.monotonic() + 20
    while not tid or not in_call(tid[0], ("89", "267")):
        if time.monotonic() > end or ends:
            die("the lookup does not wait: %r" % ends)
        os.sched_yield()
    os.getxattr(mnt, "user.fsd.pid")  # it came after that one
    os.kill(int(daemon), signal.SIGTERM)
    one.join(20)
    expect("the end of readlink(2) on a plain file", ends, [errno.EINVAL])


@check
def removed_readers(mnt):
    import shutil
    import threading
    job = start(mnt, "gone", b"out up\nsleep 600000\n")
    fd = opened(job + "/stdout.follow")
    expect("the first line", read_line(fd), b"up\n")
    ends = []

    def reader(name):
        try:
            data = get(job + "/" + name)
        except OSError as e:
            data = e.errno
        ends.append((name, data))

    threads = [threading.Thread(target=reader, args=(n,), daemon=True)
               for n in ("wait", "stdout.follow", "stderr.follow") * 5]
    for t in threads:
        t.start()
    shutil.rmtree(job)
    for t in threads:
        t.join(20)
        if t.is_alive():
            die("a reader is still blocked on a removed job")
    os.close(fd)
    for name, data in ends:
        if name == "wait" and data not in (errno.ENOENT, errno.ESTALE,
                                           b"137\n"):
            die("wait gave %r" % (data,))


@check
def interrupt(mnt):
    job = start(mnt, "intr", b"out up\nsleep 600000\n")
    fd = opened(job + "/stdout.follow")
    read_line(fd)
    os.close(fd)

    for name in ("wait", "stderr.follow", "stdout.follow"):
        fd = opened(job + "/" + name)
        if name == "stdout.follow":
            read_line(fd)
        interrupted(fd)
        os.close(fd)
    # The killed reader's process ends, and the job is none the worse.
    pid = os.fork()
    if pid == 0:
        os.read(opened(job + "/wait"), 10)
        os._exit(1)
    blocked_reader(str(pid), mnt)
    os.kill(pid, signal.SIGKILL)
    expect("the killed reader", os.waitpid(pid, 0)[1], signal.SIGKILL)
    expect("state", get(job + "/state"), b"running\n")
    kill_job(job)


@check
def nonblock(mnt):
    job = start(mnt, "nonblock", b"out up\nsleep 600000\n")
    fd = opened(job + "/stdout.follow")
    expect("the first line", read_line(fd), b"up\n")
    os.set_blocking(fd, False)
    fails(errno.EAGAIN, os.read, fd, 100)
    w = opened(job + "/wait", os.O_NONBLOCK)
    fails(errno.EAGAIN, os.read, w, 100)
    e = opened(job + "/stderr.follow", os.O_NONBLOCK)
    fails(errno.EAGAIN, os.read, e, 100)
    kill_job(job)
    expect("follow at the end", os.read(fd, 100), b"")
    expect("wait at the end", os.read(w, 100), b"137\n")
    expect("wait after its line", os.read(w, 100), b"")
    expect("stderr at the end", os.read(e, 100), b"")


def ready(fd, ms, events=select.POLLIN):
    p = select.poll()
    p.register(fd, events)
    return dict(p.poll(ms)).get(fd, 0)


@check
def poll_often(job, times):
    """A file that never has anything to say, by one who is impatient."""
    fd = os.open(job + "/wait", os.O_RDONLY)
    for _ in range(int(times)):
        expect("select", select.select([fd], [], [], 1e-6)[0], [])
    os.close(fd)


@check
def poll_files(mnt):
    job = start(mnt, "poll", b"out one\nsleep 300\nout two\nsleep 600000\n")
    out = opened(job + "/stdout.follow")
    wait = opened(job + "/wait", os.O_NONBLOCK)
    if not ready(out, 20000) & select.POLLIN:
        die("poll on stdout.follow does not see the first line")
    expect("the first line", read_line(out), b"one\n")
    if ready(out, 0) & select.POLLIN:
        die("poll on stdout.follow is ready although all was read")
    expect("poll on wait", ready(wait, 0), 0)
    ep = select.epoll()
    ep.register(out, select.EPOLLIN)
    ep.register(wait, select.EPOLLIN)
    got = dict(ep.poll(20))
    if not got.get(out, 0) & select.EPOLLIN:
        die("epoll on stdout.follow does not see the second line: %r" % got)
    expect("the second line", read_line(out), b"two\n")
    expect("select", select.select([out, wait], [], [], 0)[0], [])
    state = opened(job + "/state")
    expect("state", os.read(state, 100), b"running\n")
    p = select.poll()
    p.register(state, select.POLLIN | select.POLLPRI)
    expect("poll on a state that was read", p.poll(0), [])
    put(job + "/ctl", b"kill\n", os.O_WRONLY)
    got = dict(ep.poll(20))
    if not got:
        die("epoll does not see the end")
    r = select.select([wait], [], [], 20)[0]
    expect("select on wait", r, [wait])
    expect("wait", os.read(wait, 100), b"137\n")
    if not ready(out, 20000):
        die("poll on stdout.follow does not see the end")
    expect("stdout.follow's end", os.read(out, 100), b"")
    if not p.poll(20000):
        die("poll on state does not see the change")
    expect("state", os.pread(state, 100, 0), b"done\n")


@check
def follow_offsets(mnt):
    job = start(mnt, "offsets", b"out one\nout two\nout three\n")
    wait_end(job)
    fd = opened(job + "/stdout.follow")
    got = b""
    while True:
        part = os.read(fd, 3)
        if not part:
            break
        got += part
    expect("in steps of 3", got, b"one\ntwo\nthree\n")
    fd = opened(job + "/wait")
    expect("wait by bytes", os.read(fd, 1) + os.read(fd, 1) + os.read(fd, 1),
           b"0\n")


@check
def follow_seek(mnt):
    job = start(mnt, "seek", b"out one\n")
    wait_end(job)
    for name, text in (("wait", b"0\n"), ("stdout.follow", b"one\n")):
        fails(errno.EPERM, os.open, job + "/" + name, os.O_WRONLY)
        fd = opened(job + "/" + name)
        expect("from 1 on", os.pread(fd, 10, 1), text[1:])
        expect("sought", os.lseek(fd, 1, os.SEEK_SET), 1)
        expect("then", os.read(fd, 10), text[1:])
        expect("at the end", os.read(fd, 10), b"")
        expect("back", os.lseek(fd, -1, os.SEEK_CUR), len(text) - 1)
        expect("again", os.read(fd, 10), b"\n")
        os.close(fd)


@check
def blocked_readers(mnt, count):
    """Many parked reads; a stat of the mount stays fast; all are answered."""
    import threading
    count = int(count)
    job = start(mnt, "many", b"out up\nsleep 600000\n")
    fd = opened(job + "/stdout.follow")
    read_line(fd)
    threading.stack_size(65536)
    ends = []
    parked = threading.Semaphore(0)

    def reader():
        one = opened(job + "/wait")
        parked.release()
        ends.append(os.read(one, 10))
        os.close(one)

    threads = [threading.Thread(target=reader, daemon=True)
               for _ in range(count)]
    for t in threads:
        t.start()
    for _ in threads:
        if not parked.acquire(timeout=60):
            die("a reader could not open wait")
    times = []
    for _ in range(200):
        before = time.monotonic()
        os.stat(job)
        times.append(time.monotonic() - before)
    times.sort()
    if times[100] > 0.02 * int(os.environ.get("SLOW", "1")):
        die("the median stat takes %.1f ms with %d blocked readers" %
            (times[100] * 1000, count))
    put(job + "/ctl", b"kill\n", os.O_WRONLY)
    for t in threads:
        t.join(60)
        if t.is_alive():
            die("a reader was never answered")
    expect("what they read", set(ends), {b"137\n"})
    expect("how many", len(ends), count)
    print("median stat with %d blocked readers: %.0f us" %
          (count, times[100] * 1e6))


@check
def rename_flags(mnt):
    libc = ctypes.CDLL(None, use_errno=True)

    def renameat2(old, new, flags):
        if libc.renameat2(-100, os.fsencode(old), -100, os.fsencode(new),
                          flags):
            raise OSError(ctypes.get_errno(), "renameat2")

    for name in ("a", "b"):
        os.mkdir(mnt + "/" + name)
        put("%s/%s/f" % (mnt, name), name.encode())
    fails(errno.EEXIST, renameat2, mnt + "/a", mnt + "/b", 1)
    fails(errno.EINVAL, renameat2, mnt + "/a", mnt + "/b", 2)
    fails(errno.EEXIST, renameat2, mnt + "/a/f", mnt + "/b/f", 1)
    fails(errno.EINVAL, renameat2, mnt + "/a/f", mnt + "/b/f", 2)
    renameat2(mnt + "/a/f", mnt + "/a/g", 1)
    renameat2(mnt + "/a", mnt + "/c", 1)
    expect("moved", get(mnt + "/c/g"), b"a")


# --- events -------------------------------------------------------------------

def event_bytes(line):
    import base64
    if "data" in line:
        return line["data"].encode()
    return base64.b64decode(line["base64"], validate=True)


EVENT_FIELDS = {
    "state": [{"state"}], "stdout": [{"data"}, {"base64"}],
    "stderr": [{"data"}, {"base64"}], "error": [{"message"}],
    "result": [{"bytes", "result"}], "end": [{"exit_code", "status"}],
}


def event_lines(text):
    """Each line is an object of a known shape and no time goes back."""
    import json
    import re
    lines = []
    before = ""
    for raw in text.splitlines(keepends=True):
        if not raw.endswith(b"\n"):
            die("events ends within a line: %r" % raw[-80:])
        line = json.loads(raw.decode())
        when = line.get("time", "")
        if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", when):
            die("a time is %r" % when)
        if when < before:
            die("%s comes after %s" % (when, before))
        before = when
        if set(line) - {"time", "event"} not in \
                EVENT_FIELDS.get(line["event"], []):
            die("a line is %r" % line)
        lines.append(line)
    return lines


def events_say(job, text):
    """The whole of a job that is done, by its other files."""
    import json
    lines = event_lines(text)
    for stream in ("stdout", "stderr"):
        told = [event_bytes(x) for x in lines if x["event"] == stream]
        if b"".join(told) != get(job + "/" + stream):
            die("events tells of %d bytes of %s, which has %d" % (
                sum(map(len, told)), stream, len(get(job + "/" + stream))))
        if any(len(x) > 65536 or not x for x in told):
            die("a line has %r bytes" % [len(x) for x in told])
    result = get(job + "/result.json")
    told = [x for x in lines if x["event"] == "result"]
    expect("results told", len(told), 1)
    expect("the result's length", told[0]["bytes"], len(result))
    if len(result) <= 65536:
        expect("the result", told[0]["result"], json.loads(result))
    else:
        expect("a long result", told[0]["result"], None)
    expect("the last event", lines[-1]["event"], "end")
    expect("the exit code", lines[-1]["exit_code"],
           int(get(job + "/exit_code")))
    expect("the status", lines[-1]["status"], json.loads(result)["status"])
    states = [x["state"] for x in lines if x["event"] == "state"]
    expect("the states", states, [x for x in ("queued", "running", "done")
                                  if x != "running" or "running" in states])
    return lines


@check
def events_of(job):
    """All of it, from a reader that began at any time."""
    events_say(job, get(job + "/events"))


@check
def events_order(job, count):
    """out 0, err 1, out 2 ... is told in this order."""
    lines = events_say(job, get(job + "/events"))
    said = b"".join(event_bytes(x) for x in lines
                    if x["event"] in ("stdout", "stderr"))
    expect("the order", said.split(),
           [b"%d" % i for i in range(int(count))])


def read_events(fd, wanted):
    """Lines up to one that has all of wanted."""
    import json
    while True:
        line = json.loads(read_line(fd))
        if wanted.items() <= line.items():
            return line


@check
def events_block(mnt):
    """Interrupted, EAGAIN, poll and epoll, as of stdout.follow."""
    later = 300 * int(os.environ.get("SLOW", "1"))
    job = start(mnt, "block",
                b"out one\nsleep %d\nerr two\nsleep 600000\n" % later)
    fd = opened(job + "/events")
    p = select.epoll()
    p.register(fd, select.EPOLLIN)
    read_events(fd, {"event": "stdout", "data": "one\n"})
    expect("poll when all was read", ready(fd, 0), 0)
    got = p.poll(20)
    expect("epoll", got and got[0][1] & select.EPOLLIN, select.EPOLLIN)
    read_events(fd, {"event": "stderr", "data": "two\n"})
    os.set_blocking(fd, False)
    fails(errno.EAGAIN, os.read, fd, 100)
    expect("poll when there is nothing", ready(fd, 0), 0)
    os.set_blocking(fd, True)

    interrupted(fd)
    kill_job(job)
    if not ready(fd, 20000):
        die("poll does not see the end")
    end = read_events(fd, {"event": "end"})
    expect("the end", (end["exit_code"], end["status"]), (137, "cancelled"))
    expect("behind the end", os.read(fd, 100), b"")
    expect("poll at the end", ready(fd, 0) & select.POLLHUP, select.POLLHUP)


@check
def events_offsets(mnt):
    """While it runs and after: whoever reads, and however, gets the same."""
    job = start(mnt, "offsets", b"out one\nbytes 300000\nerr two\nout three\n"
                b"sleep 200\nout four\nsleep 600000\n")
    fd = opened(job + "/events")
    text = b""
    while not (text.endswith(b"\n") and b'"four' in text):
        text += os.read(fd, 1 << 16)
    size = len(text)
    expect("the place in the file", os.lseek(fd, 0, os.SEEK_CUR), size)

    def whole(step):
        one = opened(job + "/events")
        text = b""
        while len(text) < size:
            part = os.read(one, min(step, size - len(text)))
            if not part:
                die("events ends at %d of %d" % (len(text), size))
            text += part
        os.close(one)
        return text

    before = whole(1 << 20)
    expect("in steps of 777", whole(777) == before, True)
    for at in (0, 1, 100, size - 1, 65536, 3, size // 2):
        # it may be less, and at the end there may be more by now
        got = os.pread(fd, 500, at)
        if not got or got[:size - at] != before[at:at + len(got)]:
            die("pread at %d gave %r" % (at, got))
    os.lseek(fd, 0, os.SEEK_SET)
    got = os.read(fd, 1000)
    expect("read again", got, before[:len(got)])
    kill_job(job)
    after = get(job + "/events")
    expect("the start after the end", after[:size] == before, True)
    events_say(job, after)
    for at in (len(after), len(after) + 1, 1 << 40):
        expect("pread at %d" % at, os.pread(fd, 10, at), b"")
    expect("the last byte", os.pread(fd, 10, len(after) - 1), b"\n")
    fails(errno.EPERM, os.open, job + "/events", os.O_WRONLY)


@check
def events_far(job, other, ms):
    """Behind all of a long run, and another file meanwhile: nobody waits for
    as long as it takes."""
    import threading
    fd = opened(job + "/events")
    got = []
    t = threading.Thread(target=lambda: got.append(os.pread(fd, 10, 1 << 40)))
    t.start()
    slowest = 0
    looks = 0
    began = time.monotonic()
    while t.is_alive():
        before = time.monotonic()
        get(other)
        slowest = max(slowest, time.monotonic() - before)
        looks += 1
    t.join()
    expect("what is far behind the end", got, [b""])
    print("%d looks, the slowest took %.1f ms" % (looks, slowest * 1000))
    most = max(float(ms) / 1000, (time.monotonic() - began) / 3)
    if looks < 4 or slowest > most:
        die("%d looks, the slowest took %.1f ms" % (looks, slowest * 1000))


# --- .fsd ---------------------------------------------------------------------

PROM_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
PROM_LABEL = r"[a-zA-Z_][a-zA-Z0-9_]*"
PROM_VALUE = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|Inf)|NaN"
PROM_TYPES = ("counter", "gauge", "histogram", "summary", "untyped")


def prom_labels(text, line):
    """The inside of the braces: name="value" with commas between."""
    import re
    labels = {}
    while text:
        m = re.match(r'(%s)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)' % PROM_LABEL,
                     text)
        if not m or m.group(1) in labels or m.group(1).startswith("__"):
            die("bad labels: %s" % line)
        labels[m.group(1)] = m.group(2)
        text = text[m.end():]
    return tuple(sorted(labels.items()))


def prom_comment(line, families, current):
    """HELP, then TYPE, once each and before the samples."""
    import re
    m = re.fullmatch(r"# (HELP|TYPE) (%s) (\S.*)" % PROM_NAME, line)
    if not m:
        die("neither HELP nor TYPE: %s" % line)
    what, name, rest = m.groups()
    if what == "HELP":
        if name in families:
            die("%s comes twice" % name)
        families[name] = None
        return name
    if name != current or families.get(name):
        die("TYPE without its HELP before it: %s" % line)
    if rest not in PROM_TYPES:
        die("%s is no type: %s" % (rest, line))
    if (rest == "counter") != name.endswith("_total"):
        die("a counter, and nothing else, ends in _total: %s" % line)
    families[name] = rest
    return name


@check
def prometheus(path):
    """Strictly the text format, version 0.0.4."""
    import re
    text = get(path).decode()
    if not text.endswith("\n"):
        die("it ends within a line")
    families, series, current = {}, set(), None
    for line in text[:-1].split("\n"):
        if line.startswith("#"):
            current = prom_comment(line, families, current)
            continue
        m = re.fullmatch(r"(%s)(?:\{(.*)\})? (%s)" % (PROM_NAME, PROM_VALUE),
                         line)
        if not m:
            die("no sample: %r" % line)
        name, labels, value = m.groups()
        family = re.sub("_(bucket|sum|count)$", "", name)
        if families.get(family) != "histogram":
            family = name
        if family != current or not families[family]:
            die("a sample without HELP and TYPE right before it: %s" % line)
        one = (name, prom_labels(labels or "", line))
        if one in series:
            die("a series comes twice: %s" % line)
        series.add(one)
        if families[family] == "counter" and float(value) < 0:
            die("a counter below 0: %s" % line)
    empty = set(families) - {re.sub("_bucket$", "", name) for name, _ in series}
    if empty:
        die("nothing of %s" % ", ".join(sorted(empty)))
    if not series:
        die("there are no samples")


@check
def manual_results(page, *results):
    """The members that jobtree.5 names are those of these result.json."""
    import json
    import re
    found = set()

    def collect(value, within):
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                for key in item:
                    found.add(key)
                    if key != "value" or within:
                        collect(item[key], key)

    for path in results:
        collect(json.loads(get(path)), None)
    text = get(page).decode()
    text = text[text.index("\n.SH RESULTS"):]
    text = text[text.index("these members"):text.index("\n.PP")]
    named = set()
    for line in text.splitlines():
        words = re.findall(r'"[^"]*"|\S+', line)
        if words and words[0] in (".BR", ".RB", ".B"):
            words = words[2:] if words[0] == ".RB" else words[1:]
            named.update(w for w in words[::2] if w != ".")
    # what a member may be, not what it is called
    named -= {"kept", "lost"}
    if "connections" not in found:  # "network" is null
        named -= {"connections", "host", "port", "address", "sent", "received", "ms",
                  "verdict"}
    if named != found:
        die("jobtree.5 lacks %s and invents %s" % (
            sorted(found - named), sorted(named - found)))


@check
def ctl_refuses(path, last_error, *verbs):
    """EINVAL for all but these verbs, with a sentence that lists them."""
    fd = os.open(path, os.O_WRONLY)
    bad = [b"\n", b"   \n", b"nonsense", b"nonsense\n", b"start\nkill\n",
           b"drain\nresume\n", b"\0", b"kill\0\n", b"\xff\xfe", b"\x1b[31m",
           b"START\n", b"drain now\n", b"kill -9\n", b"\xc3\xbc\n",
           b"signal\n", b"signal NOPE\n", b"signal TERM\nkill\n",
           b"x" * 255, b"x" * 256, b"x" * 5000, bytes(range(256))]
    for text in bad:
        fails(errno.EINVAL, os.write, fd, text)
        said = get(last_error).decode()
        if "ctl: " not in said or not said.endswith("\n"):
            die("after %r last_error says %r" % (text, said))
        if "is not a verb" in said and not all(v in said for v in verbs):
            die("after %r last_error does not list the verbs: %r" %
                (text, said))
    expect("a write of nothing", os.write(fd, b""), 0)
    os.close(fd)


@check
def one_value(path):
    """One line, without blanks around it."""
    text = get(path).decode()
    if text.count("\n") != 1 or text[:-1] != text.strip() or not text[:-1]:
        die("%s has %r" % (path, text))


# --- load ---------------------------------------------------------------------

def in_threads(count, todo, work):
    """work(item) for each of todo, by so many threads; the first error."""
    import queue
    import threading
    items = queue.SimpleQueue()
    errors = []
    for item in todo:
        items.put(item)

    def loop():
        while not errors:
            try:
                item = items.get_nowait()
            except queue.Empty:
                return
            try:
                work(item)
            except BaseException as e:  # die() too
                errors.append(e)

    threads = [threading.Thread(target=loop) for _ in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        if isinstance(errors[0], SystemExit):
            sys.exit(1)
        raise errors[0]


@check
def many_jobs(mnt, count, threads):
    import shutil

    def one(i):
        job = start(mnt, "load%d" % i,
                    b"out %d\nerr x\nwrite f %d\nexit %d\n" %
                    (i, i, i % 256))
        expect("wait", wait_end(job), b"%d\n" % (i % 256))
        expect("stdout", get(job + "/stdout"), b"%d\n" % i)
        expect("output", get(job + "/output/f"), b"%d\n" % i)
        shutil.rmtree(job)

    began = time.monotonic()
    in_threads(int(threads), range(int(count)), one)
    took = time.monotonic() - began
    print("%s jobs in %.1f s" % (count, took))


@check
def closed_and_started(mnt, count):
    """Each closes its program and says `start` at once, all at the same time."""
    import threading

    together = threading.Barrier(int(count), timeout=60)

    def one(i):
        job = "%s/closed%d" % (mnt, i)
        os.mkdir(job)
        put(job + "/config.json", b'{"start": "manual"}')
        program = os.open(job + "/code.sh", os.O_WRONLY | os.O_CREAT)
        ctl = os.open(job + "/ctl", os.O_WRONLY)
        os.write(program, b"exit %d\n" % (i % 256))
        together.wait()
        os.close(program)
        os.write(ctl, b"start\n")
        os.close(ctl)
        expect("wait", wait_end(job), b"%d\n" % (i % 256))

    in_threads(int(count), range(int(count)), one)


@check
def cross_talk(mnt, count):
    def one(i):
        mark = b"mark-%04d-" % i
        job = start(mnt, "talk%d" % i,
                    b"".join(b"out %s%d\nerr %s%d\nsleep 1\n" %
                             (mark, k, mark, k) for k in range(20)) +
                    b"show data\nwrite f %s\nexit %d\n" % (mark, i % 256),
                    b'{"start": "manual"}')
        put(job + "/data", mark)
        put(job + "/ctl", b"start\n", os.O_WRONLY)
        expect("wait", wait_end(job), b"%d\n" % (i % 256))
        expect("stdout", get(job + "/stdout"),
               b"".join(b"%s%d\n" % (mark, k) for k in range(20)) + mark)
        expect("stderr", get(job + "/stderr"),
               b"".join(b"%s%d\n" % (mark, k) for k in range(20)))
        expect("output", get(job + "/output/f"), mark + b"\n")

    in_threads(int(count), range(int(count)), one)


@check
def churn(mnt, count):
    import shutil
    import threading
    stop = threading.Event()
    bad = []

    def lister():
        while not stop.is_set():
            for at, dirs, files in os.walk(mnt):
                names = dirs + files
                if len(names) != len(set(names)):
                    bad.append("%s lists a name twice" % at)
                for name in files:
                    try:
                        get(at + "/" + name)
                    except OSError as e:
                        if e.errno not in (errno.ENOENT, errno.ESTALE,
                                           errno.EINVAL):
                            bad.append("%s/%s: %s" % (at, name, e))

    readers = [threading.Thread(target=lister) for _ in range(2)]
    for t in readers:
        t.start()

    def one(i):
        job = start(mnt, "churn%d" % i, b"out %d\nwrite f x\n" % i)
        expect("wait", wait_end(job), b"0\n")
        shutil.rmtree(job)

    try:
        in_threads(4, range(int(count)), one)
    finally:
        stop.set()
        for t in readers:
            t.join()
    if bad:
        die(bad[0])
    expect("what is left", os.listdir(mnt), [".fsd"])


@check
def flip_bit(templates):
    """One bit in the largest file of every template, where there is data."""
    flipped = 0
    for at, _, files in os.walk(templates):
        big = [(os.stat(at + "/" + f).st_size, at + "/" + f) for f in files]
        if not big or max(big)[0] < 1 << 20:
            continue
        path = max(big)[1]
        os.chmod(path, 0o600)
        fd = os.open(path, os.O_RDWR)
        where = os.lseek(fd, 0, os.SEEK_DATA) + 5
        byte = os.pread(fd, 1, where)
        os.pwrite(fd, bytes([byte[0] ^ 1]), where)
        os.close(fd)
        flipped += 1
    if not flipped:
        die("there is no template in %s" % templates)


# --- the loop -----------------------------------------------------------------

def cpu_ns(pid):
    """Of the main thread and of the others."""
    used = {}
    for task in os.listdir("/proc/%d/task" % pid):
        text = get("/proc/%d/task/%s/schedstat" % (pid, task))
        used[int(task)] = int(text.split()[0])
    return used.pop(pid), sum(used.values())


@check
def worker_does(pid, *command):
    """Most of the daemon's work for this command is not its main thread's."""
    import subprocess
    before = cpu_ns(int(pid))
    subprocess.run(command, check=False, stderr=subprocess.DEVNULL)
    after = cpu_ns(int(pid))
    main, others = after[0] - before[0], after[1] - before[1]
    if main * 2 > others:
        die("%s: the main thread worked %.1f ms, the others %.1f ms" % (
            " ".join(command), main / 1e6, others / 1e6))


@check
def writes_elsewhere(pid, *command):
    """The daemon's main thread writes next to nothing for this command."""
    import subprocess

    def written(tid):
        with open("/proc/%s/task/%s/io" % (pid, tid)) as f:
            fields = dict(line.split(": ") for line in f)
        return int(fields["wchar"])

    def all_written():
        return sum(written(tid) for tid in os.listdir("/proc/%s/task" % pid))
    main, everybody = written(pid), all_written()
    subprocess.run(command, check=True)
    main, everybody = written(pid) - main, all_written() - everybody
    if not everybody or main * 10 > everybody:
        die("%s: the main thread wrote %d bytes of %d" % (
            " ".join(command), main, everybody))


@check
def listing(path, count):
    """Each entry once, whatever is removed or renamed meanwhile."""
    def names(every):
        found = []
        with os.scandir(path) as entries:
            for i, entry in enumerate(entries):
                found.append(entry.name)
                every(i, entry.name)
        return found

    def disturb(i, name):
        if i % 3 == 0:
            os.unlink(path + "/" + name)
        elif i % 3 == 1:
            os.rename(path + "/" + name, path + "/r" + name)

    all_names = names(lambda i, name: None)
    expect("the number of entries", len(all_names), int(count))
    found = names(disturb)
    expect("an entry that is listed twice",
           len(found) - len(set(found)), 0)
    missed = [n for n in all_names if n not in set(found)]
    # those that were renamed before they were come to may be missing
    if len(missed) > int(count) // 2:
        die("%d entries of %s are missing" % (len(missed), count))
    rest = names(lambda i, name: None)
    expect("what is left", sorted(rest), sorted(os.listdir(path)))


@check
def seek_listing(path):
    """telldir's places stay good while others are removed."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
    libc.telldir.restype = ctypes.c_long
    libc.readdir.argtypes = libc.telldir.argtypes = [ctypes.c_void_p]
    libc.closedir.argtypes = libc.rewinddir.argtypes = [ctypes.c_void_p]
    libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]
    d = libc.opendir(os.fsencode(path))

    def name():
        entry = libc.readdir(d)
        # struct dirent: ino, off, reclen, type, name
        return ctypes.string_at(entry + 19).decode() if entry else None

    seen = []
    while True:
        place = libc.telldir(d)
        found = name()
        if not found:
            break
        seen.append((place, found))
    files = [s for s in seen if s[1].startswith("f")]
    for place, wanted in (files[700], files[3], files[-1], files[250]):
        libc.seekdir(d, place)
        expect("the entry at its place", name(), wanted)
    for _, gone in files[:200]:
        os.unlink(path + "/" + gone)
    libc.seekdir(d, files[250][0])
    expect("the entry after removals", name(), files[250][1])
    libc.rewinddir(d)
    left = []
    while True:
        found = name()
        if not found:
            break
        left.append(found)
    expect("what is left", len([f for f in left if f.startswith("f")]),
           len(files) - 200)
    libc.closedir(d)


# --- a server that is killed ----------------------------------------------------

@check
def become_others(job, *fds):
    """Files and directories are made until the store has given the inodes of
    what is gone out again: whoever has something of before, a file with "mine" or a
    directory that is empty, has nothing of them."""
    made = {}
    for i in range(100):
        name = "%s/f%d" % (job, i)
        put(name, b"other")
        if get(name) != b"other":
            die("%s is not what was written" % name)
        made[os.stat(name).st_ino] = name
    for i in range(100):
        name = "%s/d%d" % (job, i)
        os.makedirs(name, exist_ok=True)
        put(name + "/f", b"other")  # it is no removed one
        made[os.stat(name).st_ino] = name
    for fd in map(int, fds):
        for what in (lambda: os.fstat(fd).st_ino,
                     lambda: os.pread(fd, 9, 0),
                     lambda: get("/proc/self/fd/%d" % fd),
                     lambda: os.listdir(fd)):
            try:
                found = what()
            except OSError:
                continue
            if found in (b"mine\n", []) or isinstance(found, int) and \
                    found not in made:
                continue
            die("descriptor %d gives %r: %s" % (fd, found, made.get(found)
                if isinstance(found, int) else ""))


def kill_server(mnt):
    """Until another one has answered. The time from the kill on, in s."""
    pid = int(os.getxattr(mnt, "user.fsd.pid"))
    begin = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    while int(os.getxattr(mnt, "user.fsd.pid")) == pid:
        pass  # it had answered before it died
    return time.monotonic() - begin


@check
def parked_through(mnt, count):
    """Readers that wait for a job's end, three servers long."""
    import threading
    job, count, ends = mnt + "/parked", int(count), []
    os.mkdir(job)
    threading.stack_size(65536)
    fds = [opened(job + "/wait") for _ in range(count)]

    def reader(fd):
        ends.append(os.read(fd, 10))

    threads = [threading.Thread(target=reader, args=(fd,), daemon=True)
               for fd in fds]
    for t in threads:
        t.start()
    worst = max(kill_server(mnt) for _ in range(3))
    put(job + "/code.sh", b"exit 5\n")
    put(job + "/config.json", b"{}")
    for t in threads:
        t.join(60)
        if t.is_alive():
            die("a reader was never answered")
    expect("what they read", set(ends), {b"5\n"})
    expect("how many", len(ends), count)
    print("%d readers; the slowest answer after a kill took %.0f ms" % (
        count, worst * 1000))


@check
def polls_through(mnt):
    """Who polls for a job's end is woken by the server that follows."""
    job = start(mnt, "polled", b"out up\nsleep 600000\n")
    follow = opened(job + "/stdout.follow")
    read_line(follow)
    wait, state = opened(job + "/wait"), opened(job + "/state")
    os.read(state, 100)
    expect("poll before", (ready(wait, 0), ready(state, 0)), (0, 0))
    kill_server(mnt)
    if not ready(wait, 20000) & select.POLLIN:
        die("poll of wait was not woken")
    expect("wait", os.read(wait, 10), b"125\n")
    if not ready(state, 20000):
        die("poll of state was not woken")
    expect("the stream that was followed", os.read(follow, 10), b"")


@check
def lists_through(mnt, count):
    """Every entry is listed though the server dies meanwhile."""
    job, count = mnt + "/many", int(count)
    os.mkdir(job)
    for i in range(count):
        put("%s/f%d" % (job, i), b"")
    found = []
    with os.scandir(job) as entries:
        for i, entry in enumerate(entries):
            found.append(entry.name)
            if i in (count // 4, count // 2):
                kill_server(mnt)
    wanted = set(os.listdir(job))
    expect("what is left out", sorted(wanted - set(found)), [])
    expect("what is not there", sorted(set(found) - wanted), [])


# --- run ----------------------------------------------------------------------

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in CHECKS:
        die("there is no check %r" % sys.argv[1:2])
    signal.alarm(120)
    CHECKS[sys.argv[1]](*sys.argv[2:])
