# SPDX-License-Identifier: Apache-2.0
"""Programs that take all there is of something, and must meet its end rather
than theirs. The job has 64 processes, and memory beyond each file system."""
import errno
import os
import resource
import signal
import tempfile
import threading

import hostile
from hostile import in_child

PROCESSES = 64
CHUNK = bytes(1 << 20)


def fork_bomb():
    """Forks until it may not: what ends it, and whether it was in time."""
    children = []
    try:
        while len(children) < 4 * PROCESSES:
            child = os.fork()
            if not child:
                signal.pause()
                os._exit(0)
            children.append(child)
        return "no end"
    except OSError as e:
        return "%s %s" % (errno.errorcode[e.errno],
                          len(children) < PROCESSES)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def thread_bomb():
    done = threading.Event()
    threads = []
    try:
        while len(threads) < 4 * PROCESSES:
            threads.append(threading.Thread(target=done.wait))
            threads[-1].start()
        return "no end"
    except RuntimeError:
        # One more is for a thread that a warm interpreter has beside them.
        return "RuntimeError %s" % (len(threads) <= PROCESSES + 1)
    finally:
        done.set()
        for thread in threads:
            if thread.ident:
                thread.join()


def until(take, most):
    """Takes until an errno; more than most of them is no end."""
    def attack():
        taken = []
        try:
            while len(taken) < most:
                taken.append(take())
            return "no end"
        finally:
            for fd in taken:
                os.close(fd)
    return attack


def inotify():
    fd = hostile.libc.inotify_init1(0)
    if fd < 0:
        raise OSError(hostile.ctypes.get_errno(), "")
    return fd


def fill(folder):
    """Bytes until the file system has no more; many at once first, which is
    quicker."""
    def attack():
        fd, path = tempfile.mkstemp(dir=folder)
        try:
            while True:
                at = os.lseek(fd, 0, os.SEEK_END)
                try:
                    os.posix_fallocate(fd, at, 64 * len(CHUNK))
                except OSError:
                    break
            os.lseek(fd, 0, os.SEEK_END)
            while True:
                os.write(fd, CHUNK)
        finally:
            os.close(fd)
            os.unlink(path)
    return attack


def reserve(folder):
    """More than there is, in one call."""
    def attack():
        fd, path = tempfile.mkstemp(dir=folder)
        try:
            room = os.statvfs(folder)
            os.posix_fallocate(fd, 0, room.f_frsize * (room.f_blocks + 1))
        finally:
            os.close(fd)
            os.unlink(path)
    return attack


def fill_names(folder):
    """Empty files until the file system has no more."""
    def attack():
        top = tempfile.mkdtemp(dir=folder)
        count = 0
        try:
            while True:
                os.mknod("%s/%d" % (top, count))
                count += 1
        finally:
            for i in range(count):
                os.unlink("%s/%d" % (top, i))
            os.rmdir(top)
    return attack


def raise_files():
    """As far as is allowed, and no further."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def lives():
    """After all that, the machine still does what it is told."""
    with tempfile.NamedTemporaryFile(dir="/tmp") as f:
        f.write(CHUNK)
        f.flush()
        return os.fstat(f.fileno()).st_size


ROWS = [
    ("fork bomb", "forks without end", "EAGAIN True", fork_bomb),
    ("thread bomb", "starts threads without end", "RuntimeError True",
     thread_bomb),
    ("files", "opens files without end", "EMFILE",
     until(lambda: os.open("/dev/null", os.O_RDONLY), 5000)),
    ("pipes", "makes pipes without end", "EMFILE",
     in_child(lambda: [os.pipe() for _ in range(5000)] and "no end")),
    ("inotify", "makes watchers without end", "EMFILE", until(inotify, 5000)),
    ("more files", "raises its files as far as it may", "1048576",
     in_child(raise_files)),
    ("fill /tmp", "fills /tmp", "ENOSPC", fill("/tmp")),
    ("fill /dev/shm", "fills /dev/shm", "ENOSPC", fill("/dev/shm")),
    ("reserve /tmp", "reserves more than /tmp has", "ENOSPC",
     reserve("/tmp")),
    ("reserve /dev/shm", "reserves more than /dev/shm has", "ENOSPC",
     reserve("/dev/shm")),
    ("reserve home", "reserves more than its home has", "ENOSPC",
     reserve("/home/user")),
    ("names in /dev/shm", "makes files in /dev/shm without end", "ENOSPC",
     fill_names("/dev/shm")),
    ("absurd memory", "asks for a PiB", "MemoryError",
     lambda: bytearray(1 << 50)),
    ("symlinks", "follows a link to itself", "ELOOP",
     lambda: os.symlink("loop", "/tmp/loop") or os.stat("/tmp/loop")),
    ("long name", "makes a name of 256 bytes", "ENAMETOOLONG",
     lambda: os.mkdir("/tmp/" + "n" * 256)),
    ("lives", "finds the machine as it was, after all that", str(1 << 20),
     lives),
]

if __name__ == "__main__":
    hostile.run(ROWS)
