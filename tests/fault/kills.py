#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the serving process at every call of the store, while it starts,
and at any time under load; of its helpers too. After each, the mount answers
(by itself, or made again), and the checker compares what was accepted with
what came out.

kills.py [--kills N] [--seed S] [--program P] [--real] [PART...]
"""
import contextlib
import errno
import os
import random
import select
import signal
import sys
import threading
import time

import check
import jobs
import program
import service
import tap
import tracer

KEPT = 30  # jobs in the tree, about, before they are removed


class Pulse(threading.Thread):
    """From a death, which fd tells of, to the mount's next answer."""

    def __init__(self, svc, fd):
        super().__init__(daemon=True)
        self.svc, self.fd = svc, os.dup(fd)
        self.answered = 0.0
        self.start()

    def run(self):
        select.select([self.fd], [], [], 60)
        os.close(self.fd)
        end = time.monotonic() + service.START_S
        pause = threading.Event()
        while time.monotonic() < end:
            try:
                os.stat(self.svc.mnt + "/.fsd")
                self.answered = time.monotonic()
                return
            except OSError:
                pause.wait(0.001)


class Record:
    """What a test comes to."""

    def __init__(self):
        self.findings = []
        self.unplaced = []  # findings of which place() is to say where
        self.counts = check.Counts()
        self.kills = 0
        self.by_itself = 0
        self.ms = []  # from a death to the next answer

    def place(self, where):
        self.findings += ["%s: %s" % (where, f) for f in self.unplaced]
        self.unplaced = []

    def text(self):
        return "%d kills, %d survived by the mount itself; back in ms: %s; %s" % (
            self.kills, self.by_itself, tap.spread(self.ms), self.counts)


# --- at a call -----------------------------------------------------------------

def work(svc, journal):
    """A short life of jobs: each way to submit one, a draft, a removal."""
    done = journal.submit_each_way(svc.tree, sleep_ms=0)
    os.mkdir(svc.tree + "/draft")
    jobs.put(svc.tree + "/draft/data", b"x" * 5000)
    for job in done:
        with svc.watched(what="wait of %s (%s)" % (job.name, job.how)):
            check.read("%s/%s/wait" % (svc.tree, job.name))
    journal.remove(svc.tree, done[0])
    os.rename(svc.tree + "/draft/data", svc.tree + "/draft/renamed")
    jobs.remove_tree(svc.tree + "/draft")


@contextlib.contextmanager
def dying(record):
    """What a client may be told when the server dies under it."""
    try:
        yield
    except service.Hung as e:
        record.unplaced.append("stuck: a client: %s" % e)
    except OSError as e:
        if e.errno not in service.DEAD:
            record.unplaced.append("a client was told %r" % e)


def settle(svc, journal, record, where):
    """After a kill, at this place."""
    found = []
    if svc.revive():
        record.by_itself += 1
    found += check.check(svc, journal, record.counts)
    record.findings += ["%s: %s" % (where, f) for f in found]
    if found or len(journal.jobs) > KEPT:
        clean(svc, journal)


def clean(svc, journal):
    jobs.empty(svc.tree)
    journal.jobs.clear()


def killed(svc, journal, t, pulse, record, where):
    record.kills += 1
    settle(svc, journal, record, where)
    pulse.join(service.START_S)
    if pulse.answered:
        record.ms.append((pulse.answered - t.killed) * 1000)


def numbers(rng, most, budget):
    """1 to most in any order, again and again."""
    while budget > 0:
        some = list(range(1, most + 1))
        rng.shuffle(some)
        yield from some[:budget]
        budget -= most


def at_calls(svc, args, budget, after, record):
    """Each call of the store while jobs live their lives."""
    journal = args.journal(svc)
    with tracer.Trace(svc.server(), svc.state, tracer.Plan()) as t:
        work(svc, journal)
    clean(svc, journal)
    for n in numbers(args.rng, t.count, budget):
        with contextlib.suppress(FileNotFoundError):
            jobs.remove_tree(svc.tree + "/draft")
        plan = tracer.Plan(kill=n, after=after)
        with tracer.Trace(svc.server(), svc.state, plan) as t:
            pulse = Pulse(svc, t.fd)
            with dying(record), svc.watched(3 * service.ANSWER_S):
                work(svc, journal)
        where = "%s call %d, %s" % ("behind" if after else "before", n, t.at)
        record.place(where)
        if t.killed:  # the number of calls is not quite the same each time
            killed(svc, journal, t, pulse, record, where)


