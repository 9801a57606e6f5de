# SPDX-License-Identifier: Apache-2.0
"""Odd requests of a generator: each must be answered, or its connection be closed, in
time, and the gateway lives on. A seed gives the same requests again.
"""
import gzip
import json
import socket
import time

JSON = "Content-Type: application/json"
CONNECT = "Content-Type: application/connect+json"
FORM = "Content-Type: multipart/form-data; boundary=b"
BYTES = "Content-Type: application/octet-stream"
PATHS = ["/home/user/x", "x", "", "/", "..", "../..", "a/../../b", "/proc/self/mem",
         "x" * 255, "x" * 300, "y/" * 70, "\0", "a\0b", "\udcff", "\n", "~", "~/x",
         "%2e%2e", "/tmp/é"]
VALUES = [None, True, 0, -1, 1, 2 ** 31, 2 ** 63, 1e308, -0.5, "", "x", "\0", "\ud800",
          [], {}, [[]], {"": {}}, "9" * 400, ["x"] * 50, {"a": {"b": {"c": []}}}]

# A method, a path and a body that are right; {id} is a sandbox's.
CONTROL = [
    ("GET", "/health", None), ("GET", "/healthz", None), ("GET", "/metrics", None),
    ("GET", "/ui", None), ("GET", "/ui/state", None), ("GET", "/ui/events", None),
    ("GET", "/ui/sandboxes/{id}", None), ("POST", "/ui/jobs/x/kill", {}),
    ("GET", "/v2/sandboxes?limit=2&state=running", None),
    ("GET", "/sandboxes?metadata=a%3Db", None), ("GET", "/sandboxes/{id}", None),
    ("GET", "/sandboxes/{id}/metrics", None),
    ("POST", "/sandboxes/{id}/timeout", {"timeout": 60}),
    ("POST", "/sandboxes/{id}/refreshes", {"duration": 60}),
    ("POST", "/sandboxes/{id}/connect", {"timeout": 60}),
    ("POST", "/sandboxes/{id}/pause", {}), ("DELETE", "/sandboxes/{id}", None),
    ("POST", "/sandboxes", {"templateID": "base", "timeout": 3, "metadata": {"a": "b"},
                            "envVars": {"A": "b"}}),
    ("POST", "/run", {"code": "out x", "language": "python"}),
    ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
    ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "run_code", "arguments": {"code": "out x", "files": {"a": "b"}}}}),
]
CODE = [
    ("GET", "/health", None), ("GET", "/contexts", None),
    ("POST", "/contexts", {"language": "python", "cwd": "/tmp"}),
    ("POST", "/contexts/x/restart", None), ("DELETE", "/contexts/x", None),
    ("POST", "/execute", {"code": "out x", "language": "python", "env_vars": {"A": "b"}}),
]
FILES = [
    ("GET", "/files?path=x", None), ("GET", "/files?path=x&username=user", None),
    ("GET", "/files?path=x&signature=v1_x&signature_expiration=1", None),
    ("GET", "/envs", None), ("GET", "/metrics", None), ("GET", "/health", None),
    ("POST", "/files?path=x", BYTES), ("POST", "/files?path=d", FORM),
    ("POST", "/files", FORM),
] + [("POST", "/filesystem.Filesystem/" + call, body) for call, body in (
    ("Stat", {"path": "x"}), ("ListDir", {"path": ".", "depth": 2}),
    ("MakeDir", {"path": "d"}), ("Remove", {"path": "d"}),
    ("Move", {"source": "x", "destination": "y"}),
    ("CreateWatcher", {"path": "w\nout {\"ready\": true}\nsleep 50", "recursive": True}),
    ("GetWatcherEvents", {"watcherId": "x" * 16}),
    ("RemoveWatcher", {"watcherId": "x" * 16}))] + [
    ("POST", "/process.Process/" + call, body) for call, body in (
        ("List", {}), ("SendSignal", {"process": {"pid": 1}, "signal": "SIGNAL_SIGTERM"}),
        ("SendInput", {"process": {"pid": 1}, "input": {"stdin": "eA=="}}),
        ("CloseStdin", {"process": {"pid": 1}}), ("Update", {}))]
