# SPDX-License-Identifier: Apache-2.0
"""What ordinary programs do and must be able to go on doing."""
import asyncio
import ctypes
import faulthandler
import fcntl
import hashlib
import io
import mmap
import multiprocessing
import os
import pdb
import pty
import select
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import zlib

import hostile
from hostile import call, in_child

CODE_42 = b"\xb8\x2a\0\0\0\xc3"  # mov $42, %eax; ret
libc = hostile.libc


def square(x):
    return x * x


def jit():
    """As a just-in-time compiler: memory to write and run."""
    area = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE |
                     mmap.PROT_EXEC)
    area.write(CODE_42)
    at = ctypes.addressof(ctypes.c_char.from_buffer(area))
    return ctypes.CFUNCTYPE(ctypes.c_int)(at)()


def jit_in_turns():
    """Written first, made to run then."""
    area = mmap.mmap(-1, 4096)
    area.write(CODE_42)
    at = ctypes.addressof(ctypes.c_char.from_buffer(area))
    if libc.mprotect(ctypes.c_void_p(at), ctypes.c_size_t(4096), 5):
        raise OSError(ctypes.get_errno(), "")
    return ctypes.CFUNCTYPE(ctypes.c_int)(at)()


def callback():
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int),
                               ctypes.POINTER(ctypes.c_int))
    numbers = (ctypes.c_int * 4)(3, 1, 2, 0)
    libc.qsort(numbers, ctypes.c_size_t(4), ctypes.c_size_t(4),
               compare(lambda a, b: a[0] - b[0]))
    return list(numbers)


def pool(method, workers):
    def work():
        with multiprocessing.get_context(method).Pool(workers) as p:
            return p.map(square, range(4))
    return work


def shared_memory():
    from multiprocessing import shared_memory as sm
    area = sm.SharedMemory(create=True, size=4096)
    try:
        def child():
            seen = sm.SharedMemory(area.name)
            seen.buf[0] = 7
            seen.close()
        p = multiprocessing.get_context("fork").Process(target=child)
        p.start()
        p.join()
        return area.buf[0]
    finally:
        area.close()
        area.unlink()


def semaphore():
    context = multiprocessing.get_context("fork")
    lock, value = context.Lock(), context.Value("i", 0)

    def add():
        for _ in range(100):
            with lock:
                value.value += 1
    workers = [context.Process(target=add) for _ in range(2)]
    for p in workers:
        p.start()
    for p in workers:
        p.join()
    return value.value


def pipeline():
    return subprocess.check_output("seq 5 | tac | head -n 1", shell=True,
                                   text=True).strip()


def asyncio_server():
    async def main():
        async def answer(reader, writer):
            writer.write((await reader.readline()).upper())
            writer.close()
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"hello\n")
        line = await reader.readline()
        writer.close()
        server.close()
        return line.decode().strip()
    return asyncio.run(main())


def asyncio_process():
    async def main():
        p = await asyncio.create_subprocess_exec(
            "echo", "hi", stdout=subprocess.PIPE)
        return (await p.communicate())[0].decode().strip()
    return asyncio.run(main())


def threads():
    found = []
    all_of_them = [threading.Thread(target=found.append, args=(i,))
                   for i in range(20)]
    for t in all_of_them:
        t.start()
    for t in all_of_them:
        t.join()
    return len(found)


def sqlite():
    with tempfile.TemporaryDirectory() as d:
        db = sqlite3.connect(d + "/db")
        mode = db.execute("pragma journal_mode = wal").fetchone()[0]
        db.execute("create table t (x)")
        db.executemany("insert into t values (?)", [(i,) for i in range(10)])
        db.commit()
        total = db.execute("select sum(x) from t").fetchone()[0]
        db.close()
        return "%s %d" % (mode, total)


def shared_file():
    with tempfile.NamedTemporaryFile() as f:
        f.truncate(8192)
        area = mmap.mmap(f.fileno(), 8192)
        area[4096:4101] = b"hello"
        area.flush()
        return os.pread(f.fileno(), 5, 4096).decode()