# --- while it starts ----------------------------------------------------------

def at_start(svc, args, budget, record):
    """Each call of the store while a daemon takes up what another has left."""
    journal = args.journal(svc)
    most = 1
    while record.kills < budget:
        for n in numbers(args.rng, most, min(most, budget - record.kills)):
            journal.submit_each_way(svc.tree, sleep_ms=20)
            svc.popen.kill()
            svc.popen.wait()
            record.findings += svc.clear()
            svc.spawn_stopped()
            plan = tracer.Plan(kill=n, after=args.rng.random() < 0.5)
            with tracer.Trace(svc.popen.pid, svc.state, plan, True) as t:
                pulse = Pulse(svc, t.fd)
                os.kill(svc.popen.pid, signal.SIGCONT)
                svc.await_first(t.fd)
            if t.killed:
                killed(svc, journal, t, pulse, record,
                       "while starting, call %d, %s" % (n, t.at))
            else:
                settle(svc, journal, record, "a start")
            most = max(most, t.count)


def at_takeover(svc, args, budget, record):
    """Each call of a server that takes over from a killed one."""
    journal = args.journal(svc)
    most = 1
    while record.kills < budget and svc.server() != svc.popen.pid:
        for n in numbers(args.rng, most, min(most, budget - record.kills)):
            journal.submit_each_way(svc.tree, sleep_ms=20)
            plan = tracer.Plan(kill=n, after=args.rng.random() < 0.5)
            with tracer.Trace(svc.popen.pid, svc.state, plan, True) as t:
                pulse = Pulse(svc, t.fd)
                os.kill(svc.server(), signal.SIGKILL)
                with dying(record), svc.watched():
                    os.stat(svc.tree)
                    record.findings += check.check(svc, journal, record.counts)
            where = "taking over, call %d, %s" % (n, t.at)
            record.place(where)
            if t.killed:
                killed(svc, journal, t, pulse, record, where)
            most = max(most, t.count)
            if len(journal.jobs) > KEPT:
                clean(svc, journal)


# --- in a rename ----------------------------------------------------------------

LARGE = 8 << 20  # what is given up elsewhere
OLD, NEW = b"old", b"new"


class Renaming(threading.Thread):
    """mv draft/tmp draft/data, of so many bytes each; answer: an errno, or 0."""

    def __init__(self, svc, sizes):
        super().__init__(daemon=True)
        self.dir, self.answer = svc.tree + "/draft", None
        for name, text, size in zip(("tmp", "data"), (NEW, OLD), sizes):
            jobs.put("%s/%s" % (self.dir, name), text)
            os.truncate("%s/%s" % (self.dir, name), size)

    def run(self):
        try:
            os.rename(self.dir + "/tmp", self.dir + "/data")
            self.answer = 0
        except OSError as e:
            self.answer = e.errno


def head(path):
    with contextlib.suppress(FileNotFoundError), open(path, "rb") as f:
        return f.read(3)


def renamed(svc, answer):
    """Findings: it was done, or not if nobody was told so."""
    dir = svc.tree + "/draft"
    there = {name: head("%s/%s" % (dir, name)) for name in ("data", "tmp")
             if name in os.listdir(dir)}
    if there == {"data": NEW} or answer and there == {"data": OLD, "tmp": NEW}:
        return []
    return ["half: a rename was answered %s, and there is %r" % (answer, there)]


def kill_renaming(svc, sizes, plan, whole, record):
    """whole: the holder dies with the server, else another server goes on.
    Return: False if there is no such call."""
    mv = Renaming(svc, sizes)
    if whole:
        os.kill(svc.popen.pid, signal.SIGSTOP)
    with tracer.Trace(svc.server(), svc.state, plan) as t:
        mv.start()
        service.until(service.ANSWER_S, lambda: not mv.is_alive() or
                      select.select([t.fd], [], [], 0)[0])
        if whole and mv.is_alive():
            svc.popen.kill()
            svc.popen.wait()
        mv.join(service.ANSWER_S)
    if whole and svc.popen.poll() is None:
        os.kill(svc.popen.pid, signal.SIGCONT)
    back = svc.revive()
    record.kills += bool(t.killed)
    record.by_itself += back and bool(t.killed)
    where = "%s %s call %d of a rename, %s" % (
        "all" if whole else "a server", "behind" if plan.after else "before",
        plan.kill, t.at)
    record.findings += ["%s: %s" % (where, f) for f in renamed(svc, mv.answer)]
    return t.killed


