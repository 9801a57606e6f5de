#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A disk that is full, files that rot, a wall clock that jumps.

The clock is one library between the daemon and the C library's (clock.c): a
time namespace has no other wall clock, and setting the host's would be felt by
everybody.

damage.py [--runs N] [--seed S] [PART...]
"""
import contextlib
import ctypes
import datetime
import errno
import json
import os
import shutil
import struct
import subprocess
import sys
import time

import check
import jobs
import program
import service

FULL = (errno.ENOSPC, errno.EDQUOT)


def run_one(svc, journal, **fixed):
    """A job from here to its end. Return: findings."""
    job = journal.make(how="config", **fixed)
    with svc.watched():
        journal.submit(svc.tree, job)
    found = check.check(svc, journal)
    if job.result and job.result[0] != b"%d\n" % job.code:
        found.append("%s ended with %r" % (job.name, job.result[0]))
    return found


def clean(svc, journal):
    jobs.empty(svc.tree)
    journal.jobs.clear()


# --- a full disk ----------------------------------------------------------------

@contextlib.contextmanager
def small_disk(path, size):
    os.makedirs(path)
    if service.LIBC.mount(b"none", path.encode(), b"tmpfs", 0,
                          ctypes.c_char_p(b"size=%d,mode=700" % size)) < 0:
        raise OSError(ctypes.get_errno(), "no tmpfs")
    try:
        yield
    finally:
        service.umount(path, service.MNT_DETACH)


def fill(path, leave):
    """A file that takes all but so many bytes. Return: its path."""
    room = os.statvfs(path)
    size = room.f_bavail * room.f_bsize - leave
    if size > 0:
        with open(path + "/filler", "wb") as f:
            os.posix_fallocate(f.fileno(), 0, size)
    return path + "/filler"


def one_full(svc, journal, rng):
    """The room ends at some point of a few jobs' lives, and returns."""
    found = []
    filler = fill(svc.state, rng.choice((0, 4096, 8192, 16384, 40000, 100000)))
    for _ in range(4):
        job = journal.make()
        try:
            with svc.watched():
                journal.submit(svc.tree, job)
            found += check.await_end_or_wait(svc, job)
        except OSError as e:
            if e.errno not in FULL:
                found.append("a full disk gave %r" % e)
    with svc.watched():
        os.listdir(svc.tree)
        check.read(svc.tree + "/.fsd/health")
    if os.path.exists(filler):
        os.unlink(filler)
    found += check.check(svc, journal)
    clean(svc, journal)
    journal.faulty = False
    found += ["room again: " + f for f in run_one(svc, journal)]
    journal.faulty = True
    clean(svc, journal)
    return found


def full(args, base):
    found = []
    svc = service.Service(args.program, base, state=base + ".disk/state")
    with small_disk(base + ".disk", 4 << 20):
        try:
            svc.start()
            journal = jobs.Journal(args.rng.random(), svc.witness)
            journal.faulty = True
            for _ in range(args.runs):
                found += one_full(svc, journal, args.rng)
            found += svc.stop()
            fill(base + ".disk", 0)  # it starts on a full one too, or says why
            try:
                svc.start()
                found += svc.stop()
            except RuntimeError as e:
                if "No space" not in str(e):
                    found.append("on a full disk: %s" % e)
            return found + svc.log_findings()
        finally:
            svc.remove()


# --- rot ------------------------------------------------------------------------

def rot(data, rng):
    """The same file, not as it was written."""
    if not data:
        return b"\0"
    at = rng.randrange(len(data))
    return rng.choice((
        data[:at],
        data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1:],
        b"\0" * len(data), b"", data + data, os.urandom(len(data))))


def files_below(top):
    return sorted(os.path.join(at, name) for at, _, names in os.walk(top)
                  for name in names)


def owner_of(svc, path):
    """The name of the job that a file of the state belongs to, or None."""
    parts = os.path.relpath(path, svc.state).split("/")
    if parts[0] != "jobs" or len(parts) < 3:
        return None
    meta = svc.state + "/jobs/" + parts[1] + "/meta"
    for line in check.read(meta).split(b"\n"):
        if line.startswith(b"name "):
            return line[5:].decode()
    return None


