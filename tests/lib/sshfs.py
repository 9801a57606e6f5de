#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command with a filesystem that is no local disk: sshfs without any network.

sshfs.py FROM TO COMMAND [ARGUMENT]...   TO shows the directory FROM while it runs

The two programs talk over a socket pair. Such a filesystem does not know the flags of
renameat2(2). The exit code is the command's. Bounds are multiplied by $SLOW.
"""
import os
import socket
import subprocess
import sys
import time

SERVER = "/usr/lib/openssh/sftp-server"
BOUND_S = 20 * int(os.environ.get("SLOW", "1"))


def await_mount(path, process):
    end = time.monotonic() + BOUND_S
    device = os.stat(path + "/..").st_dev
    while os.stat(path).st_dev == device:
        if process.poll() is not None or time.monotonic() > end:
            sys.exit("sshfs does not mount")
        time.sleep(0.01)  # it tells nobody when it has mounted


def main(source, path, *command):
    one, other = socket.socketpair()
    server = subprocess.Popen([SERVER], stdin=one, stdout=one)
    mount = subprocess.Popen(["sshfs", "-f", "-o", "passive",
                              ":" + os.path.abspath(source), path],
                             stdin=other, stdout=other)
    one.close()
    other.close()
    try:
        await_mount(path, mount)
        return subprocess.run(command).returncode
    finally:
        subprocess.run(["fusermount3", "-u", "-z", "--", path])
        mount.wait(BOUND_S)
        server.wait(BOUND_S)


sys.exit(main(*sys.argv[1:]))
