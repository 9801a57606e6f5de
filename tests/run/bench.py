#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The performance table of `make bench`.

Each measurement goes through a real mount by nothing but file operations.
Times are end to end: from the first write (mkdir) until exit_code can be read.
Baselines run in the same process of this script, interleaved with what they
are compared to, because such machines are noisy.
"""
import atexit
import json
import os
import platform
import re
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import bench_network as network

ROOT = os.path.abspath(__file__ + "/../../..")
FSD = os.environ.get("FSD", os.path.join(ROOT, "build/fsd"))
FAKE = os.environ.get("FSD_FAKE", os.path.join(ROOT, "build/fsd-fake"))
STATE = os.environ.get("FSD_STATE", os.path.join(ROOT, "build/state"))
BARE = os.path.join(ROOT, "build/bare")
QUICK = "--quick" in sys.argv
ROUNDS = 8 if QUICK else 25
DEADLINE = 900  # seconds for anything to become ready

PROGRAMS = {
    "python": ("code.py", "print(1)\n", ["/usr/bin/python3", "-c", "print(1)"]),
    "javascript": ("code.js", "console.log(1)\n",
                   ["/usr/bin/node", "-e", "console.log(1)"]),
    "typescript": ("code.ts", "const n: number = 1; console.log(n)\n", None),
    "bash": ("code.sh", "echo 1\n", ["bash", "-c", "echo 1"]),
}
BWRAP = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc",
         "--dev", "/dev"]


class Mount:
    """One daemon in the foreground, owned by this script."""

    def __init__(self, binary, *options, state=None, cache=None, top=None, enter=()):
        self.dir = tempfile.mkdtemp(prefix="fsd-bench-", dir=top)
        self.mnt = os.path.join(self.dir, "mnt")
        os.mkdir(self.mnt)
        self.state = state or os.path.join(self.dir, "state")
        self.log = open(os.path.join(self.dir, "log"), "wb+")
        self.proc = subprocess.Popen(
            [*enter, binary, "mount", "--state", self.state, "--accel", "tcg",
             *options, self.mnt], stderr=self.log, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL)
        atexit.register(self.proc.terminate)  # also when a bench fails
        self.until(lambda: os.path.exists(self.mnt + "/.fsd/health"), "mount")

    def until(self, test, what):
        end = time.monotonic() + DEADLINE
        while not test():
            if self.proc.poll() is not None or time.monotonic() > end:
                self.log.seek(0)
                sys.exit("bench: no %s:\n%s" % (
                    what, self.log.read().decode(errors="replace")))
            time.sleep(0.01)

    def read(self, path):
        with open(os.path.join(self.mnt, path)) as f:
            return f.read()

    def stat(self, name):
        text = self.read(".fsd/stats")
        return int(re.search(r"^%s (\d+)" % re.escape(name), text, re.M)[1])

    def ready(self, warm=0):
        self.until(lambda: self.read(".fsd/health").startswith("ok"), "template")
        self.until(lambda: self.stat("fsd_machines_warm") >= warm and
                   self.stat("fsd_machines_starting") == 0 or warm == 0,
                   "warm machine")

    def forking(self):
        """Until machines are forked off a zygote: some quiet seconds."""
        if "machines are not forked" in self.read(".fsd/security"):
            sys.exit("bench: " + self.read(".fsd/security"))
        self.until(lambda: self.stat("fsd_fork_sources") >= 1, "zygote")

    def submit(self, name, lang, config="{}"):
        file, text, _ = PROGRAMS[lang]
        job = os.path.join(self.mnt, name)
        os.mkdir(job)
        with open(os.path.join(job, file), "w") as f:
            f.write(text)
        with open(os.path.join(job, "config.json"), "w") as f:
            f.write(config)
        return job

    def wait(self, job):
        with open(os.path.join(job, "wait")) as f:
            code = f.read()
        if code != "0\n":
            sys.exit("bench: %s: exit code %r, error %r, stderr %r" % (
                job, code, open(job + "/error").read(),
                open(job + "/stderr").read()))

    def run(self, name, lang):
        """Milliseconds of one job end to end."""
        start = time.monotonic()
        job = self.submit(name, lang)
        self.wait(job)
        with open(os.path.join(job, "exit_code")) as f:
            f.read()
        spent = (time.monotonic() - start) * 1000
        result = json.loads(self.read(name + "/result.json"))
        remove(job)
        return spent, result["machine"]["source"]

    def close(self):
        self.proc.send_signal(signal.SIGTERM)
        self.proc.wait(60)
        self.log.close()
        shutil.rmtree(self.dir)


def remove(job):
    for name in os.listdir(job):
        path = os.path.join(job, name)
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    os.rmdir(job)


def descendants(pid):
    found = []
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            kids = [int(p) for p in f.read().split()]
    except OSError:
        return found
    for kid in kids:
        found += [kid] + descendants(kid)
    return found


def is_machine(pid):
    try:
        return "qemu" in os.path.basename(os.readlink("/proc/%d/exe" % pid))
    except OSError:
        return False  # it has ended meanwhile


def pss_mb(pid):
    with open("/proc/%d/smaps_rollup" % pid) as f:
        return int(re.search(r"^Pss: +(\d+)", f.read(), re.M)[1]) / 1024


def private_mb(pid):
    with open("/proc/%d/smaps_rollup" % pid) as f:
        return sum(int(n) for n in re.findall(r"^Private_\w+: +(\d+)", f.read(),
                                              re.M)) / 1024


def cpu_s(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def command_ms(argv):
    start = time.monotonic()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return (time.monotonic() - start) * 1000


class Table:
    def __init__(self):
        self.rows = []

    def add(self, what, value, unit, baseline=None, base=None, bar=None):
        row = {"what": what, "value": round(value, 3), "unit": unit}
        if base:
            row.update(baseline=baseline, baseline_value=round(base, 3),
                       ratio=round(value / base, 3))
        if bar is not None:
            row.update(bar=bar[1], met=bar[0])
        self.rows.append(row)
        print(self.line(row), flush=True)

    @staticmethod
    def line(row):
        text = "%-44s %9.2f %-7s" % (row["what"], row["value"], row["unit"])
        if "ratio" in row:
            text += " = %6.2f x %-28s (%.2f)" % (
                row["ratio"], row["baseline"], row["baseline_value"])
        if "bar" in row:
            text += "  bar %s: %s" % (row["bar"],
                                      "met" if row["met"] else "MISSED")
        return text


def check_bwrap():
    """Ends with the reason if bwrap, the baseline, cannot run here: a kernel
    refuses its namespaces in a chroot, or by a setting."""
    try:
        made = subprocess.run(BWRAP + ["true"], capture_output=True, text=True)
    except FileNotFoundError:
        sys.exit("bench: bwrap is the baseline and is not installed; "
                 "`make test-deps` installs it")
    if made.returncode:
        sys.exit("bench: bwrap is the baseline and cannot run here: %s; "
                 "run the benchmark outside of a chroot, as a user who may "
                 "make namespaces" % made.stderr.strip())


def bench_warm(table):
    check_bwrap()
    # /usr/bin/python3: another one in PATH may be a wrapper, and slower.
    mount = Mount(FSD, state=STATE)
    mount.ready(warm=1)
    host = {}
    for lang, (_, _, argv) in list(PROGRAMS.items()):
        ours, base = [], []
        for i in range(ROUNDS + 6):
            mount.ready(warm=2)
            spent, source = mount.run("%s-%d" % (lang, i), lang)
            # The first ones teach the pool which language is in demand.
            if i >= 6 and source == "warm":
                ours.append(spent)
            if i >= 6 and argv:
                base.append(command_ms(BWRAP + argv))
        median = statistics.median(ours)
        bars = {"python": 1.0, "javascript": 0.5, "bash": 10.0}
        if argv:
            host[lang] = statistics.median(base)
            limit = bars[lang]
            table.add("warm %s job, median of %d" % (lang, len(ours)), median,
                      "ms", "bwrap " + os.path.basename(argv[0]), host[lang],
                      (median <= limit * host[lang], "<= %g" % limit))
        else:
            table.add("warm %s job, median of %d" % (lang, len(ours)), median,
                      "ms", "bwrap python3", host["python"])
        table.add("  its 95th percentile", sorted(ours)[int(len(ours) * .95)
                                                      - 1], "ms")
    bench_idle(table, mount)
    bench_imports(table, mount)
    bench_alone(table, mount)
    bench_scripts(table, mount)
    bench_output(table, mount)
    bench_session(table, mount, host)
    mount.close()
    return host


def durability_in_turn(states, rounds, times):
    """Appends to times: milliseconds of relaxed jobs, and of full ones. Both
    mounts live at once, since a disk and a host are another one each minute."""
    mounts = [Mount(FSD, "--durability", kind, state=state)
              for kind, state in zip(("relaxed", "full"), states)]
    for i in range(6 + rounds):  # the pool learns who is in demand
        for mount, spent in zip(mounts, times):
            for each in mounts:  # neither makes machines meanwhile
                each.ready(warm=2)
            ms, source = mount.run("durable-%d" % i, "python")
            if i >= 6 and source == "warm":
                spent.append(ms)
    for mount in mounts:
        mount.close()


def bench_durability(table):
    """What it costs that a job and its results outlive the host. Two templates
    of the same make differ by some per cent, so each serves both."""
    times = [], []
    # On the disk that has the state: where temporary files are may be none.
    states = [tempfile.mkdtemp(prefix="bench-durability-",
                               dir=os.path.dirname(STATE)) for _ in "ab"]
    for _ in range(1 if QUICK else 2):
        durability_in_turn(states, ROUNDS, times)
        durability_in_turn(states[::-1], ROUNDS, times)
    for state in states:
        shutil.rmtree(state)
    relaxed, full = map(statistics.median, times)
    table.add("warm python job, --durability relaxed", relaxed, "ms")
    table.add("warm python job, --durability full", full, "ms",
              "relaxed", relaxed, (full <= 1.2 * relaxed, "<= 1.2"))


def machines_at_rest(mount):
    """The machines, once none is made or heated any more."""
    mount.until(lambda: mount.stat("fsd_machines_warm") >= 4 and
                mount.stat("fsd_machines_starting") == 0 and
                mount.stat("fsd_fork_sources_wanted") == 0 and
                mount.stat("fsd_machines_unheated") == 0, "machines at rest")
    return [p for p in descendants(mount.proc.pid) if is_machine(p)]


def bench_idle(table, mount):
    pids = machines_at_rest(mount)
    before = [cpu_s(p) for p in pids]
    time.sleep(2)  # the interval that is measured
    spent = sum(cpu_s(p) - b for p, b in zip(pids, before))
    table.add("CPU of %d idle machines" % len(pids), spent / 2 * 100, "%",
              bar=(spent == 0, "0"))
    sizes = [pss_mb(p) for p in pids]
    table.add("memory (PSS) of a warm idle machine", max(sizes), "MB",
              bar=(max(sizes) <= 100, "<= 100"))
    old = set(pids)
    job = os.path.join(mount.mnt, "ran")
    PROGRAMS["held"] = ("code.py",
                        "import json, re, time\nprint(1, flush=True)\n"
                        "time.sleep(30)\n", None)
    mount.submit("ran", "held")
    with open(os.path.join(job, "stdout.follow")) as f:
        f.read(2)
    sizes = [pss_mb(p) for p in old if os.path.exists("/proc/%d" % p)]
    table.add("memory (PSS) of one that ran", max(sizes), "MB")
    remove(job)


def bench_imports(table, mount):
    """A program that uses the standard library, on a machine that has had time
    to be heated for such, and one that fails."""
    for what, text in (
            ("that imports six modules",
             "import json, re, datetime, collections, csv, pathlib\nprint(1)\n"),
            ("that uses json, re, datetime",
             "import json, re, datetime\n"
             "print(json.dumps({'a': re.findall('a+', 'caat'),"
             " 'b': str(datetime.date.today())}))\n"),
            ("that ends with a traceback", "def f(x):\n    1 / x\nf(0)\n")):
        PROGRAMS["usual"] = ("code.py", text, None)
        ours, base = [], []
        for i in range(2 if QUICK else 9):
            machines_at_rest(mount)
            start = time.monotonic()
            job = mount.submit("usual-%d-%d" % (len(what), i), "usual")
            open(job + "/wait").read()
            ours.append((time.monotonic() - start) * 1000)
            remove(job)
            start = time.monotonic()
            subprocess.run(BWRAP + ["/usr/bin/python3", "-c", text],
                           stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            base.append((time.monotonic() - start) * 1000)
        table.add("rested python job %s" % what, statistics.median(ours), "ms",
                  "bwrap python3", statistics.median(base))


def bench_alone(table, mount):
    """Jobs as people send them: one, and after a while another. The baseline is
    alone as well, with the same pause before it."""
    for pause, count in ((1.5, 4 if QUICK else 12), (10, 2 if QUICK else 6)):
        ours, base = [], []
        for i in range(count):
            time.sleep(pause)  # what is measured
            ours.append(mount.run("alone-%g-%d" % (pause, i), "python")[0])
            time.sleep(pause)
            base.append(command_ms(BWRAP + PROGRAMS["python"][2]))
        ours, base = statistics.median(ours), statistics.median(base)
        table.add("python job, alone for %g s" % pause, ours, "ms",
                  "bwrap python3", base, (ours <= 1.2 * base, "<= 1.2"))


def bench_scripts(table, mount):
    """Shell scripts that start other programs."""
    for what, text in (
            ("ten times /bin/true", "for i in 1 2 3 4 5 6 7 8 9 10\n"
             "do /bin/true; done\n"),
            ("a pipeline of seven programs",
             "ls /usr | awk '{ print $1 }' | sort | uniq | grep -v x |"
             " sed s/a/b/ | wc -l\n"),
            ("python3 -c 'print(1)'", "python3 -c 'print(1)'\n")):
        PROGRAMS["script"] = ("code.sh", text, None)
        ours, base = [], []
        for i in range(2 if QUICK else 9):
            machines_at_rest(mount)
            ours.append(mount.run("script-%d-%d" % (len(what), i),
                                  "script")[0])
            base.append(command_ms(BWRAP + ["bash", "-c", text]))
        table.add("rested bash job: " + what, statistics.median(ours), "ms",
                  "bwrap bash", statistics.median(base))


def bench_output(table, mount):
    mount.ready(warm=1)
    PROGRAMS["big"] = ("code.py",
                       "import sys\nsys.stdout.buffer.write(b'x' * 5000000)\n",
                       None)
    start = time.monotonic()
    job = mount.submit("big", "big")
    mount.wait(job)
    size = os.path.getsize(os.path.join(job, "stdout"))
    table.add("5 MB of output, end to end", time.monotonic() - start, "s",
              bar=(time.monotonic() - start < 1 and size == 5000000, "< 1"))
    remove(job)


def bench_jail(table):
    """QEMU to its monitor's greeting, in a jail and without one, in turn."""
    jail, plain = subprocess.run(
        [os.path.join(ROOT, "build/release/tests/vm/bench_jail"),
         os.path.join(ROOT, "build/image")],
        stdout=subprocess.PIPE, check=True, text=True).stdout.split()
    jail, plain = float(jail), float(plain)
    table.add("a QEMU's start, in a jail", jail, "ms", "without one", plain,
              (jail <= plain + 10, "<= 10 ms more"))


