# SPDX-License-Identifier: Apache-2.0
"""Makes a wheel of sources: a job in the environment "builder", without a network.

The sources' own code runs here, with a compiler, and can at worst spoil this
machine and its wheel.
"""
import json
import os
import subprocess
import sys


def words_of(text):
    found = [line.strip() for line in text.split("\n") if line.strip()]
    errors = [line for line in found if "rror" in line and
              not line.startswith(("note:", "hint:", "×", "╰"))]
    return "; ".join((errors or found)[-2:])[:400] or "it said nothing"


def main():
    os.umask(0o022)
    with open("plan.json", encoding="utf-8") as f:
        plan = json.load(f)
    # Its name says what it is.
    os.makedirs("/tmp/sdist")
    path = "/tmp/sdist/" + os.path.basename(plan["name"])
    os.symlink(os.path.abspath(plan["file"]), path)
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-index", "--no-deps",
         "--no-build-isolation", "--no-cache-dir", "--disable-pip-version-check",
         "--quiet", "-w", os.path.abspath("wheels"), path],
        env={**os.environ, "SOURCE_DATE_EPOCH": str(plan["epoch"]),
             "PYTHONHASHSEED": "0", "HOME": "/tmp", "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode:
        print("failed: %s: no wheel can be made of it: %s" %
              (plan["name"], words_of(done.stdout)), flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
