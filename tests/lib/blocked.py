#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""blocked.py PID - how long the main thread of a process waits at a time for
anything but its own epoll.

Looks at it every 0.4 ms until SIGINT or SIGTERM, then prints a line of JSON:
{"ms": the longest wait, "where": the system call's number and what it was on,
"looks": how often it looked, "gap_ms": the longest time between two looks}.
A thread that runs, or would if it had a processor, does not wait. A wait counts
from the first look that sees it to the last. Needs the right to trace PID."""
import json
import os
import signal
import sys
import time

LOOK_S = 0.0004
EPOLL = {"232", "281", "441"}  # epoll_wait, _pwait, _pwait2 on x86-64


class Thread:
    def __init__(self, pid):
        base = "/proc/%d/task/%d/" % (pid, pid)
        self.pid = pid
        self.stat = os.open(base + "stat", os.O_RDONLY)
        self.call = os.open(base + "syscall", os.O_RDONLY)

    def waits(self):
        """The system call it waits in, as text, or None."""
        text = os.pread(self.stat, 512, 0)
        if text[text.rindex(b")") + 2:][:1] not in b"SD":
            return None
        call = os.pread(self.call, 256, 0).decode().split()
        if call[0] in EPOLL or call[0] == "running":
            return None
        return " ".join(call[:2])

    def name(self, call):
        number, _, first = call.partition(" ")
        try:
            on = os.readlink("/proc/%d/fd/%d" % (self.pid, int(first, 16)))
        except (OSError, ValueError):
            on = first
        return "call %s on %s" % (number, on)


def main():
    thread = Thread(int(sys.argv[1]))
    over = []
    for sig in signal.SIGINT, signal.SIGTERM:
        signal.signal(sig, lambda *_: over.append(True))
    try:  # it must not lose its processor to those it looks at
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    longest, where, looks, gap = 0.0, None, 0, 0.0
    since, inside, last = 0.0, None, time.monotonic()
    print("looking", flush=True)
    while not over:
        try:
            call = thread.waits()
        except OSError:
            break  # it has ended
        now = time.monotonic()
        gap, last, looks = max(gap, now - last), now, looks + 1
        if call != inside:
            inside, since = call, now
        elif call and now - since > longest:
            longest, where = now - since, thread.name(call)
        time.sleep(LOOK_S)
    print(json.dumps({"ms": round(longest * 1000, 2), "where": where,
                      "looks": looks, "gap_ms": round(gap * 1000, 2)}))


if __name__ == "__main__":
    main()
