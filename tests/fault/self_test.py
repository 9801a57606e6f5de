#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The harness itself. A directory that looks like a mount with one finished job
is damaged in each way, and the checker has to name it; the disk that loses
power has to lose what nobody made durable; the soak has to see growth."""
import contextlib
import json
import os
import random
import shutil
import sys
import tempfile
import time

import check
import disk
import jobs
import soak
import spool
import tap
import tracer

LINE = b"t1 0123456789abcdef\n"


class Stub:
    """As much of a Service as the checker uses."""

    def __init__(self, base):
        self.tree = base + "/mnt"
        self.witness = base + "/witness"
        os.mkdir(self.tree)

    @staticmethod
    @contextlib.contextmanager
    def watched(_):
        yield


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def change(svc, path, fn):
    path = svc.tree + "/j1/" + path
    write(path, fn(check.read(path)))


def change_json(svc, **fields):
    change(svc, "result.json",
           lambda text: json.dumps(dict(json.loads(text), **fields)).encode())


def lay_out(svc, journal):
    job = journal.make(how="config", code=7, bytes=100, sleep_ms=0,
                       files={"d/e": b"text\n"})
    job.accepted = time.monotonic()
    d = svc.tree + "/j1"
    out, err = job.streams(LINE)
    files = dict(job.files, witness=LINE)
    for path, data in files.items():
        write(d + "/output/" + path, data)
    for path, data in (("stdout", out), ("stderr", err), ("error", b""),
                       ("state", b"done\n"), ("wait", b"7\n"),
                       ("exit_code", b"7\n")):
        write(d + "/" + path, data)
    write(d + "/result.json", json.dumps({
        "job": "j1", "status": "exited", "exit_code": 7, "message": None,
        "attempt": 1, "attempts": [],
        "stdout": {"bytes": len(out), "dropped": 0},
        "stderr": {"bytes": len(err), "dropped": 0},
        "output": [{"path": p, "bytes": len(x)} for p, x in files.items()],
        "output_dropped": 0,
    }).encode())
    write(svc.witness, LINE)
    return job


def interrupted(svc):
    change(svc, "stdout", lambda b: LINE)
    change(svc, "error", lambda b: b"fsd ended\n")
    for name in ("exit_code", "wait"):
        change(svc, name, lambda b: b"125\n")
    shutil.rmtree(svc.tree + "/j1/output")
    change_json(svc, status="interrupted", exit_code=125, output=[],
                message="fsd ended", stdout={"bytes": len(LINE), "dropped": 0})


def unlink(svc, name):
    os.unlink(svc.tree + "/j1/" + name)


def state(word):
    def fn(svc, job):
        unlink(svc, "exit_code")
        write(svc.tree + "/j1/state", word)
    return fn


def gone(svc, job):
    shutil.rmtree(svc.tree + "/j1")


def seen_before(svc, job):
    job.result = (b"0\n",)


def removed(svc, job):
    job.removing, job.removed = True, 1.0


def told(fn=lambda svc: None):
    def both(svc, job):
        interrupted(svc)
        fn(svc)
    return both


CASES = (
    # what is done to it, the word of the finding; None: there is none
    ("a whole result", lambda s, j: None, None),
    ("an end that is told", told(), None),
    ("a job that was removed and is not there",
     lambda s, j: (gone(s, j), removed(s, j)), None),
    ("a job that is not there", gone, "lost"),
    ("a job that is still a draft", state(b"draft\n"), "lost"),
    ("a job that was refused", state(b"refused\n"), "lost"),
    ("an end that nothing tells of",
     told(lambda s: change_json(s, message=None)), "lost"),
    ("an end that `error` does not tell of",
     told(lambda s: change(s, "error", lambda b: b"")), "untold"),
    ("a job that was accepted and then could not be run",
     told(lambda s: (change_json(s, status="failed", message=check.REJECTED),
                     change(s, "error", lambda b: check.REJECTED.encode()))),
     "lost"),
    ("an end after which it has run again",
     told(lambda s: write(s.witness, LINE + LINE.replace(b"0", b"9"))),
     "doubled"),
    ("a second run", lambda s, j: write(s.witness, LINE + LINE), "doubled"),
    ("another run's output", lambda s, j: write(
        s.witness, LINE.replace(b"0", b"9")), "doubled"),
    ("a result that no run has", lambda s, j: write(s.witness, b""), "doubled"),
    ("a result that was another before", seen_before, "doubled"),
    ("no result.json", lambda s, j: unlink(s, "result.json"), "half"),
    ("no stdout", lambda s, j: unlink(s, "stdout"), "half"),
    ("half a result.json", lambda s, j: change(
        s, "result.json", lambda b: b[:len(b) // 2]), "half"),
    ("a stdout that is cut", lambda s, j: change(
        s, "stdout", lambda b: b[:-1]), "half"),
    ("a stdout of other bytes", lambda s, j: change(
        s, "stdout", lambda b: b.replace(b"abc", b"xbc")), "half"),
    ("a stderr that is cut", lambda s, j: change(
        s, "stderr", lambda b: b[:-1]), "half"),
    ("an output file that is cut", lambda s, j: change(
        s, "output/d/e", lambda b: b[:-1]), "half"),
    ("an output file of other bytes", lambda s, j: change(
        s, "output/d/e", lambda b: b.upper()), "half"),
    ("an output file that is missing",
     lambda s, j: unlink(s, "output/d/e"), "half"),
    ("an output file that nobody wrote", lambda s, j: write(
        s.tree + "/j1/output/x", b"x"), "half"),
    ("another exit code", lambda s, j: change(
        s, "exit_code", lambda b: b"0\n"), "half"),
    ("half of what an end's result promises",
     told(lambda s: change(s, "stdout", lambda b: b"")), "half"),
    ("a removed job that is there again", removed, "back"),
)


def case(spoil, word):
    base = tempfile.mkdtemp(prefix="fsd-fault.")
    try:
        svc = Stub(base)
        journal = jobs.Journal(1, svc.witness)
        spoil(svc, lay_out(svc, journal))
        found = check.check(svc, journal)
    finally:
        shutil.rmtree(base)
    words = {f.split(":")[0] for f in found}
    return [] if words == ({word} if word else set()) else \
        found or ["nothing was found; it must be " + word]


# --- entries of a spool -----------------------------------------------------------

class Place:
    """As much of a Spool as the checker uses."""

    def __init__(self, base):
        self.dir = base + "/spool"
        for name in ("new", "run/a/id", "done", "failed"):
            os.makedirs(self.dir + "/" + name)


def lay_out_entry(place, entries):
    """A result, and what a checker of mounts' jobs wants of its program."""
    job = entries.journal.make(code=7, bytes=100, sleep_ms=0, files={"d/e": b"text\n"})
    job.how = "move"
    d = place.dir + "/failed/" + job.name
    out, err = job.streams(LINE)
    for path, data in dict(job.files, witness=LINE).items():
        write(d + "/output/" + path, data)
    for path, data in (("stdout", out), ("stderr", err), ("exit_code", b"7\n"),
                       ("input/code.sh", b""), ("result.json", json.dumps({
                           "status": "exited", "exit_code": 7, "output_dropped": 0,
                           "stdout": {"dropped": 0}, "stderr": {"dropped": 0},
                       }).encode())):
        write(d + "/" + path, data)
    write(entries.journal.witness, LINE)
    return d


