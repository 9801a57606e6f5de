#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Real machines that are killed and stopped, and a daemon that is killed over
them. A job whose machine dies ends with a reason, within its timeout and a
margin, and what it wrote before is kept.

machines.py [--kills N] [--image DIR] [--accel auto|kvm|tcg] [--state DIR]
"""
import contextlib
import os
import signal
import sys
import time

import check
import jobs
import program
import service

FIRST_S = 900 * service.SLOW  # the template is made before the first job runs
TIMEOUT_S = 5
MARGIN_S = 25 * service.SLOW  # under emulation, on a busy host


def begin(svc, args):
    """The state directory is another test's too: what is there goes."""
    svc.start()
    jobs.empty(svc.tree)
    return jobs.Journal(args.rng.random())


def started(svc, journal, **config):
    """A job that has written a line and goes on for long."""
    job = journal.make(how="config", sleep_ms=600000, bytes=0, files={})
    journal.submit(svc.tree, job, config)
    with svc.watched(FIRST_S), \
            open("%s/%s/stdout.follow" % (svc.tree, job.name), "rb") as f:
        f.readline()
    return job


def one_dies(args, base, sig):
    """Its machine gets the signal. Return: findings."""
    svc = args.service(base, "--max-machines", "1", "--pool", "0")
    try:
        journal = begin(svc, args)
        job = started(svc, journal, timeout=TIMEOUT_S)
        began = time.monotonic()
        for pid in svc.machines():
            os.kill(pid, sig)
        with svc.watched(FIRST_S):
            check.read("%s/%s/wait" % (svc.tree, job.name))
        took = time.monotonic() - began
        res = check.Result("%s/%s" % (svc.tree, job.name))
        found = res.inner(job.name) + check.check_told(job, res, None)
        args.tap.say("%s after %.1f s: %s" % (
            res.json["status"], took, res.json["message"]))
        if res.json["status"] not in ("failed", "timeout"):
            found.append("its status is %s" % res.json["status"])
        if not res.stdout.startswith(job.token.encode()):
            found.append("what it had written is lost")
        if took > TIMEOUT_S + MARGIN_S:
            found.append("it took %.0f s to end" % took)
        del journal.jobs[job.name]
        found += after(svc, journal)
        return found + svc.stop()
    finally:
        svc.remove()


def idle_die(args, base, sig):
    """Machines that wait for a job get the signal."""
    svc = args.service(base, "--max-machines", "2", "--pool", "2")
    try:
        journal = begin(svc, args)
        found = after(svc, journal)
        service.until(60 * service.SLOW, lambda: len(svc.machines()) >= 2)
        for pid in svc.machines():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sig)
        began = time.monotonic()
        for _ in range(3):
            found += after(svc, journal)
        args.tap.say("three jobs after it: %.1f s" % (time.monotonic() - began))
        return found + svc.stop()
    finally:
        svc.remove()


def after(svc, journal):
    """The next job is as ever."""
    job = journal.make(how="config", sleep_ms=0)
    journal.submit(svc.tree, job)
    with svc.watched(FIRST_S):
        check.read("%s/%s/wait" % (svc.tree, job.name))
    found = check.check(svc, journal)
    if job.result and job.result[0] != b"%d\n" % job.code:
        found.append("a later job ended with %r: %s" % (
            job.result[0], check.read("%s/%s/error" % (svc.tree, job.name))))
    return found


def server_dies(args, base, sig):
    """The daemon is killed while machines run; none of them is left."""
    svc = args.service(base, "--max-machines", "3", "--pool", "2")
    counts, found = check.Counts(), []
    try:
        journal = begin(svc, args)
        found += after(svc, journal)
        for n in range(args.kills):
            for _ in range(3):
                journal.submit(svc.tree, journal.make(how="config"))
            wait = journal.make(how="config", sleep_ms=0)
            journal.submit(svc.tree, wait)
            service.until(args.rng.uniform(0, 0.4), lambda: False)
            old = svc.machines()
            os.kill(svc.server(), sig)
            if svc.revive():
                counts["survived by itself"] += 1
            left = service.until(
                service.ORPHAN_S, lambda: not set(old) & set(svc.machines()))
            if not left:
                found.append("machines outlive their daemon by %.0f s" %
                             service.ORPHAN_S)
            found += check.check(svc, journal, counts)
            journal.jobs.clear()
            counts["kills"] += 1
        args.tap.say(counts)
        return found + svc.stop()
    finally:
        svc.remove()


TESTS = (
    ("a machine that is killed ends its job with a reason", one_dies,
     signal.SIGKILL),
    ("a machine that is stopped ends its job in time, with a reason", one_dies,
     signal.SIGSTOP),
    ("idle machines that are killed are missed by no job", idle_die,
     signal.SIGKILL),
    ("idle machines that are stopped are missed by no job", idle_die,
     signal.SIGSTOP),
    ("a daemon that is killed over its machines loses, doubles and halves "
     "nothing, and none of them is left", server_dies, signal.SIGKILL),
)


def test(args):
    check.END_S = 120 * service.SLOW
    args.service = lambda base, *options: service.Service(
        args.program, base, ["--image", args.image, "--accel", args.accel,
                             *options], state=args.state)
    for n, (sentence, fn, sig) in enumerate(TESTS):
        args.tap.run(sentence, fn, args, "%s/%d" % (args.top, n), sig)


def main():
    p = program.options(__doc__, program="fsd")
    p.add_argument("--kills", type=int, default=10)
    p.add_argument("--image", default=os.environ.get(
        "FSD_IMAGE", service.TOP + "/build/image"))
    p.add_argument("--accel", default=os.environ.get("FSD_ACCEL", "auto"))
    p.add_argument("--state", default=os.environ.get(
        "FSD_TEST_STATE", service.TOP + "/build/test-state"),
        help="has the template, and is kept")
    return program.run(p, test)


if __name__ == "__main__":
    sys.exit(main())