FRAMES = [
    ("/process.Process/Start", {"process": {"cmd": "out x", "args": ["a"],
                                            "envs": {"A": "b"}, "cwd": "/tmp"}}),
    ("/process.Process/Connect", {"process": {"pid": 1}}),
    ("/process.Process/StreamInput", {"start": {"process": {"pid": 1}}}),
    ("/filesystem.Filesystem/WatchDir", {"path": "."}),
]
PART = (b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\n"
        b"bytes\r\n--b--\r\n")
ODD_HEADERS = [
    "Range: bytes=0-0", "Range: bytes=-1", "Range: bytes=9-1", "Range: bytes=1-2,3-4",
    "Content-Encoding: gzip", "Content-Encoding: br", "Accept: */*", "Origin: null",
    "Origin: http://localhost:1", "Connect-Timeout-Ms: 100", "Connect-Timeout-Ms: -1",
    "Connect-Timeout-Ms: 99999999999", "X-Access-Token: wrong", "X-API-Key: wrong",
    "E2b-Sandbox-Id: ../x", "E2b-Sandbox-Port: 1", "E2b-Sandbox-Port: x",
    "Keepalive-Ping-Interval: 1", "MCP-Protocol-Version: 1", "X-Fsd-Ui: 1",
    "Connection: close", "Connection: keep-alive", "Expect: 100-continue",
    "Content-Length: 1", "Transfer-Encoding: chunked", "Transfer-Encoding: gzip",
    "Host: evil.example", "Bad Name: x", " folded", "X-Long: " + "x" * 9000, "Cookie: a",
]


def frame(data, flags=0):
    return bytes([flags]) + len(data).to_bytes(4, "big") + data


class Generator:
    def __init__(self, rng):
        self.rng = rng

    def often(self, part):
        return self.rng.random() < part

    def change(self, value):
        """JSON with something of it replaced, dropped or added."""
        rng = self.rng
        if isinstance(value, dict) and value and self.often(0.8):
            value, key = dict(value), rng.choice(list(value))
            if self.often(0.15):
                del value[key]
            else:
                value[key] = self.change(value[key])
            if self.often(0.1):
                value[rng.choice(["", "x", "path", "process"])] = rng.choice(VALUES)
            return value
        if isinstance(value, str) and self.often(0.5):
            return rng.choice(PATHS)
        return rng.choice(VALUES)

    def text(self, body):
        for _ in range(self.rng.choice((0, 1, 1, 2))):
            body = self.change(body)
        data = json.dumps(body).encode("utf-8", "surrogatepass")
        return self.bytes(data) if self.often(0.15) else data

    def bytes(self, data):
        """Cut, doubled, or with other bytes."""
        rng, data = self.rng, bytearray(data)
        how = rng.randrange(4)
        if how == 0 and data:
            del data[rng.randrange(len(data)):]
        elif how == 1:
            data += bytes(data)
        else:
            for _ in range(rng.randrange(1, 9)):
                data.insert(rng.randrange(len(data) + 1), rng.randrange(256))
        return bytes(data)

    def upload(self, kind):
        data = PART if kind == FORM else self.rng.randbytes(self.rng.choice((0, 9, 300000)))
        lines = [kind]
        if self.often(0.3):
            data = self.bytes(data)
        if self.often(0.3):
            data = gzip.compress(data)
            lines.append("Content-Encoding: gzip")
            if self.often(0.5):
                data = self.bytes(data)
        return data, lines

    def request(self, box):
        """Its bytes, and whether it may be a stream."""
        rng, lines = self.rng, []
        kind = rng.choice((CONTROL, CODE, FILES, FILES, FRAMES))
        if kind is FRAMES:
            path, body = rng.choice(FRAMES)
            method, lines = "POST", [CONNECT]
            data = frame(self.text(body), rng.choice((0, 0, 0, 1, 2, 255)))
            if self.often(0.2):
                data = self.bytes(data)
        else:
            method, path, body = rng.choice(kind)
            data = b""
            if isinstance(body, str):
                data, lines = self.upload(body)
            elif body is not None:
                data, lines = self.text(body), [JSON]
        path = path.replace("{id}", box.id)
        if self.often(0.1):
            path = rng.choice((path + "?" + "a=b&" * rng.choice((1, 60)), path + "/x" * 13,
                               path + "%", path + "%00", path.upper(), "//" + path, "*",
                               "http://localhost" + path, path + "?path=%2e%2e%2fx"))
        if self.often(0.05):
            method = rng.choice(("PUT", "PATCH", "OPTIONS", "HEAD", "TRACE", "get", "X"))
        if kind is not CONTROL:
            lines += box.headers(49999 if kind is CODE else 49983)
        for _ in range(rng.choice((0, 0, 0, 1, 2))):
            lines.insert(rng.randrange(len(lines) + 1), rng.choice(ODD_HEADERS))
        return self.head(method, path, lines, data)

    def head(self, method, path, lines, data):
        rng = self.rng
        lines = ["%s %s HTTP/1.%d" % (method, path, self.often(0.97)), "Host: localhost",
                 *lines]
        if data and self.often(0.15):
            lines.append("Transfer-Encoding: chunked")
            cut = rng.randrange(len(data) + 1)
            data = b"".join(b"%x\r\n%s\r\n" % (len(d), d)
                            for d in (data[:cut], data[cut:]) if d) + b"0\r\n\r\n"
            if self.often(0.2):
                data = self.bytes(data)
        elif data or method == "POST":
            lines.append("Content-Length: %d" % max(0, len(data) + (
                rng.randrange(-9, 9) if self.often(0.05) else 0)))
        head = "\r\n".join(lines).encode("utf-8", "replace") + b"\r\n\r\n"
        if self.often(0.05):
            head = self.bytes(head)
        return head + data


