#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Starts the holder of a private mount as a client does, and prints what machines it keeps.

private_pool.py FSD JOBS   "idle" or "none", then "zygote" or "none": what .fsd/stats
                           wants when the mount's template is there

The holder gets a socket as descriptor 3. It sends the directory, then a byte with the
mount's root. It ends at SIGRTMIN + 1. Bounds are multiplied by $SLOW.
"""
import fcntl
import os
import signal
import socket
import subprocess
import sys
import time

END = time.monotonic() + 30 * int(os.environ.get("SLOW", "1"))


def read(root, name):
    with open(os.open(".fsd/" + name, os.O_RDONLY, dir_fd=root)) as f:
        return f.read()


def wanted(root):
    found = []
    for figure in ("fsd_idle_wanted", "fsd_fork_sources"):
        numbers = [int(line.split()[1]) for line in read(root, "stats").splitlines()
                   if line.startswith(figure)]
        found.append(any(numbers))
    return found


def answer(root):
    """Waits for the template, since the plan comes with it."""
    while not read(root, "health").startswith("ok"):
        if time.monotonic() > END:
            sys.exit("the mount is not ready: " + read(root, "health"))
        time.sleep(0.05)  # it tells nobody when it is
    idle, zygote = wanted(root)
    print("idle" if idle else "none", "zygote" if zygote else "none")


def main(fsd, jobs):
    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours, theirs = (socket.socket(fileno=fcntl.fcntl(s, fcntl.F_DUPFD_CLOEXEC, 10))
                    for s in pair)
    for s in pair:
        s.close()
    os.dup2(theirs.fileno(), 3)
    holder = subprocess.Popen([fsd, "private", "run", jobs], pass_fds=[3])
    os.close(3)
    theirs.close()
    ours.settimeout(END - time.monotonic())
    try:
        ours.recv(4096)
        root = socket.recv_fds(ours, 16, 1)[1][0]
        answer(root)
        os.close(root)
    finally:
        holder.send_signal(signal.SIGRTMIN + 1)
        holder.wait(30 * int(os.environ.get("SLOW", "1")))


main(*sys.argv[1:])
