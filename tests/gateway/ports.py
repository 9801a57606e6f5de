#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""ports.py GATEWAY - requests for ports of a sandbox, through a gateway whose mount is a
directory of the test's own. The programs behind the sockets are the test's, so that they
may answer as no decent program does. Speaks TAP.
"""
import contextlib
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

WAIT = 10 * float(os.environ.get("SLOW", "1"))
ID = "abcdefghij0123456789"
count = failed = 0


def ok(good, sentence, got=""):
    global count, failed
    count += 1
    failed += not good
    print("%s %d - %s" % ("ok" if good else "not ok", count, sentence), flush=True)
    if not good:
        print("#   " + repr(got)[:600], flush=True)


class Program:
    """A server on ports/N. answer: a function of (connection, its first bytes)."""

    def __init__(self, ports, number, answer):
        self.seen = b""
        self.answer = answer
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind("%s/%d" % (ports, number))
        self.socket.listen(128)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            there, _ = self.socket.accept()
            threading.Thread(target=self.one, args=(there,), daemon=True).start()

    def one(self, there):
        there.settimeout(WAIT)
        with there, contextlib.suppress(OSError):
            got = b""
            while b"\r\n\r\n" not in got:
                piece = there.recv(65536)
                if not piece:
                    return
                got += piece
            self.seen = got
            self.answer(there, got)


def says(*pieces):
    def answer(there, got):
        for piece in pieces:
            there.sendall(piece)
    return answer


def body_of(there, got):
    """The request's whole body, as it is framed."""
    head, _, body = got.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
    while (length and len(body) < int(length[1])) or (
            b"chunked" in head.lower() and not body.endswith(b"0\r\n\r\n")):
        piece = there.recv(65536)
        if not piece:
            raise OSError("it ended early")
        body += piece
    return body


def echoes(there, got):
    body = body_of(there, got)
    there.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


def upgrades(there, got):
    there.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n"
                  b"Connection: Upgrade\r\n\r\nhello ")
    while piece := there.recv(65536):
        there.sendall(piece.upper())
    there.sendall(b"bye")


def floods(there, got):
    there.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 33554432\r\n\r\n")
    for _ in range(512):
        there.sendall(b"x" * 65536)


def ask(port, text, half=False):
    """The whole answer to these bytes."""
    with socket.create_connection(("127.0.0.1", port), WAIT) as there:
        there.sendall(text)
        if half:
            there.shutdown(socket.SHUT_WR)
        got = b""
        while piece := there.recv(65536):
            got += piece
        return got


def get(port, number, *fields, target="/", method="GET", host=None, body=b"", version=1):
    host = host or "%d-%s.localhost:%d" % (number, ID, port)
    return ask(port, ("%s %s HTTP/1.%d\r\nHost: %s\r\n%s\r\n" % (
        method, target, version, host,
        "".join(f + "\r\n" for f in fields))).encode() + body)


def status(answer):
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def make_mount(top, meta):
    name = hashlib.sha256(ID.encode()).hexdigest()[:16]
    box = "%s/.fsd/sandboxes/%s" % (top, name)
    os.makedirs(box + "/ports")
    with open(top + "/.fsd/health", "w") as f:
        f.write("ok\n")
    for file, text in (("state", "idle\n"), ("until", ""), ("ctl", ""),
                       ("config.json", json.dumps({"meta": dict({
                           "id": ID, "token": "secret-of-envd", "owner": "",
                           "template": "base"}, **meta)}))):
        with open(box + "/" + file, "w") as f:
            f.write(text)
    return box + "/ports"


@contextlib.contextmanager
def gateway(program, meta, *options):
    top = tempfile.mkdtemp(prefix="fsd-ports.")
    port = free_port()
    ports = make_mount(top, meta)
    with open(top + "/keys", "w") as f:
        f.write("k" * 40 + " test\n")
    os.chmod(top + "/keys", 0o600)
    with subprocess.Popen([program, "--mount", top, "--listen", "127.0.0.1:%d" % port,
                           "--domain", "localhost:%d" % port, "--api-key-file",
                           top + "/keys", *options], stderr=subprocess.PIPE,
                          text=True) as child:
        lines = []
        for line in child.stderr:
            lines.append(line)
            if " ready: " in line:
                break
        else:  # its log ended
            sys.exit("the gateway did not start:\n" + "".join(lines))
        threading.Thread(target=child.stderr.read, daemon=True).start()
        try:
            yield port, ports
        finally:
            child.terminate()
            child.wait(WAIT)
            shutil.rmtree(top)


