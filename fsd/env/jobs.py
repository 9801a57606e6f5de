# SPDX-License-Identifier: Apache-2.0
"""Runs one job of a build through a private mount, as `fsd run` does."""
import json
import os
import shutil
import tempfile

from problem import Problem, child

FSD = os.environ.get("FSD_PROGRAM", "fsd")
HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = next((path for path in (os.path.join(HERE, "../../guest/environment"),
                                   os.path.join(HERE, "guest"))
                 if os.path.isdir(path)), HERE)
SECONDS = 3600
OUTPUT = 4 << 30
SAID = 8192  # bytes of standard error, the last ones


def half_of_host():
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return pages // 2 >> 20


def processors():
    return len(os.sched_getaffinity(0))


def run(place, program, files, memory, cpus, on_line, environment=None, places=None,
        passing=True):
    """Runs the program (a path) with files {name in the job: path}; on_line gets
    each line that it prints. places: where the environment is; passing: it is gone
    when this is over, and the program has a #!. Return: the directory of its output/.

    place: a directory of our own, which is emptied. Links, not copies: what is
    copied into the mount is the file behind it."""
    job, out = os.path.join(place, "job"), os.path.join(place, "out")
    for path in (job, out, os.path.join(place, "state")):
        shutil.rmtree(path, ignore_errors=True)
    os.makedirs(job)
    os.makedirs(os.path.join(place, "state"))
    passing = passing and bool(places)
    shutil.copyfile(program, os.path.join(job, "code" if passing else "code.py"))
    for name, path in files.items():
        try:
            os.link(path, os.path.join(job, name))
        except OSError:
            shutil.copyfile(path, os.path.join(job, name))
    config = {"timeout": SECONDS, "memory_mb": memory, "cpus": cpus,
              "output_limit": OUTPUT}
    if environment:
        config["environment"] = environment
    with open(os.path.join(job, "config.json"), "w", encoding="utf-8") as f:
        json.dump(config, f)
    env = dict(os.environ)
    if places:
        env["FSD_ENVIRONMENTS"] = places
    if passing:
        # so is its template, whose machine runs nothing else
        # (fsd/cli/private_holder.c)
        env["FSD_PASSING"] = os.path.join(place, "state")
    failed = None
    # its standard error is a file: the pipe of one that nobody reads would fill
    with tempfile.TemporaryFile() as errors, \
            child([FSD, "run", "--private", "-C", job, "-o", out], env=env,
                  stderr=errors, text=True, errors="replace") as running:
        for line in running.stdout:
            if line.startswith("failed: "):
                failed = line[8:].strip()
            else:
                on_line(line.rstrip("\n"))
        running.wait()
        said = end_of(errors)
    shutil.rmtree(job, ignore_errors=True)
    if failed:
        raise Problem(failed)
    if running.returncode:
        raise Problem("the job that makes the layer failed: %s" %
                      reason(out, said))
    return os.path.join(out, "output")


def end_of(file):
    file.seek(max(0, file.seek(0, os.SEEK_END) - SAID))
    return file.read().decode("utf-8", "replace")


def reason(out, said):
    try:
        with open(os.path.join(out, "result.json"), encoding="utf-8") as f:
            status = json.load(f).get("status")
        if status == "out_of_memory":
            return "its machine's memory was too small for all the packages"
        if status == "timeout":
            return "it took more than %d seconds" % SECONDS
    except (OSError, ValueError):
        pass
    lines = [line for line in said.split("\n") if line.strip()]
    return "; ".join(lines[-2:]) or "it said nothing"
