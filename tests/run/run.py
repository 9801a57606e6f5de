#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs parts of the tests and adds them up.

run.py [--lanes N] PART... — each part is a list of programs that speak TAP.
As many programs run at a time as there are lanes. A program starts when the
steps that it needs (a compiled variant, the image, the first machine's template)
are done. Programs that measure run last, alone.

There are three lanes for each processor (--lanes). A program takes three if it
computes all the time, two if it waits a third of it, as most real machines do, and
one if it waits two thirds for timers, as the tests of the mount do.

  lint         doors and order of the rooms, static analysis, shell scripts,
               manual pages
  unit         the unit tests, as the products are compiled
  asan plain   the same with sanitizers; those that cannot be, without
  bats         the daemon on fake machines through a real mount, with sanitizers
  release      the same without, for what measures, starts and restarts, and
               a smoke of each area (tags release and smoke)
  smoke        the tests with the tag smoke, on fake and on real machines
  qemu         the daemon on real machines
  docs         each command of README and manuals prints what they say
  same         programs on a plain Debian and in machines: no difference
  peer         a slice of CPython's own tests in machines
  box          the same on a Debian with KVM, which is a machine itself
  debian13     Debian 13 as the host: all compiles, the unit tests, real jobs
  engines      fsd-batch(8) with the engines of Debian 13
  fault        the daemon is killed, its store fails; the short form
  fuzz         every fuzzer on its corpus, then on 20,000 inputs or for two
               seconds, whatever is over first; with FUZZ_TIME: so many seconds

The steps count as the part "build".

The end names the ten slowest tests, the ten that take most of the processors,
and the seconds of each part; build/check/costs has all tests. The last line
is "N passed, N failed, N skipped"; the status is 0 only if nothing failed. A
program that ends badly without a "not ok", or whose plan does not match what it
ran, counts as one failure more. All output stays in build/check/PART/.

BATS_FILES="a.bats b.bats" chooses among the bats files of a part; the program
under test is FSD, if that is set.
"""
import argparse
import glob
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

TOP = os.path.abspath(__file__ + "/../../..")
OUT = "build/check"
MAKE = os.environ.get("MAKE", "make")
STATE = "build/test-state"  # made by the step "template"; a copy for each lane
MADE = STATE + "/shared/made"   # says where that template is for other states
# Debian's own programs: not another Python or Node that a machine has as well.
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
# Bounds are for what goes wrong. Lanes share the processors, so each bound is
# longer than one program alone would need.
SLOW = os.environ.get("SLOW", "4")
# Seconds of files that take far more, or less, than the number of their tests
# says: the longest begin first.
SECONDS = {"97_machines_die": 117, "96_lying_guest": 73, "86_durability": 170,
           "95_held_up": 45, "98_no_room": 30, "65_gateway_walls": 63,
           "89_servers": 53, "90_load": 47,
           "90_machines": 215, "92_kept": 220, "26_env_build": 190,
           "25_environments": 80, "80_clones": 80,
           "81_clones_forked": 40, "94_machines_forked": 50, "73_walls": 35,
           "74_walls_forked": 48, "72_missing_walls": 90, "95_idle_machines": 35,
           "88_gateway": 14, "93_kept_forked": 18,
           "programs": 360, "ends": 470}
# Programs of so many seconds begin in their turn: no smaller one takes a lane that
# they wait for.
LARGE = 60
# Drawers of bats files: on fake machines, on real ones.
FAKE = ("mount", "cli", "gateway", "guest", "image", "systemd")
REAL = ("qemu",)
# Files on real machines that wait for timers, and for what they have killed, two thirds
# of their time.
WAITING = ("90_machines", "92_kept", "93_kept_forked", "94_machines_forked",
           "95_idle_machines")
# Files that one bats runs, in turn, with one mount (file_setup in lib/qemu.bash).
TOGETHER = {"programs": ("10_languages", "12_warm_python", "13_live_python",
                         "14_typescript", "20_output", "40_processes",
                         "50_input", "60_files", "65_spool",
                         "75_neighbours"),
            "ends": ("30_ends", "70_hostile", "85_sessions",
                     "86_sandboxes")}
SANITIZERS = {"ASAN_OPTIONS": "abort_on_error=0:exitcode=99:handle_sigill=1",
              # nothing is measured with sanitizers
              "LOAD_JOBS": "300", "LOAD_READERS": "1000", "LOAD_QUEUE": "500"}

# Unit tests: what QEMU loads cannot be loaded beside a sanitizer; and to look at all
# of a process's memory takes too long with one.
UNSANITIZED = ("vm/zygote_test", "guest/unprotect_test")

# Where the tests of the mount under sanitizers, and those of many jobs on real machines,
# have their directories, if there is room: a disk's file system looks for new inodes
# long after many were removed, and each job waits for the disk some times. The parts
# "release", "fault" and "docs" have them on the disk.
MEMORY, ROOM = "/dev/shm", 6 << 30
# The states of this run. It removes them at its end.
MEMORY_STATE = "%s/fsd-check-%d" % (MEMORY, os.getpid())


class Program:
    """One TAP document, or (whole) one command that is one test by itself."""

    def __init__(self, part, name, argv, limit, *, needs=(), env=None,
                 whole=None, alone=False, cost=1.0, lanes=3):
        self.part, self.name, self.argv = part, name, argv
        self.limit = limit      # seconds, at most
        self.needs = needs      # names of STEPS
        self.env = env or {}
        self.whole = whole      # the test's sentence
        self.alone = alone      # nothing else runs meanwhile
        self.cost = cost        # seconds, about: the longest begin first
        self.lanes = lanes
        self.passed = self.failed = self.skipped = 0
        self.seconds = self.cpu = 0.0
        self.tests = []         # (seconds, sentence)
        self.costs = []         # (seconds of processors, sentence)

    @property
    def log(self):
        return "%s/%s/%s.tap" % (OUT, self.part, self.name)


# --- what the parts are made of -------------------------------------------------

def step(name, sentence, argv, limit, needs=(), lanes=3, cost=1e6):
    """A step counts as a test of the part "build"."""
    return Program("build", name, argv, limit, needs=needs, whole=sentence,
                   cost=cost, lanes=lanes)


def make(*targets):
    return [MAKE, "--no-print-directory", "-j%d" % os.cpu_count(), *targets]


# What several variants share is made once, first: two makes must not make it
# at a time.
STEPS = {s.name: s for s in (
    step("shared", "what all variants share compiles", make("shared"), 300),
    step("release", "the products compile without a warning",
         make("all", "build/hostile/raw"), 900, ("shared",)),
    step("qemu", "the host's QEMU is right, or a newer one is brought",
         make("qemu"), 600, ("shared",), 1),
    # first: the template waits for it
    step("image", "the guest image is built", make("image"), 1800,
         ("shared",), 2, 2e6),
    step("template", "the first machine is made and saved",
         ["tests/lib/template.sh", STATE], 1800,
         ("release", "image", "qemu"), 3, 2e6),
    # tests/lib/qemu.bash: plain_mount
    step("plain-template", "a plain machine is made and saved",
         ["sh", "-c", 'rm -rf "$1/plain" && tests/lib/template.sh "$1/plain" '
          "--plain", "-", STATE], 1800,
         ("template",), 2, LARGE),
    step("bare", "the image without walls is built", make("bare"), 1800,
         ("release", "image"), 2),
    step("bare-template", "its first machine is made and saved",
         ["tests/lib/template.sh", "build/bare/state", "--plain", "--policy",
          "permissive", "--image", "build/bare/image"], 1800, ("bare",), 2,
         LARGE),
    step("unit-objects", "the unit tests compile", make("unit"), 900,
         ("release",)),
    step("plain-objects", "those without sanitizers compile",
         make(*("build/release/tests/unit/" + name for name in UNSANITIZED)), 900,
         ("release",)),
    step("asan", "the daemon compiles with sanitizers",
         make("VARIANT=asan", "build/asan/bin/fsd-fake",
              "build/asan/bin/fsd-gateway", "build/asan/bin/fsd-door"), 900, ("shared",)),
    step("asan-unit", "the unit tests compile with sanitizers",
         make("VARIANT=asan", "unit"), 900, ("asan",)),
    # behind most: with more lanes it would keep them empty until it has all of them
    step("fuzz", "the fuzzers compile", make("VARIANT=fuzz", "fuzzers"), 900,
         ("shared",), 2, LARGE),
    step("box", "the box is built", ["tests/box/build.sh", "build/box"], 1800,
         ("image", "tsc")),
    step("tsc", "the box's clock compiles",
         make("build/release/tests/box/tsc"), 300, ("release",)),
)}


def lint():
    return [Program("lint", group, ["tests/run/lint.sh", group], 300,
                    cost=cost)
            for group, cost in (("rules", 5), ("shell", 20), ("static", 60))
            ] + [Program("lint", name, ["tests/run/%s.py" % name], 120,
                         needs=("release", "shared"), cost=2)
                 for name in ("order", "ratchets", "places")]


def units(part, variant, step_name, wanted=lambda name: True):
    found = []
    for source in sorted(glob.glob("tests/unit/*/*_test.c")):
        name = source[len("tests/unit/"):-2]  # "sched/sched_test"
        if not wanted(name):
            continue
        found.append(Program(part, name.replace("/", "-"), [
            "build/%s/tests/unit/%s" % (variant, name)], 180, needs=(step_name,),
            cost=3, lanes=1))
    return found


def groups(paths, chosen):
    """(name, files) of each bats: alone if they were chosen, or by TOGETHER."""
    alone = {os.path.basename(path)[:-5]: path for path in paths}
    if not chosen:
        for name, files in TOGETHER.items():
            if all(file in alone for file in files):
                yield name, [alone.pop(file) for file in files]
    yield from ((name, [path]) for name, path in alone.items())


def bats_files(directories):
    return [path for directory in directories
            for path in sorted(glob.glob("tests/%s/*.bats" % directory))]


def bats(part, directories, program, needs, seconds, tags=(), env=None, lanes=1,
         placed=lambda text: {}):
    """The files of these; with tags: those that have tests of one. placed
    gives what is set besides env, by a file's text."""
    chosen = os.environ.get("BATS_FILES", "").split()
    for name, paths in groups(chosen or bats_files(directories), chosen or tags):
        text = ""
        for path in paths:
            with open(path) as f:
                text += f.read()
        count = text.count("\n@test ")
        filters = []
        if tags:
            tagged = re.findall(r"(?m)^# bats (test|file)_tags=(.*)$", text)
            wanted = [kind for kind, names in tagged
                      if set(tags) & set(names.split(","))]
            if not wanted:
                continue
            if "file" not in wanted:
                count = len(wanted)
            for tag in tags:
                filters += ["--filter-tags", tag]
        bare = ("bare-template",) if "/bare/" in text else ()
        plain = ("plain-template",) if "plain_mount" in text else ()
        yield Program(
            part, name, ["bats", "--tap", "--print-output-on-failure", *filters,
                         *paths],
            seconds, needs=(*needs, *bare, *plain),
            alone=bool(re.search("(?m)^# alone", text)),
            env=dict(env or {}, **placed(text),
                     FSD=os.environ.get("FSD", TOP + "/" + program)),
            cost=SECONDS.get(name, count * 0.6) if not tags else count,
            lanes=1 if name in WAITING else lanes)


def in_memory():
    """Return: the environment of a program whose directories are to be in memory;
    nothing where that has too little room or runs no program."""
    try:
        memory = os.statvfs(MEMORY)
    except OSError:
        return {}
    if memory.f_flag & os.ST_NOEXEC or not os.access(MEMORY, os.W_OK) or \
            memory.f_bavail * memory.f_frsize < ROOM:
        return {}
    return {"TMPDIR": MEMORY}


def bats_asan():
    program = "build/asan/bin/fsd-fake"
    yield from bats("bats", FAKE, program, ("asan", "release"), 1800,
                    env=SANITIZERS,
                    placed=lambda text: {} if re.search(
                        "(?m)^# on a disk$", text) else in_memory())
    if not os.environ.get("BATS_FILES"):
        yield Program("bats", "chaos", python(
            "tests/fault/chaos.py", "--seconds", "3", "--seed", "1",
            "--program", program), 240, needs=("asan",),
            env=dict(SANITIZERS, **in_memory()), cost=20)


def smoke():
    yield from bats("smoke", FAKE, "build/fsd-fake", ("release",), 600,
                    ("smoke",))
    yield from bats("smoke", REAL, "build/fsd", ("template",), 600,
                    ("smoke",), lanes=2)


def python(*words):
    return ["/usr/bin/python3", "-B", *words]


def fault():
    """The long forms are `make fault` and `make soak`."""
    for name, seconds, words in (
            ("self", 60, "self_test.py"),
            ("kills", 120, "kills.py --kills 100 --seed 1"),
            ("netkills", 60, "netkills.py --kills 100 --seed 1 any"),
            ("calls", 120, "calls.py --runs 60 --seed 1"),
            ("crash", 120, "crash.py --states 60 --seed 1"),
            ("damage", 120, "damage.py --runs 30 --seed 1"),
            ("batch", 120, "batch.py --kills 84 --seed 1"),
            ("spool", 60, "spool.py --kills 150 --seed 1"),
            ("soak", 240, "soak.py --seconds 30 --seed 1")):
        yield Program("fault", name, python("tests/fault/" + words.split()[0],
                                            *words.split()[1:]),
                      seconds * 3, needs=("release",), cost=30, lanes=2)


def fuzz():
    asked = os.environ.get("FUZZ_TIME")
    seconds = int(asked or 2)
    # 20,000 inputs take the fastest a tenth of a second.
    noise = [] if asked else ["-runs=20000"]
    found = "build/fuzz/found"
    for target in sorted(glob.glob("tests/fuzz/*_fuzz.c")):
        name = os.path.basename(target)[:-len("_fuzz.c")]
        os.makedirs(found + "/" + name, exist_ok=True)
        yield Program(
            "fuzz", name,
            ["build/fuzz/tests/fuzz/%s_fuzz" % name, *noise,
             # it ends when more whole seconds than these are over
             "-max_total_time=%d" % max(seconds - 1, 1), "-timeout=10",
             "-rss_limit_mb=2048", "-max_len=65536", "-print_final_stats=1",
             "-artifact_prefix=%s/%s-" % (found, name), found + "/" + name,
             "tests/fuzz/corpus/" + name],
            seconds + 120, needs=("fuzz",), cost=seconds + 1,
            whole="%s survives its corpus, and %s" % (
                name, "%d seconds of noise" % seconds if asked else
                "20,000 inputs, or two seconds of them"))


def door(part, program, needs):
    """The door in network namespaces; it waits for time limits nearly all of its time."""
    return [Program(part, "network-door", python("tests/network/door.py"), 600,
                    needs=(needs,), env={"FSD_DOOR": program}, cost=40, lanes=1)]


PARTS = {
    "lint": lint,
    "unit": lambda: units("unit", "release", "unit-objects") + door(
        "unit", "build/fsd-door", "release"),
    "asan": lambda: units("asan", "asan", "asan-unit",
                          lambda name: name not in UNSANITIZED) + door(
        "asan", "build/asan/bin/fsd-door", "asan"),
    "plain": lambda: units("plain", "release", "plain-objects",
                           lambda name: name in UNSANITIZED),
    "bats": bats_asan,
    "release": lambda: bats("release", FAKE, "build/fsd-fake",
                            ("release",), 900, ("release", "smoke")),
    "smoke": smoke,
    "qemu": lambda: bats("qemu", REAL, "build/fsd", ("template",), 1800,
                         lanes=2, placed=lambda text: in_memory() if
                         "file_setup --shared" in text else {}),
    "box": lambda: [Program("box", "box", ["tests/box/run.sh"], 3660,
                            needs=("box",), env={"BOX_SECONDS": "3600"})],
    "debian13": lambda: [Program(
        "debian13", "host", ["tests/debian13/run.sh", "build/debian13"], 1200,
        needs=("image", "unit-objects"), cost=250)],
    "engines": lambda: [Program(
        "engines", "recipes", ["tests/engines/run.sh", "build/engines"], 1800,
        needs=("image",), cost=250)],
    "docs": lambda: [Program("docs", "documents", [
        "tests/docs/run.py", "README.md", "fsd/fsd.8", "fsd/fsd-env.8", "fsd/fsd-batch.8",
        "fsd/fsd-spool.8", "layout/jobtree.5"], 600,
        needs=("template",), cost=47, lanes=2)],
    "same": lambda: [Program(
        "same", "programs", ["tests/same/same.py"], 1200,
        needs=("template",), env=in_memory(), cost=65, lanes=2)],
    "peer": lambda: [Program(
        "peer", "cpython", ["tests/peer/peer.py", "--slice"], 1800,
        needs=("template",), env=in_memory(), cost=75, lanes=2)],
    "fault": fault,
    "fuzz": fuzz,
}


# --- one program ----------------------------------------------------------------

def environment(program, lane):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("FSD_MOUNT", "MAKE"))}
    env.update(state_of(program, lane), PATH=PATH, LC_ALL="C.UTF-8", SLOW=SLOW)
    env.update(program.env)
    if program.argv[0] == MAKE:
        env["PATH"] = os.environ["PATH"]  # the user's compiler
    return env


