#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""greedy.py unread|viewers|bodies|form PORT - clients that want too much; prints what they get.

unread: long answers that nobody reads. viewers: streams of the dashboard. bodies: one of
GET, and JSON of very many small values while there are such answers. form: one of very many
files with long names, while there are.
"""
import base64
import contextlib
import json
import socket
import sys
import time

KEY = "greedy-key-of-these-tests"
PATIENCE = 60
LONG = 6 << 20  # of a file; each of its bytes has six in JSON


def ask(port, method, path, body=b"", fields=""):
    s = socket.socket()
    s.settimeout(PATIENCE)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect(("127.0.0.1", port))
    head = "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: %s\r\n%sContent-Length: %d\r\n\r\n" % (
        method, path, KEY, fields, len(body))
    with contextlib.suppress(ConnectionError):
        s.sendall(head.encode() + body)
    return s


def status(s):
    """Of an answer, of which nothing else is read."""
    line = b""
    while len(line) < 12:
        piece = s.recv(12 - len(line))
        if not piece:
            return "closed"
        line += piece
    return line[9:].decode()


def tool(port, name, **arguments):
    return ask(port, "POST", "/mcp", json.dumps({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": name, "arguments": arguments}}).encode())


def count(statuses):
    return ", ".join("%d %s" % (statuses.count(s), s) for s in sorted(set(statuses)))


def until_ok(again):
    """The gateway sees that connections were closed."""
    end = time.monotonic() + PATIENCE
    while (last := again()) not in ("200", "201") and time.monotonic() < end:
        time.sleep(0.05)
    return last


def write_long(port):
    said = status(tool(port, "write_file", sandbox="box", path="long",
                       content_base64=base64.b64encode(b"\1" * LONG).decode()))
    assert said == "200", said


def read_long(port):
    return tool(port, "read_file", sandbox="box", path="long", limit=8 << 20)


def read_some(port, most):
    """Asks for each answer after the one before has begun. A busy machine makes many at a
    time so slowly that the gateway ends them. Return: the connections, and what was
    answered on them."""
    held, said = [], []
    for _ in range(most):
        held.append(read_long(port))
        said.append(status(held[-1]))
    return held, count(said)


def unread(port):
    write_long(port)
    held, said = read_some(port, 12)
    print("unread:", said)
    for s in held:
        s.close()
    print("behind them:", until_ok(lambda: status(read_long(port))))


def viewers(port):
    held = [ask(port, "GET", "/ui/events") for _ in range(40)]
    print("viewers:", count([status(s) for s in held]))
    for s in held:
        s.close()
    print("behind them:", until_ok(lambda: status(ask(port, "GET", "/ui/state"))))


def bodies(port):
    body = b'{"a":[' + b"1," * 1950000 + b"1]}"

    def make():
        return status(ask(port, "POST", "/sandboxes", body))
    print("a body of GET:", status(ask(port, "GET", "/health", b"x" * 65537)))
    write_long(port)
    held, said = read_some(port, 6)
    assert said == "6 200", said
    print("a body beside unread answers:", make())
    for s in held:
        s.close()
    print("behind them:", until_ok(make))


def form(port):
    made = ask(port, "POST", "/sandboxes", b"{}")
    said = made.recv(4096)
    box = json.loads(said[said.index(b"\r\n\r\n") + 4:])
    fields = ("E2b-Sandbox-Id: %s\r\nE2b-Sandbox-Port: 49983\r\nX-Access-Token: %s\r\n"
              "Content-Type: multipart/form-data; boundary=b\r\n") % (
                  box["sandboxID"], box["envdAccessToken"])
    name = "/".join(["d" * 240] * 6)
    body = b"".join(b'--b\r\nContent-Disposition: form-data; name="file"; filename="%s/%d"'
                    b"\r\n\r\n\r\n" % (name.encode(), i) for i in range(2000)) + b"--b--\r\n"

    def upload():
        return status(ask(port, "POST", "/files", body, fields))
    write_long(port)
    held, said = read_some(port, 7)
    assert said == "7 200", said
    print("a form beside unread answers:", upload())
    for s in held:
        s.close()
    print("behind them:", until_ok(upload))


{"form": form, "unread": unread, "viewers": viewers, "bodies": bodies}[sys.argv[1]](int(sys.argv[2]))
