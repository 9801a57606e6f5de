#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""neighbour.py MNT [ATTACK...] - how others fare beside a program that takes
what it can get.

For each attack: the median time of a small job when it is quiet, then while
the attack runs in a machine of its own. Prints a line each; fails when a
neighbour's job goes wrong or takes WORST times as long and SLACK.
"""
import os
import shutil
import statistics
import sys
import time

JOBS = int(os.environ.get("NEIGHBOUR_JOBS", "7"))
WORST = 8.0  # times as long as when it is quiet, and
SLACK = 300  # ms, for whatever else the host does
SECONDS = 60

UP = "import os, sys, time\nprint('up', flush=True)\n"
ATTACKS = {
    "spin": UP + "while True: pass\n",
    "fork-bomb": UP + """
while True:
    try:
        if os.fork() == 0:
            continue
    except OSError:
        pass
""",
    "thread-bomb": UP + """
import threading
while True:
    try:
        threading.Thread(target=time.sleep, args=(600,)).start()
    except RuntimeError:
        pass
""",
    # it is killed for it; until then it takes what there is
    "memory": UP + """
held = []
if os.fork():
    while True: time.sleep(600)
while True:
    try: held.append(bytearray(1 << 20))
    except MemoryError: pass
""",
    "tmp-full": UP + """
with open('/tmp/x', 'wb', 0) as f:
    while True:
        try: f.write(bytes(1 << 20))
        except OSError: f.seek(0)
""",
    "inodes": UP + """
n = 0
while True:
    n += 1
    try: open('/tmp/%d' % n, 'w').close()
    except OSError: time.sleep(0.01)
""",
    "flood": UP + """
while True: sys.stdout.buffer.write(b'x' * 65536)
""",
    "flood-of-lines": UP + """
while True: os.write(1, b'x\\n'); os.write(2, b'y\\n')
""",
    # these bite when the program has ended and its tree is collected
    "many-files": UP + """
for n in range(60000): open('f%d' % n, 'w').close()
""",
    "deep-tree": UP + """
for n in range(3000):
    os.mkdir('d'); os.chdir('d')
""",
    "sparse-file": UP + """
with open('big', 'wb') as f: f.truncate(1 << 40)
""",
}
ATTACK_CONFIG = '{"timeout": 100, "stdout_limit": 4294967296}'


def submit(mnt, name, code, config="{}"):
    job = os.path.join(mnt, name)
    os.mkdir(job)
    with open(os.path.join(job, "code.py"), "w") as f:
        f.write(code)
    with open(os.path.join(job, "config.json"), "w") as f:
        f.write(config)
    return job


def small_job(mnt, name):
    """Its time in ms, from mkdir to its exit code."""
    start = time.monotonic()
    job = submit(mnt, name, "print(6 * 7)\n")
    with open(os.path.join(job, "wait")) as f:
        code = f.read()
    with open(os.path.join(job, "stdout")) as f:
        out = f.read()
    spent = (time.monotonic() - start) * 1000
    shutil.rmtree(job)
    if (code, out) != ("0\n", "42\n"):
        sys.exit("a neighbour ended with %r and said %r" % (code, out))
    return spent


def some_jobs(mnt, name):
    times = []
    for n in range(JOBS):
        times.append(small_job(mnt, "%s.%d" % (name, n)))
        # as people do: not all at once
        time.sleep(0.3)
    return statistics.median(times), max(times)


def beside(mnt, attack):
    quiet, _ = some_jobs(mnt, "quiet")
    job = submit(mnt, "attack", ATTACKS[attack], ATTACK_CONFIG)
    with open(os.path.join(job, "stdout.follow")) as f:
        if f.read(3) != "up\n":
            sys.exit("the attack did not begin")
    median, worst = some_jobs(mnt, "beside")
    shutil.rmtree(job)
    print("%-16s quiet %4.0f ms, beside it %4.0f ms = %.1f x, worst %4.0f ms" %
          (attack, quiet, median, median / quiet, worst), flush=True)
    return median > WORST * quiet + SLACK


def main():
    mnt, chosen = sys.argv[1], sys.argv[2:] or list(ATTACKS)
    bad = [a for a in chosen if beside(mnt, a)]
    if bad:
        sys.exit("others wait too long beside " + ", ".join(bad))


main()
