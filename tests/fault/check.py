# SPDX-License-Identifier: Apache-2.0
"""The checker: compares what was accepted with what came out. Its findings
name the promise that was broken:

  lost       accepted, and it is not there, or was never run or told about
  doubled    it ran more than once, or two results were seen
  half       exit_code is there, and what it promises is not, or not the same
  back       removed, and there again
  stuck      it has not ended in time
  untold     its end is told in result.json and not in `error`

An end that is told (`interrupted`, `failed`) is none of them, and is counted.
"""
import collections
import json
import os
import re

import service

END_S = 20 * service.SLOW  # every job of these tests ends within this

# Ends that the appliance, not the program, has chosen.
TOLD = ("interrupted", "failed", "cancelled")

# What nobody has damaged can be run: to be told this of it is a loss.
REJECTED = "it was accepted, but cannot be run any more"


class Counts(collections.Counter):
    """accepted, exited, interrupted, failed, unknown (never accepted)."""

    def __init__(self):
        super().__init__()
        self.told = collections.Counter()  # statuses with their reasons

    def add(self, other):
        self.update(other)
        self.told.update(other.told)

    def reasons(self):
        return ["%d %s" % (n, why) for why, n in self.told.most_common()]

    def __str__(self):
        return ", ".join("%d %s" % (n, k) for k, n in sorted(self.items()))


def read(path):
    with open(path, "rb") as f:
        return f.read()


def walk(top):
    """Path below top: bytes, of every file."""
    found = {}
    for at, _, names in os.walk(top):
        for name in names:
            path = os.path.join(at, name)
            found[os.path.relpath(path, top)] = read(path)
    return found


# --- one result ------------------------------------------------------------------

class Result:
    """Everything that a finished job shows. Raises FileNotFoundError when a
    part of it is missing."""

    def __init__(self, d):
        self.exit_code = read(d + "/exit_code")
        self.text = read(d + "/result.json")
        self.stdout = read(d + "/stdout")
        self.stderr = read(d + "/stderr")
        self.output = walk(d + "/output") if os.path.isdir(d + "/output") else {}
        self.wait = read(d + "/wait")
        self.error = read(d + "/error")
        self.json = json.loads(self.text)

    def key(self):
        """Two of one run are the same."""
        return (self.exit_code, self.text, self.stdout, self.stderr,
                tuple(sorted(self.output.items())))

    def inner(self, name):
        """Findings that need no knowledge of the program. A size that could
        not be found is null."""
        j = self.json
        told = {f["path"]: f["bytes"] for f in j["output"] or ()
                if not f["path"].endswith("/")}
        pairs = (
            ("exit_code and result.json", self.exit_code,
             b"%d\n" % j["exit_code"]),
            ("wait and exit_code", self.wait, self.exit_code),
            ("job", j["job"], name),
            ("stdout's size", len(self.stdout), j["stdout"]["bytes"]),
            ("stderr's size", len(self.stderr), j["stderr"]["bytes"]),
            ("output/", {p: len(d) for p, d in self.output.items()},
             {p: n for p, n in told.items() if p in self.output or n}),
        )
        return ["half: %s: %s: %r is not %r" % (name, what, a, b)
                for what, a, b in pairs if a != b and b is not None]


def check_exited(job, res, runs, faulty):
    """The program's own end: every byte is known but for the run's number."""
    line = res.output.get("witness", b"")
    found = []
    lost = res.json["output_dropped"], res.json["stdout"]["dropped"], \
        res.json["stderr"]["dropped"]
    if faulty and any(lost):
        return check_dropped(job, res)
    if not re.fullmatch(rb"%s [0-9a-f]{16}\n" % job.token.encode(), line):
        return ["half: %s: output/witness is %r" % (job.name, line[:60])]
    if runs is not None and runs != [line]:
        found.append("doubled: %s: its result is of %r, the witness has %r" % (
            job.name, line, runs))
    out, err = job.streams(line)
    files = dict(job.files, witness=line)
    for what, a, b in (("stdout", res.stdout, out), ("stderr", res.stderr, err),
                       ("output/", res.output, files),
                       ("exit code", res.json["exit_code"], job.code)):
        if a != b:
            found.append("half: %s: %s is %.200r, not %.200r" % (
                job.name, what, a, b))
    return found


