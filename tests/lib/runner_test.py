# SPDX-License-Identifier: Apache-2.0
"""The Python runner on the host, driven as the guest's init drives it.

runner_test.py RUNNERS PROGRAM [heat] — starts the interpreter with the runner
in RUNNERS, lets it wait, heats it if asked to, and lets it become PROGRAM.
The interpreter starts with PYTHONHASHSEED=1: like clones of one template, all
of them have the same hash secret at first.
"""
import os
import shutil
import socket
import subprocess
import sys
import tempfile

PYTHON = "/usr/bin/python3.11"


def message(verb, path):
    texts = [verb, "script", "", "1", path, "HOME=/", "LANG=C.UTF-8", ""]
    data = "\0".join(texts).encode()
    return len(data).to_bytes(4, "little") + data


def expect(control, wanted):
    control.settimeout(60)
    said = control.recv(1)
    if said != wanted:
        sys.exit("the runner said %r, not %r" % (said, wanted))


def main():
    runners, program = sys.argv[1], os.path.abspath(sys.argv[2])
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(runners, place + "/python")
        site = place + "/python/sitecustomize.py"
        with open(site) as f:
            text = f.read().replace("/home/user/code.py", program)
        with open(site, "w") as f:
            f.write(text)
        control, theirs = socket.socketpair()
        result = os.open(os.devnull, os.O_WRONLY)
        # 3 and 4, as the guest's init places them
        shell = 'exec 3<&%d 4>&%d; exec "$@"' % (theirs.fileno(), result)
        child = subprocess.Popen(
            ["/bin/bash", "-c", shell, "bash", PYTHON, "-s", program],
            env={"LC_ALL": "C.UTF-8", "PYTHONPATH": place + "/python",
                 "HOME": "/", "PYTHONHASHSEED": "1"},
            pass_fds=[theirs.fileno(), result])
        theirs.close()
        expect(control, b"R")
        if "heat" in sys.argv[3:]:
            for _ in range(2):
                control.sendall(message("heat", program))
                expect(control, b"H")
        control.sendall(message("run", program))
        sys.exit(child.wait(60))


main()
