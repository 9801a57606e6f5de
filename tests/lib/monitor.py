#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A word on a machine's monitor, which only the daemon has.

monitor.py SERVER MACHINE COMMAND — the human monitor's command, through the
server's own end of the socket. The answer goes to the server, which has asked
for none.
"""
import ctypes
import json
import os
import socket
import struct
import sys

QMP = 3  # a machine's end of it: ARGV_FD_QMP of vm/jail/argv.h
PIDFD_GETFD = 438
SOCK_DIAG_BY_FAMILY, REQUEST = 20, 1
ANY_STATE, SHOW_PEER = 0xffffffff, 4
PEER = 2
NO_COOKIE = 0xffffffff


def inode(path):
    return int(os.readlink(path).partition("[")[2].rstrip("]"))


def peer(ino):
    """The inode of the other end."""
    ask = struct.pack("=BBHIIIII", socket.AF_UNIX, 0, 0, ANY_STATE, ino,
                      SHOW_PEER, NO_COOKIE, NO_COOKIE)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as s:
        s.settimeout(10)
        s.send(struct.pack("=IHHII", 16 + len(ask), SOCK_DIAG_BY_FAMILY,
                           REQUEST, 0, 0) + ask)
        said = s.recv(4096)
    at = 16 + 16  # behind both headers: attributes
    while at + 4 <= len(said):
        length, kind = struct.unpack_from("=HH", said, at)
        if kind == PEER:
            return struct.unpack_from("=I", said, at + 4)[0]
        at += (max(length, 4) + 3) & ~3
    sys.exit("the kernel does not tell the socket's other end")


def main(server, machine, command):
    wanted = peer(inode("/proc/%d/fd/%d" % (machine, QMP)))
    for fd in map(int, os.listdir("/proc/%d/fd" % server)):
        if os.readlink("/proc/%d/fd/%d" % (server, fd)) != \
                "socket:[%d]" % wanted:
            continue
        copy = ctypes.CDLL(None, use_errno=True).syscall(
            PIDFD_GETFD, os.pidfd_open(server), fd, 0)
        if copy < 0:
            sys.exit(os.strerror(ctypes.get_errno()))
        os.write(copy, json.dumps({
            "execute": "human-monitor-command",
            "arguments": {"command-line": command}}).encode() + b"\n")
        return
    sys.exit("the server has no such socket")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
