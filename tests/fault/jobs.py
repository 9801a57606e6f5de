# SPDX-License-Identifier: Apache-2.0
"""The client's side: jobs whose every byte is known beforehand, and a journal
of what was accepted, removed and seen. It is kept in this process, which
nothing kills.

A job is accepted when the call has returned that made it complete: close() of
the last of its files, a rename into place, or the write of "start" to ctl.
"""
import collections
import dataclasses
import json
import os
import random
import threading
import time

PATTERN = b"abcdefghijklmnopqrstuvwxyz"
BLOCK = 64 << 10  # the fake machine's `bytes` begins anew after so many


def pattern(n):
    block = (PATTERN * (BLOCK // len(PATTERN) + 1))[:BLOCK]
    return (block * (n // BLOCK + 1))[:n]


@dataclasses.dataclass
class Job:
    """One job. The fields without a default are what it will do."""
    name: str
    token: str
    how: str           # a key of WAYS
    code: int
    bytes: int         # of stdout, beside the lines
    files: dict        # path below output/: bytes
    sleep_ms: int
    session: str = ""  # it is a step of that one
    retry: int = 0     # its machine dies, in each of these runs and the last
    tries: int = 0     # complete submissions that were begun
    accepted: float = 0     # CLOCK_MONOTONIC; 0: not
    removing: bool = False  # rm -r was begun,
    removed: float = 0      # and has returned
    result: object = None   # what was seen of its end first
    told: float = 0         # when
    shown: object = None    # exit_code and `error` of its end, seen first

    def script(self):
        lines = ["witness " + self.token]
        if self.retry:
            return lines[0] + "\ncrash\n"
        if self.bytes:
            lines.append("bytes %d" % self.bytes)
        lines += ["write %s %s" % (path, data[:-1].decode())
                  for path, data in self.files.items()]
        if self.sleep_ms:
            lines.append("sleep %d" % self.sleep_ms)
        lines += ["err middle", "out end " + self.token, "exit %d" % self.code]
        return "\n".join(lines) + "\n"

    def python(self):
        """The same program for a real machine."""
        return (
            "import os, sys, time\n"
            "line = '%s ' + os.urandom(8).hex() + '\\n'\n"
            "sys.stdout.write(line); sys.stderr.write(line)\n"
            "sys.stdout.flush(); sys.stderr.flush()\n"
            "open('witness', 'w').write(line)\n"
            "sys.stdout.write(('%s' * %d)[:%d])\n"
            "for path, data in %r.items():\n"
            "    os.makedirs(os.path.dirname(path) or '.', exist_ok=True)\n"
            "    open(path, 'wb').write(data)\n"
            "time.sleep(%r)\n"
            "sys.stderr.write('middle\\n'); print('end %s')\n"
            "sys.exit(%d)\n" % (
                self.token, PATTERN.decode(), self.bytes // 26 + 1, self.bytes,
                self.files, self.sleep_ms / 1000, self.token, self.code))

    def streams(self, line):
        """stdout and stderr of a run whose line this is."""
        return (line + pattern(self.bytes) + b"end %s\n" % self.token.encode(),
                line + b"middle\n")


def random_job(rng, name, token, long=False):
    # a block that is not begun anew, so that both kinds of machine agree
    size = rng.choice((0, 0, 100, 5000, BLOCK if long else 20000))
    files = {path: (path.replace("/", ".") * rng.randint(1, 40)).encode() +
             b"\n" for path in rng.sample(("a", "b.txt", "d/e", "d/f/g"),
                                          rng.randint(0, 3))}
    return Job(name=name, token=token, how=rng.choice(list(WAYS)),
               code=rng.choice((0, 0, 1, 7, 255)), bytes=size, files=files,
               sleep_ms=rng.choice((0, 0, 5, 20, 100 if long else 10)),
               session=rng.choice(("", "", "", "a", "b")) if long else "")


# --- ways to submit -----------------------------------------------------------

def put(path, data):
    """Every error is raised, close()'s too."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        while data:
            data = data[os.write(fd, data):]
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)


def by_config(d, code, config, text):
    os.mkdir(d)
    put(d + "/" + code, text)
    put(d + "/config.json", config)


def by_code(d, code, config, text):
    os.mkdir(d)
    put(d + "/config.json", config)
    put(d + "/" + code, text)


def by_rename(d, code, config, text):
    os.mkdir(d)
    put(d + "/" + code, text)
    put(d + "/new", config)
    os.rename(d + "/new", d + "/config.json")


def by_ctl(d, code, config, text):
    os.mkdir(d)
    put(d + "/" + code, text)
    put(d + "/config.json", json.dumps(
        dict(json.loads(config), start="manual")).encode())
    put(d + "/ctl", b"start\n")


def by_move(d, code, config, text):
    """The maildir way."""
    draft = os.path.join(os.path.dirname(d), "." + os.path.basename(d))
    by_config(draft, code, config, text)
    os.rename(draft, d)


WAYS = {"config": by_config, "code": by_code, "rename": by_rename,
        "ctl": by_ctl, "move": by_move}


# --- the journal ---------------------------------------------------------------

class Journal:
    """What this client did; one for all of its threads."""

    def __init__(self, seed, witness=None):
        self.rng = random.Random(seed)
        self.real = witness is None  # real machines run Python, and have none
        self.witness = witness       # the file
        self.faulty = False          # what the disk refuses may be left out
        self.at = 0                  # read so far
        self.lines = collections.defaultdict(list)  # token: of its runs
        self.lock = threading.Lock()
        self.jobs = {}    # name: Job
        self.number = 0

    def make(self, long=False, **fixed):
        with self.lock:
            self.number += 1
            job = random_job(self.rng, "j%d" % self.number,
                             "t%d" % self.number, long)
            if self.real and long:
                job.sleep_ms *= 30  # of several servers each
            for key, value in fixed.items():
                setattr(job, key, value)
            self.jobs[job.name] = job
        return job

    def submit(self, tree, job, config=None):
        """Raises OSError; then it may or may not be accepted."""
        text = job.python() if self.real else job.script()
        config = dict(config or {})
        if job.session:
            config["session"] = job.session
        job.tries += 1
        WAYS[job.how](tree + "/" + job.name,
                      "code.py" if self.real else "code.sh",
                      json.dumps(config).encode(), text.encode())
        job.accepted = time.monotonic()

    def submit_each_way(self, tree, **fixed):
        """Return: the jobs, one for each way."""
        some = []
        for how in WAYS:
            job = self.make(how=how, **fixed)
            self.submit(tree, job)
            some.append(job)
        return some

    def remove(self, tree, job):
        job.removing = True
        remove_tree(tree + "/" + job.name)
        job.removed = time.monotonic()

    def runs(self, job):
        """The witness's lines, one a run; None on real machines."""
        if self.real:
            return None
        with self.lock, open(self.witness, "rb") as f:
            f.seek(self.at)
            for line in f:
                self.at += len(line)
                self.lines[line.split()[0].decode()].append(line)
        return self.lines[job.token]

    def drop(self, job):
        """Removed for good; a long test needs the room."""
        with self.lock:
            del self.jobs[job.name]
            self.lines.pop(job.token, None)


def empty(tree):
    """Removes every job."""
    for name in os.listdir(tree):
        if name != ".fsd":
            remove_tree(tree + "/" + name)


def remove_tree(path):
    """rm -r: virtual files vanish with the directory."""
    names = sorted(os.listdir(path))
    for name in names:
        sub = path + "/" + name
        if os.path.isdir(sub) and not os.path.islink(sub):
            remove_tree(sub)
        else:
            try:
                os.unlink(sub)
            except FileNotFoundError:
                pass
    os.rmdir(path)
