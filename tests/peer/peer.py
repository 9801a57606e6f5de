#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""peer.py [--slice] [--plain] [ROW...] — CPython's own tests in fsd's machines.

TAP, a test a row of table.py; a job each, many at a time in one mount. When a
test fails in a machine, the row runs on the plain Debian (tests/same/plain.py)
too: the failure is fsd's only if the test passes there, and fails in a second
machine as well. CPython's own runner has --rerun for the same reason: some of these
tests measure seconds. --slice takes the rows that `make check` runs. --plain runs on
the plain Debian only and says what each costs.

A job has code.py, the modules, test.support, and of the other tests' files those
that it names. The plain Debian compiles all of them first: an emulated processor
takes a second for a large module.
"""
import concurrent.futures
import glob
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE) + "/same"]

import machines  # noqa: E402
import plain  # noqa: E402
import table  # noqa: E402

SECONDS = 200 * machines.SLOW  # a module's, in a machine
ALL_SECONDS = 3 * SECONDS


def tests():
    """Where the tests lie."""
    return subprocess.run(
        [HERE + "/get.sh", plain.TOP + "/build/peer"], check=True,
        stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1]


def compile_all(modules, root):
    """Gives each module the directory where its files lie compiled. The bytecode
    names no time: a job's files have others."""
    base = tempfile.mkdtemp(prefix="fsd-peer-")
    try:
        os.mkdir(base + "/test")
        for path in {path for m in modules for path in m.files()}:
            put(path, base + "/test/" + os.path.basename(path))
        plain.own(base)
        # Some files are meant to be no Python; they have no bytecode then.
        plain.run(root, base, ["python3", "-m", "compileall", "-q",
                               "--invalidation-mode", "unchecked-hash",
                               plain.HOME + "/test"], seconds=SECONDS)
    except BaseException:
        shutil.rmtree(base)
        raise
    for module in modules:
        module.compiled = base + "/test"
    return base


