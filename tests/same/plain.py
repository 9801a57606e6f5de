# SPDX-License-Identifier: Apache-2.0
"""A plain Debian: the image's root file system, and programs that run in it by
bubblewrap, as the user of a machine, in the directory of one.

The root is what fsck.erofs extracts of the image. It is kept in build/plain until
there is another image. It belongs to root and can be written by nobody else, so
that a program gets the errors of an ordinary user and not those of a read-only
file system.
"""
import fcntl
import os
import re
import resource
import shutil
import signal
import subprocess

TOP = os.path.abspath(__file__ + "/../../..")
IMAGE = os.environ.get("FSD_IMAGE", TOP + "/build/image")
KEPT = TOP + "/build/plain"

HOME = "/home/user"
UID = 1000
# As WIRE_BASE_ENV in guest/wire/wire.h has it.
ENV = {"HOME": HOME, "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
       "USER": "user", "LOGNAME": "user", "SHELL": "/bin/bash",
       "LANG": "C.UTF-8", "PWD": HOME}
BWRAP = """--unshare-pid --unshare-net --unshare-ipc --unshare-uts
    --hostname fsd --new-session --die-with-parent --proc /proc --dev /dev
    --perms 1777 --tmpfs /tmp --perms 1777 --tmpfs /dev/shm
     --tmpfs /run --clearenv --cap-add ALL""".split()
# Nobody but init may then take a right back.
SETPRIV = """/usr/bin/setpriv --reuid 1000 --regid 1000 --clear-groups
    --inh-caps=-all --bounding-set=-all --no-new-privs --""".split()
# A program's children live on when it has ended, and their words are waited for,
# as in any shell; bubblewrap alone would end them. For a second at most.
# The shell's own words about signals go nowhere.
WAIT = """exec 3>&2 2>/dev/null
(exec "$@" 2>&3 3>&-)
code=$?
n=0
while set -- /proc/[0-9]*; [ $# -gt 2 ] && [ $n -lt 50 ]; do
    n=$((n + 1))
    sleep 0.02
done
exit $code"""
# The soft limits that Debian gives to who logs in. The hard ones are the host's:
# not every root may raise them.
LIMITS = {resource.RLIMIT_NOFILE: 1024, resource.RLIMIT_CORE: 0,
          resource.RLIMIT_STACK: 8 << 20}
for what, limit in LIMITS.items():
    resource.setrlimit(what, (limit, resource.getrlimit(what)[1]))


def image_id():
    with open(IMAGE + "/manifest") as f:
        return re.search(r"(?m)^image ([0-9a-f]{16})", f.read())[1]


def root(name="root", add=None):
    """The image's root, extracted once. With add(directory) something is put
    into it; such a root has a name of its own."""
    path = "%s/%s-%s" % (KEPT, name, image_id())
    os.makedirs(KEPT, exist_ok=True)
    with open(KEPT + "/lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(path):
            for old in os.listdir(KEPT):
                if old.startswith(name + "-"):
                    shutil.rmtree(os.path.join(KEPT, old))
            new = path + ".new"
            shutil.rmtree(new, ignore_errors=True)
            subprocess.run(["fsck.erofs", "--extract=" + new,
                            IMAGE + "/rootfs.erofs"], check=True,
                           stdout=subprocess.DEVNULL)
            if add:
                add(new)
            os.rename(new, path)
    return path


def lacking(where):
    """What bubblewrap says if it cannot run here: a kernel refuses its namespaces
    in a chroot, or by a setting. Else None."""
    ended = run(where, KEPT, ["true"])
    return None if ended.code == 0 else ended.stderr.decode().strip()


def own(directory):
    """Gives a tree to the user of the machines."""
    for folder, folders, files in os.walk(directory):
        for name in [".", *folders, *files]:
            os.chown(os.path.join(folder, name), UID, UID,
                     follow_symlinks=False)


class Ended:
    def __init__(self, code, stdout, stderr):
        self.code, self.stdout, self.stderr = code, stdout, stderr


def run(where, directory, argv, *, env=None, stdin=None, seconds=60,
        binds=()):
    """Runs argv in the root WHERE with DIRECTORY as its home. stdin is the path
    of a file. Return: how it ended; the code of a signal is 128 + its number,
    that of a time that was over 124."""
    words = ["bwrap", "--bind", where, "/", *BWRAP, "--bind", directory, HOME,
             *binds, "--chdir", HOME]
    for name, value in {**ENV, **(env or {})}.items():
        words += ["--setenv", name, value]
    with open(stdin or os.devnull, "rb") as given:
        child = subprocess.Popen(
            [*words, "--", *SETPRIV, "sh", "-c", WAIT, "sh", *argv],
            stdin=given,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)
        try:
            out, err = child.communicate(timeout=seconds)
            code = child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
            code = 124
    return Ended(code if code >= 0 else 128 - code, out, err)
