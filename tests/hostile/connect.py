#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""connect.py URL FROM COUNT [KEY] - opens that many connections and keeps them, then one more.

First each has asked for /health and is idle, then each is in the middle of a request.
Prints what came of the one more, and of those that were there.
"""
import contextlib
import resource
import socket
import sys
import urllib.parse

HEALTH = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
HALF = b"POST /sandboxes HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: %s\r\nContent-Length: 5\r\n" \
    b"Expect: 100-continue\r\n\r\n"
PATIENCE = 20


def ask(address, source, request=HEALTH):
    s = socket.create_connection(address, PATIENCE, source_address=(source, 0))
    try:
        s.sendall(request)
    except ConnectionError:
        pass  # recv() says so as well
    return s


def answer(s):
    """The status, or "closed"."""
    try:
        first = s.recv(4096)
    except ConnectionError:
        first = b""
    return first.split()[1].decode() if first else "closed"


def idle(address, source, count):
    opened = [ask(address, source) for _ in range(count)]
    answered = [answer(s) for s in opened].count("200")
    more = answer(ask(address, source))
    for s in opened:
        with contextlib.suppress(ConnectionError):
            s.sendall(HEALTH)
    go_on = [answer(s) for s in opened].count("200")
    print("idle: answered %d, one more: %s, go on: %d" % (answered, more, go_on))


def busy(address, source, count, key):
    opened = [ask(address, source, HALF % key.encode()) for _ in range(count)]
    assert [answer(s) for s in opened].count("100") == count
    more = answer(ask(address, source))
    opened[1].sendall(b"12345")
    went_on = answer(opened[1])
    opened[0].close()
    then = "429"
    while then in ("closed", "429"):  # until it has seen that the first is closed
        then = answer(ask(address, source))
    print("busy: one more: %s, another goes on: %s, one behind the end of the first: %s" % (
        more, went_on, then))


def main(url, source, count, key=""):
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(count) + 64,) * 2)
    parts = urllib.parse.urlsplit(url)
    address = (parts.hostname, parts.port)
    idle(address, source, int(count))
    busy(address, source, int(count), key)


main(*sys.argv[1:])
