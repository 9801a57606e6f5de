#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of `fsd spool` at every call that changes a file of its directory or of the mount,
while it starts, and at any time; of the mount's server, and of the whole mount, too. After
each, the spool is started again. In the end each entry is in exactly one of new, run, done and
failed, with the result that was to be, and its program ran at most once.

The host loses power, too: the calls of a spool are recorded, and what a disk may show of its
directory after each of them is looked at.

spool.py [--kills N] [--seed S] [--program P] [--sync] [PART...]
"""
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback

import check
import disk
import jobs
import program
import service
import tracer

KEPT = 60        # results, about, before they are removed
SETTLE = "0.05"
END_S = 30 * service.SLOW
# Why an entry is in failed that is not to be there by itself.
LOST = "its job was accepted, and is not in the mount any more"
OFTEN = "fsd spool has ended 3 times over this"


class Spool:
    """`fsd spool` on one directory, with a program file of its own: the mount's processes are
    found by theirs."""

    def __init__(self, svc, name="a", options=()):
        self.svc, self.name, self.options = svc, name, list(options)
        self.dir = svc.base + "/spool"
        self.log = "%s/spool-%s.log" % (svc.base, name)
        self.program = svc.base + "/spool-program"
        if not os.path.exists(self.program):
            shutil.copy2(svc.program, self.program)
        self.popen = None

    def spawn(self, prefix=()):
        with open(self.log, "ab") as log:
            self.at = log.tell()
            self.popen = subprocess.Popen(
                [*prefix, self.program, "spool", "--mount", self.svc.mnt, "--name",
                 self.name, "--settle", SETTLE, *self.options, self.dir],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)

    def serves(self):
        with open(self.log, "rb") as log:
            log.seek(self.at)
            return b": serves " in log.read()

    def start(self):
        self.spawn()
        service.until(service.START_S,
                      lambda: self.serves() or self.popen.poll() is not None)
        if not self.serves():
            raise RuntimeError("fsd spool does not serve: " + self.tail())

    def tail(self):
        with open(self.log, errors="replace") as log:
            return " | ".join(log.read().splitlines()[-5:])

    def server(self):
        """The process that handles entries; 0: there is none."""
        path = "/proc/%d/task/%d/children" % (self.popen.pid, self.popen.pid)
        try:
            with open(path) as f:
                return int((f.read().split() or [0])[0])
        except OSError:
            return 0

    def kill(self):
        """Both of its processes."""
        server = self.server()
        self.popen.kill()
        self.popen.wait()
        gone = not server or service.until(service.ORPHAN_S, lambda: is_dead(server))
        return [] if gone else ["a spool's process outlived it by %.0f s" %
                                service.ORPHAN_S]

    def stop(self):
        if not self.popen or self.popen.poll() is not None:
            return []
        self.popen.terminate()
        try:
            code = self.popen.wait(service.START_S)
        except subprocess.TimeoutExpired:
            return self.kill() + ["the spool does not end when it is told to"]
        return [] if code == 0 else ["the spool ended with %d: %s" % (code, self.tail())]


def is_dead(pid):
    """A process that another one has to reap."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


# --- entries -------------------------------------------------------------------------

class Odd:
    """An entry that can never run."""
    how, code, token = "odd", 125, ""

    def __init__(self, name):
        self.name = name


def prepare(dir, job):
    os.mkdir(dir)
    jobs.put(dir + "/code.sh", job.script().encode())
    jobs.put(dir + "/data", b"x" * 3000)


def by_move(spool, job):
    prepare(spool + "/tmp/" + job.name, job)
    os.rename(spool + "/tmp/" + job.name, spool + "/new/" + job.name)


def by_copy(spool, job):
    prepare(spool + "/new/" + job.name, job)


def by_file(spool, job):
    """A program of the entry's name, which has no ending."""
    path = spool + "/tmp/" + job.name
    jobs.put(path, b"#!/bin/sh\n" + job.script().encode())
    os.rename(path, spool + "/new/" + job.name)