def answered(port, data, seconds):
    """Its status, 0: closed without one; None: nothing in time. A request that has not
    ended is not waited for: the client ends it after a while."""
    until, ends = time.monotonic() + seconds, time.monotonic() + 0.3
    with socket.create_connection(("127.0.0.1", port), seconds) as s:
        try:
            s.sendall(data)
        except TimeoutError:
            return None
        except OSError:
            pass  # it does not listen to the end: the answer may be there
        came = b""
        while b"\r\n" not in came or came.startswith(b"HTTP/1.1 100"):
            s.settimeout(max(0.01, (ends or until) - time.monotonic()))
            try:
                more = s.recv(65536)
            except TimeoutError:
                if not ends:
                    return None
                ends = None
                s.shutdown(socket.SHUT_WR)
                continue
            except ConnectionError:
                more = b""
            if not more:
                return 0
            came += more
            if came.startswith(b"HTTP/1.1 100"):
                came = came.partition(b"\r\n\r\n")[2] or came
    return int(came.split()[1])


def odd(p, each, hung):
    """--odd of them, in sandboxes that are made anew when one has ended."""
    import random
    tally = {}

    def some(n):
        rng = random.Random("%d %d" % (p.args.seed, n))
        made, box = Generator(rng), None
        for at in range(p.args.odd // 8):
            box = box or p.box(life=60)
            data = made.request(box)
            status = answered(p.gateway.port, data, hung)
            tally[status] = tally.get(status, 0) + 1
            if status is None or status == 500:
                yield "request %d of %d: %s: %r" % (at, n, status, data[:300])
            if status == 502 or b"DELETE" in data or b"/pause" in data or at % 50 == 49:
                box.client.close()
                box = None
    found = each(8, some)
    p.tap.say("%d odd requests: %s" % (p.args.odd, ", ".join(
        "%s %d" % (k or "closed", tally[k]) for k in sorted(tally, key=str))))
    if answered(p.gateway.port, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
                hung) != 200:
        found.append("the gateway is not well behind them")
    return found
