# SPDX-License-Identifier: Apache-2.0
"""An error that a user can mend, and what every step of a build needs."""
import contextlib
import ctypes
import hashlib
import os
import shutil
import signal
import subprocess


class Problem(Exception):
    """Its text is the sentence behind "fsd env: ". said: all that a tool has said."""
    said = ""


NAMED = 6  # versions in a sentence


def versions_text(newest_first):
    """The first of them, for a sentence."""
    return ", ".join(newest_first[:NAMED]) + \
        (", ..." if len(newest_first) > NAMED else "")


def plain(text):
    """One line for a terminal: what others wrote may have what it would obey."""
    return "".join(c if c.isprintable() else
                   c.encode("unicode_escape").decode("ascii") for c in text)


def need(tool, package):
    """The path of a program of the host, or a Problem that names its package."""
    path = shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin:" +
                        os.environ.get("PATH", ""))
    if not path:
        raise Problem("%s is not on this host; run: apt-get install %s" %
                      (tool, package))
    return path


LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
GRACE = 10  # seconds that a process has to clean up


def bound_to(parent):
    """For a new process, before it executes: it gets SIGTERM when its parent dies,
    however that ends."""
    def bind():
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it has died already
            os._exit(1)
    return bind


def end_group(process):
    """Ends a process and all in its group: SIGTERM, then SIGKILL."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def child(words, **options):
    """A process with its standard output and error as pipes, unless the options say
    otherwise. It has ended when the block is left: by itself, or by end_group() if the
    block is left by an error."""
    options = {"stderr": subprocess.PIPE, **options}
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          start_new_session=True,
                          preexec_fn=bound_to(os.getpid()),
                          **options) as process:
        try:
            yield process
            process.wait()
        except BaseException:
            end_group(process)
            raise


def run(words, what, **options):
    """The program's standard output as text. A failure is a Problem with the last
    words of its standard error."""
    with child(words, text=True, errors="replace", **options) as process:
        out, error = process.communicate()
    if process.returncode:
        problem = Problem("%s: %s" % (what, last_words(error or out)))
        problem.said = error
        raise problem
    return out


def last_words(text, lines=3):
    found = [line.strip() for line in text.split("\n") if line.strip()]
    return "; ".join(found[-lines:]) or "it said nothing"


def sha256_of(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def jailed(words, readable=(), writable=(), network=False):
    """The same command in bubblewrap: it sees /usr, what is named, and can write
    only what is named. A resolver reads foreign files, which may be hostile."""
    jail = [need("bwrap", "bubblewrap"), "--unshare-user", "--unshare-pid",
            "--unshare-ipc", "--unshare-uts", "--unshare-cgroup",
            "--die-with-parent",
            "--new-session", "--clearenv", "--dev", "/dev", "--proc", "/proc",
            "--tmpfs", "/tmp", "--setenv", "PATH", "/usr/bin:/bin",
            "--setenv", "HOME", "/tmp", "--setenv", "LC_ALL", "C.UTF-8"]
    if not network:
        jail.append("--unshare-net")
    for name in ("bin", "sbin", "lib", "lib64"):
        jail += ["--symlink", "usr/" + name, "/" + name]
    jail += ["--ro-bind", "/usr", "/usr", "--ro-bind-try", "/etc", "/etc"]
    for path in readable:
        jail += ["--ro-bind", path, path]
    for path in writable:
        jail += ["--bind", path, path]
    return jail + ["--"] + list(words)
