#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What several users of one mount can do to each other, and what it costs.

people.py NAME ARGUMENT... — as check.py. Runs as root and acts as others.
"""
import errno
import os
import random
import re
import signal
import stat
import sys

import runpy
import select

base = runpy.run_path(os.path.dirname(os.path.abspath(__file__)) + "/check.py")
CHECKS, check, die = {}, base["check"], base["die"]
expect, put, get = base["expect"], base["put"], base["get"]
CHECKS = base["CHECKS"]
OTHER = 65534


class As:
    """with As(uid): what follows is that user's."""

    def __init__(self, uid):
        self.uid = uid

    def __enter__(self):
        os.setegid(self.uid)
        os.seteuid(self.uid)

    def __exit__(self, *unused):
        os.seteuid(0)
        os.setegid(0)


def outcome(fn):
    try:
        fn()
    except OSError as e:
        return errno.errorcode[e.errno]
    return "0"


def run_job(job, program):
    os.mkdir(job)
    put(job + "/code.sh", program)
    put(job + "/config.json", b"{}")
    expect("how %s ends" % job, get(job + "/wait"), b"0\n")


def remove_job(job):
    os.unlink(job + "/output/f")
    for name in ("code.sh", "config.json"):
        if os.path.exists(job + "/" + name):
            os.unlink(job + "/" + name)
    os.rmdir(job)


def opened(path, flags):
    os.close(os.open(path, flags, 0o600))


def kill_server(mnt):
    pidfd = os.pidfd_open(int(os.getxattr(mnt, "user.fsd.pid")))
    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    select.select([pidfd], [], [])
    os.close(pidfd)


# --- what others see --------------------------------------------------------

# By name, each as it is asked of a job p; m is the asking user's own job.
OPERATIONS = {
    "stat": lambda p, m: os.stat(p),
    "lstat": lambda p, m: os.lstat(p),
    "access": lambda p, m: os.utime(p) if os.access(p, os.F_OK)
    else os.stat(p),
    "list": lambda p, m: os.listdir(p),
    "chdir": lambda p, m: os.chdir(p),
    "statfs": lambda p, m: os.statvfs(p),
    "open": lambda p, m: opened(p, os.O_RDONLY | os.O_DIRECTORY),
    "open path": lambda p, m: opened(p, os.O_PATH),
    "read": lambda p, m: get(p + "/code.sh"),
    "read state": lambda p, m: get(p + "/state"),
    "read stdout": lambda p, m: get(p + "/stdout"),
    "read result": lambda p, m: get(p + "/result.json"),
    "wait": lambda p, m: get(p + "/wait"),
    "follow": lambda p, m: get(p + "/stdout.follow"),
    "list output": lambda p, m: os.listdir(p + "/output"),
    "write": lambda p, m: put(p + "/code.sh", b"out mine\n"),
    "append": lambda p, m: opened(p + "/code.sh",
                                  os.O_WRONLY | os.O_APPEND),
    "truncate": lambda p, m: os.truncate(p + "/code.sh", 0),
    "create": lambda p, m: put(p + "/new", b"x"),
    "ctl": lambda p, m: put(p + "/ctl", b"kill\n", os.O_WRONLY),
    "mkdir below": lambda p, m: os.mkdir(p + "/d"),
    "mknod below": lambda p, m: os.mknod(p + "/n", 0o600 | stat.S_IFIFO),
    "symlink below": lambda p, m: os.symlink("x", p + "/l"),
    "link": lambda p, m: os.link(p + "/code.sh", m + "/l"),
    "link into": lambda p, m: os.link(m + "/f", p + "/l"),
    "unlink": lambda p, m: os.unlink(p),
    "unlink below": lambda p, m: os.unlink(p + "/code.sh"),
    "rmdir": lambda p, m: os.rmdir(p),
    "rename": lambda p, m: os.rename(p, m + "2"),
    "rename out": lambda p, m: os.rename(p + "/code.sh", m + "/x"),
    "rename into": lambda p, m: os.rename(m + "/f", p + "/f"),
    "rename over": lambda p, m: os.rename(m + "/f", p + "/code.sh"),
    "chmod": lambda p, m: os.chmod(p, 0o777),
    "chmod below": lambda p, m: os.chmod(p + "/code.sh", 0o777),
    "chown": lambda p, m: os.chown(p, OTHER, OTHER),
    "utime": lambda p, m: os.utime(p),
    "getxattr": lambda p, m: os.getxattr(p, "user.fsd.state"),
    "listxattr": lambda p, m: os.listxattr(p),
    "setxattr": lambda p, m: os.setxattr(p, "user.x", b"1"),
    "readlink": lambda p, m: os.readlink(p),
}


