#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""System calls at random, from several threads, on everything that a mount has:
names that exist and that do not, descriptors of what is there and of what is
gone, each opened anew by its descriptor. Nobody may get an answer from a dead
mount, no server may end but by our kill, and none may leave a word of a
sanitizer.

chaos.py [--seconds N] [--program P] [PART ...]
"""
import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import random
import select
import shutil
import signal
import stat
import sys
import threading
import time

import program
import service

LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD = -100
THREADS = 6
# What nobody may be told; ENODEV is what mmap(2) says of some files.
DEAD = (errno.ENOTCONN, errno.ECONNABORTED, errno.ENOSYS)
FILES = 30       # descriptors that a thread keeps
JOBS = ["j%d" % n for n in range(6)]
NAMES = ["code.sh", "code.py", "config.json", "stdin", "input.json", "x", "y",
         "sub", "sub/a", "sub/b", "sub/deep/c", "d", "stdout", "stderr",
         "exit_code", "result.json", "state", "error", "log", "ctl", "wait",
         "stdout.follow", "stderr.follow", "events", "output", "output/made",
         "output/d/e", "output/new", ".hidden", "a\nb", "x" * 255, "x" * 256]
SPECIAL = ["", ".dot", "a/b", "new1", "new2", ".fsd"] + [
    ".fsd/" + name for name in (
        "health", "stats", "ctl", "security", "sessions", "sessions/s",
        "sessions/s/files", "sessions/s/files/f", "sessions/s/state",
        "templates", "templates/python/extensions", "last_error", "README",
        "lost+found", "nope")]
PROGRAMS = [b"out hi\n", b"out hi\nfile made 3\nfile d/e 2\n", b"exit 3\n",
            b"sleep 50\nout later\n", b"err e\nsleep 5000\n", b"",
            b"file made 100000\nout x\n", b"sleep 100000\n",
            b"out 12345\n" * 100]
CONFIGS = [b"{}", b'{"timeout": 1}', b'{"timeout": -1}', b"{", b"[]",
           b'{"start": "manual"}', b'{"session": "s"}', b'{"retry": 2}',
           b'{"args": ["a"], "retain": 1}', b" " * 300000 + b"{}",
           b'{"inputs": ["x"]}', b'{"input": {"a": 1}}', b'{"stdin": "abc"}',
           b'{"session": "s", "timeout": 1}']
VERBS = [b"start\n", b"kill\n", b"signal TERM\n", b"nope\n", b"start", b"\0"]
FLAGS = [os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_CREAT | os.O_WRONLY,
         os.O_CREAT | os.O_EXCL | os.O_RDWR, os.O_RDWR | os.O_TRUNC,
         os.O_WRONLY | os.O_APPEND, os.O_DIRECTORY, os.O_PATH]


class Caller(threading.Thread):
    """Makes calls until it is told to end, or gets what nobody may get."""

    def __init__(self, svc, seed, over):
        super().__init__(daemon=True)
        self.svc, self.over = svc, over
        self.rng = random.Random(seed)
        self.fds = []
        self.calls = 0
        self.found = None
        self.last = None
        self.start()

    # --- what is chosen --------------------------------------------------------

    def job(self):
        return "%s/%s" % (self.svc.mnt, self.rng.choice(JOBS))

    def path(self):
        n = self.rng.random()
        if n < 0.06:
            return self.job()
        if n < 0.14:
            return "%s/%s" % (self.svc.mnt, self.rng.choice(SPECIAL))
        return "%s/%s" % (self.job(), self.rng.choice(NAMES))

    def fd(self):
        return self.rng.choice(self.fds) if self.fds else -1

    def size(self):
        return self.rng.choice((0, 1, 10, 4096, 300000))

    def offset(self):
        return self.rng.choice((0, 0, 1, 4096, 1 << 20, 1 << 40))

    def keep(self, fd):
        self.fds.append(fd)
        if len(self.fds) > FILES:
            os.close(self.fds.pop(self.rng.randrange(FILES)))

    # --- calls ---------------------------------------------------------------

    def make_job(self):
        job = self.job()
        for path in (job, job + "/sub/deep"):
            try:
                os.makedirs(path)
            except OSError:
                pass
        with open(job + "/code.sh", "wb") as f:
            f.write(self.rng.choice(PROGRAMS))
        with open(job + "/config.json", "wb") as f:
            f.write(self.rng.choice(CONFIGS))

    def open(self):
        self.keep(os.open(self.path(), self.rng.choice(FLAGS) | os.O_NONBLOCK,
                          0o644))

    def open_anew(self):
        self.keep(os.open("/proc/self/fd/%d" % self.fd(),
                          self.rng.choice(FLAGS[:7]) | os.O_NONBLOCK))

    def close(self):
        if self.fds:
            os.close(self.fds.pop(self.rng.randrange(len(self.fds))))

    def write(self):
        os.write(self.fd(), self.rng.choice(VERBS + CONFIGS + PROGRAMS))

    def exchange(self):
        LIBC.renameat2(AT_FDCWD, os.fsencode(self.path()), AT_FDCWD,
                       os.fsencode(self.path()), self.rng.choice((1, 2, 4)))

    def make(self):
        self.rng.choice((
            lambda p: os.symlink("t", p),
            lambda p: os.mknod(p, stat.S_IFREG | 0o600),
            lambda p: os.link(p, self.path()),
            lambda p: os.mkdir(p, 0o755)))(self.path())

    def attributes(self):
        self.rng.choice((
            os.stat, os.lstat, os.listdir, os.utime, os.listxattr,
            lambda p: os.getxattr(p, "user.fsd.state"),
            lambda p: os.setxattr(p, "user.a", b"1"),
            lambda p: os.chmod(p, self.rng.choice((0, 0o777, 0o600))),
            lambda p: os.truncate(p, self.size())))(self.path())

    def of_open(self):
        self.rng.choice((
            os.fstat, os.fsync, os.listdir, os.fstatvfs, os.utime,
            lambda fd: os.ftruncate(fd, self.size()),
            lambda fd: os.lseek(fd, self.offset(), self.rng.randrange(5)),
            lambda fd: fcntl.flock(fd, self.rng.choice((1, 2, 8)) | 4),
            lambda fd: self.keep(os.dup(fd)),
            lambda fd: mmap.mmap(fd, 0, prot=mmap.PROT_READ).close()
        ))(self.fd())

    def poll(self):
        p = select.poll()
        p.register(self.fd(), 0xffff)
        p.poll(self.rng.choice((0, 0, 5)))

    def tell(self):
        with open(self.job() + "/ctl", "wb") as f:
            f.write(self.rng.choice(VERBS))

    def remove_job(self):
        shutil.rmtree(self.job(), ignore_errors=True)

    def leave(self):
        """A process is killed in the middle of a read."""
        pid = os.fork()
        if pid == 0:
            try:
                with open(self.path(), "rb") as f:
                    f.read()
            finally:
                os._exit(0)
        self.over.wait(self.rng.random() / 50)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    CALLS = (
        (8, make_job), (14, open), (4, open_anew), (4, close), (4, write),
        (4, lambda s: os.pread(s.fd(), s.size(), s.offset())),
        (4, lambda s: os.pwrite(s.fd(), b"z" * s.size(), s.offset())),
        (3, lambda s: os.unlink(s.path())), (3, lambda s: os.rmdir(s.path())),
        (3, lambda s: os.rename(s.path(), s.path())), (2, exchange), (2, make),
        (20, attributes), (12, of_open), (2, poll), (3, tell),
        (0.5, remove_job), (0.3, leave))

    def run(self):
        weights, calls = zip(*self.CALLS)
        while not self.over.is_set():
            call = self.rng.choices(calls, weights)[0]
            self.last = call.__name__
            try:
                call(self)
            except ValueError:  # an empty file is not mapped
                pass
            except OSError as e:
                if e.errno in DEAD:
                    self.found = "%s: %r" % (self.last, e)
                    break
            self.calls += 1
        for fd in self.fds:
            with contextlib.suppress(OSError):  # a config that is wrong
                os.close(fd)


def chaos(args, part, option, kills):
    """For args.seconds. Return: findings."""
    svc = service.Service(args.program, "%s/%s" % (args.top, part), option)
    over, found, killed = threading.Event(), [], 0
    svc.start()
    first = svc.server()
    callers = [Caller(svc, args.rng.random(), over) for _ in range(THREADS)]
    end = time.monotonic() + args.seconds
    while time.monotonic() < end and not any(c.found for c in callers):
        over.wait(args.rng.random() if kills else 0.1)
        try:
            pid = svc.server()
            if kills:
                os.kill(pid, signal.SIGKILL)
                killed += 1
            elif pid != first:
                found.append("another server serves")
                break
        except ProcessLookupError:
            pass  # it was killed and had answered before
        except OSError as e:
            found.append("the mount: %r" % e)
            break
    over.set()
    for c in callers:
        c.join(service.ANSWER_S * 3)
        if c.is_alive():
            found.append("stuck: %s" % c.last)
    found += [c.found for c in callers if c.found]
    found += svc.stop() + svc.log_findings()
    with open(svc.log, errors="replace") as f:
        found += [line for line in f if "was killed (" in line and
                  "(Killed)" not in line or "never answered" in line]
    args.tap.say("%d calls, %d kills" % (sum(c.calls for c in callers), killed))
    svc.remove()
    return found


PARTS = {
    "plain": ([], False),
    "retained": (["--retain-count", "2"], False),
    "bounded": (["--quota-bytes", "2M", "--quota-jobs", "5",
                 "--quota-running", "2"], False),
    "scarce": (["--pool", "0", "--max-machines", "2"], False),
    "killed": ([], True),
    "killed-relaxed": (["--durability", "relaxed", "--retain-count", "2"],
                       True),
}


def main(args):
    for part in args.parts or PARTS:
        option, kills = PARTS[part]
        args.tap.run("%s: calls at random end no server%s" % (
            " ".join(option) or "no options",
            ", and killed ones are followed" if kills else ""),
            chaos, args, part, option, kills)


if __name__ == "__main__":
    P = program.options(__doc__, PARTS)
    P.add_argument("--seconds", type=float, default=20,
                   help="of each part")
    sys.exit(program.run(P, main))
