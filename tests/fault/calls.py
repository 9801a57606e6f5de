#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every system call of the store fails, once or from then on, with what a
disk has to say. The mount goes on answering, a job says what came of it, what
was accepted is not lost, and later jobs are as ever.

calls.py [--runs N] [--seed S] [PART...]
"""
import errno
import glob
import json
import os
import shutil
import signal
import sys

import check
import jobs
import program
import service
import tracer

ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS)
FOR_EVER = 1 << 30


class Findings(list):
    """With what was done when they were found before them."""

    def under(self, where, found):
        self += ["%s: %s" % (where, f) for f in found]


def work(svc, journal):
    """As a patient client: what fails is left. Return: findings."""
    found, begun = [], []
    for how in jobs.WAYS:
        job = journal.make(how=how, sleep_ms=0)
        begun.append(job)
        try:
            journal.submit(svc.tree, job)
        except OSError as e:
            if e.errno in service.DEAD:
                return found + ["the daemon died: %r" % e]
    for job in begun:
        if job.accepted:
            found += check.await_end_or_wait(svc, job)
    if begun[0].accepted:
        try:
            journal.remove(svc.tree, begun[0])
        except OSError as e:
            if e.errno in service.DEAD:
                found.append("the daemon died: %r" % e)
    return found


def clean(svc, journal):
    jobs.empty(svc.tree)
    journal.jobs.clear()


def after(svc, journal, counts, again=False):
    """The fault has gone: what was accepted is there, and life goes on. again:
    what was seen is what the next daemon has."""
    counts["refused records"] += svc.trust()
    found = check.check(svc, journal, counts)
    if again:
        os.kill(svc.server(), signal.SIGKILL)
        svc.revive()
        found += ["after a restart: " + f for f in check.check(svc, journal)]
    journal.jobs.clear()
    journal.faulty = False
    later = journal.make(how="config")
    try:
        with svc.watched():
            journal.submit(svc.tree, later)
        found += ["later: " + f for f in check.check(svc, journal)]
    except (OSError, service.Hung) as e:
        found.append("a later job: %r" % e)
    if later.result and later.result[0] != b"%d\n" % later.code:
        found.append("a later job ended with %r" % later.result[0])
    journal.faulty = True
    try:
        clean(svc, journal)
    except OSError as e:
        found.append("a later removal: %r" % e)
    return found


def plans(rng, most, budget, reads):
    every = [(n, e, count) for n in range(1, most + 1)
             for e in ((errno.EIO,) if reads else ERRORS)
             for count in (1, FOR_EVER)]
    rng.shuffle(every)
    for n, e, count in every[:budget]:
        yield tracer.Plan(fail=e, first=n, count=count, reads=reads)


def where(plan, t):
    return "%s %s call %d of %d (%s)" % (
        errno.errorcode[plan.fail], "at" if plan.count == 1 else "from",
        plan.first, t.count, t.at)


def at_work(svc, args, budget, reads):
    journal = jobs.Journal(args.rng.random(), svc.witness)
    journal.faulty = True
    counts, found = check.Counts(), Findings()
    with tracer.Trace(svc.server(), svc.state, tracer.Plan(reads=reads)) as t:
        work(svc, journal)
    clean(svc, journal)
    for plan in plans(args.rng, t.count, budget, reads):
        try:
            with tracer.Trace(svc.server(), svc.state, plan) as t, \
                    svc.watched(3 * service.ANSWER_S):
                some = work(svc, journal)
            some += after(svc, journal, counts, args.rng.random() < 0.3)
        except (OSError, service.Hung) as e:
            some = ["%r" % e]
        found.under(where(plan, t), some)
        if some:  # a new one, so that this is not found again and again
            svc.stop()
            shutil.rmtree(svc.state)
            svc.start()
            journal.jobs.clear()
        counts["faults"] += 1
    args.tap.say(counts)
    return found


def failing(svc, first, *names, count=FOR_EVER):
    return tracer.Trace(svc.server(), svc.state, tracer.Plan(
        fail=errno.EIO, first=first, count=count, names=names))


def refused(what, fn, *args):
    """Findings unless it fails."""
    try:
        fn(*args)
    except OSError:
        return []
    return ["%s did not fail" % what]


def of_directories(svc, args, _):
    """What was half made, or half read, is neither there for ever nor gone."""
    d, found = svc.tree + "/draft", Findings()
    os.makedirs(d + "/sub")
    with failing(svc, 1, "fchmod", "fchmodat", "unlinkat"):
        some = refused("a new file", jobs.put, d + "/sub/file", b"data\n")
        some += refused("a new directory", os.mkdir, d + "/sub/dir")
    shown = sorted(os.listdir(d + "/sub"))
    if shown != ["dir", "file"]:  # none of the two could be taken back
        some.append("the directory shows %r" % shown)
    try:
        jobs.put(d + "/sub/file", b"data\n")
        clean(svc, jobs.Journal(0, svc.witness))
    except OSError as e:
        some.append("%r" % e)
    found.under("it is half made", some)
    os.makedirs(svc.tree + "/large/sub")
    d = svc.tree + "/large"
    for i in range(3000):  # of which the disk gives some at a time
        jobs.put("%s/sub/%d" % (d, i), b"")
    os.kill(svc.server(), signal.SIGKILL)
    svc.revive()
    d = svc.tree + "/large"
    for first in (1, 2, 3, 2):  # its parent, too
        with failing(svc, first, "getdents64"):
            some = refused("a listing", os.listdir, d + "/sub")
        found.under("call %d of its reading fails" % first, some)
    shown = os.listdir(d + "/sub")
    if len(shown) != 3000 or len(set(shown)) != 3000:
        found.append("it was read: %d entries, %d names" % (
            len(shown), len(set(shown))))
    clean(svc, jobs.Journal(0, svc.witness))
    return found


def killed(svc):
    """The next server, of a disk that works again, has no more than the disk."""
    svc.trust()
    os.kill(svc.server(), signal.SIGKILL)
    svc.revive()


READING = ("newfstatat", "getdents64", "pread64", "openat")
REMOVING = ("renameat", "unlinkat", "newfstatat", "openat", "getdents64")


def of_answers(svc, args, _):
    """Who is told that a job is complete has one, whatever could not be read;
    each way to say so, each call (of few runs some)."""
    step = max(1, 400 // args.runs)
    journal = jobs.Journal(args.rng.random(), svc.witness)
    journal.faulty = True
    counts, found = check.Counts(), Findings()
    for how in jobs.WAYS:
        first, t = args.rng.randint(1, step), None
        while first <= step or t.at:
            job = journal.make(how=how, sleep_ms=0)
            with failing(svc, first, *READING) as t, svc.watched():
                try:
                    journal.submit(svc.tree, job)
                    service.until(
                        0.5, lambda: check.is_over_or_waits(svc, job))
                except OSError:
                    counts["not accepted"] += 1
            some = []
            if job.accepted and t.at:
                killed(svc)
                some = check.check(svc, journal, counts)
            found.under("%s, EIO from read %d (%s)" % (how, first, t.at), some)
            svc.trust()
            clean(svc, journal)
            first += step
    args.tap.say(counts)
    return found


def of_removals(svc, args, _):
    """What is removed is gone for good; or rmdir fails, and then the job is
    there until it is removed."""
    journal = jobs.Journal(args.rng.random(), svc.witness)
    counts, found = check.Counts(), Findings()
    for count, sleep_ms in ((FOR_EVER, 0), (1, 0), (FOR_EVER, 60000)):
        first, t = 1, None
        while first == 1 or t.at:
            job = journal.make(how="config", sleep_ms=sleep_ms)
            d = "%s/%s" % (svc.tree, job.name)
            journal.submit(svc.tree, job)
            if not sleep_ms:
                check.await_end(svc, job)
                os.unlink(d + "/config.json")
                os.unlink(d + "/code.sh")
            with failing(svc, first, *REMOVING, count=count) as t, \
                    svc.watched():
                try:
                    jobs.remove_tree(d)
                    job.removed = 1
                except OSError:
                    counts["not removed"] += 1
            killed(svc)
            some = check.check(svc, journal) if job.removed else []
            if not job.removed and not os.path.exists(d):
                some.append("rmdir failed, and the job is gone")
            found.under("EIO from call %d (%s)" % (first, t.at), some)
            clean(svc, journal)
            first += 1
    args.tap.say(counts)
    return found


def accepted_before(svc, name, state):
    """A job that a daemon has accepted and not ended."""
    d = "%s/%s" % (svc.tree, name)
    os.mkdir(d)
    jobs.put(d + "/code.sh", b"args\nexit 3\n")
    jobs.put(d + "/config.json", b'{"start": "manual", "args": ["kept"]}')
    svc.stop()
    meta = max(glob.glob(svc.state + "/jobs/*/meta"))
    with open(meta) as f:
        text = f.read()
    for old, new in (("state draft", "state " + state), ("run 0", "run 1"),
                     ("attempt 0", "attempt 1"), ("queued 0", "queued 1")):
        text = text.replace("\n%s\n" % old, "\n%s\n" % new)
    with open(meta, "r+") as f:
        f.write(text[:512])
    if state == "running":
        run = os.path.dirname(meta) + "/r1"
        os.mkdir(run)
        jobs.put(run + "/stdout", b"up\n")


def resumed(d):
    """Findings."""
    if not os.path.exists(d):
        return []  # it is in lost+found
    end, out = check.read(d + "/wait"), check.read(d + "/stdout")
    if end == b"125\n" and check.read(d + "/error"):
        if not os.path.exists(d + "/result.json"):
            return []  # it could not be stored, and `error` says so
        told = json.loads(check.read(d + "/result.json"))["stdout"]["bytes"]
        return [] if told in (None, len(out)) else [
            "stdout has %d bytes, %r are told" % (len(out), told)]
    if end != b"3\n" or not out.endswith(b"\nkept\n"):
        return ["its end is %r, %r" % (end, out)]
    return []


def of_resumed(svc, args, budget):
    """It runs as it was accepted, or is told to have failed. Thrice, as what
    fails once is read again."""
    found, n = Findings(), args.rng.randrange(60)
    for i in range(budget):
        name = "waits%d" % i  # one that was set aside may come back
        accepted_before(svc, name, ("running", "queued")[i % 2])
        n += i % 2
        svc.spawn_stopped()
        with tracer.Trace(svc.popen.pid, svc.state, tracer.Plan(
                fail=errno.EIO, first=n, count=3, names=READING), True) as t:
            os.kill(svc.popen.pid, signal.SIGCONT)
            svc.await_first(t.fd)
            svc.open_root()
            if os.path.exists("%s/%s" % (svc.tree, name)):
                check.read("%s/%s/wait" % (svc.tree, name))
        if svc.popen.poll() is not None:  # it refused to start
            svc.clear()
            svc.start()
        some = resumed("%s/%s" % (svc.tree, name))
        found.under("EIO at read %d (%s)" % (n, t.at), some)
        clean(svc, jobs.Journal(0, svc.witness))
        n = n if t.at or not i % 2 else 0  # that was all of them
    return found


def at_start(svc, args, budget):
    """It may refuse to start, with a sentence; the next start has all."""
    journal = jobs.Journal(args.rng.random(), svc.witness)
    counts, found = check.Counts(), Findings()
    svc.stop()
    svc.spawn_stopped()
    with tracer.Trace(svc.popen.pid, svc.state, tracer.Plan(), True) as t:
        os.kill(svc.popen.pid, signal.SIGCONT)
        svc.await_answer()
    most, n = t.count, args.rng.randrange(t.count)
    for _ in range(budget):
        journal.faulty = False
        for how in jobs.WAYS:
            journal.submit(svc.tree, journal.make(how=how, sleep_ms=0))
        check.check(svc, journal, counts)
        for how in jobs.WAYS:
            journal.submit(svc.tree, journal.make(how=how, sleep_ms=20))
        svc.popen.kill()
        svc.popen.wait()
        some = svc.clear()
        n = n % most + 1
        plan = tracer.Plan(fail=args.rng.choice(ERRORS), first=n,
                           count=args.rng.choice((1, FOR_EVER)))
        if args.rng.random() < 0.2:  # a job that is not listed is not lost
            plan = tracer.Plan(fail=errno.EIO, names={"getdents64"},
                               first=args.rng.randint(1, 3), count=FOR_EVER)
        said = os.path.getsize(svc.log)
        svc.spawn_stopped()
        with tracer.Trace(svc.popen.pid, svc.state, plan, True) as t:
            os.kill(svc.popen.pid, signal.SIGCONT)
            svc.await_first(t.fd)
        most = max(most, t.count)
        if svc.popen.poll() is not None:
            counts["refused to start"] += 1
            if svc.popen.returncode < 0:
                some.append("it died by signal %d" % -svc.popen.returncode)
            if os.path.getsize(svc.log) == said:
                some.append("it refused to start without a sentence")
        elif plan.names:
            hidden = set(journal.jobs) - set(os.listdir(svc.mnt))
            some += ["it hides %s" % name for name in sorted(hidden)]
        some += svc.stop() if svc.popen.poll() is None else svc.clear()
        svc.start()
        journal.faulty = True
        some += after(svc, journal, counts)
        found.under(where(plan, t), some)
        counts["faults"] += 1
    args.tap.say(counts)
    return found


PARTS = {
    "store": ("any call of the store may fail: it answers, says so, and goes "
              "on", 0.6, lambda s, a, n: at_work(s, a, n, False)),
    "reads": ("any call that reads the store may fail: it answers, and goes on",
              0.2, lambda s, a, n: at_work(s, a, n, True)),
    "directory": ("a directory that could not be changed or read is as the "
                  "disk has it", 0, of_directories),
    "answer": ("a call that is to start a job fails when what it takes cannot "
               "be read", 0, of_answers),
    "removal": ("a job that cannot be removed is not removed", 0,
                of_removals),
    "resume": ("a job that was accepted runs with its config or is told to "
               "have failed, whichever read of the start fails", 0.4,
               of_resumed),
    "start": ("any call of a start may fail: it starts or says why, and the "
              "next start has every job", 0.2, at_start),
}


def test(args):
    for name in args.parts or PARTS:
        sentence, share, fn = PARTS[name]

        def run():
            svc = service.Service(args.program, args.top + "/" + name)
            try:
                svc.start()
                found = fn(svc, args, max(1, round(args.runs * share)))
                return found + svc.stop() + svc.log_findings()
            finally:
                svc.remove()
        args.tap.run(sentence, run)


def main():
    p = program.options(__doc__, PARTS)
    p.add_argument("--runs", type=int, default=100)
    return program.run(p, test)


if __name__ == "__main__":
    sys.exit(main())