@check
def strangers(mnt, job):
    """All that another user asks of a job is answered as if it were not."""
    own = mnt + "/own"
    with As(OTHER):
        os.mkdir(own)
        put(own + "/f", b"mine")
        for what, fn in OPERATIONS.items():
            there = outcome(lambda: fn(mnt + "/" + job, own))
            nowhere = outcome(lambda: fn(mnt + "/nothing-here", own))
            expect(what + ", of a job that is not there", nowhere, "ENOENT")
            expect(what + ", of somebody else's", there, nowhere)
        names = sorted(os.listdir(mnt))
        expect("what is listed", names, [".fsd", "own"])
        expect("the links of the root", os.stat(mnt).st_nlink, 2)
        expect("the size of the root", os.stat(mnt).st_size, 0)


@check
def taken(mnt, job):
    """The one thing that cannot be hidden: a name can be had once."""
    with As(OTHER):
        os.mkdir(mnt + "/own")
        there = mnt + "/" + job
        expect("mkdir of it", outcome(lambda: os.mkdir(there)), "EACCES")
        expect("rename to it",
               outcome(lambda: os.rename(mnt + "/own", there)), "EACCES")
        text = get(mnt + "/.fsd/last_error").decode()
        if re.search("exist|user|uid|root|else's", text):
            die("last_error tells more than it must: " + text)
        expect("mkdir of one's own",
               outcome(lambda: os.mkdir(mnt + "/own")), "EEXIST")


@check
def inherited(mnt, job):
    """A descriptor from a former life opens nothing."""
    path = mnt + "/" + job
    top = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    file = os.open(path + "/code.sh", os.O_PATH)
    with As(OTHER):
        for what, fn in {
            "list": lambda: os.listdir(top),
            "stat": lambda: os.fstat(top),
            "open": lambda: os.open("code.sh", os.O_RDONLY, dir_fd=top),
            "create": lambda: os.open("n", os.O_WRONLY | os.O_CREAT,
                                      dir_fd=top),
            "mkdir": lambda: os.mkdir("d", dir_fd=top),
            "unlink": lambda: os.unlink("code.sh", dir_fd=top),
            "wait": lambda: os.open("wait", os.O_RDONLY, dir_fd=top),
            "ctl": lambda: os.open("ctl", os.O_WRONLY, dir_fd=top),
            "chmod": lambda: os.chmod(top, 0o777),
            "reopen": lambda: os.open("/proc/self/fd/%d" % file,
                                      os.O_RDONLY),
        }.items():
            expect(what + " by a descriptor", outcome(fn), "EACCES")
    os.close(top)
    os.close(file)