def state_of(program, lane):
    """The state directory of a program's mounts, and what else tells them of it. One
    in memory has no template: what is read of its holes would be memory of a machine
    that only the file's end frees. So those mounts find that of `fsd template`."""
    if "template" in program.needs and program.env.get("TMPDIR") == MEMORY and \
            os.path.isfile(MADE):
        with open(MADE) as f:
            templates = os.path.dirname(f.read().strip())
        return {"FSD_TEST_STATE": "%s/%d" % (MEMORY_STATE, lane),
                "FSD_TEMPLATES": templates}
    return {"FSD_TEST_STATE": "%s/%s.%d" % (TOP, STATE, lane)}


def lane_state(state):
    """The template of the step "template", for this lane's mounts."""
    os.makedirs(state, exist_ok=True)
    if state.startswith(MEMORY):
        return
    if not os.path.isdir(state + "/templates"):
        # Links: no test writes to a file that is there (own_mount copies what
        # it damages), and a server makes new ones.
        subprocess.run(["cp", "-al", STATE + "/templates", state], check=True)
    shared = state + "/shared"
    shutil.rmtree(shared, ignore_errors=True)
    if os.path.isfile(MADE):
        os.makedirs(shared)
        shutil.copy(MADE, shared)


def count(program, status, text):
    """What its lines say; what they do not say of a bad end is one more."""
    plans, numbers = [], 0
    for line in text.split("\n"):
        plan = re.match(r"1\.\.(\d+)", line)
        if plan:
            plans.append(int(plan.group(1)))
        told = re.match(r"(not )?ok\b *\d* *-? *(.*)", line)
        if not told:
            continue
        numbers += 1
        sentence = told.group(2)
        took = re.search(r" in (\d+)ms( # skip.*)?$", sentence)
        if took:
            program.tests.append((int(took.group(1)) / 1000,
                                  sentence[:took.start()]))
        if told.group(1):
            program.failed += 1
        elif re.search("# skip", sentence, re.I):
            program.skipped += 1
        else:
            program.passed += 1
    if status in (124, 137):
        return "did not end within %d seconds" % program.limit
    if status and not program.failed:
        return "ended with status %d" % status
    if plans != [numbers]:
        return "ran %d tests, which is not what it planned" % numbers
    return None


