#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of `fsd batch` before and behind any of its calls on the mount and on its
results, at any time, of the server, of both, and of the whole mount. The same command
line follows each time, until all is done. Then the results, the journal, the table, the
mount and the witness must agree.

batch.py [--kills N] [--seed S] [--program P] [PART...]
"""
import collections
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time

import check
import jobs
import program
import service
import tracer

INPUTS = 40       # of a batch
AT_A_TIME = 4     # -j
LINE = re.compile(r"t [0-9a-f]{16}\n")
BOUND_S = 60 * service.SLOW  # of one start of the client


class Record:
    """What a part comes to."""

    def __init__(self):
        self.kills = self.batches = 0
        self.findings = []

    def text(self):
        return "%d kills, %d batches" % (self.kills, self.batches)


class Batch:
    """One batch, from its first start to its end. options: of fsd batch, for each of
    its instances."""

    def __init__(self, svc, args, options=((),), inputs=INPUTS):
        self.svc, self.program = svc, args.program
        self.top = "%s/batch%d" % (svc.base, args.rng.getrandbits(40))
        self.out = self.top + "/OUT"
        self.names = ["in/%d" % n for n in range(inputs)]
        self.options = options
        os.makedirs(self.top + "/in")
        for name in self.names:
            jobs.put("%s/%s" % (self.top, name), name.encode())
        jobs.put(self.top + "/prog.sh", b"witness t\nsleep 5\ncat stdin\nout end\n")
        self.accepted = self.count_accepted()
        self.witness = self.count_witness()

    # --- the client -------------------------------------------------------------

    def command(self, options):
        return [self.program, "batch", "-M", self.svc.mnt, "-o", "OUT", "-j",
                str(AT_A_TIME), "--progress", "none",
                # kills may end one job more often than the usual two retries allow
                "--retry", "10", *options, "prog.sh", *self.names]

    def start(self, options=(), stopped=False):
        command = self.command(options)
        if stopped:
            command = ["/bin/sh", "-c", 'kill -STOP $$; exec "$@"', "sh", *command]
        with open(self.top + "/log", "ab") as log:
            popen = subprocess.Popen(command, cwd=self.top, stdin=subprocess.DEVNULL,
                                     stdout=log, stderr=log, start_new_session=True)
        if stopped:
            service.until(BOUND_S, lambda: state_of(popen.pid) == "T")
        return popen

    def start_all(self):
        return [self.start(options) for options in self.options]

    def finish(self):
        """Starts it until each instance ends by itself. Return: findings."""
        found = []
        for popen in self.start_all():
            try:
                status = popen.wait(BOUND_S)
            except subprocess.TimeoutExpired:
                popen.kill()
                popen.wait()
                found.append("stuck: the client")
                continue
            if status:
                found.append("the client ended with %d: %s" % (status, self.said()))
        return found

    def said(self):
        with open(self.top + "/log", errors="replace") as f:
            return " | ".join(f.read().splitlines()[-5:])

    # --- what others know ----------------------------------------------------------

    def count_accepted(self):
        with open(self.svc.mnt + "/.fsd/stats") as f:
            return int(re.search(r"(?m)^fsd_runs_accepted_total (\d+)", f.read())[1])

    def count_witness(self):
        with contextlib.suppress(FileNotFoundError), open(self.svc.witness) as f:
            return len(f.readlines())
        return 0

    def witnessed(self):
        """The lines of the runs since it began."""
        with open(self.svc.witness) as f:
            return f.readlines()[self.witness:]

    # --- the end --------------------------------------------------------------------

    def check(self, accepted=None):
        """accepted: how many runs the mount must have accepted. Return: findings."""
        found = self.check_results() + self.check_journal() + self.check_table()
        left = [n for n in os.listdir(self.svc.mnt) if "batch-" in n]
        if left:
            left = service.until(service.ORPHAN_S, lambda: not [
                n for n in os.listdir(self.svc.mnt) if "batch-" in n]) or left
        if left and left is not True:
            found.append("left in the mount: %r" % left)
        left = [n for n in os.listdir(self.out + "/r") if n.startswith(".new-")]
        if left:
            found.append("left in r/: %r" % left)
        if accepted is not None and self.count_accepted() - self.accepted != accepted:
            found.append("doubled: %d runs were accepted, not %d" % (
                self.count_accepted() - self.accepted, accepted))
        return found

    def results(self):
        """{input: its result.json}, with findings."""
        results, found = {}, []
        for name in self.names:
            d = "%s/r/%s" % (self.out, name)
            try:
                result = json.loads(check.read(d + "/result.json"))
                text = check.read(d + "/stdout").decode()
                code = check.read(d + "/exit_code")
            except OSError as e:
                found.append("lost: %s: %s" % (name, e))
                continue
            line, _, rest = text.partition("\n")
            if code != b"0\n" or result["exit_code"] or \
                    not LINE.fullmatch(line + "\n") or rest != "end\n":
                found.append("half: %s: %r %r %s" % (name, code, text,
                                                     result["message"]))
            results[name] = result
            result["line"] = line + "\n"
        there = sorted("in/" + n for n in os.listdir(self.out + "/r/in"))
        if there != sorted(self.names):
            found.append("r/in has %r" % (set(there) ^ set(self.names)))
        return results, found

    def check_results(self):
        """Each run of a program is one result, or an attempt that a result tells."""
        results, found = self.results()
        lines = collections.Counter(self.witnessed())
        for name, result in results.items():
            if lines[result["line"]] != 1:
                found.append("doubled: the witness has the run of %s %d times" % (
                    name, lines[result["line"]]))
        attempts = sum(result["attempt"] for result in results.values())
        if not self.may_repeat and sum(lines.values()) > attempts:
            found.append("doubled: %d runs for %d attempts of %d results" % (
                sum(lines.values()), attempts, len(results)))
        return found

    @property
    def may_repeat(self):
        """Held jobs go with their client, so that their inputs run again."""
        return any(self.options[0])

    def check_journal(self):
        found, lines = [], collections.defaultdict(list)
        for name in os.listdir(self.out):
            if not name.startswith("journal"):
                continue
            with open(self.out + "/" + name) as f:
                for text in f:
                    with contextlib.suppress(ValueError):  # it was cut by a kill
                        line = json.loads(text)
                        lines[line["input"]].append(line)
        results, _ = self.results()
        for name in self.names:
            final = [line for line in lines[name] if line["final"]]
            if len(final) != 1 or len(lines[name]) != 1:
                found.append("doubled: %s has the lines %r" % (name, lines[name]))
            elif name in results and final[0]["job"] != results[name]["id"]:
                found.append("half: %s: the line is of %s, the result of %s" % (
                    name, final[0]["job"], results[name]["id"]))
        return found

    def check_table(self):
        with open(self.out + "/results.tsv") as f:
            rows = [line.rstrip("\n").split("\t") for line in f][1:]
        names = [row[0] for row in rows if row[2:4] == ["exited", "0"]]
        return [] if names == self.names else [
            "the table has %r" % (set(names) ^ set(self.names))]

    def remove(self):
        shutil.rmtree(self.top)


def state_of(pid):
    with contextlib.suppress(OSError), open("/proc/%d/stat" % pid) as f:
        return f.read().rpartition(")")[2].split()[0]
    return ""


def end(batch, record, where, accepted=None):
    found = batch.finish()
    found += batch.check(accepted)
    if found:
        found.append("it said: " + batch.said())
    record.findings += ["%s: %s" % (where, f) for f in found]
    record.batches += 1
    batch.remove()


# --- at a call ------------------------------------------------------------------

def kill_at(batch, plan):
    """Return: (where it was killed, or None, how many calls it has made)."""
    popen = batch.start(stopped=True)
    with tracer.Trace(popen.pid, batch.svc.base, plan, True) as t:
        os.kill(popen.pid, signal.SIGCONT)
        popen.wait(BOUND_S)
    return (t.at if t.killed else None), t.count


def at_calls(svc, args, budget, record):
    """Each call of a small batch, once before it and once behind it."""
    whole = Batch(svc, args, inputs=3)
    _, calls = kill_at(whole, tracer.Plan())
    end(whole, record, "without a kill", 3)
    numbers = [(n, after) for n in range(1, calls + 1) for after in (False, True)]
    args.rng.shuffle(numbers)
    for n, after in numbers[:budget]:
        batch = Batch(svc, args, inputs=3)
        where, _ = kill_at(batch, tracer.Plan(kill=n, after=after))
        record.kills += where is not None
        end(batch, record, "%s call %d, %s" % ("behind" if after else "before", n, where),
            3)


def twice(svc, args, budget, record):
    """A second kill while a start goes on with what the first has left."""
    for _ in range(budget // 2):
        batch = Batch(svc, args, inputs=3)
        where = []
        for most in (150, 60):
            plan = tracer.Plan(kill=args.rng.randint(1, most),
                               after=args.rng.random() < 0.5)
            at, _ = kill_at(batch, plan)
            record.kills += at is not None
            where.append("%s call %d, %s" % ("behind" if plan.after else "before",
                                             plan.kill, at))
        end(batch, record, "; ".join(where), 3)


# --- at any time -----------------------------------------------------------------

def kill_server(svc, record):
    with contextlib.suppress(ProcessLookupError, OSError):
        os.kill(svc.server(), signal.SIGKILL)
        record.kills += 1


def kill_mount(svc, record):
    """All of it at once; then it is made again, as a service does."""
    def killed():
        some = svc.processes()
        for pid in some:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not some  # one may have forked meanwhile
    os.kill(svc.popen.pid, signal.SIGSTOP)
    service.until(service.ORPHAN_S, killed)
    svc.popen.wait()
    record.kills += 1
    svc.clear()
    service.until(service.START_S, lambda: starts(svc))


def starts(svc):
    """Return: False while a thread of a killed server still has the state directory."""
    try:
        svc.start()
    except RuntimeError as e:
        if "another fsd serves" not in str(e):
            raise
        return False
    return True


def kill_clients(clients, record):
    for popen in clients:
        if popen.poll() is None:
            popen.kill()
            record.kills += 1
        popen.wait()


def at_any_time(svc, args, budget, record, client=False, server=False, mount=False,
                options=((),)):
    """Several kills for each batch, until there were so many."""
    while record.kills < budget:
        batch = Batch(svc, args, options)
        clients = batch.start_all()
        over = time.monotonic() + BOUND_S
        while record.kills < budget and time.monotonic() < over and \
                any(popen.poll() is None for popen in clients):
            service.until(args.rng.choice((0.02, 0.05, 0.1, 0.2)), lambda: all(
                popen.poll() is not None for popen in clients))
            if client:
                kill_clients(clients, record)
            if server and not (client and args.rng.random() < 0.5):
                kill_server(svc, record)
            if mount:
                kill_mount(svc, record)
            if client:
                clients = batch.start_all()
        for popen in clients:
            popen.wait(BOUND_S)
        svc.revive()
        exact = client and not server and not mount and not any(options[0])
        end(batch, record, "a batch", INPUTS if exact else None)


PARTS = {
    "before": ("a kill at each of its calls, before or behind it", at_calls, {}),
    "twice": ("a kill of it, and one of the start that follows", twice, {}),
    "client": ("kills of it at any time", at_any_time, {"client": True}),
    "server": ("kills of the server", at_any_time, {"server": True}),
    "both": ("kills of it and of the server", at_any_time,
             {"client": True, "server": True}),
    "mount": ("kills of the whole mount, which is made again", at_any_time,
              {"mount": True}),
    "parts": ("kills of two parts, whose jobs go with them", at_any_time,
              {"client": True, "options": (("--part", "1/2"), ("--part", "2/2"))}),
}


def part(args, name, budget):
    _, fn, options = PARTS[name]
    record = Record()
    memory = args.top + "/memory"  # a busy host has none left for the machines
    jobs.put(memory, b"16000 16000\n")
    svc = service.Service(args.program, "%s/%s" % (args.top, name),
                          env={"FSD_FAKE_MEMORY": memory})
    svc.start()
    try:
        fn(svc, args, budget, record, **options)
        record.findings += svc.stop() + svc.log_findings()
    finally:
        svc.remove()
    args.tap.say(record.text())
    return record.findings


def main(args):
    names = args.parts or list(PARTS)
    for name in names:
        args.tap.run("each input has one result after %s" % PARTS[name][0], part, args,
                     name, max(args.kills // len(names), 1))


if __name__ == "__main__":
    P = program.options(__doc__, PARTS)
    P.add_argument("--kills", type=int, default=70, help="of all parts together")
    raise SystemExit(program.run(P, main))
