#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The checker itself: a directory that looks like a mount with one finished
job is damaged in each way, and the checker has to name it."""
import contextlib
import json
import os
import shutil
import sys
import tempfile
import time

import check
import jobs
import soak
import tap

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
    t.ok(not grows(0), "a soak calls noise no growth", grows(0))
    t.ok(grows(100), "a soak calls a rise under noise growth")
    return t.end()


if __name__ == "__main__":
    sys.exit(main())
