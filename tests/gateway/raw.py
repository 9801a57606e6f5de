#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""raw.py PORT - requests byte by byte, and the answers that they must get.

Each row has a connection of its own. An answer has one head; behind a request that
may be read in two ways the connection ends. It prints what is not so, then how many
rows there were.
"""
import os
import re
import socket
import sys
import threading
import time

WAIT = 5 * float(os.environ.get("SLOW", "1"))
HOST = b"Host: localhost\r\n"
GET = b"GET /health HTTP/1.1\r\n" + HOST
POST = b"POST /sandboxes HTTP/1.1\r\n" + HOST
NEXT = b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"

# name, bytes, status of each answer. "end": the connection ends behind them, though
# the client keeps it open; "stays": it does not.
ROWS = [
    ("a request", GET + b"\r\n", [200], "stays"),
    ("two at once", GET + b"\r\n" + NEXT, [200, 200], "stays"),
    ("an empty line before it", b"\r\n" + GET + b"\r\n", [200], "stays"),
    ("HTTP/1.0", b"GET /health HTTP/1.0\r\n" + HOST + b"\r\n", [200], "end"),
    ("HTTP/1.0, kept", b"GET /health HTTP/1.0\r\n" + HOST +
     b"Connection: Keep-Alive\r\n\r\n", [200], "stays"),
    ("Connection: close", GET + b"Connection: x, Close\r\n\r\n", [200], "end"),
    ("HEAD", b"HEAD /health HTTP/1.1\r\n" + HOST + b"\r\n" + NEXT, [200, 200],
     "stays"),
    ("a body that is refused", POST + b"Content-Length: 2\r\n\r\n[]" + NEXT,
     [400, 200], "stays"),
    ("a body in chunks", CHUNKED + b"1;a=b\r\n[\r\n1\r\n]\r\n0\r\nX: y\r\n\r\n" +
     NEXT, [400, 200], "stays"),
    ("a short body of a path that is not there", b"POST /nowhere HTTP/1.1\r\n" +
     HOST + b"Content-Length: 5\r\n\r\n12345" + NEXT, [404, 200], "stays"),
    ("a name in other letters", GET + b"CONTENT-length: 0\r\n\r\n", [200], "stays"),

    ("two lengths", POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
     [400], "end"),
    ("one length twice", POST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
     [400], "end"),
    ("lengths in one line", POST + b"Content-Length: 2, 2\r\n\r\n{}", [400], "end"),
    ("a length with a sign", POST + b"Content-Length: +2\r\n\r\n{}", [400], "end"),
    ("a negative length", POST + b"Content-Length: -2\r\n\r\n{}", [400], "end"),
    ("a length that is no number", POST + b"Content-Length: 2x\r\n\r\n{}", [400],
     "end"),
    ("a length of nothing", POST + b"Content-Length:\r\n\r\n", [400], "end"),
    ("a hexadecimal length", POST + b"Content-Length: 0x2\r\n\r\n{}", [400], "end"),
    ("a length that no number holds", POST + b"Content-Length: " + b"9" * 30 +
     b"\r\n\r\n", [413], "end"),
    ("a length of 2^64", POST + b"Content-Length: 18446744073709551616\r\n\r\n",
     [413], "end"),
    ("a length over the bound, and no body", POST +
     b"Content-Length: 8388609\r\n\r\n", [413], "end"),
    ("the same with Expect", POST + b"Content-Length: 8388609\r\n"
     b"Expect: 100-continue\r\n\r\n", [413], "end"),
    ("Expect", POST + b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n", [100],
     "stays"),
    ("Expect of a path that is not there", b"POST /nowhere HTTP/1.1\r\n" + HOST +
     b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n", [404], "end"),
    ("length and chunks", POST + b"Content-Length: 2\r\n"
     b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", [400], "end"),
    ("chunks and length", POST + b"Transfer-Encoding: chunked\r\n"
     b"Content-Length: 2\r\n\r\n0\r\n\r\n", [400], "end"),
    ("identity", POST + b"Transfer-Encoding: identity\r\n\r\n", [400], "end"),
    ("gzip, chunked", POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n", [400],
     "end"),
    ("chunked twice", POST + b"Transfer-Encoding: chunked\r\n"
     b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", [400], "end"),
    ("an encoding with more behind it", POST +
     b"Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n", [400], "end"),
    ("chunks of HTTP/1.0", b"POST /sandboxes HTTP/1.0\r\n" + HOST +
     b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", [400], "end"),
    ("a blank before the colon", POST + b"Content-Length : 2\r\n\r\n{}", [400],
     "end"),
    ("a tab before the colon", GET + b"X\t: 2\r\n\r\n", [400], "end"),
    ("a header without a name", GET + b": 2\r\n\r\n", [400], "end"),
    ("a header without a colon", GET + b"Xy\r\n\r\n", [400], "end"),
    ("a line that goes on in the next", GET + b"X: a\r\n b\r\n\r\n", [400], "end"),
    ("a blank before the first header", b"GET /health HTTP/1.1\r\n " + HOST +
     b"\r\n", [400], "end"),
    ("a NUL in Host", b"GET /health HTTP/1.1\r\nHost: localhost\0.evil\r\n\r\n",
     [400], "end"),
    ("a NUL in a name", GET + b"X\0: y\r\n\r\n", [400], "end"),
    ("a NUL in the target", b"GET /hea\0lth HTTP/1.1\r\n" + HOST + b"\r\n", [400],
     "end"),
    ("a control character", GET + b"X: \x01\r\n\r\n", [400], "end"),
    ("no Host", b"GET /health HTTP/1.1\r\n\r\n", [400], "end"),
    ("two Hosts", GET + HOST + b"\r\n", [400], "end"),
    ("lines that end with LF", b"GET /health HTTP/1.1\nHost: localhost\n\n", [400],
     "end"),
    ("one line that ends with LF", GET + b"X: y\n\r\n", [400], "end"),
    ("a CR in a line", GET + b"X: a\rb\r\n\r\n", [400], "end"),
    ("no version", b"GET /health\r\n" + HOST + b"\r\n", [400], "end"),
    ("another version", b"GET /health HTTP/2.0\r\n" + HOST + b"\r\n", [505], "end"),
    ("two blanks", b"GET  /health HTTP/1.1\r\n" + HOST + b"\r\n", [400], "end"),
    ("no method", b" /health HTTP/1.1\r\n" + HOST + b"\r\n", [400], "end"),
    ("a long method", b"G" * 40 + b" /health HTTP/1.1\r\n" + HOST + b"\r\n", [400],
     "end"),
    ("a hello of TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", [400],
     "end"),
    ("a long target", b"GET /" + b"x" * 17000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
     [414], "end"),
    ("a target that does not end", b"GET /" + b"x" * 30000, [414], "end"),
    ("long headers", GET + b"X: " + b"y" * 17000 + b"\r\n\r\n", [431], "end"),
    ("headers that do not end", GET + b"X: y\r\n" * 4000, [431], "end"),
    ("101 headers", GET + b"X: y\r\n" * 100 + b"\r\n", [431], "end"),
    ("a chunk's size that is none", CHUNKED + b"x\r\n", [400], "end"),
    ("a chunk's size with a sign", CHUNKED + b"-1\r\n", [400], "end"),
    ("a chunk's size that no number holds", CHUNKED + b"f" * 17 + b"\r\n", [400],
     "end"),
    ("a chunk's size that ends with LF", CHUNKED + b"2\n{}\r\n0\r\n\r\n", [400],
     "end"),
    ("a chunk that is longer than it says", CHUNKED + b"1\r\n{}\r\n0\r\n\r\n",
     [400], "end"),
    ("a trailer that is none", CHUNKED + b"2\r\n{}\r\n0\r\nxy\r\n\r\n", [400],
     "end"),
    ("chunks over the bound", CHUNKED + b"900000\r\n" + b" " * 0x900000, [413],
     "end"),
]


class Came:
    """What the other side sends, as it comes."""

    def __init__(self, s):
        self.socket, self.data, self.ended = s, b"", False

    def more(self, until):
        left = until - time.monotonic()
        if left <= 0 or self.ended:
            return False
        self.socket.settimeout(left)
        try:
            data = self.socket.recv(65536)
        except TimeoutError:
            return False
        except ConnectionError:
            data = b""
        self.data += data
        self.ended = not data
        return True


def send(s, data):
    try:
        s.sendall(data)
    except OSError:
        pass  # the answer says why


def statuses(data):
    return [int(n) for n in re.findall(rb"HTTP/1\.1 (\d\d\d) ", data)]


def try_row(port, row):
    name, data, wanted, end = row
    with socket.create_connection(("127.0.0.1", port), WAIT) as s:
        s.settimeout(WAIT)
        came, until = Came(s), time.monotonic() + WAIT
        sender = threading.Thread(target=send, args=(s, data))
        sender.start()
        while (len(statuses(came.data)) < len(wanted) or
               end == "end" and not came.ended) and came.more(until):
            pass
        # another head would be there by now, or comes with the next request
        if end == "stays" and wanted != [100]:
            send(s, NEXT)
            wanted = wanted + [200]
            while len(statuses(came.data)) < len(wanted) and came.more(until):
                pass
        found = statuses(came.data)
        if found != wanted:
            yield "%s: answered %s, not %s" % (name, found, wanted)
        if came.ended != (end == "end"):
            yield "%s: the connection %s" % (
                name, "ends" if came.ended else "stays")
        s.shutdown(socket.SHUT_RDWR)
        sender.join()


def main(port):
    for row in ROWS:
        for finding in try_row(port, row):
            print(finding)
    print("%d rows" % len(ROWS))


if __name__ == "__main__":
    main(int(sys.argv[1]))