def claim_too(d, base):
    write(base + "/spool/run/a/id/tries", b"claimed j1\n")
    write(base + "/spool/run/a/id/input", b"")


ENTRIES = (
    # what is done to it, the word of the finding
    ("a whole result", lambda d, base: None, None),
    ("an entry that is nowhere", lambda d, base: shutil.rmtree(d), "lost"),
    ("an entry that is in new, too", lambda d, base: write(base + "/spool/new/j1", b""),
     "doubled"),
    ("an entry that is in run, too", claim_too, "doubled"),
    ("a program that ran twice", lambda d, base: write(base + "/witness", LINE + LINE),
     "doubled"),
    ("a program that did not run", lambda d, base: write(base + "/witness", b""), "lost"),
    ("a good end in failed", lambda d, base: write(d + "/exit_code", b"0\n"), "half"),
    ("no result.json", lambda d, base: os.unlink(d + "/result.json"), "half"),
    ("a stdout that is cut", lambda d, base: write(d + "/stdout", LINE), "half"),
    ("an input that is gone", lambda d, base: shutil.rmtree(d + "/input"), "half"),
)


def entry_case(spoil, word):
    base = tempfile.mkdtemp(prefix="fsd-fault.")
    try:
        place, svc = Place(base), Stub(base)
        entries = spool.Entries(svc, random.Random(1), place)
        spoil(lay_out_entry(place, entries), base)
        found = [f for job in entries.all()
                 for f in spool.check_entry(place.dir, entries, job, ())]
    finally:
        shutil.rmtree(base)
    words = {f.split(":")[0] for f in found}
    # a program of which no run is known has another one's result, too
    return [] if (word in words if word else not words) else \
        found or ["nothing was found; it must be " + word]