def check_dropped(job, res):
    """The disk did not take all of it, and the result says so: what is there
    is right."""
    line = res.stdout[:res.stdout.find(b"\n") + 1] or \
        res.output.get("witness", b"") or b"%s %016d\n" % (
            job.token.encode(), 0)  # nothing is left of it
    out, err = job.streams(line)
    j = res.json
    files = dict(job.files, witness=line)
    found = []
    for what, a, b, dropped in (
            ("stdout", res.stdout, out, j["stdout"]["dropped"]),
            ("stderr", res.stderr, err, j["stderr"]["dropped"])):
        if a != b and not (dropped and len(a) + dropped == len(b)):
            found.append("half: %s: %s is %.200r, not %.200r" % (
                job.name, what, a, b))
    wrong = [p for p, data in res.output.items() if files.get(p) != data]
    missing = len(files) - len(res.output)
    if wrong or (missing > j["output_dropped"] and not j["message"]):
        found.append("half: %s: output/ has %r, %r of it wrong, %d dropped" % (
            job.name, list(res.output), wrong, j["output_dropped"]))
    return found


def check_told(job, res, runs):
    """What it wrote before the end that it was told of."""
    found = []
    if not res.json["message"] and res.json["status"] != "cancelled":
        found.append("lost: %s: %s, and nothing says why" % (
            job.name, res.json["status"]))
    elif not res.error and res.json["status"] not in ("cancelled", "timeout"):
        found.append("untold: %s: %s, and `error` is empty" % (
            job.name, res.json["status"]))
    line = res.stdout[:res.stdout.find(b"\n") + 1]
    if res.stdout and not line:  # the host died in the middle of it
        line = res.stdout.ljust(len(job.token) + 18, b"0")
    if res.stdout:
        if not job.streams(line)[0].startswith(res.stdout):
            found.append("half: %s: stdout is %.100r" % (job.name, res.stdout))
    return found


def check_attempts(job, res, runs):
    """Each run that has begun is one, and those before the last one are told."""
    found = ["untold: %s: what became of attempt %d" % (job.name, i + 1)
             for i, a in enumerate(res.json["attempts"]) if not a["status"]]
    if job.retry and runs is not None and len(runs) > res.json["attempt"]:
        found.append("doubled: %s ran %d times, in %d attempts" % (
            job.name, len(runs), res.json["attempt"]))
    return found


def check_shown(job, exit_code, error):
    """An end that was seen stays, also one that had no result.json: there may
    be one later, which says the same."""
    shown = exit_code, error.strip()
    if job.shown is None:
        job.shown = shown
    return [] if job.shown == shown else [
        "doubled: %s: two ends were seen, %r and %r" % (
            job.name, job.shown, shown)]


def check_result(job, res, runs, faulty):
    found = res.inner(job.name)
    found += check_attempts(job, res, runs)
    if runs is not None and len(runs) > 1 + job.retry:
        found.append("doubled: %s ran %d times: %r" % (
            job.name, len(runs), runs))
    status = res.json["status"]
    if status == "exited":
        found += check_exited(job, res, runs, faulty)
    elif status in TOLD:
        found += check_told(job, res, runs)
        if REJECTED in (res.json["message"] or "") and not faulty:
            found.append("lost: %s (%s): %s" % (
                job.name, job.how, res.json["message"]))
    else:
        found.append("half: %s: status %s" % (job.name, status))
    found += check_shown(job, res.exit_code, res.error)
    if job.result is None:
        job.result = res.key()
    elif job.result != res.key():
        found.append("doubled: %s: two results were seen, %.300r and %.300r" % (
            job.name, job.result, res.key()))
    return found


# --- the whole ---------------------------------------------------------------------

def state_of(svc, job):
    return read("%s/%s/state" % (svc.tree, job.name)).decode().strip()