def by_link(spool, job):
    path = spool + "/tmp/" + job.name
    jobs.put(path, b"#!/bin/sh\n" + job.script().encode())
    os.link(path, spool + "/new/" + job.name)


WAYS = {"move": by_move, "copy": by_copy, "file": by_file, "link": by_link}


class Entries:
    """What was dropped."""

    def __init__(self, svc, rng, spool):
        self.journal = jobs.Journal(rng.random(), svc.witness)
        self.dir, self.odd = spool.dir, {}

    def drop(self, how, **fixed):
        job = self.journal.make(**fixed)
        WAYS[how](self.dir, job)
        job.how = how
        return job

    def drop_link(self):
        self.journal.number += 1
        odd = Odd("odd%d" % self.journal.number)
        self.odd[odd.name] = odd
        os.symlink("/etc/passwd", "%s/new/%s" % (self.dir, odd.name))

    def drop_some(self, slow=False):
        """One of each kind that matters for a step."""
        self.drop("move", code=0, sleep_ms=0)
        self.drop("file", code=7, sleep_ms=0)
        self.drop_link()
        if slow:
            self.drop("copy", sleep_ms=0)
            self.drop("link", sleep_ms=5)

    def all(self):
        with self.journal.lock:
            return list(self.journal.jobs.values()) + list(self.odd.values())

    def clear(self):
        """Removes results that were checked."""
        for place in ("done", "failed", "tmp"):
            for name in os.listdir(self.dir + "/" + place):
                path = "%s/%s/%s" % (self.dir, place, name)
                if os.path.isdir(path):
                    jobs.remove_tree(path)
                else:
                    os.unlink(path)
        self.journal.jobs.clear()
        self.odd.clear()


# --- the checker -----------------------------------------------------------------------

class Result:
    def __init__(self, d):
        self.json = json.loads(check.read(d + "/result.json"))
        self.exit_code = check.read(d + "/exit_code")
        self.error = b""
        if os.path.exists(d + "/error"):
            self.error = check.read(d + "/error")
        self.stdout = self.stderr = b""
        self.output = {}
        if os.path.exists(d + "/stdout"):
            self.stdout = check.read(d + "/stdout")
            self.stderr = check.read(d + "/stderr")
        if os.path.isdir(d + "/output"):
            self.output = check.walk(d + "/output")


def places_of(spool_dir, name):
    found = [place for place in ("new", "done", "failed")
             if os.path.lexists("%s/%s/%s" % (spool_dir, place, name))]
    run = spool_dir + "/run"
    for instance in os.listdir(run):
        for claim in os.listdir("%s/%s" % (run, instance)):
            d = "%s/%s/%s" % (run, instance, claim)
            with contextlib.suppress(OSError):
                tries = check.read(d + "/tries")
                if tries.startswith(b"claimed %s\n" % name.encode()) and \
                        os.path.lexists(d + "/input"):
                    found.append("run")
    return found


def is_told(res, told):
    return any(text in res.error.decode() for text in told)


def check_entry(spool_dir, entries, job, told):
    """told: sentences that an entry may fail with. Return: findings."""
    where = places_of(spool_dir, job.name)
    if len(where) != 1:
        return ["%s: %s (%s) is in %r" % ("doubled" if where else "lost", job.name,
                                          job.how, where)]
    if where[0] not in ("done", "failed"):
        return ["stuck: %s (%s) is in %s" % (job.name, job.how, where[0])]
    d = "%s/%s/%s" % (spool_dir, where[0], job.name)
    try:
        res = Result(d)
    except (OSError, ValueError) as e:
        return ["half: %s (%s) in %s: %s" % (job.name, job.how, where[0], e)]
    found = []
    if not os.path.lexists(d + "/input"):
        found.append("half: %s has no input" % job.name)
    if (res.exit_code == b"0\n") != (where[0] == "done"):
        found.append("half: %s is in %s with %r" % (job.name, where[0], res.exit_code))
    if res.exit_code != b"%d\n" % res.json["exit_code"]:
        found.append("half: %s: exit_code is %r" % (job.name, res.exit_code))
    runs = entries.journal.runs(job) if job.token else []
    if len(runs) > 1:
        found.append("doubled: %s (%s) ran %d times" % (job.name, job.how, len(runs)))
    if job.how == "odd" or res.json["status"] != "exited":
        if job.how != "odd" and not is_told(res, told) and \
                res.json["status"] not in told:
            found.append("lost: %s (%s): %s: %r" % (job.name, job.how,
                                                    res.json["status"], res.error))
        return found
    if not runs:
        found.append("lost: %s (%s) did not run" % (job.name, job.how))
    return found + check.check_exited(job, res, runs, False)


