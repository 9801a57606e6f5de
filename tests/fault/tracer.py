# SPDX-License-Identifier: Apache-2.0
"""Counts, kills at, fails or records a daemon's system calls on its state
directory.

strace does such things for calls by their name, a thread at a time; a `write`
to a pipe and one to a result are the same to it. Here the calls of all threads
are one sequence, and only those count that touch a file below the directory.

The tracer is a process of its own (ptrace binds to a thread). It ends with its
target or when told to; the target then goes on untraced.
"""
import contextlib
import ctypes
import errno
import os
import pickle
import select
import signal
import struct
import time

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.restype = ctypes.c_long
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p,
                        ctypes.c_void_p]

(SYSCALL, DETACH, SEIZE, INTERRUPT, LISTEN, POKEUSER, SYSCALL_INFO) = (
    24, 17, 0x4206, 0x4207, 0x4208, 6, 0x420e)
TRACESYSGOOD, TRACEFORK, TRACEVFORK, TRACECLONE, TRACEEXEC = 1, 2, 4, 8, 16
EVENT_EXEC = 4
WALL = 0x40000000
EVENT_STOP = 128
RAX, ORIG_RAX = 10 * 8, 15 * 8

AT_FDCWD = -100
O_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

# Name: number on x86-64, which arguments name the file: ("fd", i) a
# descriptor, ("at", i, j) a directory's descriptor and a path, ("path", i).
CALLS = {
    "write": (1, [("fd", 0)]), "pwrite64": (18, [("fd", 0)]),
    "writev": (20, [("fd", 0)]), "pwritev": (296, [("fd", 0)]),
    "pwritev2": (328, [("fd", 0)]), "sendfile": (40, [("fd", 0)]),
    "copy_file_range": (326, [("fd", 2)]), "splice": (275, [("fd", 2)]),
    "ftruncate": (77, [("fd", 0)]), "fallocate": (285, [("fd", 0)]),
    "fsync": (74, [("fd", 0)]), "fdatasync": (75, [("fd", 0)]),
    "syncfs": (306, [("fd", 0)]), "sync_file_range": (277, [("fd", 0)]),
    "fchmod": (91, [("fd", 0)]), "fchown": (93, [("fd", 0)]),
    "fchmodat": (268, [("at", 0, 1)]), "fchownat": (260, [("at", 0, 1)]),
    "utimensat": (280, [("at", 0, 1)]),
    "openat": (257, [("at", 0, 1)]), "mkdirat": (258, [("at", 0, 1)]),
    "mknodat": (259, [("at", 0, 1)]), "unlinkat": (263, [("at", 0, 1)]),
    "renameat": (264, [("at", 0, 1), ("at", 2, 3)]),
    "renameat2": (316, [("at", 0, 1), ("at", 2, 3)]),
    "linkat": (265, [("at", 0, 1), ("at", 2, 3)]),
    "symlinkat": (266, [("at", 1, 2)]),
    "open": (2, [("path", 0)]), "mkdir": (83, [("path", 0)]),
    "rmdir": (84, [("path", 0)]), "unlink": (87, [("path", 0)]),
    "truncate": (76, [("path", 0)]),
    "rename": (82, [("path", 0), ("path", 1)]),
    "pread64": (17, [("fd", 0)]), "newfstatat": (262, [("at", 0, 1)]),
    "getdents64": (217, [("fd", 0)]),
}
READS = {"pread64", "newfstatat", "getdents64"}
BY_NUMBER = {number: name for name, (number, _) in CALLS.items()}
assert len(BY_NUMBER) == len(CALLS)


class Call:
    """One system call on the state directory, as it was recorded."""
    __slots__ = ("no", "name", "args", "paths", "data", "entered", "left",
                 "result", "tid", "index")

    def __repr__(self):
        return "%d %s%r = %s" % (self.no, self.name,
                                 tuple(self.paths), self.result)


class Plan:
    """What is to be done at the calls. kill: number of the call at which the
    process dies, before it or, with after, behind it. fail: an errno for the
    calls [first, first + count) of those whose name is in names (all). also: a
    file elsewhere whose calls are recorded, and neither counted nor touched."""

    def __init__(self, kill=0, after=False, fail=0, first=1, count=1,
                 names=None, record=False, reads=False, also=None):
        self.also = also and also.encode()
        self.kill, self.after = kill, after
        self.fail, self.first, self.count = fail, first, count
        self.names, self.record, self.reads = names, record, reads


def ptrace(request, tid, addr=0, data=0):
    ctypes.set_errno(0)
    r = LIBC.ptrace(request, tid, addr, data)
    if r < 0 and ctypes.get_errno():
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return r


class Tracee:
    def __init__(self, tid):
        self.tid = tid
        self.mem = None
        self.call = None     # the one that it is in
        self.inside = False
        self.fails = 0       # the errno that this one is to give


