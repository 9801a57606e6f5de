#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The host loses power: the calls of a life of jobs are recorded, and a daemon
is started on the directories that the disk may show after each of them.

With --durability full everything that was accepted before the crash is there,
every result that was seen is the same, and nothing runs again. With relaxed
what is new may be lost or half: that is what it saves; but it mounts, every job
that is there ends, and a new one runs.

crash.py [--states N] [--seed S] [full|relaxed...]
"""
import copy
import shutil
import sys
import time

import check
import disk
import jobs
import program
import service
import tracer

HOW = ("all", "synced", "ordered", "any", "any", "torn")


def life(svc, journal):
    """Jobs in each way; all ends are seen."""
    some = journal.submit_each_way(svc.tree, sleep_ms=0)
    some.append(journal.make(how="config", retry=2))
    journal.submit(svc.tree, some[-1], {"retry": 2})
    for job in some:
        check.await_end(svc, job)
        job.result = check.Result("%s/%s" % (svc.tree, job.name)).key()
        job.told = time.monotonic()


def record(svc, journal):
    """Return: the disk, its calls, the witness's (time, line)."""
    base = svc.base + "/before"
    shutil.copytree(svc.state, base)
    plan = tracer.Plan(record=True, also=svc.witness)
    with tracer.Trace(svc.server(), svc.state, plan) as t:
        life(svc, journal)
    d = disk.Disk(svc.state, base)
    calls = [c for c in t.calls if c.no]
    for index, call in enumerate(calls):
        call.index = index
        d.add(index, call)
    runs = [(c.left, c.data) for c in t.calls
            if not c.no and c.name == "write"]
    return d, calls, runs


def as_of(journal, svc, when, runs, full):
    """What the client knew at that time."""
    past = jobs.Journal(0, svc.witness)
    past.faulty = not full  # relaxed: a program may be gone, and that is told
    for job in journal.jobs.values():
        job = copy.copy(job)
        if not full or job.accepted > when:
            job.accepted = 0
        if not full or job.told > when:
            job.result, job.told = None, 0
        past.jobs[job.name] = job
    for at, line in runs:
        if at < when:
            past.lines[line.split()[0].decode()].append(line)
    return past


def show(svc, tree, past, counts):
    """A daemon on this directory. Return: findings."""
    shutil.rmtree(svc.state, ignore_errors=True)
    disk.lay_out(tree, svc.state)
    open(svc.witness, "wb").close()
    try:
        svc.start()
        found = check.check(svc, past, counts) + svc.log_findings()
        new = jobs.Journal(0, svc.witness)
        new.number = 1000
        new.submit(svc.tree, new.make())
        return found + ["later: " + f for f in check.check(svc, new)]
    except (RuntimeError, service.Hung) as e:
        return ["the mount refuses: %s" % e]
    finally:
        svc.clear()


def crashes(svc, args, full):
    journal = jobs.Journal(args.rng.random(), svc.witness)
    svc.start()
    d, calls, runs = record(svc, journal)
    svc.stop()
    states = [(i, how) for i in range(len(calls)) for how in HOW]
    args.rng.shuffle(states)
    seen, found, counts = set(), [], check.Counts()
    for index, how in states:
        if counts["states"] == args.states:
            break
        tree = d.tree(d.choose(index, how, args.rng), how == "torn")
        when = calls[index + 1].entered if index + 1 < len(calls) \
            else float("inf")
        past = as_of(journal, svc, when, runs, full)
        key = disk.digest(tree), tuple(j.accepted for j in past.jobs.values())
        if key in seen:
            continue
        seen.add(key)
        counts["states"] += 1
        where = "behind call %d of %d (%s %s), %s" % (
            index + 1, len(calls), calls[index].name,
            calls[index].paths[-1][len(svc.state):].decode(), how)
        found += ["%s: %s" % (where, f) for f in show(svc, tree, past, counts)
                  if full or not f.startswith(("half", "doubled", "untold"))]
    args.tap.say("%d calls, %d of them syncs; %s" % (
        len(calls), sum("sync" in c.name for c in calls), counts))
    for line in counts.reasons():
        args.tap.say("  " + line)
    return found


PARTS = {
    "full": "after a crash of the host, full durability has all that was "
            "accepted, and nothing half",
    "relaxed": "after a crash of the host, relaxed durability mounts, and "
               "jobs run",
}


def test(args):
    for name in args.parts or PARTS:
        def run():
            svc = service.Service(args.program, args.top + "/" + name,
                                  ["--durability", name])
            try:
                return crashes(svc, args, name == "full")
            finally:
                svc.remove()
        args.tap.run(PARTS[name], run)


def main():
    p = program.options(__doc__, PARTS)
    p.add_argument("--states", type=int, default=2000)
    return program.run(p, test)


if __name__ == "__main__":
    sys.exit(main())