def alarm():
    """By a timer that goes on: its first signal may come just before the pause,
    which would then wait for ever."""
    came = []
    usual = signal.signal(signal.SIGALRM, lambda *_: came.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    while not came:
        signal.pause()
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, usual)
    return bool(came)


def terminal():
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp("sh", ["sh", "-c", "tty >/dev/null && stty size"
                                     " && read x </dev/tty && echo got $x"])
    fcntl.ioctl(fd, 0x5414, struct.pack("4H", 24, 80, 0, 0))
    os.write(fd, b"word\n")
    said = b""
    while b"got word" not in said:
        said += os.read(fd, 1000)
    os.waitpid(pid, 0)
    return "got word"


def traceback_dump():
    with tempfile.TemporaryFile() as f:
        faulthandler.dump_traceback(f)
        f.seek(0)
        return b"traceback_dump" in f.read()


def debugger():
    said = io.StringIO()
    pdb.Pdb(stdin=io.StringIO("p 6 * 7\nc\n"), stdout=said).run("pass")
    return "42" in said.getvalue()


def job_control():
    # an interactive shell on a terminal: stop, continue, kill
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp("bash", ["bash", "--norc", "-i", "-c", """
set -m; sleep 600 & kill -STOP %1; while ! jobs -s | grep -q sleep; do
wait -n 2>/dev/null; done; bg %1 >/dev/null; kill %1; wait %1 2>/dev/null
echo "ended $?" """])
    said = b""
    try:
        while more := os.read(fd, 1000):
            said += more
    except OSError:
        pass  # the terminal has gone
    os.waitpid(pid, 0)
    return "ended 143" in said.decode()


def run_in_memory():
    """A program that is in no directory."""
    fd = os.memfd_create("prog", 0)
    with open("/bin/true", "rb") as f:
        os.write(fd, f.read())
    pid = os.fork()
    if pid == 0:
        os.execve(fd, ["prog"], {})
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def run_from(folder):
    def work():
        path = folder + "/prog"
        with open(path, "w") as f:
            f.write("#!/bin/sh\necho ran\n")
        os.chmod(path, 0o755)
        return subprocess.check_output([path], text=True).strip()
    return work


def affinity():
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(every)})
    os.sched_setaffinity(0, every)


def robust_list():
    head = (ctypes.c_long * 3)()
    head[0] = ctypes.addressof(head)
    call("set_robust_list", ctypes.byref(head), 24)


def rseq():
    """The library has registered this thread: a second time is EBUSY or,
    with another place, EINVAL; a kernel or a filter without it ENOSYS."""
    place = ctypes.create_string_buffer(64)
    at = (ctypes.addressof(place) + 31) & ~31
    call("rseq", at, 32, 0, 0x53053053)


def pass_descriptor():
    a, b = socket.socketpair()
    r, w = os.pipe()
    socket.send_fds(a, [b"x"], [w])
    fd = socket.recv_fds(b, 10, 1)[1][0]
    os.write(fd, b"through")
    return os.read(r, 100).decode()


