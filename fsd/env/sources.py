# SPDX-License-Identifier: Apache-2.0
"""The directory sources/ of an environments' directory: its lock and its marks.

What builds and `fsd env clean` (vm/environment/remove.c) remove there is known by a
mark, not by its name alone: an environments' directory may be one that has a sources/
of its user's.
"""
import fcntl
import os
import re
import shutil
import tempfile

from problem import Problem

LOCK = "lock"
LOCK_TEXT = "fsd env build keeps its downloads here, and fsd env clean removes them.\n"
DOWNLOAD = re.compile(r"[0-9a-f]{64}(\.[0-9]+)?\Z")
WORK = ".build-"
MARK = ".made-by-fsd"


def mark_of(name):
    return "fsd env build made %s.\n" % name


def hold(path, on_wait=lambda: None):
    """Makes the directory and locks it until the file that is returned is closed. One
    build works at a time; on_wait() is called before this one waits for another."""
    os.makedirs(path, exist_ok=True)
    # downloads may have been put there by hand, for --offline
    foreign = [name for name in sorted(os.listdir(path))
               if not DOWNLOAD.match(name)]
    if foreign and not os.path.exists(os.path.join(path, LOCK)):
        raise Problem("%s has \"%s\", which no build has put there; give another "
                      "directory to --environments" % (path, foreign[0]))
    lock = open(os.path.join(path, LOCK), "a+", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        on_wait()
        fcntl.flock(lock, fcntl.LOCK_EX)
    if os.fstat(lock.fileno()).st_size == 0:  # new, or of an older version
        lock.write(LOCK_TEXT)
        lock.flush()
    return lock


def new_work(path):
    """A directory for one build, under the lock."""
    work = tempfile.mkdtemp(prefix=WORK, dir=path)
    with open(os.path.join(work, MARK), "w", encoding="utf-8") as f:
        f.write(mark_of(os.path.basename(work)))
    return work


def is_work(path, name):
    try:
        with open(os.path.join(path, name, MARK), encoding="utf-8") as f:
            return f.read(1000) == mark_of(name)
    except (OSError, ValueError):
        return False


def remove_work(work):
    """The mark goes last: what a kill leaves is found again."""
    for name in os.listdir(work):
        path = os.path.join(work, name)
        if name != MARK and os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        elif name != MARK:
            os.unlink(path)
    shutil.rmtree(work, ignore_errors=True)


def remove_left(path):
    """What builds have left that were killed, under the lock."""
    for name in os.listdir(path):
        if name.startswith(WORK) and is_work(path, name):
            remove_work(os.path.join(path, name))