@check
def numbers(mnt):
    """Two of one's own numbers do not count what others made between."""
    def mine(name):
        with As(OTHER):
            os.mkdir(mnt + "/" + name)
            put(mnt + "/" + name + "/f", b"x")
            return (os.stat(mnt + "/" + name).st_ino >> 8,
                    os.stat(mnt + "/" + name + "/f").st_ino)

    first = mine("m1")
    for i in range(5):
        os.mkdir("%s/root%d" % (mnt, i))
        put("%s/root%d/f" % (mnt, i), b"x")
    second = mine("m2")
    for a, b in zip(first, second):
        if abs(b - a) < 50:
            die("the numbers %d and %d are neighbours" % (a, b))


    for name in "s", "s/files/x":
        with As(OTHER):
            if name == "s":
                os.mkdir(mnt + "/step")
                put(mnt + "/step/code.sh", b"out x\n")
                put(mnt + "/step/config.json", b'{"session": "s"}')
                get(mnt + "/step/wait")
            else:
                put(mnt + "/.fsd/sessions/" + name, b"x")
            ino = os.stat(mnt + "/.fsd/sessions/" + name).st_ino
        if (ino & (1 << 60) - 1) >> (24 if name == "s" else 0) < 1000:
            die("the number of %s, %x, is a counter's" % (name, ino))


@check
def times(mnt):
    """When others do something is nobody's business but the operator's."""
    places = ["", "/.fsd"] + ["/.fsd/" + name
                              for name in os.listdir(mnt + "/.fsd")]

    def seen(uid=OTHER):
        with As(uid):
            return [os.stat(mnt + p).st_mtime_ns for p in places]

    with As(OTHER):
        os.mkdir(mnt + "/mine")
        outcome(lambda: os.mkdir(mnt + "/.fsd/no"))
    before, all_before = seen(), seen(0)
    for uid in 0, 65533:
        with As(uid):
            job = "%s/theirs%d" % (mnt, uid)
            os.mkdir(job)
            outcome(lambda: os.mkdir(mnt + "/.fsd/no"))
            put(job + "/code.sh", b"out x\n")
            put(job + "/config.json", b"{}")
            get(job + "/wait")
            os.rename(job, job + "x")
    expect("what another user sees of the times", seen(), before)
    if seen(0)[0] == all_before[0]:
        die("the operator does not see that a job came")
    with As(OTHER):
        os.rename(mnt + "/mine", mnt + "/mine2")
    if seen()[0] <= before[0]:
        die("the root's time does not tell of one's own rename")
    at = places.index("/.fsd/last_error")
    before = seen()
    with As(OTHER):
        outcome(lambda: os.mkdir(mnt + "/.fsd/no"))
    if seen()[at] <= before[at]:
        die("last_error's time does not tell of one's own error")
    at = places.index("/.fsd/health")
    put(mnt + "/.fsd/ctl", b"drain\n", os.O_WRONLY)
    if seen()[at] <= before[at]:
        die("health's time does not tell that the operator changed it")


# --- quotas -----------------------------------------------------------------

def used(mnt):
    """{uid: (jobs, bytes)} as the daemon has it."""
    text = get(mnt + "/.fsd/stats").decode()
    found = re.findall(r'^fsd_user_(jobs|bytes)\{uid="(\d+)"\} (\d+)$', text,
                       re.M)
    users = {}
    for what, uid, n in found:
        users.setdefault(int(uid), [0, 0])[what == "bytes"] = int(n)
    return {u: tuple(v) for u, v in users.items() if any(v)}


def open_all(fds, *paths):
    """Opens them in turn until one fails."""
    while True:
        try:
            fds.append(os.open(paths[len(fds) % len(paths)], os.O_RDONLY))
        except OSError as e:
            return errno.errorcode[e.errno]


