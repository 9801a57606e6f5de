#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A relay (vm/net) that was taken over: what it has, it uses for others.

relay.py PID <COMMANDS — stops that relay, takes its sockets to the door and to the server
(needs to be root), carries out the commands, a line each, and lets the relay go on.

    resolve NAME, connect NAME PORT    asks the door; prints its verdict
    ended STREAM VERDICT BYTES TEXT    tells the server of the end of a stream
    total BYTES                        tells it how many bytes there were
    wrong                              tells it what is no message
"""
import ctypes
import os
import signal
import socket
import struct
import sys

from door import ANSWER, CONNECT, RESOLVE, TOLD, receive

PIDFD_GETFD = 438
ENDED, TOTAL = 7, 8  # vm/net/relay_wire.h
ACCOUNT = 4  # the relay's descriptor: vm/fake/fake_relay.c
LIBC = ctypes.CDLL(None, use_errno=True)


def sockets_of(pid):
    """Its sockets of packets, by number."""
    pidfd, found = os.pidfd_open(pid), {}
    for no in sorted(int(name) for name in os.listdir("/proc/%d/fd" % pid)):
        fd = LIBC.syscall(PIDFD_GETFD, pidfd, no, 0)
        if fd < 0:
            raise OSError(ctypes.get_errno(), "pidfd_getfd")
        if os.readlink("/proc/self/fd/%d" % fd).startswith("socket:"):
            s = socket.socket(fileno=fd)
            if s.type == socket.SOCK_SEQPACKET:
                found[no] = s
    return found


def ask(door, op, name, port=0):
    number = 0x7fff0000  # no stream and no look-up of the relay
    door.sendall(struct.pack("<IIIII", 1, op, number, port, 0) + bytes(16) +
                 name.encode().ljust(256, b"\0"))
    while True:  # the door may have answers for the relay itself
        data, fds = receive(door)
        for fd in fds:
            os.close(fd)
        answer = struct.unpack("<5I", data[:20])
        if answer[1:4] == (ANSWER, op, number):
            return TOLD[answer[4]]


def said(op, stream=0, told=0, size=0, text=""):
    return struct.pack("<5I4x4Q", 1, op, stream, told, 0, size, size, 1, 0) + \
        text.encode().ljust(320, b"\0")


def main():
    pid = int(sys.argv[1])
    os.kill(pid, signal.SIGSTOP)
    found = sockets_of(pid)
    account = found.pop(ACCOUNT)
    (door,) = found.values()
    for line in sys.stdin:
        word, *rest = line.split(None, 4)
        if word in ("resolve", "connect"):
            print(ask(door, CONNECT if word == "connect" else RESOLVE, rest[0],
                      *map(int, rest[1:])))
        elif word == "ended":
            account.sendall(said(ENDED, int(rest[0]), TOLD.index(rest[1]), int(rest[2]),
                                 rest[3].strip()))
        elif word == "total":
            account.sendall(said(TOTAL, size=int(rest[0])))
        else:
            account.sendall(said(ENDED, text="two\nlines"))
    os.kill(pid, signal.SIGCONT)


main()
