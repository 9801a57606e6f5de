#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gone.py MOUNT HOW: everything that can be asked of what is open of a job that
has been removed (rm), run again (again) or lost its files (unlink). Whatever
the answers are, the server that gives them stays the same; and a file whose
name is gone is a file still, also for who opens it anew."""
import errno
import fcntl
import os
import shutil
import sys

MNT, HOW = sys.argv[1:]
JOB = MNT + "/gone"
OTHER = MNT + "/other"


def server():
    return os.getxattr(MNT, "user.fsd.pid")


def put(path, data):
    with open(path, "wb") as f:
        f.write(data)


def make_job():
    os.makedirs(JOB + "/sub")
    os.makedirs(OTHER)
    put(OTHER + "/f", b"")
    put(JOB + "/sub/f", b"hello")
    put(JOB + "/x", b"world")
    put(JOB + "/code.sh", b"out hi\nfile made 3\n")
    put(JOB + "/config.json", b"{}\n")
    with open(JOB + "/wait") as f:
        f.read()


def open_all():
    found = {}
    for name in ("x", "sub/f"):
        for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR,
                      os.O_RDWR | os.O_APPEND):
            found["%s %d" % (name, flags)] = os.open(JOB + "/" + name, flags)
    for name in os.listdir(JOB):
        found[name] = os.open(JOB + "/" + name, os.O_RDONLY | os.O_NONBLOCK)
    found["."] = os.open(JOB, os.O_RDONLY)
    return found


def lose_it():
    if HOW == "rm":
        shutil.rmtree(JOB)
    elif HOW == "again":
        put(JOB + "/config.json", b"{}\n")
        with open(JOB + "/wait") as f:
            f.read()
    else:
        os.unlink(JOB + "/x")
        os.unlink(JOB + "/sub/f")
        os.rmdir(JOB + "/sub")


def reopen(fd, flags):
    new = os.open("/proc/self/fd/%d" % fd, flags | os.O_NONBLOCK)
    for call in (lambda: os.pread(new, 5, 0), lambda: os.write(new, b"again"),
                 lambda: os.ftruncate(new, 2), lambda: os.fsync(new),
                 lambda: os.fstat(new)):
        try:
            call()
        except OSError:
            pass
    os.close(new)


def of_file(fd):
    name = "/proc/self/fd/%d" % fd
    yield lambda: os.fstat(fd)
    yield lambda: os.pread(fd, 10, 0)
    yield lambda: os.pwrite(fd, b"W", 0)
    yield lambda: os.ftruncate(fd, 3)
    yield lambda: os.posix_fallocate(fd, 0, 10)
    yield lambda: os.fchmod(fd, 0o600)
    yield lambda: os.fchown(fd, 0, 0)
    yield lambda: os.utime(fd)
    yield lambda: os.fsync(fd)
    yield lambda: os.fdatasync(fd)
    yield lambda: os.getxattr(fd, "user.fsd.id")
    yield lambda: os.listxattr(fd)
    yield lambda: os.fstatvfs(fd)
    yield lambda: os.lseek(fd, 0, os.SEEK_DATA)
    yield lambda: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    yield lambda: os.truncate(name, 1)
    yield lambda: os.chmod(name, 0o600)
    yield lambda: os.access(name, os.W_OK)
    yield lambda: os.link(name, OTHER + "/linked", follow_symlinks=True)
    yield lambda: os.close(os.dup(fd))
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR,
                  os.O_RDWR | os.O_TRUNC, os.O_WRONLY | os.O_APPEND):
        yield lambda flags=flags: reopen(fd, flags)


def of_directory(fd):
    def make(name):
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=fd))
    yield lambda: os.listdir(fd)
    yield lambda: os.listdir("/proc/self/fd/%d/.." % fd)
    yield lambda: make("new")
    yield lambda: make("config.json")
    yield lambda: os.mkdir("dir", dir_fd=fd)
    yield lambda: os.mknod("node", dir_fd=fd)
    yield lambda: os.symlink("a", "b", dir_fd=fd)
    yield lambda: os.stat("code.sh", dir_fd=fd)
    yield lambda: os.rename("code.sh", "y", src_dir_fd=fd, dst_dir_fd=fd)
    yield lambda: os.rename("y", OTHER + "/y", src_dir_fd=fd)
    yield lambda: os.rename(OTHER + "/f", "into", dst_dir_fd=fd)
    yield lambda: os.rmdir("dir", dir_fd=fd)
    yield lambda: os.unlink("new", dir_fd=fd)


def main():
    first = server()
    make_job()
    files = open_all()
    lose_it()
    if HOW != "again":  # else its inputs are frozen
        again = os.open("/proc/self/fd/%d" % files["x 2"], os.O_RDWR)
        os.write(again, b"W")
        os.ftruncate(again, 4)
        found = os.pread(files["x 0"], 10, 0)
        if found != b"Worl":
            sys.exit("the file that is open is %r" % found)
        os.close(again)
    for name, fd in files.items():
        calls = list(of_file(fd))
        if os.path.isdir("/proc/self/fd/%d" % fd):
            calls += of_directory(fd)
        for i, call in enumerate(calls):
            try:
                call()
            except OSError as e:
                if e.errno == errno.ENOTCONN:
                    raise
            if server() != first:
                sys.exit("call %d on %s has ended the server" % (i, name))
    for fd in files.values():
        os.close(fd)
    shutil.rmtree(JOB, ignore_errors=True)
    if server() != first:
        sys.exit("the end has ended the server")


main()