def peer():
    a, _ = socket.socketpair()
    pid, uid, _ = struct.unpack("3i", a.getsockopt(
        socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return "%s %d" % (pid == os.getpid(), uid)


def echo(family, address):
    def work():
        with socket.socket(family) as s:
            s.bind((address, 0))
            s.listen()
            with socket.create_connection(s.getsockname()[:2]) as c:
                c.sendall(b"hi")
                return s.accept()[0].recv(10).decode()
    return work


def udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        s.sendto(b"hi", s.getsockname())
        return s.recv(10).decode()


def interfaces():
    """The library asks the kernel by NETLINK_ROUTE."""
    return socket.if_nameindex()


def addresses():
    first = ctypes.c_void_p()
    if libc.getifaddrs(ctypes.byref(first)):
        raise OSError(ctypes.get_errno(), "")
    libc.freeifaddrs(first)
    return bool(first)


def child_that_waits():
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(w, b"x")
        signal.pause()
        os._exit(0)
    os.read(r, 1)
    return pid


def trace_own():
    """A debugger on its own child: TRACEME, look, change, go on."""
    secret = ctypes.c_long(41)
    pid = os.fork()
    if pid == 0:
        call("ptrace", 0, 0, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(secret.value)
    os.waitpid(pid, 0)
    call("ptrace", 4, pid, ctypes.byref(secret), 42)
    call("ptrace", 7, pid, 0, 0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def attach_own():
    pid = child_that_waits()
    try:
        call("ptrace", 0x4206, pid, 0, 0)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def read_own():
    secret = ctypes.create_string_buffer(b"secret")
    pid = child_that_waits()
    try:
        got = ctypes.create_string_buffer(6)
        mine = struct.pack("<QQ", ctypes.addressof(got), 6)
        its = struct.pack("<QQ", ctypes.addressof(secret), 6)
        call("process_vm_readv", pid, ctypes.create_string_buffer(mine, 16),
             1, ctypes.create_string_buffer(its, 16), 1, 0)
        return got.raw.decode()
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def events():
    """The descriptors that event loops are made of."""
    loop = select.epoll()
    event = libc.eventfd(1, 0)
    timer = libc.timerfd_create(1, 0)
    libc.timerfd_settime(timer, 0, struct.pack("4q", 0, 0, 0, 1), None)
    for fd in (event, timer):
        loop.register(fd, select.EPOLLIN)
    seen = set()
    while len(seen) < 2:
        seen |= {fd for fd, _ in loop.poll()}
    return len(seen)


def watch():
    with tempfile.TemporaryDirectory() as d:
        fd = libc.inotify_init1(0)
        libc.inotify_add_watch(fd, d.encode(), 0x100)
        open(d + "/made", "w").close()
        return b"made" in os.read(fd, 1000)


def locks():
    with tempfile.NamedTemporaryFile() as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        fcntl.lockf(f, fcntl.LOCK_EX)


def system_v():
    at = libc.shmget(0, 4096, 0o1600)
    if at < 0:
        raise OSError(ctypes.get_errno(), "")
    libc.shmctl(at, 0, None)


def own_filter():
    """A program may confine itself further."""
    def confined():
        deny = [(0x20, 0, 0, 0), (0x15, 0, 1, 110), (0x06, 0, 0, 0x00050001),
                (0x06, 0, 0, 0x7FFF0000)]  # getppid: EPERM
        code = b"".join(struct.pack("<HBBI", *row) for row in deny)
        code = ctypes.create_string_buffer(code, len(code))
        program = struct.pack("<HxxxxxxQ", 4, ctypes.addressof(code))
        call("seccomp", 1, 0, ctypes.create_string_buffer(program, 16))
        return os.getppid()
    return in_child(confined)()


def splices():
    r, w = os.pipe()
    data = ctypes.create_string_buffer(b"spliced")
    vector = struct.pack("<QQ", ctypes.addressof(data), 7)
    call("vmsplice", w, ctypes.create_string_buffer(vector, 16), 1, 0)
    with tempfile.TemporaryFile() as f:
        os.splice(r, f.fileno(), 7, offset_dst=0)
        return os.pread(f.fileno(), 10, 0).decode()


def copies():
    with tempfile.TemporaryFile() as a, tempfile.TemporaryFile() as b:
        a.write(b"copied")
        a.flush()
        a.seek(0)
        os.copy_file_range(a.fileno(), b.fileno(), 6)
        return os.pread(b.fileno(), 10, 0).decode()


def nameless():
    os.close(os.open("/tmp", os.O_TMPFILE | os.O_RDWR, 0o600))


def without_randomness():
    return subprocess.check_output(
        ["/usr/bin/setarch", "-R", "echo", "ran"], text=True).strip()


def extensions():
    import decimal
    import ssl
    return "%s %d %s %s" % (
        hashlib.sha256(b"x").hexdigest()[:8], zlib.crc32(b"x"),
        decimal.Decimal(1) / 4, ssl.OPENSSL_VERSION_INFO[0])


def machine():
    """Figures of the machine that libraries look for."""
    names = ("cpuinfo", "meminfo", "stat", "loadavg", "uptime", "filesystems",
             "self/maps", "self/cgroup", "net/dev", "sys/kernel/pid_max",
             "sys/vm/overcommit_memory", "sys/net/core/somaxconn")
    return sum(bool(open("/proc/" + n).read()) for n in names) == len(names)


ROWS = [
    ("jit", "writes and runs code in one piece of memory", "42", jit),
    ("jit in turns", "makes written memory run", "42", jit_in_turns),
    ("callback", "has C call Python", "[0, 1, 2, 3]", callback),
    ("pool fork", "shares work among forks", "[0, 1, 4, 9]", pool("fork", 2)),
    ("pool spawn", "gives work to a fresh interpreter", "[0, 1, 4, 9]",
     pool("spawn", 1)),
    ("shared memory", "shares memory with a child", "7", shared_memory),
    ("semaphore", "locks between processes", "200", semaphore),
    ("pipeline", "runs a pipeline", "5", pipeline),
    ("asyncio server", "serves and asks on the loopback", "HELLO",
     asyncio_server),
    ("asyncio process", "runs a process in an event loop", "hi",
     asyncio_process),
    ("threads", "starts twenty threads", "20", threads),
    ("sqlite", "keeps a database with a write-ahead log", "wal 45", sqlite),
    ("shared file", "writes a file through memory", "hello", shared_file),
    ("alarm", "catches a timer's signal", "True", alarm),
    ("terminal", "runs a shell on a terminal", "got word", terminal),
    ("faulthandler", "dumps its own stack", "True", traceback_dump),
    ("pdb", "debugs itself", "True", debugger),
    ("job control", "stops, continues and ends a shell's job", "True",
     job_control),
    ("memfd", "runs a program from memory", "0", run_in_memory),
    ("run in home", "runs what it has written into its home", "ran",
     run_from("/home/user")),
    ("run in /tmp", "runs what it has written into /tmp", "ran",
     run_from("/tmp")),
    ("affinity", "chooses its processors", "ok", affinity),
    ("robust list", "sets a robust list", "ok", in_child(robust_list)),
    ("rseq", "asks for restartable sequences", "EINVAL", rseq),
    ("descriptors", "passes a descriptor over a socket", "through",
     pass_descriptor),
    ("peer", "asks who is at the other end", "True 1000", peer),
    ("tcp", "talks TCP on the loopback", "hi",
     echo(socket.AF_INET, "127.0.0.1")),
    ("tcp6", "talks TCP over IPv6 there", "hi", echo(socket.AF_INET6, "::1")),
    ("udp", "talks UDP there", "hi", udp),
    ("interfaces", "lists the interfaces", "[(1, 'lo')]", interfaces),
    ("addresses", "lists their addresses", "True", addresses),
    ("trace", "debugs its own child", "42", trace_own),
    ("attach", "attaches to its own child", "ok", attach_own),
    ("read a child", "reads its own child's memory", "secret", read_own),
    ("events", "waits for an event and a timer", "2", events),
    ("inotify", "watches a directory", "True", watch),
    ("locks", "locks a file both ways", "ok", locks),
    ("system v", "makes a piece of System V memory", "ok", system_v),
    ("own filter", "puts a filter of its own above", "-1", own_filter),
    ("splice", "splices memory into a file", "spliced", splices),
    ("copy", "has the kernel copy a file", "copied", copies),
    ("nameless", "makes a file without a name", "ok", nameless),
    ("personality", "runs without randomised addresses", "ran",
     without_randomness),
    ("nice", "lowers its own priority", "5", in_child(lambda: os.nice(5))),
    ("unshare", "unshares its table of descriptors", "ok",
     in_child(hostile.denied("unshare", 0x400))),
    ("extensions", "uses modules in C", "2d711642 2363233923 0.25 3",
     extensions),
    ("machine", "reads the machine's figures", "True", machine),
    ("random", "reads random bytes", "16",
     lambda: len(open("/dev/urandom", "rb").read(16))),
]

if __name__ == "__main__":
    hostile.run(ROWS)
    sys.stdout.flush()