def test_requests(port, ports):
    web = Program(ports, 8080, says(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"
                                    b"X-App: yes\r\n\r\nhello and more"))
    got = get(port, 8080, "X-API-Key: " + "k" * 40, "Authorization: Bearer " + "k" * 40,
              "X-Access-Token: secret-of-envd", "Cookie: a=b", "Keep-Alive: timeout=5",
              "Connection: X-Hop", "X-Hop: 1", target="/a/../b?c=%zz#d")
    ok(status(got) == 200 and b"X-App: yes" in got, "a program's answer comes", got)
    ok(got.endswith(b"\r\n\r\nhello"), "and no byte behind its length", got)
    ok(b"\r\nConnection: close\r\n" in got, "the connection ends with it", got)
    seen = web.seen
    ok(seen.startswith(b"GET /a/../b?c=%zz#d HTTP/1.1\r\n"), "a target goes as it came",
       seen)
    ok(b"k" * 40 not in seen and b"secret-of-envd" not in seen,
       "no secret of the gateway goes to the program", seen)
    ok(b"Cookie: a=b" in seen and b"X-Hop" not in seen and b"Keep-Alive" not in seen,
       "fields of one connection do not go, others do", seen)
    ok(b"\r\nHost: 8080-%s.localhost:%d\r\n" % (ID.encode(), port) in seen,
       "Host goes as it came", seen)
    ok(b"\r\nX-Forwarded-For: 127.0.0.1\r\n" in seen, "with the client's address", seen)
    get(port, 8080, "Authorization: Bearer of-the-program")
    ok(b"of-the-program" in web.seen, "a program's own Authorization goes", web.seen)
    got = get(port, 8080, "E2b-Sandbox-Id: " + ID, "E2b-Sandbox-Port: 8080",
              host="127.0.0.1:%d" % port)
    ok(status(got) == 200, "the headers of E2B name a port, too", got)
    got = get(port, 8080, "Origin: https://other.example")
    ok(status(got) == 200, "which origin may ask is the program's affair", got)
    got = get(port, 8080, version=0)
    ok(web.seen.startswith(b"GET / HTTP/1.0\r\n"), "HTTP/1.0 stays that", web.seen)
    ok(b"hello" not in get(port, 8080, method="HEAD"), "HEAD has no body", got)
    got = get(port, 9999)
    ok(status(got) == 502 and b'"port": 9999' in got.replace(b'":9', b'": 9'),
       "a port that is not open is a 502 with its number", got)
    got = get(port, 8080, host="8080-zzz.localhost:%d" % port)
    ok(status(got) == 502, "so is a sandbox that is not there", got)
    got = get(port, 8080, "Connection: close", host="8080-%s.evil.example" % ID)
    ok(status(got) == 403, "a foreign host is refused", got)


def test_bodies(port, ports):
    echo = Program(ports, 8081, echoes)
    big = os.urandom(3 << 20)
    got = get(port, 8081, "Content-Length: %d" % len(big), method="POST", body=big)
    ok(got.endswith(big), "3 MiB go and come", got[:200])
    chunks = b"5\r\nhello\r\n0\r\n\r\n"
    got = get(port, 8081, "Transfer-Encoding: chunked", method="PUT", body=chunks)
    ok(got.endswith(chunks), "chunks go as they are", got)
    got = get(port, 8081, "Content-Length: 2", method="POST",
              body=b"{}GET /second HTTP/1.1\r\nHost: x\r\n\r\n")
    ok(got.endswith(b"{}") and got.count(b"HTTP/1.1 ") == 1 and
       b"second" not in echo.seen, "a second request of the connection is dropped", got)
    got = get(port, 8081, "Content-Length: 3", "Connection: Content-Length",
              method="POST", body=b"abc")
    ok(got.endswith(b"abc"), "Connection cannot take the framing away", got)
    got = get(port, 8081, "Transfer-Encoding: chunked", method="POST", body=b"zz\r\n")
    ok(status(got) != 200, "wrong chunks end it", got)
    Program(ports, 8082, floods)
    with socket.create_connection(("127.0.0.1", port), WAIT) as there:
        there.sendall(b"GET / HTTP/1.1\r\nHost: 8082-%s.localhost:%d\r\n\r\n" % (
            ID.encode(), port))
        size = 0
        while piece := there.recv(1 << 20):
            size += len(piece)
    ok(size > 33554432, "32 MiB come to a client", size)


