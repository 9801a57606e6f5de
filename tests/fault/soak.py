#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A mixed load for as long as one likes, with helpers that are killed and jobs
that are removed. Every result is checked, and what the daemon holds (memory,
descriptors, processes) does not grow: a line through what was measured after
the warm-up rises by no more than the noise that is allowed.

soak.py [--seconds N] [--rate JOBS_PER_SECOND] [--program P --real]
"""
import contextlib
import os
import random
import signal
import sys
import threading
import time

import check
import jobs
import program
import service

WARM_UP = 0.3  # of the time
KEEP = 20      # finished jobs of each client


# --- what a daemon holds ------------------------------------------------------------

def field(path, name):
    """Kilobytes of a line of /proc."""
    with open(path) as f:
        for line in f:
            if line.startswith(name):
                return int(line.split()[1])
    return 0


def measure(svc):
    server = svc.server()
    all_of_it = svc.processes()
    pss = 0
    for pid in all_of_it:
        with contextlib.suppress(OSError):  # it has ended meanwhile
            pss += field("/proc/%d/smaps_rollup" % pid, "Pss:")
    return {
        "rss_kb": field("/proc/%d/status" % server, "VmRSS:"),
        "pss_kb": pss,
        "fds": len(os.listdir("/proc/%d/fd" % server)),
        "threads": len(os.listdir("/proc/%d/task" % server)),
        "processes": len(all_of_it),
    }


# A rise of so much, and of so many parts of the mean, is noise.
NOISE = {"rss_kb": (1500, 0.05), "pss_kb": (3000, 0.05), "fds": (12, 0.05),
         "threads": (2, 0), "processes": (2, 0)}


def rise(points):
    """Of a line of least squares, from the first point to the last; and the
    mean."""
    n = len(points)
    mean_x = sum(x for x, _ in points) / n
    mean_y = sum(y for _, y in points) / n
    over = sum((x - mean_x) * (y - mean_y) for x, y in points)
    under = sum((x - mean_x) ** 2 for x, _ in points)
    return (over / under if under else 0) * (points[-1][0] - points[0][0]), mean_y


def growth(samples, what):
    """Findings about one of the figures: (time, figures) of each sample."""
    points = [(at, figures[what]) for at, figures in samples]
    grown, mean = rise(points)
    least, part = NOISE[what]
    if grown <= least + part * mean:
        return []
    return ["%s rose by %.0f (mean %.0f) in %.0f s" % (
        what, grown, mean, points[-1][0] - points[0][0])]


# --- the load -----------------------------------------------------------------------

class Client(threading.Thread):
    """Its own jobs, one after the other."""

    def __init__(self, soak, number):
        super().__init__(daemon=True)
        self.soak, self.svc, self.journal = soak, soak.svc, soak.journal
        self.rng = random.Random("%s %d" % (soak.args.seed, number))
        self.session = "s%d" % number
        self.kept = []
        self.start()

    def run(self):
        pace = self.soak.args.clients / self.soak.args.rate
        while not self.soak.over.wait(self.rng.uniform(0, 2 * pace)):
            kind = self.rng.choices(KINDS, WEIGHTS)[0]
            try:
                self.soak.counts["begun"] += 1
                self.soak.findings += kind(self)
            except Exception as e:  # one finding, and the load goes on
                self.soak.findings.append("%s: %r" % (kind.__name__, e))

    def finish(self, job):
        """Checks it, and removes what is too much."""
        found = check.check_accepted(self.svc, self.journal, job,
                                     self.soak.counts)
        self.kept.append(job)
        while len(self.kept) > KEEP:
            old = self.kept.pop(self.rng.randrange(len(self.kept)))
            found += check.check_accepted(self.svc, self.journal, old,
                                          check.Counts())
            self.remove(old)
        return found

    def remove(self, job):
        self.journal.remove(self.svc.tree, job)
        self.journal.drop(job)

    def plain(self):
        job = self.journal.make(long=True)
        self.journal.submit(self.svc.tree, job)
        return self.finish(job)

    def in_session(self):
        job = self.journal.make()
        self.journal.submit(self.svc.tree, job, {"session": self.session})
        if self.soak.args.real:  # files of earlier steps are no new ones
            check.await_end(self.svc, job)
            self.remove(job)
            return []
        return self.finish(job)

    def followed(self):
        job = self.journal.make(how="move", sleep_ms=20)
        self.journal.submit(self.svc.tree, job)
        out = check.read("%s/%s/stdout.follow" % (self.svc.tree, job.name))
        check.await_end(self.svc, job)
        if out != check.read("%s/%s/stdout" % (self.svc.tree, job.name)):
            return ["half: %s: stdout.follow is not stdout" % job.name]
        return self.finish(job)

    def cancelled(self):
        job = self.journal.make(how="config", sleep_ms=600000)
        self.journal.submit(self.svc.tree, job)
        jobs.put("%s/%s/ctl" % (self.svc.tree, job.name), b"kill\n")
        return self.finish(job)

    def removed(self):
        """While it runs."""
        job = self.journal.make(how="config", sleep_ms=600000)
        self.journal.submit(self.svc.tree, job)
        self.remove(job)
        return []

    def refused(self):
        job = self.journal.make(how="rename")
        self.journal.submit(self.svc.tree, job, {"timeout": -1})
        if check.state_of(self.svc, job) != "refused":
            return ["%s was not refused" % job.name]
        self.remove(job)
        return []

    def draft(self):
        d = "%s/.draft-%s-%d" % (self.svc.tree, self.session,
                                 self.rng.randrange(1 << 30))
        os.makedirs(d + "/a/b")
        jobs.put(d + "/a/b/data", os.urandom(self.rng.randrange(200000)))
        os.rename(d + "/a/b/data", d + "/data")
        jobs.remove_tree(d)
        return []


KINDS = (Client.plain, Client.in_session, Client.followed, Client.cancelled,
         Client.removed, Client.refused, Client.draft)
WEIGHTS = (60, 10, 10, 5, 5, 5, 5)


class Soak:
    def __init__(self, args, svc, say):
        self.args, self.svc, self.say = args, svc, say
        self.journal = jobs.Journal(args.seed,
                                    None if args.real else svc.witness)
        self.counts = check.Counts()
        self.findings = []
        self.over = threading.Event()
        self.samples = []

    def kill_helper(self):
        mine = (self.svc.popen.pid, self.svc.server())
        some = [p for p in self.svc.processes() if p not in mine and
                service.name_of(p).startswith("fsd")]
        if some:
            self.counts["helpers killed"] += 1
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.args.rng.choice(some), signal.SIGKILL)

    def run(self):
        began = time.monotonic()
        step = max(0.25, min(5, self.args.seconds / 100))
        line_at, kill_at = 0, step
        clients = [Client(self, n) for n in range(self.args.clients)]
        while (now := time.monotonic() - began) < self.args.seconds:
            figures = measure(self.svc)
            if now > WARM_UP * self.args.seconds:
                self.samples.append((now, figures))
            if now >= line_at:
                line_at += min(60, self.args.seconds / 4)
                self.say("%5.0f s: %s; %s" % (
                    now, " ".join("%s %d" % i for i in figures.items()),
                    self.counts))
            if now >= kill_at:
                kill_at += min(5, self.args.seconds / 10)
                self.kill_helper()
            self.over.wait(step)
        self.over.set()
        for client in clients:
            client.join(2 * check.END_S)
            if client.is_alive():
                self.findings.append("stuck: a client does not end")


def test(args):
    t = args.tap
    svc = service.Service(args.program, args.top + "/soak", args.option,
                          state=args.state)
    soak = Soak(args, svc, t.say)
    try:
        svc.start()
        jobs.empty(svc.tree)  # a state directory that is kept may have some
        try:
            soak.run()
        except OSError as e:  # nobody answers: why?
            soak.over.set()
            soak.findings += ["%r; fsd mount: %s; its log: %s" % (
                e, svc.popen.poll(), svc.log_tail(15))]
        t.say("in all: %s" % soak.counts)
        t.ok(not soak.findings, "under a mixed load nothing is lost, doubled "
             "or half", soak.findings)
        for what in NOISE:
            t.run("%s of the daemon do not grow" % what, growth, soak.samples,
                  what)
        jobs.empty(svc.tree)
        t.run("the daemon ends and leaves nothing",
              lambda: svc.stop() + svc.log_findings())
    finally:
        svc.remove()


def main():
    p = program.options(__doc__)
    p.add_argument("--seconds", type=float, default=3600)
    p.add_argument("--rate", type=float, default=100, help="jobs a second")
    p.add_argument("--clients", type=int, default=4)
    p.add_argument("--real", action="store_true", help="real machines")
    p.add_argument("--state", help="the state directory; it is kept")
    p.add_argument("--option", action="append", default=[],
                   help="of fsd mount; may be given more than once")
    return program.run(p, test)


if __name__ == "__main__":
    sys.exit(main())