def at_rename(svc, args, budget, record):
    """Each call of a rename over another file, where either is large."""
    os.mkdir(svc.tree + "/draft")
    for sizes in ((LARGE, LARGE), (LARGE, 3), (3, LARGE)):
        for whole in (False, True):
            for after in (False, True):
                n = 1
                while kill_renaming(svc, sizes, tracer.Plan(kill=n, after=after),
                                    whole, record):
                    n += 1
    no_links = tracer.Plan(fail=errno.EPERM, names=("linkat",))
    kill_renaming(svc, (3, LARGE), no_links, False, record)
    jobs.remove_tree(svc.tree + "/draft")
    trash = svc.state + "/trash"
    service.until(service.ANSWER_S, lambda: not os.listdir(trash))
    record.findings += ["left in the trash: " + name
                        for name in os.listdir(trash)]


# --- at any time ----------------------------------------------------------------

class Client(threading.Thread):
    """Makes jobs, waits for some, removes some, for ever. When the mount dies
    under it, it waits for the next."""

    def __init__(self, load, seed):
        super().__init__(daemon=True)
        self.load, self.rng = load, random.Random(seed)
        self.doing, self.busy = "nothing", False
        self.start()

    def run(self):
        while not self.load.over:
            self.load.may_go.wait()
            with self.load.idle:
                self.busy = self.load.may_go.is_set()
            if self.busy:
                self.try_one()
                with self.load.idle:
                    self.busy = False
                    self.load.idle.notify_all()

    def try_one(self):
        try:
            self.one()
        except OSError as e:
            if e.errno not in service.DEAD:
                self.load.record.findings.append(
                    "a client %s, and was told %r" % (self.doing, e))
            self.load.cut.wait(0.01)

    def one(self):
        svc, journal = self.load.svc, self.load.journal
        job = journal.make(long=True)
        self.doing = "submits %s (%s)" % (job.name, job.how)
        journal.submit(svc.tree, job)
        what = self.rng.random()
        name = "wait" if what < 0.6 else "stdout.follow"
        if what < 0.7:
            self.doing = "reads %s of %s" % (name, job.name)
            check.read("%s/%s/%s" % (svc.tree, job.name, name))
        if what < 0.2:
            self.doing = "removes %s" % job.name
            journal.remove(svc.tree, job)


class Load:
    def __init__(self, svc, journal, record, clients):
        self.svc, self.journal, self.record = svc, journal, record
        self.over = False
        self.may_go = threading.Event()
        self.cut = threading.Event()  # never set: a pause with a bound
        self.idle = threading.Condition()
        self.clients = [Client(self, journal.rng.random())
                        for _ in range(clients)]

    def go(self):
        self.may_go.set()

    def pause(self):
        """Until every client has come back from the mount."""
        with self.idle:
            self.may_go.clear()
            if not self.idle.wait_for(
                    lambda: not any(c.busy for c in self.clients),
                    service.ANSWER_S):
                self.record.findings += ["stuck: a client %s" % c.doing
                                         for c in self.clients if c.busy]
                service.umount(self.svc.mnt, service.MNT_FORCE)
                self.svc.revive()

    def end(self):
        self.pause()
        self.over = True
        self.may_go.set()
        for client in self.clients:
            client.join(service.ANSWER_S)