def copied(program, pipe, group):
    """By lines. What bats --timing says is added here: there it costs two
    processes a test."""
    timed = program.argv[0] == "bats"
    last, last_used = time.monotonic(), 0.0
    with pipe, open(program.log, "ab") as log:
        for line in iter(pipe.readline, b""):
            told = timed and re.match(
                rb"(?a)((?:not )?ok \d+ )(.*?)( # skip.*)?\n$", line)
            if told:
                now, used = time.monotonic(), group.used() if group else 0.0
                line = b"%s%s in %dms%s\n" % (
                    told[1], told[2], (now - last) * 1000, told[3] or b"")
                program.costs.append((used - last_used,
                                      told[2].decode(errors="replace")))
                last, last_used = now, used
            log.write(line)
            log.flush()


class Group:
    """A control group that counts the processor time of a program and of all that
    it has started: wait4() does not know of a daemon, nor of its machines. Only
    of version 1, where a group that counts bounds nothing else."""

    TOP = "/sys/fs/cgroup/cpuacct"
    serial = itertools.count()

    def __init__(self, path):
        self.path = path

    @classmethod
    def made(cls):
        """Return: a new one, or None where there can be none."""
        try:
            with open("/proc/self/cgroup") as f:
                own = re.search("(?m)^[0-9]+:cpuacct:(.*)$", f.read())
            path = own and "%s%s/check-%d-%d" % (
                cls.TOP, own[1].rstrip("/"), os.getpid(), next(cls.serial))
            if not path:
                return None
            os.mkdir(path)
        except OSError:
            return None
        return cls(path)

    def enter(self):
        """Return: the words before a command that is to be in it."""
        return ("sh", "-c", 'echo 0 >"$0"; exec "$@"',
                self.path + "/cgroup.procs")

    def used(self):
        with open(self.path + "/cpuacct.usage") as f:
            return int(f.read()) / 1e9

    def ended(self):
        """Return: seconds. What is left in it goes up."""
        used = self.used()
        try:
            with open(self.path + "/cgroup.procs") as f:
                left = f.read().split()
            for pid in left:
                with open(os.path.dirname(self.path) + "/cgroup.procs", "w") as f:
                    f.write(pid)
            os.rmdir(self.path)
        except OSError:
            pass  # it stays, and has used what it has
        return used


