#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""many_jobs.py STATE COUNT [done|queued|refused|draft] - a state directory
that already holds so many jobs, written as fsd/store/store.h says. For what takes too
long through a mount."""
import os
import sys

META = """format 3
uid %d
gid %d
mode 755
state %s
run %d
exit_code 0
created %d
changed %d
queued %d
ended %d
attempt %d
retry 0
retain 0
held 0
name j%d
"""
BASE = 0x0600000000000  # what store_next_no() gave years ago


def job(jobs, i, state):
    place = "%s/%014x" % (jobs, BASE + i)
    ran = state == "done"
    accepted = ran or state == "queued"
    config = '{"nope": 1}' if state == "refused" else "{}"
    os.makedirs(place + "/files", 0o700)
    if ran:
        os.mkdir(place + "/r1", 0o700)
        with open(place + "/r1/stdout", "w") as f:
            f.write("j%d\n" % i)
        with open(place + "/r1/result.json", "w") as f:
            f.write('{"schema": 1}\n')
    with open(place + "/files/code.sh", "w") as f:
        f.write("out j%d\n" % i)
    if state != "draft":
        with open(place + "/files/config.json", "w") as f:
            f.write(config)
    now = (BASE + i) * 1000
    meta = META % (os.getuid(), os.getgid(), state, accepted, now, now,
                   (BASE + i) * accepted, now * ran, accepted, i)
    with open(place + "/meta", "w") as f:
        f.write(meta.ljust(512, "\n"))


def main():
    state, count = sys.argv[1], int(sys.argv[2])
    kind = sys.argv[3] if len(sys.argv) > 3 else "done"
    os.makedirs(state + "/jobs", 0o700, exist_ok=True)
    with open(state + "/format", "w") as f:
        f.write("format 3\n")
    for i in range(count):
        job(state + "/jobs", i, kind)


main()
