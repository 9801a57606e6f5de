#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gate.py PID STATE RULE... - stops a server in the middle of a system call on
its state directory, for as long as a test wants to look at it.

Each RULE waits for its turn, and then for the first call of that name (as in
fault/tracer.py) on a file whose path below STATE matches PATTERN:

    fail:ERRNO:CALL:PATTERN   the call is not made and gives that errno
    hold:CALL:PATTERN         its thread stops before it: "held" is printed

A line on standard input lets the held one go on: "go", or an errno's name that
it gives instead. At the end of standard input all go on, and nobody is traced
any more. "ready" is printed when PID is."""
import errno
import fnmatch
import os
import select
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../fault"))
import tracer  # noqa: E402


class Gate(tracer.Tracer):
    def __init__(self, pid, below, rules):
        super().__init__(pid, below, tracer.Plan(), 1, 0, False)
        self.rules = [rule.split(":") for rule in rules]
        self.held = None

    def fail(self, t, number):
        tracer.ptrace(tracer.POKEUSER, t.tid, tracer.ORIG_RAX,
                      tracer.ctypes.c_ulong(-1).value)
        t.fails = number

    def on_entry(self, t, number, args):
        name = tracer.BY_NUMBER.get(number)
        if not self.rules or name != self.rules[0][-2]:
            return
        pattern = self.below + b"/" + self.rules[0][-1].encode()
        if not any(fnmatch.fnmatchcase(self.where(t, how, args), pattern)
                   for how in tracer.CALLS[name][1]):
            return
        rule = self.rules.pop(0)
        if rule[0] == "fail":
            self.fail(t, getattr(errno, rule[1]))
        else:
            self.held = t
            print("held", flush=True)

    def on_exit(self, t, result):
        if t.fails:
            tracer.ptrace(tracer.POKEUSER, t.tid, tracer.RAX,
                          tracer.ctypes.c_ulong(-t.fails).value)
            t.fails = 0

    def on_stop(self, t, status):
        before = self.held
        sig = super().on_stop(t, status)
        return None if self.held is t and before is not t else sig

    def go(self, word):
        t, self.held = self.held, None
        if t and word != "go":
            self.fail(t, getattr(errno, word))
        try:
            if t:
                tracer.ptrace(tracer.SYSCALL, t.tid, 0, 0)
        except ProcessLookupError:
            pass  # it was killed where it was held

    def run(self):
        self.attach()
        wake, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(waker)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        print("ready", flush=True)
        while self.threads:
            tid, status = os.waitpid(-1, tracer.WALL | os.WNOHANG)
            if tid:
                self.step(tid, status)
                continue
            ready, _, _ = select.select([wake, 0], [], [], 1)
            if wake in ready:
                os.read(wake, 4096)
            elif ready:
                line = os.read(0, 100).decode()
                self.go(line.strip() or "go")
                if not line:
                    self.rules = []
                    self.detach()
                    return


Gate(int(sys.argv[1]), os.path.realpath(sys.argv[2]), sys.argv[3:]).run()
