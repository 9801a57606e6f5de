#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Watchers of jobs by inotify, and who disturbs them.

watch.py NAME ARGUMENT... — the status is 0 if the check holds; otherwise a
sentence on standard error says what was found.
"""
import ctypes
import os
import select
import signal
import struct
import sys
import threading
import time

LIBC = ctypes.CDLL(None, use_errno=True)
SLOW = int(os.environ.get("SLOW", "1"))
PATIENCE = 20 * SLOW

MODIFY, CLOSE_WRITE, MOVED_TO = 0x2, 0x8, 0x80
CREATE, DELETE, DELETE_SELF = 0x100, 0x200, 0x400
UNMOUNT, OVERFLOW, IGNORED = 0x2000, 0x4000, 0x8000
NAMES = {MODIFY: "MODIFY", CLOSE_WRITE: "CLOSE_WRITE", MOVED_TO: "MOVED_TO",
         CREATE: "CREATE", DELETE: "DELETE", DELETE_SELF: "DELETE_SELF",
         UNMOUNT: "UNMOUNT", OVERFLOW: "OVERFLOW", IGNORED: "IGNORED"}
WANTED = MODIFY | CLOSE_WRITE | MOVED_TO | CREATE | DELETE | DELETE_SELF
RESULTS = ("stdout", "stderr", "output", "result.json", "exit_code")


def die(text):
    sys.stderr.write("watch: %s\n" % text)
    sys.exit(1)


class Watch:
    """Events as (path that is watched, what, name)."""

    def __init__(self):
        self.fd = LIBC.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        self.paths = {}
        self.ready = []

    def add(self, path):
        wd = LIBC.inotify_add_watch(self.fd, os.fsencode(path), WANTED)
        if wd < 0:
            die("%s: %s" % (path, os.strerror(ctypes.get_errno())))
        self.paths[wd] = path

    def _fill(self, end):
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        if not poll.poll(max(0, end - time.monotonic()) * 1000):
            return False
        data, at = os.read(self.fd, 1 << 20), 0
        while at < len(data):
            wd, mask, _, size = struct.unpack_from("iIII", data, at)
            name = data[at + 16:at + 16 + size].rstrip(b"\0").decode()
            at += 16 + size
            for bit, word in NAMES.items():
                if mask & bit:
                    self.ready.append((self.paths.get(wd), word, name))
        return True

    def next(self, seconds=PATIENCE):
        """The next event, or None."""
        end = time.monotonic() + seconds
        while not self.ready:
            if not self._fill(end):
                return None
        event = self.ready.pop(0)
        if event[1] == "OVERFLOW":
            die("the kernel's queue of events overflowed")
        return event

    def until(self, what, name, path=None):
        """All events up to this one."""
        seen = []
        while True:
            event = self.next()
            if event is None:
                die("no %s of %s after: %s" % (what, name, seen))
            seen.append(event)
            if event[1:] == (what, name) and path in (None, event[0]):
                return seen


def put(path, text):
    with open(path, "w") as f:
        f.write(text + "\n")


def start(job, program, config="{}"):
    put(job + "/code.sh", program)
    put(job + "/config.json", config)


def goes_on(job):
    """The program's `await` is over."""
    put(job + "/ctl", "signal USR1")


def show(events):
    for _, what, name in events:
        if name not in ("code.sh", "config.json"):
            print(what, name)


def job(path, program, runs="1"):
    """Runs it so often and prints what a watcher of its directory sees."""
    watch = Watch()
    os.mkdir(path)
    watch.add(path)
    for i in range(int(runs)):
        start(path, program.replace("\\n", "\n"))
        show(watch.until("CLOSE_WRITE", "exit_code"))
    for extra in iter(lambda: watch.next(0.1), None):
        die("%s came after exit_code" % (extra,))


def growth(path):
    """Each line is told of while the program runs."""
    watch = Watch()
    os.mkdir(path)
    watch.add(path)
    start(path, "out one\nawait\nout two\nawait\nerr three\nawait")
    seen = []
    for name, text in (("stdout", "one\n"), ("stdout", "one\ntwo\n"),
                       ("stderr", "three\n")):
        seen += watch.until("MODIFY", name)
        found = open(path + "/" + name).read()
        if not found.startswith(text):
            die("MODIFY came when %s had %r" % (name, found))
        goes_on(path)
    if ("CLOSE_WRITE", "stdout") in [e[1:] for e in seen]:
        die("stdout was closed while the program ran")
    show(seen + watch.until("CLOSE_WRITE", "exit_code"))


def ends_with_server(path, mnt):
    """The server dies under one job, and when another has just ended."""
    for name, program in (("-long", "out up\nsleep 600000"), ("-short", "exit 3")):
        watch = Watch()
        os.mkdir(path + name)
        watch.add(path + name)
        start(path + name, program)
        if name == "-long":
            with open(path + name + "/stdout.follow") as f:
                f.readline()
        else:
            open(path + name + "/wait").read()
        os.kill(int(os.getxattr(mnt, "user.fsd.pid")), signal.SIGKILL)
        watch.until("CLOSE_WRITE", "exit_code")


def one_file(path, name):
    """A watcher of a file that is there already."""
    watch = Watch()
    os.mkdir(path)
    start(path, "out one\nawait\nout two\nawait")
    with open(path + "/stdout.follow") as f:
        f.readline()
    watch.add(path + "/" + name)
    goes_on(path)
    watch.until("MODIFY", "")
    goes_on(path)
    watch.until("CLOSE_WRITE", "")


