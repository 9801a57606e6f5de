# SPDX-License-Identifier: Apache-2.0
"""What a program takes of its network, in numbers. The policy of qemu/55_network.bats gives
it 256 connections at a time; a row that gets all of them must leave none behind."""
import collections
import select
import socket
import time

import hostile

ECHO, WEB, TLS = ("example.test", 81), ("example.test", 80), ("example.test", 443)
SECONDS = 100


def opened(at):
    s = socket.create_connection(at, SECONDS)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def answer(s):
    """What comes of one byte on it."""
    try:
        s.sendall(b"x")
        return "answered" if s.recv(1) == b"x" else "closed"
    except OSError:
        return "reset"


def at_once():
    address = socket.gethostbyname(ECHO[0])
    all_of = []
    for _ in range(1000):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex((address, ECHO[1]))
        all_of.append(s)
    for s in all_of:
        select.select([], [s], [], SECONDS)
        s.settimeout(SECONDS)
    seen = collections.Counter(answer(s) for s in all_of)
    for s in all_of:
        s.close()
    return "%d answered, %d reset" % (seen["answered"], seen["reset"])


def in_turn():
    seen = collections.Counter()
    for _ in range(100):
        with opened(ECHO) as s:
            seen[answer(s)] += 1
    return "%d answered" % seen["answered"]


def unread():
    """200 downloads of which no byte is read, and one connection more."""
    held = []
    for _ in range(200):
        s = opened(WEB)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.sendall(b"GET /big/30000000 HTTP/1.0\r\nHost: x\r\n\r\n")
        held.append(s)
    came = sum(s.recv(1) == b"H" for s in held)
    with opened(ECHO) as s:
        told = answer(s)
    for s in held:
        s.close()
    return "%d began, one more: %s" % (came, told)


def slow_hellos():
    """60 that begin TLS and do not go on."""
    held = [opened(TLS) for _ in range(60)]
    for s in held:
        s.sendall(b"\x16\x03\x01")
    with opened(ECHO) as s:
        told = answer(s)
    cut = 0
    for s in held:
        try:
            s.recv(1)
        except ConnectionResetError:
            cut += 1
    return "%d cut, one more: %s" % (cut, told)


def single_bytes():
    """A request whose body comes in 20,000 packets of one byte."""
    with opened(WEB) as s:
        s.sendall(b"POST / HTTP/1.0\r\nHost: x\r\nContent-Length: 20000\r\n\r\n")
        for _ in range(20000):
            s.send(b"x")
        return s.makefile("rb").read().rpartition(b"\r\n\r\n")[2].decode().strip()


def questions():
    """5,000 questions whose answers are not read, and then one whose answer is."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect(("127.0.0.53", 53))
        for i in range(5000):
            name = b"n%04d" % i
            s.send(b"\0\1\1\0\0\1\0\0\0\0\0\0\5" + name + b"\4wild\4test\0\0\1\0\1")
    for _ in range(SECONDS):
        try:
            socket.gethostbyname("a.wild.test")
            return "answered"
        except socket.gaierror:
            time.sleep(1)  # the questions before it may use up the look-ups
    return "not answered"


def lives():
    with opened(ECHO) as s:
        return answer(s)


ROWS = [
    ("at once", "makes 1,000 connections at once", "256 answered, 744 reset", at_once),
    ("in turn", "makes 100 connections in turn", "100 answered", in_turn),
    ("unread", "holds 200 downloads that it does not read",
     "200 began, one more: answered", unread),
    ("slow hellos", "holds 60 connections with the begin of a hello",
     "60 cut, one more: answered", slow_hellos),
    ("single bytes", "sends 20,000 packets of one byte", "20000", single_bytes),
    ("questions", "asks 5,000 names at once", "answered", questions),
    ("lives", "finds the network as it was, after all that", "answered", lives),
]

if __name__ == "__main__":
    hostile.run(ROWS)