class Tracer:
    """The tracer's process."""

    def __init__(self, pid, below, plan, tell, told, children):
        self.pid, self.plan = pid, plan
        self.options = TRACESYSGOOD | TRACECLONE | TRACEEXEC
        if children:
            self.options |= TRACEFORK | TRACEVFORK
        self.below = below.encode()
        self.tell, self.told = tell, told
        self.threads = {}
        self.count = 0        # of calls below the directory that were counted
        self.calls = []
        self.killed = 0       # CLOCK_MONOTONIC,
        self.at = ""          # and where

    # --- attaching -----------------------------------------------------------

    def attach(self):
        fresh = True
        while fresh:
            fresh = False
            for tid in map(int, os.listdir("/proc/%d/task" % self.pid)):
                if tid in self.threads:
                    continue
                ptrace(SEIZE, tid, 0, self.options)
                ptrace(INTERRUPT, tid)
                self.threads[tid] = Tracee(tid)
                fresh = True

    def detach(self):
        """Lets every thread go, or sees it die: a leader is reaped last."""
        self.plan = Plan()
        for tid in self.threads:
            with contextlib.suppress(OSError):
                ptrace(INTERRUPT, tid)
        while self.threads:
            tid, status = os.waitpid(-1, WALL)
            t = self.threads.get(tid)
            if not t or not os.WIFSTOPPED(status) or t.fails:
                self.step(tid, status)
                continue
            with contextlib.suppress(OSError):
                ptrace(DETACH, tid, 0, self.on_stop(t, status) or 0)
            del self.threads[tid]

    # --- looking at a call -----------------------------------------------------

    def bytes_at(self, t, address, size):
        if t.mem is None:
            t.mem = open("/proc/%d/mem" % t.tid, "rb", 0)
        return os.pread(t.mem.fileno(), size, address)

    def text_at(self, t, address):
        out = b""
        while b"\0" not in out:
            room = 4096 - (address + len(out)) % 4096
            out += self.bytes_at(t, address + len(out), min(room, 256))
        return out[:out.index(b"\0")]

    def fd_path(self, t, fd):
        try:
            return os.readlink(b"/proc/%d/fd/%d" % (t.tid, fd))
        except OSError:
            return b""

    def where(self, t, how, args):
        def signed(v):
            return ctypes.c_int(v & 0xffffffff).value
        if how[0] == "fd":
            return self.fd_path(t, signed(args[how[1]]))
        if not args[how[-1]]:  # futimens(3)
            return self.fd_path(t, signed(args[how[1]]))
        path = self.text_at(t, args[how[-1]])
        if how[0] == "path" or path.startswith(b"/"):
            return path
        fd = signed(args[how[1]])
        at = os.readlink(b"/proc/%d/cwd" % t.tid) if fd == AT_FDCWD \
            else self.fd_path(t, fd)
        return os.path.normpath(os.path.join(at, path))

    def is_counted(self, name, args, paths):
        if self.plan.names and name not in self.plan.names:
            return False
        if not any((p + b"/").startswith(self.below + b"/") for p in paths):
            return False
        if self.plan.reads or self.plan.names:
            return True
        if name in READS:
            return False
        return name not in ("open", "openat") or \
            bool(args[2 if name == "openat" else 1] & O_WRITES)

    def data_of(self, t, name, args):
        if name in ("write", "pwrite64"):
            return self.bytes_at(t, args[1], args[2])
        if name in ("writev", "pwritev", "pwritev2"):
            raw = self.bytes_at(t, args[1], args[2] * 16)
            return b"".join(self.bytes_at(t, *struct.unpack_from("QQ", raw, at))
                            for at in range(0, len(raw), 16))
        return None

    # --- at a stop --------------------------------------------------------------

    def note(self, call):
        """Where the first fault was."""
        self.at = self.at or "%s %s" % (call.name, b" ".join(
            p[len(self.below):] for p in call.paths).decode(errors="replace"))

    def kill(self, t, call):
        self.note(call)
        self.killed = time.monotonic()
        os.kill(t.tid, signal.SIGKILL)  # all of its threads
        self.send(b"k")

    def on_entry(self, t, number, args):
        name = BY_NUMBER.get(number)
        t.call = None
        if not name:
            return
        paths = [self.where(t, how, args) for how in CALLS[name][1]]
        counted = self.is_counted(name, args, paths)
        if not counted and (not self.plan.also or self.plan.also not in paths):
            return
        self.count += counted
        call = t.call = Call()
        call.no, call.name, call.args, call.paths = self.count, name, args, paths
        call.entered, call.tid, call.data = time.monotonic(), t.tid, None
        if self.plan.record:
            call.data = self.data_of(t, name, args)
        if not counted:
            call.no = 0
            return
        if self.count == self.plan.kill and not self.plan.after:
            self.kill(t, call)
        first = self.plan.first
        if self.plan.fail and first <= self.count < first + self.plan.count:
            ptrace(POKEUSER, t.tid, ORIG_RAX, ctypes.c_ulong(-1).value)
            t.fails = self.plan.fail
            self.note(call)

    def on_exit(self, t, result):
        call, t.call = t.call, None
        if not call:
            return
        if t.fails:
            result, t.fails = -t.fails, 0
            ptrace(POKEUSER, t.tid, RAX, ctypes.c_ulong(result).value)
        call.left, call.result = time.monotonic(), result
        if self.plan.record:
            self.calls.append(call)
        if call.no and call.no == self.plan.kill and self.plan.after:
            self.kill(t, call)

    def on_syscall(self, t):
        room = ctypes.create_string_buffer(88)
        ptrace(SYSCALL_INFO, t.tid, 88, ctypes.addressof(room))
        op = room.raw[0]
        if op == 1:
            number, *args = struct.unpack_from("Q6Q", room.raw, 24)
            self.on_entry(t, number, args)
        elif op == 2:
            self.on_exit(t, struct.unpack_from("q", room.raw, 24)[0])

    def on_stop(self, t, status):
        """Return: the signal to go on with; None: it stays stopped."""
        sig, event = os.WSTOPSIG(status), status >> 16
        if sig == signal.SIGTRAP | 0x80:
            self.on_syscall(t)
            return 0
        if event == EVENT_STOP and sig in (signal.SIGSTOP, signal.SIGTSTP,
                                           signal.SIGTTIN, signal.SIGTTOU):
            ptrace(LISTEN, t.tid)
            return None
        if event == EVENT_EXEC:
            t.mem = None  # it was the old program's
        if event:
            return 0
        return sig

    def step(self, tid, status):
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            self.threads.pop(tid, None)
            return
        t = self.threads.setdefault(tid, Tracee(tid))
        try:
            sig = self.on_stop(t, status)
            if sig is not None:
                ptrace(SYSCALL, tid, 0, sig)
        except OSError as e:
            if e.errno != errno.ESRCH:  # it was killed meanwhile
                raise

    def send(self, what):
        os.write(self.tell, what)

    def run(self):
        self.attach()
        self.send(b"+")
        # SIGCHLD tells of stops, the pipe of the end; both wake the poll
        wake, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(waker)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        poller = select.poll()
        poller.register(wake, select.POLLIN)
        poller.register(self.told, select.POLLIN | select.POLLHUP)
        while self.threads:
            tid, status = os.waitpid(-1, WALL | os.WNOHANG)
            if tid:
                self.step(tid, status)
                continue
            ready = [fd for fd, _ in poller.poll(1000)]
            if self.told in ready:
                self.detach()
                break
            if wake in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(wake, 4096)