def walls_in_turn(states, kind, pool, rounds, times):
    """Appends to times: milliseconds with the walls, and without."""
    options = ("--pool", pool, "--fork",
               "yes" if kind == "forked" else "no")
    mounts = (Mount(FSD, *options, state=states[0]),
              Mount(BARE + "/fsd", *options, "--image", BARE + "/image",
                    "--policy", "permissive", state=states[1]))
    if kind == "forked":
        for mount in mounts:
            mount.ready()
            mount.forking()
    first = 6 if kind == "warm" else 0  # the pool learns who is in demand
    for i in range(first + rounds):
        for mount, spent in zip(mounts, times):
            for each in mounts:  # neither makes machines meanwhile
                each.ready(warm=int(pool))
            ms, source = mount.run("%s-%d" % (kind, i), "python")
            if i >= first and (source == "warm") == (kind == "warm"):
                spent.append(ms)
    for mount in mounts:
        mount.close()


def bench_walls(table):
    """Jobs with all walls and without those that a machine pays for, in turn;
    warm ones, and restored ones. Of several templates each: two of the same
    make differ by some per cent."""
    warm, restored, forked = ([], []), ([], []), ([], [])
    for _ in range(1 if QUICK else 4):
        states = [tempfile.mkdtemp(prefix="fsd-bench-walls-") for _ in "ab"]
        walls_in_turn(states, "warm", "2", ROUNDS, warm)
        walls_in_turn(states, "restored", "0", ROUNDS // 2, restored)
        walls_in_turn(states, "forked", "0", ROUNDS // 2, forked)
        for state in states:
            shutil.rmtree(state)
    walled, plain = (statistics.median(t) for t in warm)
    table.add("warm python job, with all walls", walled, "ms", "without", plain,
              (walled <= 1.05 * plain, "<= 1.05"))
    for kind, times in (("restored", restored), ("forked", forked)):
        walled, plain = (statistics.median(t) for t in times)
        table.add("%s python job, with all walls" % kind, walled, "ms",
                  "without", plain, (walled <= plain + 10, "<= 10 ms more"))


def bench_neighbours(table):
    """What others notice of a program that takes what it can get."""
    mount = Mount(FSD, state=STATE)
    mount.ready(warm=2)
    script = os.path.join(ROOT, "tests/hostile/neighbour.py")
    out = subprocess.run([sys.executable, script, mount.mnt],
                         stdout=subprocess.PIPE, text=True).stdout
    for name, quiet, beside in re.findall(
            r"^(\S+) +quiet +(\d+) ms, beside it +(\d+) ms", out, re.M):
        table.add("a job beside a program's " + name, float(beside), "ms",
                  "quiet", float(quiet))
    mount.close()


def bench_cold(table):
    state = tempfile.mkdtemp(prefix="fsd-bench-cold-")
    mount = Mount(FSD, "--pool", "0", state=state)
    cold, _ = mount.run("cold", "python")
    mount.close()
    table.add("cold boot (template and first job)", cold, "ms")
    for kind, fork in (("restored", "no"), ("forked", "yes")):
        mount = Mount(FSD, "--pool", "0", "--fork", fork, state=state)
        mount.ready()
        if fork == "yes":
            mount.forking()
        for lang in ("python", "javascript", "bash"):
            value = statistics.median(
                mount.run("%s-%d" % (lang, i), lang)[0]
                for i in range(max(ROUNDS // 3, 5)))
            table.add("%s %s job (no warm machine)" % (kind, lang), value,
                      "ms", "cold boot", cold,
                      (value <= .15 * cold, "<= 0.15"))
        mount.close()
    shutil.rmtree(state)


def burst(mount, name, count):
    """Jobs a second, when all are there at once."""
    start = time.monotonic()
    jobs = [mount.submit("%s-%d" % (name, i), "python") for i in range(count)]
    for job in jobs:
        mount.wait(job)
    rate = count / (time.monotonic() - start)
    for job in jobs:
        remove(job)
    return rate


def bench_rate(table):
    """At once after the start, when nothing is prepared but four machines; then
    when machines are forked; and with each restored by itself."""
    count = 24 if QUICK else 80
    mount = Mount(FSD, "--pool", "4", state=STATE)
    mount.ready(warm=4)
    rate = burst(mount, "first", count)
    table.add("fresh machines, the first %d jobs" % count, rate, "jobs/s",
              bar=(rate >= 8, ">= 8"))
    mount.forking()
    rate = burst(mount, "rate", 3 * count)
    table.add("fresh machines, sustained (%d jobs)" % (3 * count), rate,
              "jobs/s", bar=(rate >= 8, ">= 8"))
    mount.close()
    mount = Mount(FSD, "--pool", "4", "--fork", "no", state=STATE)
    mount.ready(warm=4)
    rate = burst(mount, "restored", count)
    table.add("  the same with --fork no (%d jobs)" % count, rate, "jobs/s")
    mount.close()


def bench_session(table, mount, host):
    """A step of a living session, after the first, which starts it."""
    PROGRAMS["step"] = ("code.py", "print(1)\n", None)
    times = []
    for i in range(ROUNDS + 3):
        start = time.monotonic()
        job = mount.submit("step-%d" % i, "step", '{"session": "bench"}')
        mount.wait(job)
        times.append((time.monotonic() - start) * 1000)
        remove(job)
    os.rmdir(mount.mnt + "/.fsd/sessions/bench")
    table.add("step of a living Python session, median",
              statistics.median(times[3:]), "ms", "bwrap python3",
              host["python"])


def stat_us(path):
    times = []
    for _ in range(2000):
        start = time.monotonic()
        os.stat(path)
        times.append((time.monotonic() - start) * 1e6)
    return statistics.median(times)


def bench_blocked(table):
    """A stat on the mount, without and with readers that wait."""
    mount = Mount(FAKE)
    mount.ready(warm=1)
    PROGRAMS["sleeper"] = ("code.sh", "sleep 600000\n", None)
    job = mount.submit("sleeper", "sleeper")
    state = os.path.join(job, "state")
    alone = stat_us(state)
    count = 500 if QUICK else 5000
    threading.stack_size(128 << 10)

    def block():
        try:
            with open(job + "/wait") as f:
                f.read()
        except OSError:
            pass  # the job was removed
    readers = [threading.Thread(target=block) for _ in range(count)]
    for reader in readers:
        reader.start()
    time.sleep(1)  # the last of them gets to its read
    blocked = stat_us(state)
    remove(job)
    for reader in readers:
        reader.join(60)
    mount.close()
    table.add("stat beside %d blocked readers" % count, blocked, "us",
              "stat without them", alone, (blocked <= 2 * alone, "<= 2"))


def environments_made(top):
    """Two environments with nothing in them but modules that are warm."""
    make = ("ENVIRONMENTS=$1; . %s/tests/lib/environment.bash; "
            "environment_make one '' '{\"python\": [\"decimal\"]}'; "
            "environment_make two '' '{\"python\": [\"sqlite3\"]}'" % ROOT)
    subprocess.run(["bash", "-euc", make, "bash", top], check=True,
                   stdout=subprocess.DEVNULL)


def bench_classes(table):
    """Jobs in three environments in turn: whether each finds the idle machines
    of its own, and whether these stay within the budget."""
    top = tempfile.mkdtemp(prefix="bench-environments-")
    environments_made(top)
    mount = Mount(FSD, "--environments", top, "--pool", "4",
                  "--idle-memory", "1G", state=STATE)
    mount.ready(warm=4)
    kinds = []
    for name in ("base", "one", "two"):
        kinds += [name + "/1024/1", json.dumps({"environment": name})]
    argv = [sys.executable, os.path.join(ROOT, "tests/lib/classes.py"),
            mount.mnt]
    # Templates are made, and demand is known.
    subprocess.run(argv + ["9"] + kinds, check=True, stdout=subprocess.DEVNULL)
    machines_at_rest(mount)
    count = 30 if QUICK else 100
    found = json.loads(subprocess.run(argv + [str(count)] + kinds,
                                      stdout=subprocess.PIPE).stdout)
    mount.close()
    shutil.rmtree(top)
    table.add("%d jobs in three environments: restored beside an idle machine"
              % count, found["passed_over"], "jobs",
              bar=(found["passed_over"] == 0, "0"))
    table.add("  found an idle machine", 100 * found["warm"] / count, "%")
    table.add("  memory of idle machines and zygotes", found["most"] / 2**20,
              "MB", bar=(not found["over"], "<= 1024"))
    table.add("  as the kernel counts it", found["real"] / 2**20, "MB")


# What a job with data is, the most that it may take of the baseline, and the most
# that it may take longer than print(1) of base, in milliseconds.
DATA = (
    ("print(1)", "print(1)\n", None, None),
    ("pass", "pass\n", None, None),
    ("os._exit(0)", "import os\nos._exit(0)\n", None, None),
    ("import pandas", "import pandas\n", 0.15, 8),
    ("DataFrame.sum()", "import pandas as pd\n"
     "print(pd.DataFrame({'a': [1, 2]}).sum())\n", 0.2, None),
    ("a line plot as PNG", "import matplotlib.pyplot as plt\n"
     "plt.plot([1, 2, 3])\nplt.savefig('/tmp/plot.png')\n", 3, None),
)


def data_places():
    given = os.environ.get("FSD_ENVIRONMENTS")
    return [given] if given else [
        os.path.expanduser("~/.local/share/fsd/environments"),
        ROOT + "/build/environments"]


def data_place():
    """The directory of environments that has data; it is imported from the file
    FSD_DATA, what `fsd env export data FILE` wrote. None: there is none."""
    place = next((p for p in data_places()
                  if os.path.isdir(p + "/names/data")), None)
    given = os.environ.get("FSD_DATA")
    if place or not given:
        return place
    place = tempfile.mkdtemp(prefix="bench-data-", dir=os.path.dirname(STATE))
    atexit.register(shutil.rmtree, place, True)
    subprocess.run([FSD, "env", "import", "--environments", place, "--name",
                    "data", given], check=True, stdout=subprocess.DEVNULL)
    return place


def data_baseline(place):
    """The same files on the host, by bubblewrap. Without the variable that helps an
    emulated processor only."""
    sys.path.insert(0, ROOT + "/tests/same")
    import plain
    made = os.path.join(place, "names/data")

    def add(root):
        layer = root + ".layer"
        subprocess.run(["fsck.erofs", "--extract=" + layer,
                        made + "/layer.erofs"], check=True,
                       stdout=subprocess.DEVNULL)
        # Where both have a name the image's file counts.
        subprocess.run(["cp", "-a", "-n", layer + "/.", root], check=True)
        shutil.rmtree(layer)
    root = plain.root("data", add)
    with open(made + "/warm.json") as f:
        env = json.load(f).get("env", {})
    env.update(HOME="/tmp", MPLCONFIGDIR="/tmp")
    env.pop("OPENBLAS_CORETYPE", None)
    argv = ["bwrap", "--unshare-all", "--ro-bind", root, "/", "--proc", "/proc",
            "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", "/tmp"]
    for name, value in env.items():
        argv += ["--setenv", name, value]
    return argv + ["/usr/bin/python3", "-c"]


def bench_data(table):
    """Jobs in the environment data, if there is one, and its idle machine."""
    place = data_place()
    if not place:
        print("bench: no environment data in %s; fsd env build --stock data "
              "makes it, or FSD_DATA names a file of fsd env export"
              % " or ".join(data_places()))
        return
    check_bwrap()
    native = data_baseline(place)
    mount = Mount(FSD, "--environments", place, "--pool", "4", state=STATE)
    mount.ready(warm=1)
    data = json.dumps({"environment": "data", "memory_mb": 512})
    PROGRAMS["data"] = ("code.py", "print(1)\n", None)

    def one(name, text, config):
        PROGRAMS["data"] = ("code.py", text, None)
        start = time.monotonic()
        job = mount.submit(name, "data", config)
        mount.wait(job)
        spent = (time.monotonic() - start) * 1000
        remove(job)
        return spent

    for i in range(8):  # the template is made, and the pool learns of both
        one("learn-%d" % i, "import sys\n", data if i % 4 else "{}")
        machines_at_rest(mount)
    plain_ms = None
    found = {}
    for pause in (0, 1.5):
        after = " after %g s" % pause if pause else ""
        for what, text, ratio, more in (("base", "print(1)\n", None, None),
                                        *DATA):
            ours, base = [], []
            for i in range(2 if QUICK else 9):
                machines_at_rest(mount)
                time.sleep(pause)  # what is measured
                ours.append(one("data-%g-%d" % (pause, i), text,
                                "{}" if what == "base" else data))
                time.sleep(pause)
                base.append(command_ms(native + [text]))
            ours, base = statistics.median(ours), statistics.median(base)
            found[what] = ours, base
            if what == "base":
                plain_ms = ours
                table.add("rested print(1) in base" + after, ours, "ms",
                          "bwrap python3", base)
                continue
            met = ((ratio is None or ours <= ratio * base) and
                   (more is None or ours <= plain_ms + more))
            bar = "<= %g" % ratio if ratio else ""
            bar += " and %g ms over base" % more if more else ""
            table.add("  %s in data%s" % (what, after), ours, "ms",
                      "bwrap python3", base, (met, bar) if bar else None)
        data_differences(table, found, after)
    machines_at_rest(mount)
    idle_sizes(table, mount)
    first_cell(table, mount)
    mount.close()
    data_template(table, place)
    data_cold(table, place)


def idle_sizes(table, mount):
    """A zygote holds what its forks share, so it is told by itself."""
    found = {"idle machine": [], "zygote": []}
    for pid in descendants(mount.proc.pid):
        if is_machine(pid):
            with open("/proc/%d/comm" % pid) as f:
                kind = "zygote" if f.read() == "fsd-zygote\n" else "idle machine"
            found[kind].append((pss_mb(pid), private_mb(pid)))
    for kind, sizes in found.items():
        for what, column, bound in (("PSS", 0, 160), ("private", 1, 60)):
            if sizes:
                most = max(size[column] for size in sizes)
                table.add("largest %s of an %s" % (what, kind) if
                          kind[0] == "i" else "  %s of its zygote" % what,
                          most, "MB", bar=(most <= bound, "<= %d MB" % bound)
                          if kind[0] == "i" else None)


def data_differences(table, found, after):
    """What pandas costs beside print(1), and the interpreter's end."""
    pandas, one = found["import pandas"], found["base"]
    table.add("  import pandas less print(1) in base" + after,
              pandas[0] - one[0], "ms", "bwrap python3", pandas[1] - one[1],
              (pandas[0] - one[0] <= 8, "<= 8 ms"))
    end = found["pass"][0] - found["os._exit(0)"][0]
    table.add("  the interpreter's end, with all modules" + after, end, "ms",
              bar=(end <= 3, "<= 3 ms"))


def disk_mb(path):
    """What its files take, holes left out."""
    return sum(os.stat(os.path.join(top, name)).st_blocks
               for top, _, names in os.walk(path) for name in names) / 2048


def data_template(table, place):
    """How long it took to make, as the state directory has it, and its size."""
    ident = os.path.basename(os.path.realpath(place + "/names/data"))
    top = os.path.join(STATE, "templates")
    try:
        with open(os.path.join(top, "took-tcg-" + ident[:16])) as f:
            spent = int(f.read()) / 1000
        table.add("making the template of data", spent, "s",
                  bar=(spent <= 90, "<= 90 s"))
    except OSError:
        pass  # it was made elsewhere
    sizes = [disk_mb(entry.path) for entry in os.scandir(top)
             if entry.is_dir() and not entry.name.startswith(".")]
    table.add("largest template on disk", max(sizes), "MB",
              bar=(max(sizes) <= 450, "<= 450"))


# How machines come to jobs where none is idle, and the most for both programs.
COLD = (("forked", (), (100, 130)), ("restored", ("--fork", "no"), (450, 550)))


def data_cold(table, place):
    config = json.dumps({"environment": "data", "memory_mb": 512})
    for how, options, most in COLD:
        mount = Mount(FSD, "--environments", place, "--pool", "0", *options,
                      state=STATE)
        mount.ready()
        for (what, text, _, _), bar in zip((DATA[0], DATA[4]), most):
            PROGRAMS["data"] = ("code.py", text, None)
            spent = []
            for i in range(3 if QUICK else 9):
                # The zygote is made at the first of them.
                mount.until(lambda: mount.stat("fsd_fork_sources_wanted") == 0,
                            "zygote")
                start = time.monotonic()
                job = mount.submit("cold-%d" % i, "data", config)
                mount.wait(job)
                spent.append((time.monotonic() - start) * 1000)
                remove(job)
            ours = statistics.median(spent[1:])
            table.add("no warm machine, %s: %s in data" % (how, what), ours,
                      "ms", bar=(ours <= bar, "<= %d" % bar))
        mount.close()


def bench_data_build(table):
    """A build of data from nothing: needs the network, and minutes."""
    top = tempfile.mkdtemp(prefix="bench-build-", dir=os.path.dirname(STATE))
    atexit.register(shutil.rmtree, top, True)
    image = os.environ.get("FSD_IMAGE", ROOT + "/build/image")
    start = time.monotonic()
    said = subprocess.run(
        [FSD, "env", "build", "--environments", top, "--image", image, "--stock",
         "data", "--json"], check=True, stdout=subprocess.PIPE, text=True).stdout
    spent, last = time.monotonic() - start, 0
    for line in said.splitlines():
        step = json.loads(line)
        if step["seconds"] < last:
            last = 0  # the clock of another machine
        table.add("  " + re.sub(r"\d+(\.\d+)?", "N", step["text"])[:40],
                  step["seconds"] - last, "s")
        last = step["seconds"]
    table.add("fsd env build --stock data, with downloads", spent, "s")
    layer = os.stat(top + "/names/data/layer.erofs").st_size
    file = os.path.join(top, "data.env")
    start = time.monotonic()
    subprocess.run([FSD, "env", "export", "--environments", top, "data", file],
                   check=True, stdout=subprocess.DEVNULL)
    table.add("its layer", layer / 1e6, "MB")
    table.add("fsd env export data", time.monotonic() - start, "s")
    table.add("  its size", os.stat(file).st_size / 1e6, "MB", "the layer",
              layer / 1e6)


def first_cell(table, mount):
    """The first cell of a session that imports pandas."""
    spent = []
    for i in range(2 if QUICK else 7):
        machines_at_rest(mount)
        name = "cell-%d" % i
        PROGRAMS["data"] = ("code.py", "import pandas as pd\n"
                            "pd.DataFrame({'a': [1, 2]})\n", None)
        start = time.monotonic()
        job = mount.submit(name, "data", json.dumps({
            "environment": "data", "memory_mb": 512, "mode": "cell",
            "session": "s%d" % i}))
        mount.wait(job)
        spent.append((time.monotonic() - start) * 1000)
        remove(job)
        os.rmdir("%s/.fsd/sessions/s%d" % (mount.mnt, i))  # and its machine goes
    ours = statistics.median(spent)
    table.add("first cell of a session with pandas", ours, "ms",
              bar=(ours <= 100, "<= 100"))


def load_beside_disk(mount):
    """Four users run jobs while one writes a GiB and takes it away again."""
    PROGRAMS["none"] = ("code.sh", "exit 0\n", None)
    block = b"x" * (1 << 20)

    def run_jobs(user):
        for i in range(30 if QUICK else 150):
            mount.run("u%d-%d" % (user, i), "none")

    def write():
        draft = os.path.join(mount.mnt, "large")
        os.mkdir(draft)
        with open(os.path.join(draft, "input"), "wb") as f:
            for _ in range(128 if QUICK else 1024):
                f.write(block)
        remove(draft)
    users = [threading.Thread(target=run_jobs, args=(i,)) for i in range(4)]
    users.append(threading.Thread(target=write))
    for user in users:
        user.start()
    for user in users:
        user.join()


def bench_loop(table):
    """How long the serving thread waits for anything but its own epoll."""
    mount = Mount(FAKE)
    mount.ready(warm=1)
    pid = os.getxattr(mount.mnt, "user.fsd.pid").decode()
    look = subprocess.Popen(
        [sys.executable, os.path.join(ROOT, "tests/lib/blocked.py"), pid],
        stdout=subprocess.PIPE, text=True)
    look.stdout.readline()
    load_beside_disk(mount)
    look.send_signal(signal.SIGINT)
    found = json.loads(look.communicate()[0])
    mount.close()
    table.add("longest wait of the loop on what is not epoll", found["ms"],
              "ms", bar=(found["ms"] <= 5, "<= 5 ms"))


def pin(pid, processors):
    for task in os.listdir("/proc/%d/task" % pid):
        os.sched_setaffinity(int(task), processors)


def bench_interface(table):
    """What the files alone cost: on one processor, with who asks."""
    mount = Mount(FAKE, "--durability", "relaxed")
    mount.ready(warm=1)
    PROGRAMS["none"] = ("code.sh", "exit 0\n", None)
    count = 200 if QUICK else 1000
    job = os.path.join(mount.mnt, "job")
    plain = os.path.join(mount.dir, "plain")
    times, base = [], []
    all_processors = os.sched_getaffinity(0)
    one = {min(all_processors)}
    pin(int(os.getxattr(mount.mnt, "user.fsd.pid")), one)
    os.sched_setaffinity(0, one)
    for _ in range(count):
        start = time.monotonic()
        mount.submit("job", "none")
        mount.wait(job)
        open(os.path.join(job, "stdout")).read()
        open(os.path.join(job, "exit_code")).read()
        times.append((time.monotonic() - start) * 1000)
        remove(job)
        start = time.monotonic()
        os.mkdir(plain)
        for name in ("a", "b"):
            with open(os.path.join(plain, name), "w") as f:
                f.write("{}")
            open(os.path.join(plain, name)).read()
        base.append((time.monotonic() - start) * 1000)
        shutil.rmtree(plain)
    mount.close()
    os.sched_setaffinity(0, all_processors)
    median = statistics.median(times)
    table.add("interface: a job on fake machines", median, "ms",
              "the same file calls on disk", statistics.median(base),
              (median <= 1, "<= 1 ms"))
    table.add("  the same, of %d on one processor" % count,
              1000 * count / sum(times), "jobs/s",
              bar=(count * 1000 >= 1000 * sum(times), ">= 1000"))


class Inputs:
    """So many small files, and a program, in a directory of their own."""

    def __init__(self, mount, count, name, text):
        self.dir, self.mount, self.count = mount.dir + "/inputs", mount, count
        shutil.rmtree(self.dir, ignore_errors=True)
        os.makedirs(self.dir + "/in")
        self.names = ["in/%d" % i for i in range(count)]
        self.program, self.outs = name, 0
        for path, content in [(name, text)] + [(n, "1\n") for n in self.names]:
            with open(self.dir + "/" + path, "w") as f:
                f.write(content)
        self.list = "\n".join(self.names).encode()

    def rate(self, *argv, env=()):
        """Inputs a second of a command that gets their list."""
        start = time.monotonic()
        done = subprocess.run(argv, input=self.list, cwd=self.dir, stderr=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, check=False,
                              env=dict(os.environ, FSD_MOUNT=self.mount.mnt, **dict(env)))
        if done.returncode:
            sys.exit("bench: %s: %s" % (" ".join(argv), done.stderr.decode()))
        return self.count / (time.monotonic() - start)

    def batch(self, binary, *options, env=()):
        """The rate of `fsd batch` into a new directory."""
        self.outs += 1
        return self.rate(binary, "batch", "-o", "OUT%d" % self.outs, *options,
                         self.program, "--from", "-", env=env)

    def by_hand(self, at_a_time):
        """The rate of the jobs that batch makes, by file calls alone."""
        poll, under_way, waiting = select.poll(), {}, self.names[::-1]
        start = time.monotonic()
        while waiting or under_way:
            while waiting and len(under_way) < at_a_time:
                job = self.submit(waiting.pop())
                fd = os.open(job + "/wait", os.O_RDONLY | os.O_NONBLOCK)
                poll.register(fd, select.POLLIN)
                under_way[fd] = job
            for fd, _ in poll.poll():
                poll.unregister(fd)
                self.take(under_way.pop(fd), fd)
        return self.count / (time.monotonic() - start)

    def submit(self, name):
        """A draft with the program, the input and the configuration, then its rename."""
        last = os.path.basename(name)
        draft, job = ("%s/%shand-%s" % (self.mount.mnt, dot, last) for dot in (".", ""))
        os.mkdir(draft)
        for path, as_name in ((self.program, self.program), (name, last)):
            with open(self.dir + "/" + path, "rb") as f, \
                    open(draft + "/" + as_name, "wb") as to:
                to.write(f.read())
        with open(draft + "/config.json", "w") as f:
            json.dump({"args": [last], "main": self.program, "priority": -10,
                       "retry": 2, "retain": 86400}, f)
        os.rename(draft, job)
        return job

    @staticmethod
    def take(job, wait):
        """Its results, then its removal by the file that holds it."""
        code = os.read(wait, 16)
        os.close(wait)
        for name in ("stdout", "stderr", "result.json", "exit_code"):
            with open(job + "/" + name, "rb") as f:
                f.read()
        if code != b"0\n":
            sys.exit("bench: %s: exit code %r" % (job, code))
        os.close(os.open(job + "/hold", os.O_RDONLY))


def in_turns(rounds, ways):
    """The median of each of these rates. A host is another one each minute, so each is
    measured once before any of them is measured again."""
    rates = {name: [] for name in ways}
    for _ in range(rounds):
        for name, rate in ways.items():
            rates[name].append(rate())
    return {name: statistics.median(found) for name, found in rates.items()}


def memory_top():
    """A directory in memory with space for many jobs, or None: on disk then."""
    top = "/dev/shm"
    if not os.access(top, os.W_OK):
        return None
    space = os.statvfs(top)
    return top if space.f_bavail * space.f_frsize >= 4 << 30 else None


def batch_on_fakes(table):
    """What the client and the mount cost by themselves: a disk would be measured else."""
    top = memory_top()
    mount = Mount(FAKE, "--durability", "relaxed", top=top)
    mount.ready(warm=1)
    inputs = Inputs(mount, 1000 if QUICK else 10000, "prog.sh", "exit 0\n")
    rate = inputs.batch(FAKE)
    table.add("batch: %d inputs on fake machines, all %s" % (
        inputs.count, "in memory" if top else "on disk"), rate, "jobs/s",
        bar=(rate >= 400, ">= 400"))
    start = time.monotonic()
    inputs.outs = 0
    inputs.batch(FAKE)
    table.add("  the same command when all is done", 1000 * (time.monotonic() - start), "ms")
    mount.close()


def batch_beside_others(table, mount):
    """The same inputs by other ways, as many at a time as batch has in the mount."""
    inputs = Inputs(mount, 40 if QUICK else 400, "prog.py", "print(1)\n")
    at_a_time = 2 * mount.stat("fsd_machines_max")
    most = "parallel -j %d" % at_a_time

    def parallel(jobs, *argv):
        return inputs.rate("parallel", "-j", str(jobs), *argv)
    run = (FSD, "run", "-n", "-i", "{}", "prog.py", "{/}")
    median = in_turns(1 if QUICK else 3, {
        "hand": lambda: inputs.by_hand(at_a_time),
        "batch": lambda: inputs.batch(FSD),
        "parallel -j 8": lambda: parallel(8, *run),
        most: lambda: parallel(at_a_time, *run),
        "bwrap": lambda: parallel(8, *BWRAP, "/usr/bin/python3", "prog.py", "{}"),
    })
    batch = median["batch"]
    table.add("batch: %d inputs on real machines" % inputs.count, batch, "jobs/s",
              "the same jobs by hand", median["hand"],
              (batch >= 0.97 * median["hand"], ">= 0.97 of it"))
    for name in ("parallel -j 8", most):
        table.add("  over fsd run by " + name, batch / median[name], "times",
                  bar=(batch >= 1.2 * median[name], ">= 1.2"))
    table.add("  over bwrap python3 by parallel -j 8", batch / median["bwrap"], "times")


def batch_in_private(table, mount):
    """A mount that is made for the batch, its start and its end included."""
    inputs = Inputs(mount, 50 if QUICK else 500, "prog.py", "print(1)\n")
    env = {"FSD_TEMPLATES": STATE + "/templates"}
    median = in_turns(1 if QUICK else 3, {
        "mount": lambda: inputs.batch(FSD),
        "private": lambda: inputs.batch(FSD, "--private", env=env),
    })
    table.add("batch --private: %d inputs" % inputs.count, median["private"], "jobs/s",
              "a mount that is there", median["mount"],
              (median["private"] >= 0.8 * median["mount"], ">= 0.8 of it"))


def bench_batch(table):
    """Many inputs: on fake machines what the client costs, on real ones beside the same
    jobs by hand, beside GNU parallel, and in a private mount."""
    check_bwrap()
    batch_on_fakes(table)
    mount = Mount(FSD, "--pool", "4", state=STATE)
    mount.ready(warm=4)
    mount.forking()
    batch_beside_others(table, mount)
    batch_in_private(table, mount)
    mount.close()


def bench_network(table):
    """Connections to servers in a namespace of their own, and a request to a port."""
    def make_mount(enter, options, top):
        mount = Mount(FSD, "--pool", "4", "--fork", "no", *options, state=STATE, top=top,
                      enter=enter)
        mount.ready(warm=4)
        return mount
    if os.getuid():
        sys.exit("bench: only root can make the namespaces of the part network")
    network.measure(make_mount, remove, 2 if QUICK else 5, table)


# In this order; `tests/run/bench.py NAME...` runs some of them.
PARTS = {
    "warm": bench_warm, "durability": bench_durability,
    "blocked": bench_blocked, "interface": bench_interface,
    "loop": bench_loop, "cold": bench_cold, "rate": bench_rate, "batch": bench_batch,
    "jail": bench_jail, "walls": bench_walls, "neighbours": bench_neighbours,
    "classes": bench_classes, "network": bench_network,
    "data": bench_data,
    "data-build": bench_data_build,
}
# Those that a whole run leaves out.
BY_NAME = ("data-build",)


def main():
    names = [a for a in sys.argv[1:] if a != "--quick"]
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        sys.exit("bench: no part %s; there are: %s"
                 % (", ".join(unknown), ", ".join(PARTS)))
    table = Table()
    machine = "%s, %d CPUs, Linux %s" % (
        re.search(r"model name\s*: (.*)", open("/proc/cpuinfo").read())[1],
        os.cpu_count(), platform.release())
    print("machine: %s; accelerator: TCG" % machine)
    whole = [n for n in PARTS if n not in BY_NAME and
             not (QUICK and n == "neighbours")]
    for name in names or whole:
        PARTS[name](table)
    if names:
        return  # the file is that of a whole run
    path = os.path.join(ROOT, "build/bench.json")
    with open(path, "w") as f:
        json.dump({"machine": machine, "accel": "tcg", "rounds": ROUNDS,
                   "rows": table.rows}, f, indent=1)
    print("written to", os.path.relpath(path))


if __name__ == "__main__":
    main()