def one_rot(svc, journal, whole, path, rng):
    """Return: findings of every job but the damaged file's own."""
    shutil.rmtree(svc.state)
    shutil.copytree(whole, svc.state)
    damaged = path.replace(whole, svc.state, 1)
    owner = owner_of(svc, damaged)
    with open(damaged, "rb") as f:
        data = f.read()
    with open(damaged, "wb") as f:
        f.write(rot(data, rng))
    where = os.path.relpath(damaged, svc.state)
    try:
        svc.start()
    except (RuntimeError, service.Hung) as e:
        svc.clear()
        if where == "format" and "format" in str(e):
            return []  # what cannot be told from a newer one is refused
        return ["%s: the mount refuses: %s" % (where, e)]
    rest = jobs.Journal(0, svc.witness)
    rest.jobs = {j.name: j for j in journal.jobs.values() if j.name != owner}
    for name in os.listdir(svc.tree):  # whatever is there can be looked at
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            with svc.watched():
                check.walk(svc.tree + "/" + name)
    found = check.check(svc, rest)
    later = jobs.Journal(0, svc.witness)
    later.number = journal.number = journal.number + 1
    found += ["later: " + f for f in run_one(svc, later)]
    found += svc.stop() + svc.log_findings()
    return ["%s: %s" % (where, f) for f in found]


def rotten(args, base):
    svc = service.Service(args.program, base)
    try:
        svc.start()
        journal = jobs.Journal(args.rng.random(), svc.witness)
        for how in jobs.WAYS:
            journal.submit(svc.tree, journal.make(how=how))
        found = check.check(svc, journal) + svc.stop()
        whole = base + "/whole"
        shutil.copytree(svc.state, whole)
        paths = [p for p in files_below(whole) if not p.endswith("/fsd.log")]
        for n in range(args.runs):
            found += one_rot(svc, journal, whole, paths[n % len(paths)],
                             args.rng)
        return found
    finally:
        svc.remove()


# --- clocks ---------------------------------------------------------------------

YEAR_S = 86400 * 365
JUMPS = (3600, -7200, 30 * YEAR_S, -20 * YEAR_S, 0)


def clock_library(base):
    """Built here: it is of no use to anything else."""
    path = base + "-clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror",
                    "-D_GNU_SOURCE", "-o", path, service.HERE + "/clock.c"],
                   check=True)
    return path


def clock_findings(svc, job, ahead_s):
    """Its end was told by the clock that the test has set."""
    text = json.loads(check.read("%s/%s/result.json" % (svc.tree, job.name)))
    ended = datetime.datetime.fromisoformat(text["ended"].replace("Z", "+00:00"))
    off = ended.timestamp() - time.time() - ahead_s
    return ["the clock of %s is off by %d s" % (job.name, off)] \
        if abs(off) > 60 else []


def jumped(args, base):
    ahead = base + "-ahead"
    with open(ahead, "wb") as f:
        f.write(struct.pack("q", 0))
    svc = service.Service(args.program, base, env={
        "LD_PRELOAD": clock_library(base), "FAULT_CLOCK": ahead})

    def jump(seconds):
        with open(ahead, "r+b") as f:
            f.write(struct.pack("q", seconds))
    found = []
    try:
        svc.start()
        journal = jobs.Journal(args.rng.random(), svc.witness)
        ids = set()
        for seconds in JUMPS:
            # under way while the clock jumps: its timeout is not of this clock
            job = journal.make(how="config", sleep_ms=300)
            journal.submit(svc.tree, job, {"timeout": 10})
            jump(seconds)
            found += check.check(svc, journal)
            found += run_one(svc, journal)
            found += clock_findings(svc, job, seconds)
            told = {j.name: int(os.getxattr(svc.tree + "/" + j.name,
                                            "user.fsd.id"), 16)
                    for j in journal.jobs.values()}
            if len(set(told.values())) != len(told):
                found.append("two jobs have one id: %r" % told)
            ids.update(told.values())
            svc.popen.kill()
            svc.popen.wait()
            found += svc.clear()
            svc.start()
            found += ["after a restart: " + f
                      for f in check.check(svc, journal)]
        if len(ids) != len(journal.jobs):
            found.append("%d jobs have %d ids" % (len(journal.jobs), len(ids)))
        wrong = [j.name for j in journal.jobs.values()
                 if j.result and j.result[0] == b"124\n"]
        if wrong:
            found.append("a jump was taken for a timeout: %r" % wrong)
        return found + svc.stop() + svc.log_findings()
    finally:
        svc.remove()


PARTS = {
    "full": ("a full disk is said, and forgotten when there is room", full),
    "rot": ("a state file that rots costs at most its own job", rotten),
    "clock": ("a wall clock that jumps ends no job and loses none", jumped),
}


def test(args):
    for name in args.parts or PARTS:
        sentence, fn = PARTS[name]
        args.tap.run(sentence, fn, args, args.top + "/" + name)


def main():
    p = program.options(__doc__, PARTS)
    p.add_argument("--runs", type=int, default=200)
    return program.run(p, test)


if __name__ == "__main__":
    sys.exit(main())
