#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs of several classes of machines, in turn, on a mount.

classes.py MNT COUNT CLASS CONFIG [CLASS CONFIG]... — runs COUNT jobs, one after
the other. CLASS is a label of .fsd/stats, CONFIG the config.json of its jobs.
Before each job it reads how many machines of the class are idle, and what all
idle machines and zygotes take. Prints a JSON object:

  passed_over  jobs that were restored although their class had an idle machine
  warm         jobs that found one
  over         looks at which the budget did not hold
  most, limit  bytes: the largest sum that was seen, the budget
  real         bytes: the largest sum of anonymous memory that the kernel
               told of the idle processes (0: it may not be read)

Exit code 1: passed_over or over is not 0, or a job failed.
"""
import json
import os
import re
import shutil
import sys


def figures(mnt):
    with open(mnt + "/.fsd/stats") as f:
        return dict(re.findall(r"(?m)^([a-z_]+(?:\{.*?\})?) (\d+)$", f.read()))


def children(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            return [int(p) for p in f.read().split()]
    except OSError:
        return []


def anonymous(pid):
    """Bytes of it and all below it, each page divided by those that share it."""
    total = 0
    for child in children(pid):
        total += anonymous(child)
        try:
            with open("/proc/%d/comm" % child) as f:
                if not re.match("qemu|fsd-zygote", f.read()):
                    continue
            with open("/proc/%d/smaps_rollup" % child) as f:
                total += 1024 * int(re.search(r"Pss_Anon: +(\d+)", f.read())[1])
        except (OSError, TypeError):
            pass  # it has ended
    return total


def run(mnt, name, config):
    job = os.path.join(mnt, name)
    os.mkdir(job)
    # Lines that a fake machine takes as well.
    for file, text in (("code.sh", "exit 0\n"), ("config.json", config)):
        with open(os.path.join(job, file), "w") as f:
            f.write(text)
    with open(os.path.join(job, "wait")) as f:
        code = f.read()
    if code != "0\n":
        sys.exit("classes: %s: exit code %r" % (job, code))
    with open(os.path.join(job, "result.json")) as f:
        source = json.load(f)["machine"]["source"]
    shutil.rmtree(job)
    return source


def main():
    mnt, count = sys.argv[1], int(sys.argv[2])
    kinds = list(zip(sys.argv[3::2], sys.argv[4::2]))
    server = int(os.getxattr(mnt, "user.fsd.pid"))
    found = {"passed_over": 0, "warm": 0, "over": 0, "most": 0, "limit": 0,
             "real": 0}
    for i in range(count):
        label, config = kinds[i % len(kinds)]
        now = figures(mnt)
        used, limit = (int(now["fsd_idle_memory_%s" % s])
                       for s in ("bytes", "limit_bytes"))
        idle = int(now.get('fsd_idle_machines{class="%s"}' % label, 0))
        found["over"] += used > limit
        found["most"] = max(found["most"], used)
        found["limit"] = limit
        found["real"] = max(found["real"], anonymous(server))
        warm = run(mnt, "classes-%d" % i, config) == "warm"
        found["warm"] += warm
        found["passed_over"] += idle > 0 and not warm
    print(json.dumps(found))
    sys.exit(1 if found["passed_over"] or found["over"] else 0)


if __name__ == "__main__":
    main()