def states(path):
    """The state is there to be read when a watcher is told of it."""
    watch = Watch()
    os.mkdir(path)
    watch.add(path + "/state")
    start(path, "sleep 300")
    end = time.monotonic() + PATIENCE
    state = ""
    while state != "done\n":
        if watch.next() is None or time.monotonic() > end:
            die("the last state that was told is %r" % state)
        state = open(path + "/state").read()
    try:
        put(path + "/config.json", '{"nonsense": 1}')
    except OSError:
        pass  # the state says so, too
    while open(path + "/state").read() != "refused\n":
        watch.until("CLOSE_WRITE", "")


def children(pid, name):
    """Of a process, those of that name."""
    found = []
    try:
        for child in open("/proc/%s/task/%s/children" % (pid, pid)).read().split():
            if open("/proc/%s/comm" % child).read() == name + "\n":
                found.append(int(child))
    except OSError:
        pass  # one has ended
    return found


def helper_of(daemon):
    """The broker's child."""
    for broker in children(daemon, "fsd-broker"):
        for helper in children(broker, "fsd-notify"):
            if open("/proc/%d/stat" % helper).read().split()[2] != "Z":
                return helper
    return None


def helper(daemon):
    """Waits for it; prints its pid."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        pid = helper_of(daemon)
        if pid:
            print(pid)
            return
        select.select([], [], [], 0.01)
    die("there is no helper")


def killer(daemon, stop, killed):
    while len(killed) < 3 and not stop.wait(0.05):
        pid = helper_of(daemon)
        if pid:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)


def check_job(path, events, exact):
    names = [(what, name) for what, name in events]
    for name in RESULTS:
        made = names.count(("CREATE", name))
        closed = names.count(("CLOSE_WRITE", name))
        if made != 1:
            die("%s/%s was made %d times: %s" % (path, name, made, names))
        if name != "output" and (closed < 1 or (exact and closed != 1)):
            die("%s/%s was closed %d times" % (path, name, closed))
    order = [n for n in names if n[0] == "CREATE" and n[1] in RESULTS]
    if order[-1] != ("CREATE", "exit_code"):
        die("%s: exit_code is not the last one: %s" % (path, order))


def many(mnt, count, daemon=None):
    """Jobs in parallel; with a daemon its helper is killed now and then."""
    watch, seen = Watch(), {}
    stop, killed = threading.Event(), []
    paths = ["%s/j%d" % (mnt, i) for i in range(int(count))]
    for path in paths:
        os.mkdir(path)
        watch.add(path)
        seen[path] = []

    def submit():
        for path in paths:
            start(path, "out x\nwrite f y\nsleep 20\nerr z")

    threads = [threading.Thread(target=submit, daemon=True)]
    if daemon:
        threads.append(threading.Thread(target=killer, daemon=True,
                                        args=(daemon, stop, killed)))
    for t in threads:
        t.start()
    left = set(paths)
    while left:
        event = watch.next()
        if event is None:
            die("no exit_code of %d jobs, as %s: %s" % (
                len(left), min(left), seen[min(left)]))
        seen[event[0]].append(event[1:])
        if event[1:] == ("CLOSE_WRITE", "exit_code"):
            left.discard(event[0])
    stop.set()
    for t in threads:
        t.join()
    for path in paths:
        check_job(path, seen[path], not daemon)
    if daemon and not killed:
        die("there was no helper to kill")


def unmount(mnt, count):
    """Jobs are being told of when the mount is taken away by hand."""
    watch = Watch()
    for i in range(int(count)):
        os.mkdir("%s/j%d" % (mnt, i))
        watch.add("%s/j%d" % (mnt, i))
    for i in range(int(count)):
        start("%s/j%d" % (mnt, i), "out x")
    watch.until("CREATE", "exit_code")
    libc_umount = LIBC.umount2(os.fsencode(mnt), 0)
    if libc_umount < 0:
        die("umount: %s" % os.strerror(ctypes.get_errno()))
    while watch.next()[1] != "UNMOUNT":
        pass


def last(path, *command):
    """The command ends the daemon when its last job has ended."""
    watch = Watch()
    os.mkdir(path)
    watch.add(path)
    start(path, "out one\nsleep 200")
    watch.until("CREATE", "stdout")
    if os.spawnvp(os.P_WAIT, command[0], command) != 0:
        die("%s failed" % (command,))
    watch.until("CLOSE_WRITE", "exit_code")
    watch.until("UNMOUNT", "")


def removed(path, helper):
    """A second run's exit_code is removed before the helper has told of it;
    the helper is one that hangs meanwhile."""
    watch = Watch()
    watch.add(path)
    os.kill(int(helper), signal.SIGSTOP)
    start(path, "out x")
    open(path + "/wait").read()
    os.unlink(path + "/exit_code")
    os.kill(int(helper), signal.SIGCONT)
    seen = [e[1:] for e in watch.until("CLOSE_WRITE", "state")]
    seen += [e[1:] for e in iter(lambda: watch.next(0.3), None)]
    if seen.count(("DELETE", "exit_code")) != 1:
        die("exit_code did not go once: %s" % seen)
    if ("CREATE", "exit_code") in seen:
        die("exit_code was made after it was removed: %s" % seen)
    if ("CLOSE_WRITE", "result.json") not in seen:
        die("the rest was not told: %s" % seen)


CHECKS = {"job": job, "removed": removed, "growth": growth, "one-file": one_file,
          "states": states, "helper": helper, "many": many,
          "unmount": unmount, "last": last,
          "ends-with-server": ends_with_server}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in CHECKS:
        die("there is no check %r" % sys.argv[1:2])
    signal.alarm(55 * SLOW)
    CHECKS[sys.argv[1]](*sys.argv[2:])
