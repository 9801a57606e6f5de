# SPDX-License-Identifier: Apache-2.0
"""The network of the suites: tests/network/world.py has its servers, in a namespace.

The mount, the gateway and the clients are in the other one, from which nothing leaves. So
the packages of all suites are installed before.
"""
import contextlib
import ctypes
import json
import os
import subprocess
import sys

WORLD = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                     "../../network/world.py")


def enter(pid):
    """This process goes into the network, and the mounts, of another one."""
    libc = ctypes.CDLL(None, use_errno=True)
    here = os.getcwd()
    spaces = [os.open("/proc/%s/ns/%s" % (pid, kind), os.O_RDONLY)
              for kind in ("net", "mnt")]
    for space in spaces:
        if libc.setns(space, 0) < 0:
            raise OSError(ctypes.get_errno(), "setns")
        os.close(space)
    os.chdir(here)


@contextlib.contextmanager
def entered(out):
    """Enters it for good. Gives the file of a policy by which jobs reach all of it."""
    directory = out + "/network"
    os.makedirs(directory, exist_ok=True)
    policy = directory + "/policy.json"
    with open(policy, "w", encoding="utf-8") as f:
        json.dump({"allow": ["*:*", "0.0.0.0/0:*"], "ca": directory + "/ca.pem"}, f)
    with subprocess.Popen([sys.executable, "-I", "-S", WORLD, directory],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as world:
        pid = world.stdout.readline().decode().strip()
        if not pid:
            raise SystemExit("the network of the suites cannot be made")
        enter(pid)
        yield policy
