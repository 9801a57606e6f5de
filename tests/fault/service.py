# SPDX-License-Identifier: Apache-2.0
"""A service under test: one `fsd mount` with directories and a program file of
its own, so that every process of it can be told from any other.

Times are seconds of CLOCK_MONOTONIC. A mount that does not answer in time is
an error (Hung), never a wait without end.
"""
import contextlib
import ctypes
import errno
import os
import select
import shutil
import signal
import subprocess
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
SLOW = float(os.environ.get("SLOW", "1"))
ANSWER_S = 10 * SLOW   # a mount that answers does so within this
START_S = 20 * SLOW    # a mount that is made answers within this
BY_ITSELF_S = 2 * SLOW  # a killed server's successor is there within this
ORPHAN_S = 1 * SLOW    # nothing outlives its owner by more

MNT_FORCE, MNT_DETACH = 1, 2
LIBC = ctypes.CDLL(None, use_errno=True)

# What a client is told whose mount has lost its server.
DEAD = (errno.ENOTCONN, errno.ECONNABORTED, errno.ENODEV)


# What an ordinary directory says when it is asked for its server.
NO_MOUNT = (errno.ENODATA, errno.EOPNOTSUPP)


class Hung(Exception):
    """The mount gave no answer in time."""


def umount(path, flags):
    LIBC.umount2(os.fsencode(path), flags)


def is_mounted(path):
    with open("/proc/self/mountinfo") as f:
        return any(line.split()[4] == path for line in f)


def until(seconds, fn):
    """What fn gives as soon as it is true; else its last value. For what
    nothing in the system tells of."""
    end = time.monotonic() + seconds
    pause = threading.Event()
    while True:
        value = fn()
        if value or time.monotonic() > end:
            return value
        pause.wait(0.002)