def test_answers(port, ports):
    rows = (
        (b"HTTP/1.1 200 OK\r\n\r\nto the end", 200, b"to the end",
         "an answer without a length ends with the connection"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nHTTP/",
         200, b"0\r\n\r\n", "chunks end with the last one"),
        (b"HTTP/1.1 204 No Content\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", 204,
         b"\r\n\r\n", "204 has no body"),
        (b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\n"
         b"Content-Length: 1\r\n\r\nx", 103, b"x", "1xx comes before the answer"),
        (b"HTTP/1.0 404 Nothing here\r\n\r\n", 0, b"\r\n\r\n", None),
        (b"hello\r\n\r\n", 502, b"", "what is no HTTP is a 502"),
        (b"HTTP/1.1 200 OK\nX: y\n\n", 502, b"", "lines without CR are a 502"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
         502, b"", "a body that is framed twice is a 502"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy", 502, b"",
         "so are two lengths"),
        (b"HTTP/1.1 20 OK\r\n\r\n", 502, b"", "a status has three digits"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 40000 + b"\r\n\r\n", 502, b"",
         "a head over 32 KiB is a 502"),
        (b"", 502, b"", "no answer is a 502"),
    )
    for number, (text, want, tail, sentence) in enumerate(rows, 6000):
        Program(ports, number, says(text))
        got = get(port, number)
        if sentence:
            ok(status(got) == want and got.endswith(tail), sentence, got)
    Program(ports, 6100, says(
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
        b"Set-Cookie: a=1; Domain=.localhost; Path=/; HttpOnly\r\n"
        b"Set-Cookie: domain=2; domain = x;Secure\r\nSet-Cookie: c=3; Domain\r\n\r\n"))
    got = get(port, 6100)
    ok(b"Set-Cookie: a=1; Path=/; HttpOnly\r\n" in got and
       b"Set-Cookie: domain=2;Secure\r\n" in got and b"Set-Cookie: c=3\r\n" in got,
       "cookies lose their domain", got)
    Program(ports, 6101, says(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"))
    got = get(port, 6101)
    ok(got.endswith(b"\r\n\r\nabc"), "an answer that is cut stays cut", got)


def test_upgrade(port, ports):
    web = Program(ports, 7000, upgrades)
    with socket.create_connection(("127.0.0.1", port), WAIT) as there:
        there.sendall(b"GET /chat HTTP/1.1\r\nHost: 7000-%s.localhost:%d\r\n"
                      b"Connection: keep-alive, Upgrade\r\nUpgrade: echo\r\n"
                      b"Sec-WebSocket-Key: x\r\n\r\n" % (ID.encode(), port))
        there.sendall(b"one two")
        there.shutdown(socket.SHUT_WR)
        got = b""
        while piece := there.recv(65536):
            got += piece
    ok(status(got) == 101 and b"\r\nUpgrade: echo\r\n" in got, "another protocol begins",
       got)
    ok(got.endswith(b"\r\n\r\nhello ONE TWObye"), "its bytes go both ways, to both ends",
       got)
    ok(b"\r\nConnection: Upgrade\r\n" in web.seen and b"\r\nUpgrade: echo" in web.seen,
       "the program is asked for it", web.seen)


def api(port, method, path, body=None):
    """Status and JSON of a request to the control plane."""
    data = json.dumps(body).encode() if body is not None else b""
    got = get(port, 0, "X-API-Key: " + "k" * 40, "Connection: close",
              "Content-Length: %d" % len(data), method=method, target=path,
              host="localhost:%d" % port, body=data)
    head, _, text = got.partition(b"\r\n\r\n")
    return status(head), json.loads(text) if text else None


def config_of(ports, box):
    name = hashlib.sha256(box.encode()).hexdigest()[:16]
    top = "%s/../../%s/" % (ports, name)
    for file, text in (("state", "new\n"), ("until", "")):  # the mount would have them
        with open(top + file, "w") as f:
            f.write(text)
    with open(top + "config.json") as f:
        return json.load(f)


def test_egress(port, ports):
    top = ports + "/../../../"
    code, made = api(port, "POST", "/sandboxes", {"network": {"denyOut": ["0.0.0.0/0"]}})
    config = config_of(ports, made["sandboxID"])
    ok(code == 201 and "network" not in config and "ports" not in config,
       "where the mount has no network, the fields are taken and do nothing", config)
    ok(made["domain"] == "localhost:%d" % port, "the domain is that of --domain", made)
    code, got = api(port, "PUT", "/sandboxes/%s/network" % made["sandboxID"], {})
    ok(code == 501 and "fsd mount --network" in got["message"], "and PUT says so", got)
    code, got = api(port, "GET", "/sandboxes/" + made["sandboxID"])
    ok(got["allowInternetAccess"] is False and
       got["network"] == {"denyOut": ["0.0.0.0/0"]}, "GET shows both", got)
    with open(top + "network", "w") as f:
        f.write("network yes\nports yes\nallow *:443\n")
    rows = (
        ({}, True, "nothing: all that the operator allows"),
        ({"allow_internet_access": True}, True, "true is the same"),
        ({"allow_internet_access": False}, [], "false: nothing"),
        ({"network": {"denyOut": ["0.0.0.0/0"], "allowOut": ["1.1.1.1", "a.example",
                                                             "*.b.example"]}},
         ["1.1.1.1:*", "a.example:80,443", "*.b.example:80,443"], "these alone"),
        ({"network": {"denyOut": ["8.8.8.8", "10.0.0.0/8"], "allowOut": ["2001:db8::/32"]}},
         {"allow": ["[2001:db8::/32]:*"], "deny": ["8.8.8.8:*", "10.0.0.0/8:*"]},
         "all but some"),
    )
    for body, want, sentence in rows:
        code, made = api(port, "POST", "/sandboxes", body)
        config = config_of(ports, made["sandboxID"])
        ok(code == 201 and config["network"] == want and config["ports"] is True,
           "of create, " + sentence, config)
    for body, word in (({"network": {"denyOut": ["a.example"]}}, "denyOut"),
                       ({"network": {"rules": {"x": 1}}}, "rules"),
                       ({"network": {"allowOut": "a.example"}}, "allowOut")):
        code, got = api(port, "POST", "/sandboxes", body)
        ok(code == 400 and word in got["message"], "a wrong %s is refused" % word, got)
    path = "/sandboxes/" + made["sandboxID"]
    code, _ = api(port, "PUT", path + "/network", {"allowOut": ["c.example"],
                                                   "denyOut": ["0.0.0.0/0"]})
    ok(code == 204 and config_of(ports, made["sandboxID"])["network"] ==
       ["c.example:80,443"], "PUT replaces the rules", code)
    code, _ = api(port, "PUT", path + "/network", {})
    code, got = api(port, "GET", path)
    ok(config_of(ports, made["sandboxID"])["network"] is True and "network" not in got and
       got["allowInternetAccess"] is True, "all of them", got)


def test_many(port, ports):
    held, begun = threading.Event(), threading.Semaphore(0)

    def waits(there, got):
        begun.release()
        held.wait(2 * WAIT)
        there.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    Program(ports, 7001, waits)
    text = b"GET / HTTP/1.1\r\nHost: 7001-%s.localhost:%d\r\n\r\n" % (ID.encode(), port)
    open_ones = []
    for _ in range(64):
        there = socket.create_connection(("127.0.0.1", port), WAIT)
        there.sendall(text)
        open_ones.append(there)
    all_begun = all(begun.acquire(timeout=WAIT) for _ in range(64))
    ok(all_begun, "64 connections to ports of a sandbox may be open")
    got = ask(port, text)
    ok(status(got) == 429, "the 65th connection of a sandbox is refused", got)
    held.set()
    answers = [there.recv(65536) for there in open_ones]
    ok(all(status(a) == 200 for a in answers), "the others are answered",
       [a for a in answers if status(a) != 200])
    for there in open_ones:
        there.close()


def main():
    program = sys.argv[1]
    with gateway(program, {}) as (port, ports):
        for test in (test_requests, test_bodies, test_answers, test_upgrade, test_egress,
                     test_many):
            test(port, ports)
    with gateway(program, {"traffic": "t" * 32, "mask_host": "inner:${PORT}"}) as (
            port, ports):
        web = Program(ports, 8080, says(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
        got = get(port, 8080)
        ok(status(got) == 403 and b"traffic access token" in got,
           "a sandbox that is not public asks for its token", got)
        ok(status(get(port, 8080, "E2B-Traffic-Access-Token: wrong")) == 403,
           "and takes no other")
        ok(status(get(port, 8080, "E2B-Traffic-Access-Token: " + "t" * 32)) == 200,
           "with the token it answers")
        ok(b"\r\nHost: inner:8080\r\n" in web.seen and b"t" * 32 not in web.seen,
           "Host is masked, and the token does not go on", web.seen)
    with gateway(program, {}, "--ports", "no") as (port, ports):
        Program(ports, 8080, says(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
        got = get(port, 8080, "Connection: close")
        ok(status(got) == 502 and b"not reachable" in got,
           "with --ports no none is reachable", got)
    print("1..%d" % count)
    sys.exit(failed > 0)


main()
