#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ends machines from outside, as an operator or the kernel may.

killer.py JAILER COUNT SIGNAL COMMAND... — runs the command; the next COUNT
machines get the signal as soon as they are there.
"""
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

SECONDS = 60 * float(os.environ.get("SLOW", "1"))


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return {int(child) for child in f.read().split()}


def main(jailer, count, name, command):
    old, hit, left = children(jailer), set(), set()
    subprocess.run(command, check=True)
    end, pause = time.monotonic() + SECONDS, threading.Event()
    while len(hit) < count or left:
        if time.monotonic() > end:
            sys.exit("only %d machines were started in time" % len(hit))
        now = children(jailer) - old
        left = now & hit
        if len(hit) < count:
            left |= now
        # again and again: one that is still on its way to be QEMU obeys none
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.Signals["SIG" + name])
                hit.add(pid)
        pause.wait(0.001)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:])