def await_end(svc, job):
    """Return: True when its end is there; else its state. A read of `wait`
    returns when the job has ended or has gone."""
    if state_of(svc, job) in ("queued", "running"):
        with svc.watched(END_S):
            read("%s/%s/wait" % (svc.tree, job.name))
    state = state_of(svc, job)
    there = os.path.exists("%s/%s/exit_code" % (svc.tree, job.name))
    return True if there and state == "done" else state


# What `.fsd/health` says while the state directory has no room.
BARRED = b"no job begins until it has room"


def is_over_or_waits(svc, job):
    """It has ended; or it is queued, or its end is to be stored, and `error` or
    the health says for what of the disk it waits."""
    d = "%s/%s" % (svc.tree, job.name)
    return state_of(svc, job) not in ("queued", "running") or bool(
        read(d + "/error") or BARRED in read(svc.tree + "/.fsd/health"))


def await_end_or_wait(svc, job):
    """As is_over_or_waits(). Return: findings."""
    try:
        with svc.watched(END_S):
            if service.until(END_S, lambda: is_over_or_waits(svc, job)):
                return []
            return ["stuck: %s (%s) is %s while the disk fails, and nothing "
                    "says why" % (job.name, job.how, state_of(svc, job))]
    except FileNotFoundError:
        return []  # check() says what that means


def check_accepted(svc, journal, job, counts):
    try:
        state = await_end(svc, job)
    except FileNotFoundError:
        return ["lost: %s (%s): it is not there" % (job.name, job.how)]
    except service.Hung:
        return ["stuck: %s (%s) does not end" % (job.name, job.how)]
    error = read("%s/%s/error" % (svc.tree, job.name)).decode().strip()
    if state == "refused" and journal.faulty and error:
        counts["refused"] += 1  # it could not be read, and says so
        return []
    if state is not True:
        return ["lost: %s (%s): it is %s: %s" % (
            job.name, job.how, state, error)]
    try:
        res = Result("%s/%s" % (svc.tree, job.name))
    except (FileNotFoundError, ValueError) as e:
        if journal.faulty and error and is_unstored(svc, job):
            counts["without a result"] += 1
            return check_shown(job, b"125\n", error.encode()) + (
                ["lost: %s: its result was seen" % job.name]
                if job.result else [])
        return ["half: %s (%s): %s" % (job.name, job.how, e)]
    counts[res.json["status"]] += 1
    if res.json["status"] in TOLD:
        counts.told["%s: %s" % (res.json["status"], res.json["message"])] += 1
    return check_result(job, res, journal.runs(job), journal.faulty)


def is_unstored(svc, job):
    """The disk took no result.json: the job has failed, and `error` says it."""
    d = "%s/%s" % (svc.tree, job.name)
    return not os.path.exists(d + "/result.json") and \
        read(d + "/exit_code") == b"125\n"


def check_unknown(svc, journal, job, counts):
    """Its accepting call has not returned, or it was being removed: it may be
    there or not, but nothing of it is wrong."""
    d = "%s/%s" % (svc.tree, job.name)
    counts["unknown"] += 1
    try:
        if await_end(svc, job) is not True or job.removing:
            return []
        return check_result(job, Result(d), journal.runs(job),
                            journal.faulty)
    except service.Hung:
        return ["stuck: %s (%s), never accepted, does not end" % (
            job.name, job.how)]
    except FileNotFoundError:
        if not os.path.exists(d + "/exit_code"):
            return []
        return ["half: %s: exit_code without the rest" % job.name]
    except ValueError as e:
        return ["half: %s: result.json: %s" % (job.name, e)]


def check(svc, journal, counts=None):
    """Every job of the journal against the tree and the witness; waits for
    their ends. Return: findings."""
    counts = Counts() if counts is None else counts
    found = []
    for job in list(journal.jobs.values()):
        if job.removed:
            if os.path.exists("%s/%s" % (svc.tree, job.name)):
                found.append("back: %s was removed" % job.name)
            continue
        if not job.accepted or job.removing:
            found += check_unknown(svc, journal, job, counts)
        else:
            counts["accepted"] += 1
            found += check_accepted(svc, journal, job, counts)
    return found