class Trace:
    """with Trace(pid, state, plan) as t: ...; then t.count, t.calls, t.killed.
    t.fd is readable as soon as it was killed. children: those that it
    makes are traced too."""

    def __init__(self, pid, below, plan, children=False):
        self.count, self.killed, self.at, self.calls = 0, 0, "", []
        self.error = None
        down, up = os.pipe(), os.pipe()
        self.child = os.fork()
        if self.child == 0:
            os.close(down[1]), os.close(up[0])
            self._be(Tracer(pid, below, plan, up[1], down[0], children))
        os.close(down[0]), os.close(up[1])
        self.down, self.fd = down[1], up[0]
        if os.read(self.fd, 1) != b"+":
            self.end()
            raise RuntimeError("cannot trace %d: %s" % (pid, self.error))

    @staticmethod
    def _be(tracer):
        """Never returns."""
        text = None
        try:
            tracer.run()
        except BaseException as e:  # told to the parent, which raises it
            text = repr(e)
        blob = pickle.dumps((tracer.count, tracer.killed, tracer.at, text, [
            {k: getattr(c, k, None) for k in Call.__slots__}
            for c in tracer.calls]))
        at = 0
        while at < len(blob):
            at += os.write(tracer.tell, blob[at:])
        os._exit(0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
        if self.error:
            raise RuntimeError("the tracer: " + self.error)

    def end(self):
        if self.down is None:
            return
        os.close(self.down)
        self.down = None
        blob = b""
        while True:
            part = os.read(self.fd, 1 << 20)
            if not part:
                break
            blob += part
        os.close(self.fd)
        os.waitpid(self.child, 0)
        blob = blob.lstrip(b"k")  # a pickle begins with another byte
        if not blob:
            self.error = "it died"
            return
        self.count, self.killed, self.at, self.error, calls = pickle.loads(
            blob)
        for fields in calls:
            call = Call()
            for key, value in fields.items():
                setattr(call, key, value)
            self.calls.append(call)