def at_random(svc, args, budget, record):
    """Several clients; the time is short enough that jobs are under way."""
    journal = args.journal(svc)
    if args.real:  # its template is made, which takes longer than a server lives
        one = journal.make()
        journal.submit(svc.tree, one)
        check.read("%s/%s/wait" % (svc.tree, one.name))
    load = Load(svc, journal, record, 4)
    pause = threading.Event()
    for _ in range(budget):
        load.go()
        pause.wait(args.rng.choice((0.1, 1, 3, 6) if args.real else
                                   (0.005, 0.02, 0.05, 0.1, 0.2)))
        pid = svc.server()
        r, w = os.pipe()
        pulse = Pulse(svc, r)
        when = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        os.close(w)
        back = svc.revive()
        record.kills += 1
        record.by_itself += back
        pulse.join(service.START_S)
        os.close(r)
        if pulse.answered:
            record.ms.append((pulse.answered - when) * 1000)
        if len(journal.jobs) > 10 * KEPT:
            load.pause()
            record.findings += check.check(svc, journal, record.counts)
            clean(svc, journal)
    load.end()
    record.findings += check.check(svc, journal, record.counts)
    clean(svc, journal)


def helper_names(svc):
    """Of the processes that are neither the user's own nor the server."""
    mine = (svc.popen.pid, svc.server())
    names = (service.name_of(p) for p in svc.processes() if p not in mine)
    return sorted(n for n in names if n.startswith("fsd") and n != "fsd-zygote")


BACK_S = 20 * service.SLOW  # a helper that dies often comes back this late


def kill_helper(svc, name, record):
    server = svc.server()
    for pid in svc.processes():
        if service.name_of(pid) == name and pid not in (server, svc.popen.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            record.kills += 1
    with svc.watched():
        record.by_itself += svc.server() == server


def helpers(svc, args, budget, record):
    """The service goes on when one of its helpers dies, and has it again."""
    journal = args.journal(svc)
    load = Load(svc, journal, record, 2)
    pause = threading.Event()
    names = (["fsd-jailer"] if args.real else []) + ["fsd-broker", "fsd-notify"]
    # One that is being started has its parent's name for a moment, or none.
    service.until(BACK_S, lambda: helper_names(svc) == names)
    for name in names:
        for _ in range(max(2, budget // len(names))):
            load.go()
            pause.wait(0.03)
            try:
                kill_helper(svc, name, record)
            except (OSError, service.Hung) as e:
                record.findings.append("%s died, and the mount: %r" % (name, e))
                svc.revive()
        if not service.until(BACK_S, lambda: helper_names(svc) == names):
            record.findings.append("%s was killed; of %r there are %r" % (
                name, names, helper_names(svc)))
            load.pause()
            record.findings += svc.stop()
            svc.start()
    load.end()
    record.findings += check.check(svc, journal, record.counts)
    clean(svc, journal)


# --- the whole --------------------------------------------------------------------

PARTS = {
    # name: sentence, share of the kills, function
    "before": ("killed before any call of the store, it loses, doubles and "
               "halves nothing", 0.3,
               lambda *a: at_calls(*a[:3], False, a[3])),
    "behind": ("killed behind any call of the store, it loses, doubles and "
               "halves nothing", 0.3,
               lambda *a: at_calls(*a[:3], True, a[3])),
    "start": ("killed while it takes up what another has left, it loses, "
              "doubles and halves nothing", 0.05, at_start),
    "takeover": ("killed while it takes over from a killed one, it loses, "
                 "doubles and halves nothing", 0.1, at_takeover),
    "rename": ("killed at any call of a rename over a large file, it has done "
               "that or not", 0, at_rename),
    "random": ("killed at any time under load, it loses, doubles and halves "
               "nothing", 0.2, at_random),
    "helpers": ("a helper that is killed is missed by no job, and is replaced",
                0.05, helpers),
}


def test(args):
    args.journal = lambda svc: jobs.Journal(
        args.rng.random(), None if args.real else svc.witness)
    total = Record()
    for name in args.parts or PARTS:
        sentence, share, fn = PARTS[name]
        record = Record()
        svc = service.Service(args.program, args.top + "/" + name, args.option)
        kills = max(1, round(args.kills * share))
        program.serve(args, sentence, svc, lambda: fn(svc, args, kills, record), record)
        total.kills += record.kills
        total.by_itself += record.by_itself
        total.ms += record.ms
        total.counts.add(record.counts)
    args.tap.say("in all: " + total.text())
    for why in total.counts.reasons():
        args.tap.say("  " + why)


def main():
    p = program.kill_options(__doc__, PARTS)
    return program.run(p, test)


if __name__ == "__main__":
    sys.exit(main())
