# SPDX-License-Identifier: Apache-2.0
"""fsd's machines: one mount in the foreground, and jobs in it, many at a time.

FSD, FSD_IMAGE, FSD_ACCEL and FSD_TEST_STATE are as in tests/README.md.
"""
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import plain

FSD = os.environ.get("FSD", plain.TOP + "/build/fsd")
STATE = os.environ.get("FSD_TEST_STATE", plain.TOP + "/build/test-state")
SLOW = float(os.environ.get("SLOW", "1"))
START_S = 20 * SLOW
FORKING_S = 30 * SLOW
# A mount whose jobs are there all at once. More machines than that are slower.
MANY_JOBS = ("--fork", "yes", "--pool", "0",
             "--max-machines", str(os.cpu_count() + 1))


def need_plain():
    """Ends the test where there can be no plain Debian beside the machines."""
    why = plain.lacking(plain.root())
    if why:
        good = os.environ.get("STRICT") != "1"
        print("%s 1 - a plain Debian runs beside the machines%s\n1..1" % (
            "ok" if good else "not ok", " # skip " + why if good else
            ": " + why))
        sys.exit(0 if good else 1)


class Mount:
    """`with Mount() as mount`: the mount answers, and is gone behind it."""

    def __init__(self, *options, state=STATE):
        self.base = tempfile.mkdtemp(prefix="fsd-same-")
        self.path = self.base + "/mnt"
        self.log = self.base + "/log"
        os.mkdir(self.path)
        self.argv = [FSD, "mount", "--state", state, "--image", plain.IMAGE,
                     "--accel", os.environ.get("FSD_ACCEL", "auto"),
                     "--pool", "2", "--heat", "quick", *options, self.path]
        self.daemon = None

    def __enter__(self):
        # timeout(1) ends the test by this one: the daemon is not left behind.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        with open(self.log, "wb") as log:
            self.daemon = subprocess.Popen(
                self.argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)
        end = time.monotonic() + START_S
        pause = threading.Event()
        while not self.answers():
            if self.daemon.poll() is not None or time.monotonic() > end:
                self.close()
                sys.exit("no mount: " + self.words())
            pause.wait(0.005)
        return self

    def answers(self):
        try:
            return os.getxattr(self.path, "user.fsd.pid")
        except OSError:
            return None

    def forking(self):
        """Waits until machines are forked off a zygote, where they are: each then
        costs a third, also because what others have translated is there.
        Return: whether they are."""
        end = time.monotonic() + FORKING_S
        pause = threading.Event()
        while time.monotonic() < end:
            with open(self.path + "/.fsd/stats") as f:
                if re.search(r"(?m)^fsd_fork_sources [1-9]", f.read()):
                    return True
            with open(self.path + "/.fsd/security") as f:
                if "not forked" in f.read():
                    return False
            pause.wait(0.05)
        return False

    def words(self):
        """The end of the daemon's log."""
        with open(self.log, errors="replace") as f:
            return "".join(f.readlines()[-20:])

    def close(self):
        """Return: the daemon's status, or what there is to say of it."""
        if self.daemon.poll() is None:
            self.daemon.send_signal(signal.SIGTERM)
        try:
            return self.daemon.wait(START_S)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()
            subprocess.run(["umount", "-l", self.path], check=False)
            return "the daemon did not end"

    def __exit__(self, *_):
        for name in os.listdir(self.path):
            if name != ".fsd":
                shutil.rmtree("%s/%s" % (self.path, name))
        status = self.close()
        if status:
            print("# the daemon ended with %s\n# %s" % (
                status, self.words().replace("\n", "\n# ")), flush=True)
        shutil.rmtree(self.base)

    def submit(self, name, fill, config):
        """A job that fill(directory) has written. It is submitted in one step.
        """
        draft = "%s/.%s" % (self.path, name)
        job = Job("%s/%s" % (self.path, name))
        try:
            os.mkdir(draft)
            fill(draft)
            with open(draft + "/config.json", "w") as f:
                json.dump(config, f)
            os.rename(draft, job.path)
        except OSError as e:
            with open(self.path + "/.fsd/last_error") as f:
                job.refused = "%s: %s" % (e, f.read())
        return job


class Job:
    def __init__(self, path):
        self.path = path
        self.refused = None  # why a call of its submission has failed

    def read(self, name):
        with open("%s/%s" % (self.path, name), "rb") as f:
            return f.read()

    def wait(self, seconds):
        """Return: whether it has ended in time."""
        if self.refused:
            return True
        fd = os.open(self.path + "/wait", os.O_RDONLY | os.O_NONBLOCK)
        try:
            poll = select.poll()
            poll.register(fd, select.POLLIN)
            return bool(poll.poll(seconds * 1000))
        finally:
            os.close(fd)

    def ended(self):
        """How it ended, as plain.run() tells it."""
        return plain.Ended(int(self.read("exit_code")), self.read("stdout"),
                           self.read("stderr"))

    def result(self):
        return json.loads(self.read("result.json"))

    def remove(self):
        if not self.refused:
            shutil.rmtree(self.path)