class Runner:
    def __init__(self, programs, lanes):
        self.todo = sorted(programs, key=lambda p: (p.alone, -p.cost))
        self.free = list(range(lanes))
        self.running = {}       # program -> Popen, or None before it began
        self.done = {}          # name of a step -> it succeeded
        self.ended = []
        self.stopped = False
        self.changed = threading.Condition()

    def next(self):
        """What may begin now."""
        if any(p.alone for p in self.running):
            return None
        for program in self.todo:
            if any(need not in self.done for need in program.needs):
                continue
            if self.running and program.lanes > len(self.free):
                if program.cost >= LARGE:
                    return None  # small ones would take its lanes for ever
                continue
            if program.alone and (self.running or
                                  not all(p.alone for p in self.todo)):
                continue
            return program
        return None

    def run(self):
        with self.changed:
            while self.todo or self.running:
                program = self.next()
                if program is None:
                    self.changed.wait()
                    continue
                self.todo.remove(program)
                self.running[program] = None
                lanes = self.free[:program.lanes]
                del self.free[:program.lanes]
                threading.Thread(target=self.one, args=(program, lanes),
                                 daemon=True).start()

    def one(self, program, lanes):
        lacking = [n for n in program.needs if not self.done[n]]
        began = time.monotonic()
        try:
            if lacking:
                self.says(program, "not ok - %s was not run: %s failed" % (
                    program.name, ", ".join(lacking)))
            else:
                self.execute(program, lanes[0])
        except Exception as e:
            print("not ok - %s was not run: %r" % (program.name, e))
            program.failed += 1
        program.seconds = time.monotonic() - began
        if program.whole or not program.tests:
            program.tests = [(program.seconds, program.whole or program.name)]
        with self.changed:
            del self.running[program]
            self.free = sorted(self.free + lanes)
            self.ended.append(program)
            if STEPS.get(program.name) is program:
                self.done[program.name] = not program.failed
            self.changed.notify()
            self.show(program)

    @staticmethod
    def says(program, line):
        program.failed += 1
        with open(program.log, "a") as log:
            log.write(line + "\n")

    def execute(self, program, lane):
        if "template" in program.needs:
            lane_state(state_of(program, lane)["FSD_TEST_STATE"])
        group = Group.made()
        child = subprocess.Popen(
            [*(group.enter() if group else ()),
             "timeout", "-k", "10", str(program.limit), *program.argv],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env=environment(program, lane))
        self.running[program] = child
        if self.stopped:
            child.terminate()
        # By a pipe: a test of a full disk limits the size of its files.
        copier = threading.Thread(target=copied, daemon=True,
                                  args=(program, child.stdout, group))
        copier.start()
        _, status, used = os.wait4(child.pid, 0)
        status = child.returncode = os.waitstatus_to_exitcode(status)
        program.cpu = used.ru_utime + used.ru_stime
        copier.join(10)
        if group:
            program.cpu = group.ended()
        if copier.is_alive():
            self.says(program, "not ok - what %s has started still holds its "
                      "output" % program.name)
        with open(program.log, errors="replace") as log:
            text = log.read()
        if program.whole:
            os.rename(program.log, program.log[:-4] + ".log")
            if status:
                self.says(program, "not ok - %s (status %d)\n%s" % (
                    program.whole, status, "\n".join(
                        "# " + line for line in text.splitlines()[-60:])))
            else:
                with open(program.log, "w") as log:
                    log.write("ok - %s\n" % program.whole)
                program.passed += 1
            return
        why = count(program, status, text)
        if why:
            self.says(program, "not ok - %s %s" % (program.name, why))

    @staticmethod
    def show(program):
        print("# %s %s: %.1f s, %.1f s of processors" % (
            program.part, program.name, program.seconds, program.cpu))
        with open(program.log, errors="replace") as log:
            print(log.read(), end="", flush=True)

    def stop(self, *_):
        """By Ctrl-C: timeout(1) leads a process group of its own."""
        self.stopped = True
        self.todo.clear()
        for child in list(self.running.values()):
            if child:
                child.terminate()