# --- the disk -------------------------------------------------------------------

class Script:
    """Calls as a tracer records them: each begins when the last has ended."""

    def __init__(self, base):
        self.disk = disk.Disk("/state", base)
        self.index = -1
        self.now = 0

    def call(self, name, *paths, args=(0,) * 6, data=None, result=0, early=0):
        call = tracer.Call()
        call.name, call.args, call.data = name, args, data
        call.paths = [(b"/state/" + p).rstrip(b"/") for p in paths]
        self.index += 1
        call.index, call.no, call.result = self.index, self.index + 1, result
        call.entered, call.left = self.now - early, self.now + 1
        self.now += 1
        self.disk.add(self.index, call)

    def write(self, path, data):
        self.call("openat", path, args=(0, 0, os.O_WRONLY | os.O_CREAT, 0),
                  result=9)
        self.call("write", path, args=(9, 0, len(data)), data=data,
                  result=len(data))

    def shows(self, how):
        tree = self.disk.tree(self.disk.choose(
            self.index, how, random.Random(1)), how == "torn")
        return {p[1:].decode(): d for p, d in tree.items() if d is not None}


def new_file(s):
    s.write(b"f", b"data")


def data_synced(s):
    new_file(s)
    s.call("fsync", b"f")


def entry_synced(s):
    new_file(s)
    s.call("fsync", b"")


def both_synced(s):
    data_synced(s)
    s.call("fsync", b"")


def all_synced(s):
    new_file(s)
    s.call("syncfs", b"")


def synced_too_early(s):
    new_file(s)
    s.call("syncfs", b"", early=1)


def renamed(s):
    both_synced(s)
    s.call("renameat", b"f", b"old")


def renamed_and_synced(s):
    renamed(s)
    s.call("fsync", b"")


def linked(s):
    both_synced(s)
    s.call("linkat", b"f", b"old")


def removed_again(s):
    both_synced(s)
    s.call("unlinkat", b"f")


OLD = {"old": b"old"}
DISKS = (
    # what is called; how it crashes; what is there
    ("a new file", new_file, "all", dict(OLD, f=b"data")),
    ("a new file", new_file, "synced", OLD),
    ("a new file", new_file, "torn", dict(OLD, f=b"da")),
    ("a new file that was synced, its directory not", data_synced, "synced",
     OLD),
    ("a new file whose directory was synced", entry_synced, "synced",
     dict(OLD, f=b"")),
    ("a new file, synced with its directory", both_synced, "synced",
     dict(OLD, f=b"data")),
    ("a new file and syncfs", all_synced, "synced", dict(OLD, f=b"data")),
    ("a syncfs that began before the write", synced_too_early, "synced",
     dict(OLD, f=b"")),
    ("a rename", renamed, "synced", dict(OLD, f=b"data")),
    ("a rename", renamed, "all", {"old": b"data"}),
    ("another name", linked, "all", dict(f=b"data", old=b"data")),
    ("another name", linked, "synced", dict(OLD, f=b"data")),
    ("a rename that was synced", renamed_and_synced, "synced",
     {"old": b"data"}),
    ("a removal", removed_again, "synced", dict(OLD, f=b"data")),
    ("a removal", removed_again, "all", OLD),
)


def power_cut(calls, how, wanted):
    base = tempfile.mkdtemp(prefix="fsd-fault.")
    try:
        write(base + "/old", b"old")
        script = Script(base)
        calls(script)
        found = script.shows(how)
    finally:
        shutil.rmtree(base)
    return [] if found == wanted else ["it shows %r, not %r" % (found, wanted)]


# --- the soak -------------------------------------------------------------------

NOISY = [((i * 7919) % 13 - 6) * 100 for i in range(60)]  # of no direction


def grows(slope):
    samples = [(i, {"rss_kb": 20000 + noise + slope * i})
               for i, noise in enumerate(NOISY)]
    return soak.growth(samples, "rss_kb")


def main():
    t = tap.Tap()
    for what, spoil, word in CASES:
        t.run("the checker calls %s %s" % (what, word or "good"),
              case, spoil, word)
    for what, spoil, word in ENTRIES:
        t.run("the checker of spools calls %s %s" % (what, word or "good"),
              entry_case, spoil, word)
    for what, calls, how, wanted in DISKS:
        t.run("after a crash (%s) %s is %s" % (how, what, wanted), power_cut,
              calls, how, wanted)
    t.ok(not grows(0), "a soak calls noise no growth", grows(0))
    t.ok(grows(100), "a soak calls a rise under noise growth")
    return t.end()


if __name__ == "__main__":
    sys.exit(main())
