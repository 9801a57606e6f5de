#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""same.py [--all] [-v] [NAME...] — the same programs on a plain Debian and in fsd's
machines: stdout, stderr, exit code and files must be the same, byte for byte.

TAP, a test a program. All jobs are in one mount, and a few machines run them; the
plain Debian (plain.py) runs beside them. table.py has what programs need beside
themselves. NAME is python/traceback, or python for all of Python's. Without one:
all but what costs most (SLOW in table.py); with --all that as well. -v shows what a
row gave, when it is the same too.

TypeScript on the plain Debian: the image's esbuild bundles code.ts, with the
packages of node_modules left out, for Node 20, as an ES module if it is one, with
a source map; then `node --enable-source-maps` runs that.
"""
import concurrent.futures
import difflib
import glob
import os
import re
import resource
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import machines  # noqa: E402
import plain  # noqa: E402
import table  # noqa: E402

PROGRAMS = HERE + "/programs"
SECONDS = 60 * machines.SLOW  # a program's, in a machine and on the plain Debian
ALL_SECONDS = 300 * machines.SLOW
# Called by their paths, as fsd does: programs can see that.
NODE = "/usr/bin/node"
INTERPRETERS = {".py": "/usr/bin/python3", ".js": NODE, ".cjs": NODE,
                ".mjs": NODE, ".sh": "/bin/bash"}
BUNDLE = "unset SHLVL; esbuild %s --bundle --platform=node --packages=external " \
    "--target=node20 " \
    "--log-level=error --sourcemap --format=%s --outfile=%s && " \
    'exec env -u SHLVL /usr/bin/node --enable-source-maps %s "$@"'
# What is of no interest on either side.
LEFT_OUT = {"__pycache__", "code.ts.bundle.cjs", "code.ts.bundle.mjs"}


class Program:
    def __init__(self, name, path):
        self.name = name
        self.options = table.OPTIONS.get(name, {})
        if os.path.isdir(path):
            self.directory = path
            self.main, = (f for f in os.listdir(path)
                          if f == "code" or f.startswith("code."))
        else:
            self.directory = None
            self.main = "code" + os.path.splitext(path)[1]
        self.source = path if not self.directory else path + "/" + self.main
        with open(self.source, encoding="utf-8", errors="replace") as f:
            lines = [f.readline() for _ in range(2)]
        line = next((s for s in lines if not s.startswith("#!")), "")
        self.sentence = line.lstrip("\ufeff#/ ").strip().rstrip(".")

    def fill(self, directory):
        """Puts the program and its files there."""
        if self.directory:
            shutil.copytree(self.directory, directory, dirs_exist_ok=True,
                            copy_function=shutil.copyfile, symlinks=True)
        else:
            shutil.copyfile(self.source, "%s/%s" % (directory, self.main))
        if self.main == "code":
            os.chmod(directory + "/code", 0o755)

    def config(self):
        # As patient as the rest: what still writes at the end may be slow.
        return {"timeout": SECONDS, "linger": 20, **self.options}

    def argv(self):
        """How a user of a plain Debian starts it."""
        ending = os.path.splitext(self.main)[1]
        path = "%s/%s" % (plain.HOME, self.main)
        if ending in (".ts", ".mts"):
            kind = "esm" if ending == ".mts" or \
                self.options.get("format") == "esm" else "cjs"
            bundle = "%s/code.ts.bundle.%s" % (
                plain.HOME, "mjs" if kind == "esm" else "cjs")
            argv = ["bash", "-c", BUNDLE % (path, kind, bundle, bundle), path]
        elif ending:
            argv = [INTERPRETERS[ending], path]
        else:
            argv = [path]
        return argv + self.options.get("args", [])

    def plainly(self, root):
        """Return: (how it ended, the files it left) on the plain Debian."""
        base = tempfile.mkdtemp(prefix="fsd-plain-")
        try:
            home = base + "/home"
            os.mkdir(home)
            self.fill(home)
            given = None
            if "stdin" in self.options:
                given = base + "/stdin"
                with open(given, "w") as f:
                    f.write(self.options["stdin"])
            elif os.path.exists(home + "/stdin"):
                given = base + "/stdin"
                os.rename(home + "/stdin", given)
            plain.own(home)
            before = files(home)
            ended = plain.run(root, home, self.argv(), stdin=given,
                              env=self.options.get("env"), seconds=SECONDS)
            after = files(home)
            return ended, {name: what for name, what in after.items()
                           if before.get(name) != what}
        finally:
            shutil.rmtree(base)


def files(directory):
    """name -> content or target of what lies there, but empty directories."""
    found = {}
    directory = os.fsencode(directory)
    for folder, folders, names in os.walk(directory):
        folders[:] = [f for f in folders if os.fsdecode(f) not in LEFT_OUT]
        links = [f for f in folders if os.path.islink(os.path.join(folder, f))]
        for name in names + links:
            path = os.path.join(folder, name)
            key = os.fsdecode(os.path.relpath(path, directory))
            if name.decode(errors="replace").split(".map")[0] in LEFT_OUT:
                continue
            if os.path.islink(path):
                found[key] = b"-> " + os.readlink(path)
            elif os.path.isfile(path):
                try:
                    with open(path, "rb") as f:
                        text = f.read()
                except PermissionError:
                    text = b"(unreadable)"
                found[key] = (b"(executable) " if os.stat(path).st_mode & 0o100
                              else b"") + text
    return found


def lines_of(ended, left, name):
    """All that is compared, as (what, bytes)."""
    parts = {"exit code": b"%d" % ended.code,
             "stdout": ended.stdout, "stderr": ended.stderr}
    for pattern, to in table.NORMALISE.get(name, ()):
        for stream in ("stdout", "stderr"):
            parts[stream] = re.sub(pattern.encode(), to.encode(),
                                   parts[stream])
    for path, text in left.items():
        parts["file " + ascii(path)] = text
    return parts


def differences(plainly, here):
    """Lines for people: what the plain Debian gave (-), and the machine (+)."""
    found = []
    for what in sorted({*plainly, *here}):
        wanted, got = plainly.get(what), here.get(what)
        if wanted == got:
            continue
        if wanted is None or got is None:
            found.append("%s: %s" % (what, "only on the plain Debian"
                                     if got is None else "only in the machine"))
            continue
        found.append("%s differs: - plain Debian, + machine" % what)
        found += list(difflib.unified_diff(
            as_lines(wanted), as_lines(got), lineterm="", n=1))[2:60]
    return found


def as_lines(text):
    return [line.decode("utf-8", "backslashreplace")
            for line in text.split(b"\n")]


def chosen(names, everything):
    for path in sorted(glob.glob(PROGRAMS + "/*/*")):
        name = os.path.relpath(path, PROGRAMS)
        if not os.path.isdir(path):
            name = os.path.splitext(name)[0]
        wanted = name in names or name.split("/")[0] in names
        if wanted or not names and (everything or name not in table.SLOW):
            yield Program(name, path)


class Report:
    def __init__(self, verbose):
        self.verbose = verbose
        self.count = self.failed = 0

    def row(self, program, plainly, here, used):
        self.count += 1
        found = differences(plainly, here)
        name, note, good = program.name, "", not found
        if name in table.DIFFERS:
            good, note = bool(found), " (differs: %s)" % table.DIFFERS[name]
            found = found or ["it does not differ any more: table.py is wrong"]
        elif found and name in table.OPEN and os.environ.get("STRICT") != "1":
            good, note = True, " # skip open: %s" % table.OPEN[name]
        self.failed += not good
        print("%s %d - %s: %s%s" % ("ok" if good else "not ok", self.count,
                                    name, program.sentence, note))
        if not good or self.verbose:
            for line in found:
                print("#   " + line)
        if self.verbose:
            print("#   %.2f s of its processor" % used)
            for what, text in here.items():
                print("#   = %s: %r" % (what, text[:2000]))
        sys.stdout.flush()


def in_machine(job, name, seconds):
    """What is compared of a job, and the seconds of its machine's processor."""
    if not job.wait(seconds):
        return {"no end": job.read("state") + job.read("log")}, 0
    if job.refused:
        return {"refused": job.refused.encode()}, 0
    if job.read("state") == b"refused\n":
        return {"refused": job.read("error")}, 0
    used = job.result()["usage"]
    return lines_of(job.ended(), files(job.path + "/output"), name), (
        (used["user_ms"] or 0) + (used["system_ms"] or 0)) / 1000


def run(mount, programs, report):
    root = plain.root()
    jobs = [mount.submit(p.name.replace("/", "-"), p.fill,
                         {k: v for k, v in p.config().items()
                          if k != "format"}) for p in programs]
    pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
    try:
        plainly = [pool.submit(p.plainly, root) for p in programs]
        for program, job, there in zip(programs, jobs, plainly):
            here, used = in_machine(job, program.name, ALL_SECONDS)
            report.row(program, lines_of(*there.result(), program.name), here,
                       used)
            job.remove()
    finally:
        pool.shutdown(cancel_futures=True)


def main(words):
    report = Report("-v" in words)
    programs = list(chosen([w for w in words if not w.startswith("-")],
                           "--all" in words))
    if not programs:
        sys.exit("same.py: there is no such program")
    machines.need_plain()
    # All at the same time would take a quarter more of the processors.
    with machines.Mount(*machines.MANY_JOBS) as mount:
        mount.forking()
        run(mount, programs, report)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print("# %.0f s of processors" % (used.ru_utime + used.ru_stime))
    print("1..%d" % report.count)
    sys.exit(1 if report.failed else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
