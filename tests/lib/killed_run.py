#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Kills `fsd run` at its system calls, and prints what the user's files are then.

killed_run.py HOW FSD ARGUMENT...   `FSD run ARGUMENT...` in this directory

A first run is whole, and says which calls concern the files. Then it is killed at these
calls, at some 40 of them and at each rename. Before each run HOW puts the files into their
old state.

  fresh     -o results: there is none. Prints "none" and "whole"
  replaced  --replace -o results: it has old results. Prints "old", "new" and, where the
            filesystem cannot exchange directories, "away": then the next run must have
            put the old results back
  got       -g a.out -g sub/b.out -g dir: all are old. Prints the states in this order,
            "new-old-old" for example
Whatever else is there is printed with its name, but for directories of killed runs. The
last run must have removed these.
"""
import os
import shutil
import subprocess
import sys

HOW, FSD, *ARGUMENTS = sys.argv[1:]
CALLS = "file,write,fchmod"
# Who is traced cannot look for leaks.
TRACED = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") +
              ":detect_leaks=0")
RENAMES = "rename,renameat,renameat2"
WHOLE = ["exit_code", "output", "result.json", "stderr", "stdout"]
FILES = ["a.out", "sub/b.out", "dir"]
MARKS = {"fresh": ["results"], "replaced": ["results"],
         "got": ["a.out", "b.out", "/dir"]}[HOW]


def read(path):
    with open(path) as f:
        return f.read().strip()


def make_results(text):
    os.makedirs("results/output/b")
    for name in WHOLE:
        if name != "output":
            put("results/" + name, text)
    put("results/output/b/c", text)


def put(path, text):
    with open(path, "w") as f:
        f.write(text + "\n")


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)


def prepare():
    for name in ["results", *FILES]:
        remove(name)
    if HOW == "replaced":
        make_results("old")
    if HOW == "got":
        os.makedirs("sub", exist_ok=True)
        put("a.out", "old")
        put("sub/b.out", "old")
        os.makedirs("dir/deep")
        put("dir/deep/x", "old")
        put("dir/gone", "old")


def results():
    if not os.path.lexists("results"):
        return "none"
    if sorted(os.listdir("results")) != WHOLE:
        return str(sorted(os.listdir("results")))
    if HOW == "fresh":
        return "whole" if read("results/output/b/c") == "text" else "a part"
    found = {read("results/stdout"), read("results/output/b/c")}
    return {"old": "old", "new": "new"}.get(found.pop(), "odd") if len(found) == 1 \
        else str(found)


def tree(path):
    """{path below: its text}."""
    found = {}
    for folder, _, names in os.walk(path):
        for name in names:
            whole = os.path.join(folder, name)
            found[os.path.relpath(whole, path)] = read(whole)
    return found


def got():
    states = []
    for name in FILES[:2]:
        states.append(read(name) if os.path.isfile(name) else "none")
    states.append({(("deep/x", "old"), ("gone", "old")): "old",
                   (("deep/x", "new"), ("made", "new")): "new", (): "away"}
                  .get(tuple(sorted(tree("dir").items())), str(tree("dir"))))
    return "-".join(states)


def run(*options, may_fail=True):
    prepare()
    subprocess.run(["strace", "-y", "-o", "/dev/fd/9", "-e", "trace=" + CALLS, *options,
                    FSD, "run", *ARGUMENTS],
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=not may_fail, pass_fds=[9],
                   env=TRACED)
    return got() if HOW == "got" else results()


def put_back():
    """A run that is refused cleans all the same."""
    subprocess.run([FSD, "run", "-t", "0", *ARGUMENTS], stdin=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False)
    state = got() if HOW == "got" else results()
    return state.replace("old", "back")


def others():
    """Names that no run should leave."""
    for folder, folders, names in os.walk("."):
        for name in folders + names:
            if ".fsd-" in name:
                yield os.path.join(folder, name)


def main():
    log = os.memfd_create("calls")
    os.dup2(log, 9)
    seen = {run(may_fail=False)}
    os.lseek(9, 0, os.SEEK_SET)
    with open(os.dup(9)) as f:
        lines = list(enumerate(f, 1))
    made = [n for n, line in lines if any(mark in line for mark in MARKS)]
    renames = sum(line.startswith("rename") for _, line in lines)
    assert len(made) > 15, made
    os.dup2(os.open("/dev/null", os.O_WRONLY), 9)
    step = 1 + len(made) // 30
    # A run that cleans has more calls before these, so renames have numbers of their own.
    for calls, n in [*((CALLS, n) for n in [*made[::step], made[-1], made[-1] + 1]),
                     *((RENAMES, n + 1) for n in range(renames + 1))]:
        state = run("-e", "inject=%s:signal=KILL:when=%d" % (calls, n))
        seen.add(state)
        if HOW != "fresh" and ("none" in state or "away" in state):
            seen.remove(state)
            seen.add(state.replace("none", "away") + ", then " + put_back())
    seen.add(run(may_fail=False))
    print(*sorted({*seen, *others()}), sep="\n")


main()