def check_all(svc, spool_dir, entries, told):
    """When the spool has nothing more to do. Return: findings."""
    some = entries.all()
    found = [f for job in some for f in check_entry(spool_dir, entries, job, told)]
    names = {job.name for job in some}
    for place in ("new", "done", "failed"):
        found += ["doubled: %s/%s is no entry" % (place, name)
                  for name in os.listdir(spool_dir + "/" + place)
                  if name not in names]
    left = []

    def none_left():
        left[:] = [n for n in os.listdir(svc.tree) if n != ".fsd"]
        return not left
    with svc.watched(2 * service.ANSWER_S):
        if not service.until(service.ANSWER_S, none_left):
            found.append("stuck: left in the mount: %r" % left)
    claims = [name for i in os.listdir(spool_dir + "/run")
              for name in os.listdir("%s/run/%s" % (spool_dir, i)) if name[0] != "."]
    return found + ["stuck: left in run: %s" % name for name in claims]


def is_settled(spool_dir, entries):
    there = set(os.listdir(spool_dir + "/done")) | set(os.listdir(spool_dir + "/failed"))
    return all(job.name in there for job in entries.all())


class Record:
    def __init__(self):
        self.findings, self.kills, self.results, self.often = [], 0, 0, 0

    def text(self):
        return "%d kills, %d entries, of which %d ended the spool too often" % (
            self.kills, self.results, self.often)


def settle(svc, spool_dir, entries, record, where, told=()):
    """Waits until all entries have ended, and checks them."""
    if not service.until(END_S, lambda: is_settled(spool_dir, entries)):
        record.findings.append("%s: stuck: not all entries end" % where)
    found = check_all(svc, spool_dir, entries, (OFTEN, *told))
    record.findings += ["%s: %s" % (where, f) for f in found]
    if found or len(entries.all()) > KEPT:
        done(spool_dir, entries, record)


def done(spool_dir, entries, record):
    record.results += len(entries.all())
    for name in os.listdir(spool_dir + "/failed"):
        path = "%s/failed/%s/error" % (spool_dir, name)
        if os.path.exists(path):
            record.often += OFTEN.encode() in check.read(path)
    entries.clear()


# --- at a call ----------------------------------------------------------------------------

def numbers(rng, most, budget):
    """1 to most in any order, again and again."""
    while budget > 0:
        some = list(range(1, most + 1))
        rng.shuffle(some)
        yield from some[:budget]
        budget -= most


# Each of these ends a step.
STEPS = ("mkdirat", "renameat", "renameat2", "unlinkat")