@check
def hoard(mnt, most):
    """Who opens all that he may leaves the others what they need."""
    fds = []
    job = mnt + "/mine"
    paths = [job + "/" + name for name in
             ("code.sh", "stdout", "result.json", "log", "output/f")]

    def is_at_limit():
        for path in paths:
            expect("opening " + path, outcome(lambda: get(path)), "EMFILE")
        expect("creating", outcome(lambda: put(job + "/new", b"")), "EMFILE")
        expect("what was not created", os.path.exists(job + "/new"), False)
        # what costs fsd no descriptor, so that the sentence can be read
        expect("state", get(job + "/state"), b"done\n")
        text = get(mnt + "/.fsd/last_error").decode()
        if "at most %s " % most not in text:
            die("last_error says %r" % text)

    with As(OTHER):
        run_job(job, b"out x\nwrite f x\n")
        expect("the end", open_all(fds, *paths), "EMFILE")
        expect("what was opened", len(fds), int(most))
        is_at_limit()
    with As(65533):
        run_job(mnt + "/theirs", b"out y\n")
    get(job + "/stdout")  # root may
    kill_server(mnt)
    with As(OTHER):
        is_at_limit()
        for path in paths:
            os.close(fds.pop())
        expect("the end", open_all(fds, *paths), "EMFILE")
        expect("what was opened again", len(fds), int(most))
        for fd in fds:
            os.close(fd)
        fds = []
        expect("the end", open_all(fds, *paths), "EMFILE")
        expect("what was opened once more", len(fds), int(most))
        os.unlink(paths[0])  # it takes no descriptor
        expect("the size", outcome(lambda: os.fstat(fds[0])), "0")
        remove_job(job)
        for fd in fds:
            os.close(fd)
        fds = []
        run_job(job, b"out x\nwrite f x\n")
        expect("the end", open_all(fds, *paths), "EMFILE")
        expect("what was opened in the end", len(fds), int(most))
        for fd in fds[::2]:
            os.close(fd)
        remove_job(job)
        del fds[::2]
    kill_server(mnt)
    with As(OTHER):
        for fd in fds:  # they are there, and count until they are closed
            os.pread(fd, 1, 0)
        run_job(job, b"out x\nwrite f x\n")
        for fd in fds:
            os.close(fd)
        fds = []
        expect("the end", open_all(fds, *paths), "EMFILE")
        expect("what was opened at last", len(fds), int(most))


def tree_bytes(top):
    return sum(os.lstat(os.path.join(d, f)).st_size
               for d, _, files in os.walk(top) for f in files
               if (d, f) != (top, "order"))


def recount(state):
    """The same, from what lies in the state directory."""
    users = {}
    for job in os.scandir(state + "/jobs"):
        meta = get(job.path + "/meta").decode()
        uid = int(re.search(r"^uid (\d+)$", meta, re.M).group(1))
        sums = users.setdefault(uid, [0, 0])
        sums[0] += 1
        for part in os.scandir(job.path):
            if part.is_dir():
                sums[1] += tree_bytes(part.path)
    return {u: tuple(v) for u, v in users.items()}


@check
def accounts(mnt, state):
    expect("what is used", used(mnt), recount(state))


@check
def nothing_used(mnt):
    expect("what is used", used(mnt), {})