def put(path, to):
    if os.path.isdir(path):
        shutil.copytree(path, to, copy_function=shutil.copyfile,
                        ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copyfile(path, to)


def sources(path):
    if os.path.isfile(path):
        return [path] if path.endswith(".py") else []
    return [os.path.join(folder, f) for folder, _, files in os.walk(path)
            for f in files if f.endswith(".py")]


class Module:
    def __init__(self, row, where):
        self.row, self.where = row, where
        self.compiled = None  # see compile_all
        self.names = [word.split(":")[0] for word in row.split()]

    def path(self, name):
        """The file or directory of a name in the package "test", or None."""
        for path in ("%s/%s" % (self.where, name),
                     "%s/%s.py" % (self.where, name)):
            if os.path.exists(path):
                return path
        return None

    def needs(self):
        """Paths of the module and of all that its source names."""
        others = {os.path.splitext(n)[0]: n for n in os.listdir(self.where)
                  if not n.startswith(("test_", "__"))}
        found, todo = [], [self.path(n.split(".")[0]) for n in self.names]
        while todo:
            path = todo.pop()
            if path in found:
                continue
            found.append(path)
            for source in sources(path):
                with open(source, encoding="utf-8", errors="replace") as f:
                    text = f.read()
                names = [n for stem, n in others.items() if stem in text]
                names += re.findall(r"\btest\.(test_\w+)|from test import "
                                    r"(test_\w+)", text)
                todo += filter(None, (self.path(n if isinstance(n, str) else
                                                n[0] or n[1]) for n in names))
        return found

    def files(self):
        package = plain.root() + self.where[self.where.rindex("/usr/lib/"):]
        return [package + "/__init__.py", package + "/support",
                package + "/typinganndata", *self.needs()]

    def fill(self, home):
        shutil.copyfile(HERE + "/code.py", home + "/code.py")
        os.mkdir(home + "/test")
        for path in self.files():
            name = os.path.basename(path)
            to = "%s/test/%s" % (home, name)
            if os.path.isdir(path):
                shutil.copytree("%s/%s" % (self.compiled, name), to,
                                copy_function=shutil.copyfile)
                continue
            shutil.copyfile(path, to)
            for code in glob.glob("%s/__pycache__/%s.*.pyc" % (
                    self.compiled, glob.escape(os.path.splitext(name)[0]))):
                os.makedirs(home + "/test/__pycache__", exist_ok=True)
                shutil.copy(code, home + "/test/__pycache__")

    def config(self):
        return {"timeout": SECONDS, "args": self.row.split(),
                **table.OPTIONS.get(self.row, {})}

    def plainly(self, root):
        base = tempfile.mkdtemp(prefix="fsd-plain-")
        try:
            home = base + "/home"
            os.mkdir(home)
            self.fill(home)
            plain.own(home)
            ended = plain.run(
                root, home, ["python3", plain.HOME + "/code.py", *self.row.split()],
                seconds=SECONDS)
            return outcome(ended, home)
        finally:
            shutil.rmtree(base)


class Outcome:
    """Which tests of a module passed, were skipped and were bad, and why."""

    def __init__(self, words, seconds=0.0, tests=()):
        self.words, self.seconds = words, seconds
        self.passed = [i for i, word, _ in tests if word == "ok"]
        self.skipped = [i for i, word, _ in tests if word == "skip"]
        self.bad = {i: text for i, word, text in tests if word == "bad"}
        if words:
            self.bad["the module"] = words


def outcome(ended, output):
    try:
        with open(output + "/outcome.json") as f:
            told = json.load(f)
    except FileNotFoundError:
        return Outcome("ended with %d and no outcome\n%s" % (
            ended.code, ended.stderr[-2000:].decode(errors="replace")))
    return Outcome("", told["seconds"], told["tests"])


def in_machine(job):
    if job.refused:
        return Outcome(job.refused)
    if not job.wait(ALL_SECONDS):
        return Outcome("did not end: " + job.read("log").decode())
    if job.read("state") != b"done\n":
        return Outcome(job.read("error").decode())
    here = outcome(job.ended(), job.path + "/output")
    if "the module" in here.bad:
        here.bad["the module"] += "\n" + job.read("error").decode()
    return here


def run_again(mount, number, module):
    """A second run of a module's job: an Outcome."""
    job = mount.submit("peer-%d-again" % number, module.fill, module.config())
    try:
        return in_machine(job)
    finally:
        job.remove()


def judge(module, here, root, run_again):
    """Return: (good, findings, a note). run_again() gives a second outcome."""
    known = table.DIFFERS.get(module.row, {})
    found, opened, excused, once = [], [], [], []
    strict = os.environ.get("STRICT") == "1"
    there = again = None
    for name, text in here.bad.items():
        if name in known or name in table.TIMES:
            continue
        if not strict and any(re.search(p, text) for p in table.OPEN):
            opened.append(name)
            continue
        there = there or module.plainly(root)
        if name in there.bad:
            excused.append(name)
            continue
        again = again or run_again()
        if name not in again.bad and not again.words:
            once.append(name)
        else:
            found += [name, *text.splitlines()]
    for name in known:
        if name in here.passed:
            found.append("%s passes: table.py is wrong" % name)
    if not here.passed and not found:
        found.append("no test has run")
    note = "%d passed, %d skipped" % (len(here.passed), len(here.skipped))
    for names, word in ((known, "differ"), (opened, "open faults"), (
            excused, "bad on the plain Debian too")):
        note += ", %d %s" % (len(names), word) if names else ""
    note += ", bad once: " + " ".join(once) if once else ""
    return not found, found, note


def run(mount, modules):
    root = plain.root()
    failed = 0
    jobs = [mount.submit("peer-%d" % n, m.fill, m.config())
            for n, m in enumerate(modules)]
    for n, (module, job) in enumerate(zip(modules, jobs), 1):
        here = in_machine(job)
        good, found, note = judge(module, here, root,
                                  lambda n=n, m=module: run_again(mount, n, m))
        failed += not good
        print("%s %d - CPython's %s in a machine (%s; %.1f s)" % (
            "ok" if good else "not ok", n, module.row, note, here.seconds))
        for line in found[:200]:
            print("#   " + line)
        sys.stdout.flush()
        job.remove()
    return failed


def run_plain(modules):
    root = plain.root()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for module, there in zip(modules, pool.map(
                lambda m: m.plainly(root), modules)):
            print("%6.2f s %s: %d passed, %d skipped, bad: %s" % (
                there.seconds, module.row, len(there.passed),
                len(there.skipped), there.bad), flush=True)


def main(words):
    where = tests()
    names = [w for w in words if not w.startswith("--")] or (
        table.SLICE if "--slice" in words else
        table.MODULES + [row for row in table.SLICE if ":" in row])
    modules = [Module(name, where) for name in names]
    if "--plain" not in words:
        machines.need_plain()
    compiled = compile_all(modules, plain.root())
    try:
        if "--plain" in words:
            return run_plain(modules)
        return run_in_machines(modules)
    finally:
        shutil.rmtree(compiled)


def run_in_machines(modules):
    # These compute: more machines than processors would only be slower each.
    with machines.Mount(*machines.MANY_JOBS) as mount:
        mount.forking()
        failed = run(mount, modules)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print("# %.0f s of processors" % (used.ru_utime + used.ru_stime))
    print("1..%d" % len(modules))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
