#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""connect.py URL FROM COUNT - opens that many connections and keeps them, then one more.

Each asks for /health as soon as it is open, and stays open. Prints how many were
answered, what came of the one more (closed, waits, or an answer), and its answer, or
another one's, after the first has been closed.
"""
import resource
import socket
import sys
import urllib.parse

REQUEST = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
A_WHILE = 1  # nothing is expected to come in that time


def ask(address, source):
    s = socket.create_connection(address, source_address=(source, 0))
    try:
        s.sendall(REQUEST)
    except ConnectionError:
        pass  # recv() says so as well
    return s


def answer(s):
    """The status, "closed" or "waits"."""
    try:
        first = s.recv(4096)
    except socket.timeout:
        return "waits"
    except ConnectionError:
        first = b""
    return first.split()[1].decode() if first else "closed"


def main(url, source, count):
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(count) + 64,) * 2)
    parts = urllib.parse.urlsplit(url)
    address = (parts.hostname, parts.port)
    opened = [ask(address, source) for _ in range(int(count))]
    answered = [answer(s) for s in opened].count("200")
    more = ask(address, source)
    more.settimeout(A_WHILE)
    came = answer(more)
    opened[0].close()
    more.settimeout(None)
    then = answer(more) if came == "waits" else "closed"
    while then in ("closed", "429"):  # until it has seen that the first is closed
        more = ask(address, source)
        then = answer(more)
    print("answered %d, one more: %s, then %s" % (answered, came, then))


main(*sys.argv[1:])
