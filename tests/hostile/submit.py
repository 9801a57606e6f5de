#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""submit.py MNT OUT: runs every group of table.py as jobs in MNT and writes to
OUT/GROUP a line "name<TAB>outcome" for each row; what a job said beside that
is in OUT/GROUP.failed."""
import concurrent.futures
import json
import os
import re
import shutil
import stat
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import table  # noqa: E402

RAW = os.path.join(HERE, "../../build/hostile/raw")
SLOW = int(os.environ.get("SLOW", "1"))  # the lanes share the processors
SECONDS = {"timeout": 110 * SLOW}
LIMITS = {"processes": 64, "memory_mb": 640}  # see limits.py
SETTLED_S = 30  # for what happens right after a job's end


class Job:
    def __init__(self, mnt, name, files, config):
        self.name, self.path = name, os.path.join(mnt, name)
        os.mkdir(self.path)
        for file, text in files.items():
            path = os.path.join(self.path, file)
            if isinstance(text, bytes):
                with open(path, "wb") as f:
                    f.write(text)
            else:
                shutil.copy(os.path.join(HERE, text[0]), path)
        config = {"inputs": [f for f in files if not f.startswith("code.")],
                  **config}
        with open(self.path + "/config.json", "w") as f:
            json.dump(config, f)

    def read(self, name):
        with open(os.path.join(self.path, name), errors="replace") as f:
            return f.read()

    def wait(self):
        self.read("wait")
        self.result = json.loads(self.read("result.json"))
        return self

    def end(self):
        return "%d %s %s %s" % (
            self.result["exit_code"], self.result["status"],
            json.dumps(self.result["value"]),
            self.read("stdout").strip() or "-")

    def output(self, name):
        return os.path.join(self.path, "output", name)


def lstat(job, name):
    try:
        return os.lstat(job.output(name))
    except FileNotFoundError:
        return None


def absent(name):
    return lambda job: "present" if lstat(job, name) else "absent"


def content(name):
    return lambda job: job.read("output/" + name)


def mode(name):
    return lambda job: "%o" % stat.S_IMODE(lstat(job, name).st_mode)


def kinds(job):
    for folder, folders, files in os.walk(job.output("")):
        for name in folders + files:
            kind = os.lstat(os.path.join(folder, name)).st_mode
            if stat.S_ISLNK(kind) and os.readlink(
                    os.path.join(folder, name)) in ("loop", "plain"):
                continue
            if not stat.S_ISDIR(kind) and not stat.S_ISREG(kind):
                return name
    return "only those"


ORDINARY = {"plain", "twin", "was", "set-uid", "set-gid", "unreadable",
            "locked", "deep", "loop", "alias", "exit_code", "result.json",
            "n" * 255}


def odd_names(job):
    names = {n for n in os.listdir(job.output("")) if n.isprintable()}
    names -= ORDINARY
    return " ".join(sorted(n.replace(" ", "_") for n in names))


def bad_names(job):
    return sum(not n.isprintable() for n in os.listdir(job.output(""))) or \
        "none"


def depth(job):
    return max(p["path"].count("/") + 1 for p in job.result["output"])


OUTPUTS = {
    "end": Job.end,
    "kinds": kinds,
    "plain": content("plain"),
    "twin": content("twin"),
    "odd names": odd_names,
    "long name": lambda job: "there" if lstat(job, "n" * 255) else "absent",
    "bad names": bad_names,
    "was": content("was/inside"),
    "set-uid": mode("set-uid"),
    "set-gid": mode("set-gid"),
    "unreadable": mode("unreadable"),
    "locked": mode("locked"),
    "depth": depth,
    "exit_code": lambda job: "%s %s" % (content("exit_code")(job),
                                        job.read("exit_code").strip()),
    "loop": lambda job: os.readlink(job.output("loop")),
    "alias": content("alias"),
    "dropped": lambda job: job.result["output_dropped"],
}


class Results:
    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder)

    def put(self, group, text, words=""):
        with open(os.path.join(self.folder, group), "a") as f:
            f.write(text)
        with open(os.path.join(self.folder, group + ".failed"), "a") as f:
            f.write(words)

    def put_row(self, group, name, outcome):
        self.put(group, "%s\t%s\n" % (name, outcome))


def run_all(mnt):
    """Return: {group: job} and {end's name: job}; all have ended. Few run at a
    time: more machines than processors only take more of these."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() + 1) as pool:
        def run(*job):
            return pool.submit(lambda: Job(mnt, *job).wait())

        # The longest first.
        jobs = {"limits": run("limits", {
            "code.py": ["limits.py"], "hostile.py": ["hostile.py"]},
            {**SECONDS, **LIMITS})}
        jobs["node"] = run("node", {"code.js": ["works.js"]}, SECONDS)
        jobs["raw"] = run("raw", {"code.sh": b"exec ./raw\n",
                                  "raw": [RAW]}, SECONDS)
        jobs["shell"] = run("shell", {"code.sh": ["works.sh"]}, SECONDS)
        for group in ("works", "calls", "paths", "rights"):
            jobs[group] = run(group, {
                "code.py": [group + ".py"], "hostile.py": ["hostile.py"]},
                SECONDS)
        jobs["output"] = run("output", {"code.py": ["litter.py"]}, SECONDS)
        ends = {}
        for i, (name, _, _, text, config) in enumerate(table.ENDS):
            config = {"timeout": 60 * SLOW, **config}
            file = "code.sh" if config.pop("language", "") else "code.py"
            ends[name] = run("end-%d" % i, {file: text.encode()}, config)
        return tuple({name: job.result() for name, job in started.items()}
                     for started in (jobs, ends))


def output_rows(job, results):
    for name, _, good in table.OUTPUT:
        look = OUTPUTS.get(name) or absent(name)
        try:
            got = look(job)
        except (OSError, AttributeError) as e:
            got = repr(e)
        results.put_row("output", name, got)


def leased(mnt):
    """Machines with a job, when that number has had time to become none."""
    end = time.monotonic() + SETTLED_S
    while True:
        with open(mnt + "/.fsd/stats") as f:
            count = int(re.search(r"^fsd_machines_in_use (\d+)", f.read(),
                                  re.M)[1])
        if not count or time.monotonic() > end:
            return count


def main(mnt, folder):
    results = Results(folder)
    jobs, ends = run_all(mnt)
    for group, job in jobs.items():
        words = "%s\n%s" % (job.end().split(" -")[0][:300],
                            job.read("stderr"))
        if group == "output":
            output_rows(job, results)
        else:
            results.put(group, job.read("stdout"), words)
    for name, job in ends.items():
        results.put_row("ends", name, job.end())
    many = ends["many files"].result
    results.put_row("after", "many", sum(
        p["path"].startswith("many/") for p in many["output"]))
    results.put_row("after", "many dropped", many["output_dropped"])
    results.put_row("after", "leased", leased(mnt))
    with open(mnt + "/.fsd/health") as f:
        results.put_row("after", "health", f.read().split(" (")[0].strip())
    for job in [*jobs.values(), *ends.values()]:
        shutil.rmtree(job.path)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