class Churn:
    """Does at random what users do; counts only at the end."""

    def __init__(self, mnt, state, seed):
        self.mnt, self.state = mnt, state
        self.random = random.Random(seed)
        self.held = {}  # of deleted files: descriptor -> uid
        self.errors = {}

    def jobs(self):
        return [j for j in os.listdir(self.mnt) if j != ".fsd"]

    def job(self):
        return "%s/%s" % (self.mnt, self.random.choice(self.jobs()))

    def file(self, job):
        return job + "/" + self.random.choice(
            ["f1", "f2", "d/f3", "d/e/f4", "output/s", "data.csv"])

    def size(self):
        return self.random.choice([0, 1, 100, 4095, 5000, 70000, 150000])

    def act_mkdir(self):
        job = "%s/j%d" % (self.mnt, self.random.randrange(40))
        os.mkdir(job)
        os.mkdir(job + "/d")
        os.mkdir(job + "/d/e")
        if self.random.random() < 0.3:
            os.mkdir(job + "/output")

    def act_write(self):
        fd = os.open(self.file(self.job()), os.O_WRONLY | os.O_CREAT |
                     self.random.choice([0, os.O_TRUNC, os.O_APPEND]))
        try:
            for _ in range(self.random.randrange(3)):
                os.pwrite(fd, b"x" * self.size(), self.size())
            if self.random.random() < 0.3:
                os.ftruncate(fd, self.size())
        finally:
            os.close(fd)

    def act_truncate(self):
        os.truncate(self.file(self.job()), self.size())

    def act_unlink(self):
        os.unlink(self.file(self.job()))

    def act_unlink_open(self):
        path = self.file(self.job())
        fd = os.open(path, os.O_RDWR)
        uid = os.fstat(fd).st_uid
        try:
            os.unlink(path)
            self.held[fd] = uid
        except OSError:
            os.close(fd)
            raise
        os.pwrite(fd, b"y" * self.size(), self.size())
        os.ftruncate(fd, self.size())

    def act_close(self):
        if self.held:
            fd = self.random.choice(sorted(self.held))
            del self.held[fd]
            os.close(fd)

    def act_rename(self):
        os.rename(self.file(self.job()), self.file(self.job()))

    def act_rename_tree(self):
        os.rename(self.job() + "/d", self.job() +
                  self.random.choice(["/d", "/other", "/d/e/x"]))

    def act_rename_job(self):
        os.rename(self.job(), "%s/j%d" % (self.mnt,
                                          self.random.randrange(40)))

    def act_replace_open(self):
        a, b = self.file(self.job()), self.file(self.job())
        fd = os.open(b, os.O_RDWR)
        uid = os.fstat(fd).st_uid
        try:
            os.rename(a, b)
            if a != b:
                self.held[fd] = uid
                fd = -1
        finally:
            if fd >= 0:
                os.close(fd)

    def act_run(self):
        job = self.job()
        put(job + "/code.sh", b"bytes %d\nwrite o1 some text\nwrite q/o2 %s\n"
            b"result {\"value\": \"%s\"}\n" % (
                self.size(), b"z" * self.random.randrange(800),
                b"v" * self.random.randrange(800)))
        put(job + "/config.json", b"{}")
        get(job + "/wait")

    def act_drop_result(self):
        os.unlink(self.job() + "/output/o1")

    def act_remove(self):
        if self.random.random() < 0.5:
            return
        job = self.job()
        for top, dirs, files in os.walk(job, topdown=False):
            for f in files:
                os.unlink(os.path.join(top, f))
            for d in dirs:
                os.rmdir(os.path.join(top, d))
        os.rmdir(job)

    def step(self):
        acts = [a for a in dir(self) if a.startswith("act_")]
        act = self.random.choice(acts + ["act_write"] * 4 + ["act_mkdir"] * 2)
        with As(self.random.choice([0, 65532, 65533, OTHER])):
            try:
                getattr(self, act)()
            except IndexError:
                pass
            except OSError as e:
                name = errno.errorcode[e.errno]
                self.errors[name] = self.errors.get(name, 0) + 1

    def settle(self):
        """Nothing runs, and what is deleted but open is told apart."""
        for job in self.jobs():
            if get("%s/%s/state" % (self.mnt, job)) in (b"queued\n",
                                                        b"running\n"):
                get("%s/%s/wait" % (self.mnt, job))
        want = {u: list(v) for u, v in recount(self.state).items()}
        for fd, uid in self.held.items():
            want.setdefault(uid, [0, 0])[1] += os.fstat(fd).st_size
        return {u: tuple(v) for u, v in want.items() if any(v)}


@check
def churn(mnt, state, seed, steps):
    c = Churn(mnt, state, int(seed))
    for i in range(int(steps)):
        c.step()
        if i % 50 == 49:
            expect("what is used after %d steps" % (i + 1), used(mnt),
                   c.settle())
    for fd in list(c.held):
        os.close(fd)
    c.held = {}
    expect("what is used at the end", used(mnt), c.settle())
    print("errors met: %s" % c.errors)
    if not c.errors.get("EDQUOT"):
        die("no quota was ever met")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in CHECKS:
        die("there is no check %r" % sys.argv[1:2])
    signal.alarm(120)
    CHECKS[sys.argv[1]](*sys.argv[2:])