# --- all of them ----------------------------------------------------------------

def with_steps(programs):
    """Adds the steps that they need, and those that these need."""
    found, todo = [], [n for p in programs for n in p.needs]
    while todo:
        name = todo.pop()
        if STEPS[name] not in found:
            found.append(STEPS[name])
            todo += STEPS[name].needs
    return found


def gathered(parts):
    programs = []
    for part in parts:
        mine = list(PARTS[part]())
        if not mine:
            sys.exit("run.py: %s has no tests%s" % (
                part, " in BATS_FILES" if os.environ.get("BATS_FILES") else ""))
        programs += mine
    return with_steps(programs) + programs


def most(programs, title, listed):
    print("\n%s:" % title)
    tests = [(s, p, sentence) for p in programs for s, sentence in listed(p)]
    for took, program, sentence in sorted(tests, key=lambda t: -t[0])[:10]:
        print("%6.1f s  %s %s: %s" % (took, program.part, program.name,
                                      sentence))


def write_costs(programs):
    """Writes each test's seconds of processors, the most expensive first."""
    costs = sorted(((s, p, sentence) for p in programs for s, sentence in
                    p.costs or [(p.cpu, p.whole or p.name)]),
                   key=lambda cost: -cost[0])
    with open(OUT + "/costs", "w") as f:
        for seconds, program, sentence in costs:
            f.write("%7.2f  %s %s: %s\n" % (seconds, program.part,
                                           program.name, sentence))