def at_calls(svc, args, budget, after, record):
    """Each call of a spool that gets entries of each kind; half of the kills at those that
    end a step."""
    spool = Spool(svc, options=args.options)
    spool.start()
    entries = Entries(svc, args.rng, spool)

    def work(plan):
        with tracer.Trace(spool.server(), svc.base, plan) as t:
            entries.drop_some()
            service.until(END_S, lambda: not spool.server() or is_removed(svc, spool.dir,
                                                                          entries))
        return t
    for names, kills in ((None, budget - budget // 2), (STEPS, budget // 2)):
        most = work(tracer.Plan(names=names)).count
        for n in numbers(args.rng, most, kills):
            t = work(tracer.Plan(kill=n, after=after, names=names))
            where = "%s call %d, %s" % ("behind" if after else "before", n, t.at)
            if t.killed:
                record.kills += 1
                spool.popen.wait(service.START_S)
                spool.start()
            settle(svc, spool.dir, entries, record, where)
    done(spool.dir, entries, record)
    record.findings += spool.stop()


def is_removed(svc, spool_dir, entries):
    """All have ended, and their jobs are gone."""
    return is_settled(spool_dir, entries) and os.listdir(svc.tree) == [".fsd"]


def at_start(svc, args, budget, record):
    """Each call of a spool that finds what a killed one has left."""
    spool = Spool(svc, options=args.options)
    spool.start()
    entries = Entries(svc, args.rng, spool)
    most = 10
    while record.kills < budget:
        for n in numbers(args.rng, most, min(most, budget - record.kills)):
            entries.drop_some()
            entries.drop("move", sleep_ms=20)
            threading.Event().wait(args.rng.random() * 0.02)
            record.findings += spool.kill()
            spool.spawn(("/bin/sh", "-c", 'kill -STOP $$; exec "$@"', "sh"))
            await_stopped(spool.popen.pid)
            plan = tracer.Plan(kill=n, after=args.rng.random() < 0.5)
            with tracer.Trace(spool.popen.pid, svc.base, plan, True) as t:
                os.kill(spool.popen.pid, signal.SIGCONT)
                service.until(END_S, lambda: select.select([t.fd], [], [], 0)[0] or
                              is_settled(spool.dir, entries))
            where = "while starting, call %d, %s" % (n, t.at)
            if t.killed:
                record.kills += 1
                spool.popen.wait(service.START_S)
                spool.start()
            settle(svc, spool.dir, entries, record, where)
            most = max(most, t.count)
    done(spool.dir, entries, record)
    record.findings += spool.stop()


def await_stopped(pid):
    def stopped():
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rpartition(")")[2].split()[0] == "T"
    if not service.until(service.START_S, stopped):
        raise service.Hung("the shell does not stop")


# --- at any time ---------------------------------------------------------------------------

class User(threading.Thread):
    """Drops entries, in each way, until it is told to end."""

    def __init__(self, entries, rng):
        super().__init__(daemon=True)
        self.entries, self.rng = entries, rng
        self.over = threading.Event()
        self.failed = []
        self.start()

    def run(self):
        try:
            while not self.over.wait(self.rng.random() * 0.02):
                if self.rng.random() < 0.1:
                    self.entries.drop_link()
                else:
                    self.entries.drop(self.rng.choice(list(WAYS)))
        except Exception:
            self.failed += traceback.format_exc().splitlines()

    def end(self):
        self.over.set()
        self.join()
        return self.failed


def at_random(svc, args, budget, record, spools=1, servers=False):
    """At any time under load, of one or several spools, and of the mount's server."""
    some = [Spool(svc, name, args.options) for name in "abc"[:spools]]
    for spool in some:
        spool.start()
    entries = Entries(svc, args.rng, some[0])
    told = ("interrupted", "failed", LOST) if servers else ()
    while record.kills < budget:
        user = User(entries, args.rng)
        for _ in range(min(10, budget - record.kills)):
            threading.Event().wait(args.rng.choice((0.005, 0.02, 0.05, 0.1, 0.3)))
            if servers and args.rng.random() < 0.5:
                os.kill(svc.server(), signal.SIGKILL)
                svc.revive()
            else:
                spool = args.rng.choice(some)
                record.findings += spool.kill()
                spool.start()
            record.kills += 1
        record.findings += user.end()
        settle(svc, some[0].dir, entries, record, "after %d kills" % record.kills, told)
        done(some[0].dir, entries, record)
    for spool in some:
        record.findings += spool.stop()


def whole_mount(svc, args, budget, record):
    """All processes of the mount at once, with the spool or without it."""
    spool = Spool(svc, options=args.options)
    spool.start()
    entries = Entries(svc, args.rng, spool)
    while record.kills < budget:
        user = User(entries, args.rng)
        threading.Event().wait(args.rng.choice((0.02, 0.1, 0.3)))
        both = args.rng.random() < 0.5
        if both:
            record.findings += spool.kill()
        svc.popen.kill()
        svc.popen.wait()
        record.findings += svc.clear()
        svc.start()
        if both:
            spool.start()
        record.kills += 1
        record.findings += user.end()
        settle(svc, spool.dir, entries, record, "after %d kills" % record.kills,
               ("interrupted", "failed", LOST))
        done(spool.dir, entries, record)
    record.findings += spool.stop()


# --- the host loses power ----------------------------------------------------------------------

# A journal keeps names in the order of their calls, so that "any" is not among them: a claim
# is a rename into a directory that was made just before.
HOW = ("all", "synced", "ordered", "ordered", "ordered", "torn")


def recorded(svc, args):
    """A spool that finds entries in new. Return: its disk, its calls, {name: of done or
    failed}, what the disk shows in the end."""
    spool = Spool(svc)
    spool.start()
    record_of = spool.stop()
    entries = Entries(svc, args.rng, spool)
    entries.drop_some()
    base = svc.base + "/before"
    shutil.copytree(spool.dir, base, symlinks=True)
    for name in os.listdir(base + "/new"):  # a disk of this kind has no links
        if os.path.islink("%s/new/%s" % (base, name)):
            os.unlink("%s/new/%s" % (base, name))
            jobs.put("%s/new/%s" % (base, name), b"")
    spool.spawn(("/bin/sh", "-c", 'kill -STOP $$; exec "$@"', "sh"))
    await_stopped(spool.popen.pid)
    with tracer.Trace(spool.popen.pid, svc.base, tracer.Plan(record=True), True) as t:
        os.kill(spool.popen.pid, signal.SIGCONT)
        service.until(END_S, lambda: is_removed(svc, spool.dir, entries))
    below = (spool.dir + "/").encode()
    d = disk.Disk(spool.dir, base)
    calls = [c for c in t.calls if c.no]
    for index, call in enumerate(calls):
        call.index = index
        if any(p.startswith(below) or p + b"/" == below for p in call.paths):
            d.add(index, call)
    names = {job.name: place for job in entries.all() for place in ("done", "failed")
             if os.path.exists("%s/%s/%s" % (spool.dir, place, job.name))}
    return d, calls, names, record_of + spool.stop()


def files_below(tree, path):
    return {p[len(path) + 1:]: data for p, data in tree.items()
            if p.startswith(path + b"/")}


# Of a result; `tries` and `input` were there before.
WHOLE = (b"stdout", b"stderr", b"output", b"result.json", b"log", b"error")


def result_of(files):
    return {p: data for p, data in files.items() if p.split(b"/")[0] in WHOLE}


def claims_in(tree):
    """{path of a claim: its files}."""
    tops = {b"/".join(p.split(b"/")[:4]) for p in tree
            if p.startswith(b"/run/") and p.count(b"/") > 3}
    return {top: files_below(tree, top) for top in tops}


def check_disk(tree, final, names, mount):
    """tree: what a disk shows; mount: what the mount has at that moment, {id: "accepted" or
    "removed"}. Return: findings."""
    found, claims = [], claims_in(tree)
    for name, place in names.items():
        path = ("/%s/%s" % (place, name)).encode()
        where = [p for p in (path, b"/new/" + name.encode()) if p in tree]
        where += [top for top, files in claims.items() if b"input" in files and
                  files.get(b"tries", b"").startswith(b"claimed %s\n" % name.encode())]
        unnamed = [top for top, files in claims.items() if b"input" in files and
                   not files.get(b"tries", b"").startswith(b"claimed ")]
        if len(where) > 1 or not where and not unnamed:
            found.append("%s: %s is in %r" % ("doubled" if where else "lost", name, where))
        if path in tree and result_of(files_below(tree, path)) != \
                result_of(files_below(final, path)):
            found.append("half: %s" % path.decode())
    for top, files in claims.items():
        state = mount.get(top.split(b"/")[-1])
        if b"exit_code" in files and b"result.json" not in files:
            found.append("half: %s" % top.decode())
        if state == "accepted" and b"submitted" not in files and \
                b"exit_code" not in files:
            found.append("doubled: %s was accepted, and may be submitted again" %
                         top.decode())
        if state == "removed" and b"exit_code" not in files:
            found.append("lost: the job of %s was removed" % top.decode())
    return found


def mount_at(calls, until, mnt):
    """What calls have made of the claims' jobs."""
    states = {}
    for call in calls[:until + 1]:
        for path in call.paths[-1:]:
            name = path[len(mnt) + 1:] if path.startswith(mnt + b"/") else b""
            if call.result != 0 and call.name != "openat":
                continue
            if call.name == "renameat" and name.startswith(b"spool-"):
                states[name[6:]] = "accepted"
            if call.name == "openat" and name.endswith(b"/hold"):
                states[name[6:-5]] = "removed"
    return states


def power(svc, args, budget, record):
    d, calls, names, record.findings = recorded(svc, args)
    args.tap.say("%d calls, %d of them syncs; %d states of the disk" % (
        len(calls), sum("sync" in c.name for c in calls),
        min(20 * budget, len(calls) * len(HOW))))
    last = len(calls) - 1
    final = d.tree(d.choose(last, "all", args.rng))
    states = [(i, how) for i in range(len(calls)) for how in HOW]
    args.rng.shuffle(states)
    for index, how in states[:20 * budget]:
        tree = d.tree(d.choose(index, how, args.rng), how == "torn")
        mount = mount_at(calls, index, svc.mnt.encode())
        call = calls[index]
        record.findings += ["behind call %d of %d (%s %s), %s: %s" % (
            index + 1, last + 1, call.name,
            call.paths[-1][len(svc.base):].decode(errors="replace"), how, f)
            for f in check_disk(tree, final, names, mount)]
    record.results += len(names)


# --- the whole -------------------------------------------------------------------------------

PARTS = {
    # name: sentence, share of the kills, function
    "before": ("killed before any call, it loses, doubles and halves nothing", 0.3,
               lambda *a: at_calls(*a[:3], False, a[3])),
    "behind": ("killed behind any call, it loses, doubles and halves nothing", 0.3,
               lambda *a: at_calls(*a[:3], True, a[3])),
    "start": ("killed while it takes up what another has left, it loses, doubles and "
              "halves nothing", 0.1, at_start),
    "random": ("killed at any time under load, it loses, doubles and halves nothing",
               0.1, at_random),
    "two": ("of two spools any is killed, and nothing is lost, doubled or halved", 0.1,
            lambda *a: at_random(*a, spools=2)),
    "server": ("the mount's server or the spool is killed, and nothing is lost, doubled or "
               "halved", 0.07, lambda *a: at_random(*a, servers=True)),
    "mount": ("the whole mount is killed and made again, and nothing is lost, doubled or "
              "halved", 0.03, whole_mount),
    "power": ("after a loss of power the directory has each entry once, and no half of a "
              "result", 0.3, power),
}


def test(args):
    total = Record()
    args.options = [] if args.sync else ["--no-sync"]
    for name in args.parts or PARTS:
        sentence, share, fn = PARTS[name]
        record = Record()
        svc = service.Service(args.program, args.top + "/" + name)
        kills = max(1, round(args.kills * share))
        program.serve(args, sentence, svc, lambda: fn(svc, args, kills, record), record,
                      lambda: end_all(svc.base + "/spool-program"))
        total.kills += record.kills
        total.results += record.results
        total.often += record.often
    args.tap.say("in all: " + total.text())


def end_all(path):
    """Processes of that program, of a test that has failed."""
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with contextlib.suppress(OSError):
            if os.readlink("/proc/%d/exe" % pid) == path:
                os.kill(pid, signal.SIGKILL)


def main():
    p = program.options(__doc__, PARTS)
    p.add_argument("--kills", type=int, default=100)
    p.add_argument("--sync", action="store_true", help="each spool syncs")
    return program.run(p, test)


if __name__ == "__main__":
    sys.exit(main())