class Service:
    def __init__(self, program, base, options=(), env=None, state=None):
        self.base = os.path.abspath(base)
        os.makedirs(self.base)
        self.mnt = self.base + "/mnt"
        self.state = os.path.abspath(state or self.base + "/state")
        self.log = self.base + "/log"
        self.witness = self.base + "/witness"
        self.program = self.base + "/" + os.path.basename(program)
        shutil.copy2(program, self.program)
        self.options = list(options)
        self.env = dict(os.environ, FSD_FAKE_WITNESS=self.witness,
                        **(env or {}))
        os.makedirs(self.mnt)
        self.popen = None      # the user's own foreground process
        self.starts = 0
        self.heard = 0         # bytes of the log that trust() knows
        # The root as it was opened: what is done there is done in the mount,
        # or fails; never in the directory below it.
        self.tree = None
        self.roots = []        # descriptors; old ones may still be in use

    # --- life -----------------------------------------------------------------

    def spawn(self, prefix=()):
        """Starts it and does not wait."""
        self.starts += 1
        with open(self.log, "ab") as log:
            self.popen = subprocess.Popen(
                [*prefix, self.program, "mount", "--state", self.state,
                 *self.options, self.mnt],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, env=self.env)

    def start(self):
        self.spawn()
        self.await_answer()

    def await_answer(self):
        """Until the new process's mount answers."""
        def answered():
            try:
                return self.server() or False
            except OSError as e:
                if e.errno not in DEAD + NO_MOUNT:
                    raise
            return self.popen.poll() is not None and "ended"
        got = until(START_S, answered)
        if got == "ended":
            raise RuntimeError("fsd mount ended with status %s: %s" % (
                self.popen.returncode, self.log_tail(5)))
        if not got:
            raise Hung("no mount within %.0f s" % START_S)
        self.open_root()

    def open_root(self):
        self.roots.append(os.open(self.mnt, os.O_PATH | os.O_DIRECTORY))
        self.tree = "/proc/self/fd/%d" % self.roots[-1]
        if len(self.roots) > 50:
            os.close(self.roots.pop(0))

    def await_first(self, fd):
        """Until the new process's mount answers, or fd tells of its death."""
        def over():
            if select.select([fd], [], [], 0)[0] or \
                    self.popen.poll() is not None:
                return True
            try:
                return self.server()
            except OSError:
                return False
        if not until(START_S, over):
            raise Hung("no mount within %.0f s" % START_S)

    def stop(self):
        """Ends it as a user does. Return: findings."""
        found = []
        if self.popen and self.popen.poll() is None:
            self.popen.terminate()
            try:
                self.popen.wait(START_S)
            except subprocess.TimeoutExpired:
                found.append("the daemon does not end when it is told to")
        if self.popen and self.popen.poll() not in (None, 0):
            found.append("the daemon ended with status %d" %
                         self.popen.returncode)
        return found + self.clear()

    def clear(self):
        """Looks for what was left when the foreground process has ended, and
        takes it away. Return: findings."""
        found = []
        if self.popen and self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait()
        left = [] if until(ORPHAN_S, lambda: not self.processes()) \
            else self.processes()
        if left:
            found.append("outlived its owner by %.0f s: %s" % (
                ORPHAN_S, ", ".join("%s (%d)" % (name_of(p), p)
                                    for p in left)))
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        while is_mounted(self.mnt):
            umount(self.mnt, MNT_FORCE | MNT_DETACH)
        return found

    def remove(self):
        self.clear()
        for fd in self.roots:
            os.close(fd)
        self.roots = []
        shutil.rmtree(self.base)

    # --- who is there -----------------------------------------------------------

    def server(self):
        """The pid of the process that answers the mount."""
        return int(os.getxattr(self.mnt, "user.fsd.pid"))

    def processes(self):
        """Every living process of it, machines too."""
        found = []
        parents = {}
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            try:
                with open("/proc/%d/stat" % pid) as f:
                    fields = f.read().rpartition(")")[2].split()
                if fields[0] in "ZX":
                    continue
                parents[pid] = int(fields[1])
                if os.readlink("/proc/%d/exe" % pid) == self.program:
                    found.append(pid)
            except OSError:
                continue
        for owner in found:  # it grows: theirs too
            found += [p for p, parent in parents.items()
                      if parent == owner and p not in found]
        return found

    def machines(self):
        """QEMU's processes."""
        return [p for p in self.processes()
                if name_of(p).startswith("qemu-system")]

    def spawn_stopped(self):
        """As spawn(), stopped before its first instruction: SIGCONT lets it go.
        """
        self.spawn(("/bin/sh", "-c", 'kill -STOP $$; exec "$@"', "sh"))

        def stopped():
            with open("/proc/%d/stat" % self.popen.pid) as f:
                return f.read().rpartition(")")[2].split()[0] == "T"
        if not until(START_S, stopped):
            raise Hung("the shell does not stop")

    # --- an end that nobody asked for ---------------------------------------------

    def revive(self):
        """After a kill: waits for the mount to answer again; makes it again if
        its connection has died. Return: True if it survived by itself."""
        end = time.monotonic() + BY_ITSELF_S
        while True:
            try:
                with self.watched():
                    os.stat(self.mnt)
                    self.server()
                self.open_root()
                return True
            except OSError as e:
                if e.errno not in DEAD + NO_MOUNT:
                    raise
            if self.popen.poll() is not None or time.monotonic() > end:
                break
        if self.popen.poll() is None:  # its connection was cut
            self.popen.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.popen.wait(START_S)
        self.clear()
        self.start()
        return False

    def trust(self):
        """The disk works again. If it has ended servers, which may have left the
        mount read-only, the next one may write: as `fsd upgrade --now`. Return:
        True if it had."""
        with open(self.log, "rb") as f:
            f.seek(self.heard)
            refused = b"the disk refuses the record" in f.read()
            self.heard = f.tell()
        if not refused:
            return False
        with self.watched():
            before = self.server()
            self.popen.send_signal(signal.SIGRTMIN)
            if not until(ANSWER_S, lambda: self.server() != before):
                raise Hung("no other server")
        return True

    @contextlib.contextmanager
    def watched(self, seconds=ANSWER_S, what="a call"):
        """Bounds what a block does with the mount: the connection is cut when
        it takes too long, and Hung is raised."""
        late = threading.Event()

        def cut():
            late.set()
            umount(self.mnt, MNT_FORCE)

        timer = threading.Timer(seconds, cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        except OSError as e:
            if late.is_set():
                raise Hung("%s: no answer within %.0f s" % (
                    what, seconds)) from e
            raise
        finally:
            timer.cancel()

    def log_tail(self, lines):
        with open(self.log, errors="replace") as f:
            return " | ".join(f.read().splitlines()[-lines:])

    def log_findings(self):
        """What a sanitizer or an assertion said, with the lines behind it; but
        not what QEMU's said when it was tried whether KVM works."""
        with open(self.log, errors="replace") as f:
            lines = f.read().splitlines()
        for n, line in enumerate(lines):
            if "runtime error:" in line or "ERROR: " in line or \
                    "Assertion" in line and "KVM does not work" not in line:
                return lines[n:n + 25]
        return []


def name_of(pid):
    try:
        with open("/proc/%d/comm" % pid) as f:
            return f.read().strip()
    except OSError:
        return "?"