def summary(programs, parts, seconds, lanes):
    write_costs(programs)
    print()
    for part in dict.fromkeys(["build", *parts]):
        mine = [p for p in programs if p.part == part]
        if mine:
            print("%-8s %5d passed %5d failed %5d skipped %6.0f s, "
                  "%5.0f s of processors" % (
                      part, sum(p.passed for p in mine),
                      sum(p.failed for p in mine),
                      sum(p.skipped for p in mine),
                      sum(p.seconds for p in mine), sum(p.cpu for p in mine)))
    print("%d s in all, on %d lanes" % (seconds, lanes))
    most(programs, "the ten slowest", lambda p: p.tests)
    most(programs, "the ten that take most of the processors", lambda p:
         p.costs or [(p.cpu, p.whole or p.name)])
    for wanted, title in (("not ok", "what failed"), ("skip", "not tried")):
        lines = []
        for program in programs:
            with open(program.log, errors="replace") as log:
                lines += ["%s %s: %s" % (program.part, program.name,
                                         line.rstrip()) for line in log
                          if (line.startswith("not ok")
                              if wanted == "not ok" else
                              re.match(r"ok\b.*# skip", line, re.I))]
        if lines:
            print("\n%s (all output is in %s/):" % (title, OUT))
            print("\n".join(lines[:100]))


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--lanes", type=int, default=3 * os.cpu_count())
    options.add_argument("parts", nargs="+", choices=list(PARTS),
                         metavar="PART")
    args = options.parse_args()
    os.chdir(TOP)
    programs = gathered(args.parts)
    for part in {p.part for p in programs}:
        shutil.rmtree("%s/%s" % (OUT, part), ignore_errors=True)
        os.makedirs("%s/%s" % (OUT, part))
    runner = Runner(programs, max(1, args.lanes))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, runner.stop)
    began = time.monotonic()
    try:
        runner.run()
    finally:
        shutil.rmtree(MEMORY_STATE, ignore_errors=True)
    summary(runner.ended, args.parts, time.monotonic() - began,
            max(1, args.lanes))
    passed, failed, skipped = (
        sum(getattr(p, name) for p in runner.ended)
        for name in ("passed", "failed", "skipped"))
    if runner.stopped:
        print("\nstopped: %d of %d programs did not run" % (
            len(programs) - len(runner.ended), len(programs)))
    print("\n%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    sys.exit(0 if passed and not failed and not runner.stopped else 1)


if __name__ == "__main__":
    main()
