#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The gateway under load: many sandboxes, clients that vanish, processes that
are killed, large output; and how long things take.

load.py [--only GROUP|CASE,...] [--real]

It speaks TAP, and each figure is a comment. The cases of the group "figures"
have bounds of wall time, which hold on a quiet machine only. Those of "robust"
have none. A mount and a gateway of its own serve each case.
"""
import argparse
import base64
import calendar
import contextlib
import json
import os
import queue
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, HERE + "/../fault"]

import odd as odd_requests  # noqa: E402
import service  # noqa: E402
import tap as tap_module  # noqa: E402

MIB = 1 << 20
SLOW = service.SLOW
ANSWER_S = 40 * SLOW  # a request that hangs; the gateway gives up after 30 s
SETTLE_S = 20 * SLOW  # what is over is gone within this

# What a case runs, on fake and on real machines.
FAKE = {
    "one": "1+1",
    "keep": "remember kept",
    "kept": "recall",
    "sleep": "out up\nsleep 600000",
    "short": "out up\nsleep 20",
    "line": "out up",
    "bytes": "bytes %d",
    "echo": {"cmd": "out up\ncat"},
    "hi": {"cmd": "out kept"},
}
REAL = {
    "one": "1+1",
    "keep": "kept = 'kept'",
    "kept": "print(kept)",
    "sleep": "import time\nprint('up', flush=True)\ntime.sleep(600)",
    "short": "import time\nprint('up', flush=True)\ntime.sleep(0.02)",
    "line": "print('up')",
    "bytes": "import os\nfor _ in range(%d >> 16): os.write(1, b'x' * 65536)",
    "echo": {"cmd": "/bin/sh", "args": ["-c", "echo up; exec cat"]},
    "hi": {"cmd": "/bin/sh", "args": ["-c", "echo kept"]},
}


# --- a thin client ----------------------------------------------------------------

class Cut(Exception):
    """The connection ended before the answer did."""


class Hung(Exception):
    """No answer within ANSWER_S."""


class Status(Exception):
    """Another status than the one that was expected."""

    def __init__(self, status, body):
        super().__init__("status %d: %.200r" % (status, body))
        self.status = status


class Client:
    """One connection that is kept. key: of the gateway, or None."""

    def __init__(self, port, key=None):
        self.port = port
        self.key = key
        self.socket = None
        self.data = b""

    def close(self, reset=False):
        if self.socket and reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                   struct.pack("ii", 1, 0))
        if self.socket:
            self.socket.close()
        self.socket = None
        self.data = b""

    def connect(self):
        """A socket; a closed one is made anew."""
        if not self.socket:
            self.socket = socket.create_connection(("127.0.0.1", self.port),
                                                   ANSWER_S)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.socket

    def send(self, data):
        """Return: False if the gateway does not listen to the end."""
        try:
            self.connect().sendall(data)
        except (ConnectionError, BrokenPipeError) as e:
            self.close()
            raise Cut from e
        except TimeoutError as e:
            self.close()
            raise Hung("a request of %d bytes is not taken" % len(data)) from e

    def more(self):
        try:
            data = self.socket.recv(1 << 18)
        except ConnectionError:
            data = b""
        except TimeoutError as e:
            self.close()
            raise Hung("no answer within %.0f s" % ANSWER_S) from e
        if not data:
            self.close()
            raise Cut
        self.data += data

    def until(self, mark):
        while mark not in self.data:
            self.more()
        found, _, self.data = self.data.partition(mark)
        return found

    def head(self):
        lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:])
        return int(lines[0].split()[1]), headers

    def take(self, size):
        while len(self.data) < size:
            self.more()
        found, self.data = self.data[:size], self.data[size:]
        return found

    def pieces(self, headers):
        """The body as it comes."""
        if headers.get("transfer-encoding") != "chunked":
            left = int(headers.get("content-length", 0))
            while left:
                if not self.data:
                    self.more()
                piece = self.take(min(left, len(self.data)))
                left -= len(piece)
                yield piece
            return
        while True:
            size = int(self.until(b"\r\n"), 16)
            piece = self.take(size)
            self.take(2)
            if not size:
                return
            yield piece

    def ask(self, method, path, body=b"", headers=()):
        """The status and a generator of the body's pieces."""
        if self.key:
            headers = [*headers, "X-API-Key: " + self.key]
        self.send(head_of(method, path, len(body), headers) + body)
        status, found = self.head()
        return status, self.pieces(found)

    def call(self, wanted, *request):
        status, pieces = self.ask(*request)
        body = b"".join(pieces)
        if status != wanted:
            raise Status(status, body)
        return body


def head_of(method, path, size, headers=()):
    lines = ["%s %s HTTP/1.1" % (method, path), "Host: localhost", *headers]
    if method != "GET":
        lines.append("Content-Length: %d" % size)
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def lines_of(pieces):
    """The lines of a body as they come."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
    if rest:
        raise Cut


def frames_of(pieces):
    """(flags, JSON) of Connect as they come."""
    rest = b""
    for piece in pieces:
        rest += piece
        while len(rest) >= 5:
            size = 5 + int.from_bytes(rest[1:5], "big")
            if len(rest) < size:
                break
            yield rest[0], json.loads(rest[5:size])
            rest = rest[size:]
    if rest:
        raise Cut


class Box:
    """A sandbox, asked over one connection."""

    def __init__(self, client, made):
        self.client = client
        self.id = made["sandboxID"]
        self.token = made["envdAccessToken"]

    @classmethod
    def make(cls, port, life=3600, key=None):
        client = Client(port, key)
        body = json.dumps({"templateID": "base", "timeout": life}).encode()
        return cls(client, json.loads(client.call(
            201, "POST", "/v2/sandboxes", body)))

    def again(self):
        """The same one over another connection."""
        return Box(Client(self.client.port, self.client.key), {
            "sandboxID": self.id, "envdAccessToken": self.token})

    def headers(self, port):
        return ["E2b-Sandbox-Id: " + self.id, "E2b-Sandbox-Port: %d" % port,
                "X-Access-Token: " + self.token]

    def cell_bytes(self, code, **more):
        body = json.dumps(dict(more, code=code)).encode()
        return head_of("POST", "/execute", len(body), self.headers(49999)), body

    def begin(self, code):
        """The lines of a cell, a generator."""
        self.client.send(b"".join(self.cell_bytes(code)))
        status, headers = self.client.head()
        pieces = self.client.pieces(headers)
        if status != 200:
            raise Status(status, b"".join(pieces))
        return map(json.loads, lines_of(pieces))

    def cell(self, code):
        """Its stdout. A cell that has no proper end is an error."""
        lines = list(self.begin(code))
        bad = [line for line in lines if line["type"] == "error"]
        if bad or lines[-1]["type"] != "end_of_execution":
            raise ValueError("a cell ended with %s" % lines[-2:])
        return "".join(line["text"] for line in lines
                       if line["type"] == "stdout")

    def process(self, call, body):
        """The frames of Start or Connect, a generator."""
        text = json.dumps(body).encode()
        status, pieces = self.client.ask(
            "POST", "/process.Process/" + call,
            b"\0" + len(text).to_bytes(4, "big") + text,
            self.headers(49983) + ["Content-Type: application/connect+json"])
        if status != 200:
            raise Status(status, b"".join(pieces))
        return frames_of(pieces)

    def command(self, process):
        """Its stdout, and how it ended."""
        out, code = b"", None
        for flags, frame in self.process("Start", {"process": process}):
            event = frame.get("event", {})
            out += base64.b64decode(event.get("data", {}).get("stdout", ""))
            code = event.get("end", {}).get("exitCode", code)
            if flags == 2 and "error" in frame:
                raise ValueError("a command ended with %s" % frame["error"])
        return out.decode(), code

    def unary(self, call, body):
        return json.loads(self.client.call(
            200, "POST", "/process.Process/" + call,
            json.dumps(body).encode(),
            self.headers(49983) + ["Content-Type: application/json"]))

    def upload(self, path, data):
        self.client.call(
            200, "POST", "/files?path=" + path, data, self.headers(49983) +
            ["Content-Type: application/octet-stream"])

    def download(self, path):
        return self.client.call(200, "GET", "/files?path=" + path, b"",
                                self.headers(49983))

    def end(self):
        self.client.call(204, "DELETE", "/sandboxes/" + self.id)
        self.client.close()


# --- what is under test -----------------------------------------------------------

def field(pid, name):
    with open("/proc/%d/status" % pid) as f:
        for line in f:
            if line.startswith(name + ":"):
                return int(line.split()[1])
    return 0


def descriptors(pid):
    return len(os.listdir("/proc/%d/fd" % pid))


class Gateway:
    def __init__(self, program, mnt, log, options=(), port=0):
        self.log = open(log, "ab+")
        at = self.log.seek(0, os.SEEK_END)
        self.popen = subprocess.Popen(
            [program, "--mount", mnt, "--listen", "127.0.0.1:%d" % port,
             "--max-sandboxes", "1000", *options],
            stdin=subprocess.DEVNULL, stderr=self.log, start_new_session=True)
        self.pid = self.popen.pid
        self.name = log
        if not service.until(service.START_S, lambda: self.read(at)):
            raise RuntimeError("the gateway does not begin: " + self.tail())

    def read(self, at):
        self.log.seek(at)
        words = self.log.read().decode(errors="replace")
        if self.popen.poll() is not None:
            raise RuntimeError("the gateway has ended: " + words[-500:])
        if " ready: " not in words:
            return False
        self.port = int(words.split("listening on 127.0.0.1:")[1].split()[0])
        return True

    def tail(self):
        with open(self.name, errors="replace") as f:
            return " | ".join(f.read().splitlines()[-5:])

    def kill(self):
        self.popen.kill()
        self.popen.wait()
        self.log.close()

    def stop(self):
        """Return: findings."""
        found = []
        self.popen.terminate()
        try:
            status = self.popen.wait(service.START_S)
            if status:
                found.append("the gateway ended with status %d" % status)
        except subprocess.TimeoutExpired:
            found.append("the gateway does not end when it is told to")
            self.popen.kill()
            self.popen.wait()
        self.log.close()
        with open(self.name, errors="replace") as f:
            found += [line.rstrip() for line in f if "ERROR: " in line or
                      "runtime error:" in line or "Z error " in line]
        return found


class Peak:
    """The most that a process had meanwhile: threads, and memory since."""

    def __init__(self, pid):
        self.pid = pid
        self.threads = self.files = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.look)

    def __enter__(self):
        with contextlib.suppress(OSError):
            with open("/proc/%d/clear_refs" % self.pid, "w") as f:
                f.write("5")
        self.before = field(self.pid, "VmRSS") / 1024
        self.thread.start()
        return self

    def look(self):
        while not self.over.wait(0.05):
            self.threads = max(self.threads, field(self.pid, "Threads"))
            self.files = max(self.files, descriptors(self.pid))

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.most = field(self.pid, "VmHWM") / 1024


class Place:
    """A mount, a gateway in front of it, and what they are asked with."""

    def __init__(self, args, name):
        self.args = args
        self.rng = random.Random("%s %d" % (name, args.seed))
        self.tap = args.tap
        self.base = args.top + "/" + name
        env = {}
        options = list(args.option)
        # the program runs from a directory of its own
        if args.real and "--image" not in options:
            options += ["--image", os.environ.get(
                "FSD_IMAGE", os.path.dirname(args.program) + "/image")]
        self.code = REAL if args.real else FAKE
        if not args.real:
            # so many MiB are available, and in all
            with open(args.top + "/memory", "w") as f:
                f.write("400000 400000\n")
            env["FSD_FAKE_MEMORY"] = args.top + "/memory"
            options += ["--max-machines", str(MACHINES.get(name, 400))]
        self.service = service.Service(args.program, self.base, options, env,
                                       state=args.state)
        self.service.start()
        self.mnt = self.service.mnt
        self.log = self.base + "/gateway.log"
        self.keys = {}
        self.gateway = self.gateway_new(keys=KEYS.get(name, ()))

    def gateway_new(self, port=0, keys=()):
        # files may take half of a sandbox's memory
        memory = 256 if self.args.real else 32
        if self.base.endswith("/files"):
            memory = max(memory, 4 * self.args.mib)
        options = ["--memory", str(memory)]
        if keys:
            self.keys = {name: "secret-of-" + name * 10 for name in keys}
            path = self.base + "/keys"
            with open(path, "w", opener=lambda p, f: os.open(p, f, 0o600)) as f:
                f.writelines("%s %s\n" % (self.keys[name], name) for name in keys)
            options += ["--api-key-file", path]
        return Gateway(self.args.gateway, self.mnt, self.log, options, port)

    def box(self, life=3600, who=None):
        return Box.make(self.gateway.port, life, self.keys.get(who))

    def figure(self, name, value, unit, most=None, least=None):
        """Says it. Return: findings, if it has a bound that counts."""
        bound = "" if most is None and least is None else \
            " (%s %g)" % ("at most" if least is None else "at least",
                          most if least is None else least)
        self.tap.say("%s: %.2f %s%s" % (name, value, unit, bound))
        if not self.args.bounds or not bound:
            return []
        if most is not None and value > most * SLOW or \
                least is not None and value < least / SLOW:
            return ["%s: %.2f %s%s" % (name, value, unit, bound)]
        return []

    def jobs(self):
        return [n for n in os.listdir(self.mnt) if n.startswith("gw.")]

    def sandboxes(self):
        return os.listdir(self.mnt + "/.fsd/sandboxes")

    def settled(self, files, sandboxes=0):
        """Findings: what is left when all is over."""
        def left():
            found = []
            # a command that has ended stays for a minute
            rest = [n for n in self.jobs() if ".p." not in n or
                    self.state_of(n) not in ("done", "No such file or directory")]
            if rest:
                found.append("%d jobs are left, such as %s: %s" % (
                    len(rest), rest[0], self.state_of(rest[0])))
            if len(self.sandboxes()) != sandboxes:
                found.append("there are %d sandboxes, not %d" % (
                    len(self.sandboxes()), sandboxes))
            for who, pid, had in files:
                # idle machines of the server come and go
                if descriptors(pid) > had + (
                        4 if pid == self.gateway.pid else 40):
                    found.append("%s has %d descriptors, and had %d" % (
                        who, descriptors(pid), had))
            return found
        service.until(SETTLE_S, lambda: not left())
        return left()

    def state_of(self, job):
        try:
            with open("%s/%s/state" % (self.mnt, job)) as f:
                return f.read().strip()
        except OSError as e:
            return e.strerror

    def files(self):
        """As settled() takes them."""
        server = self.service.server()
        return [("the gateway", self.gateway.pid, descriptors(self.gateway.pid)),
                ("the server", server, descriptors(server))]

    def end(self):
        """Return: findings."""
        found = self.gateway.stop() + self.service.stop()
        found += self.service.log_findings()
        self.service.remove()
        return found


def each(count, fn):
    """fn(n) in so many threads at once. Return: findings, what they raise."""
    found = queue.SimpleQueue()

    def run(n):
        try:
            for finding in fn(n) or ():
                found.put(finding)
        except Exception as e:
            found.put("%s: %s (%d)" % (type(e).__name__, e, n))
    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return [found.get() for _ in range(found.qsize())]


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def timed(fn, *args):
    """Milliseconds, and what it gave."""
    began = time.monotonic()
    value = fn(*args)
    return (time.monotonic() - began) * 1000, value


# --- robust ------------------------------------------------------------------------

def many(p):
    """--sandboxes of them at once."""
    files = p.files()

    def one(n):
        box = p.box()
        assert box.cell(p.code["keep"]) == ""
        for _ in range(3):
            box.cell(p.code["one"])
        assert box.cell(p.code["kept"]) == "kept\n"
        for name in "ab":
            data = random.Random(n).randbytes(5000 + n)
            box.upload(name, data)
            assert box.download(name) == data
        assert box.command(p.code["hi"]) == ("kept\n", 0)
        box.end()

    with Peak(p.gateway.pid) as peak:
        found = each(p.args.sandboxes, one)
    p.tap.say("%d sandboxes: %.1f MiB, %d threads, %d descriptors at most" % (
        p.args.sandboxes, peak.most, peak.threads, peak.files))
    if peak.most > 64 and not p.args.sanitized:
        found.append("the gateway has %.1f MiB, more than 64" % peak.most)
    if peak.threads > 20:
        found.append("the gateway has %d threads, more than 20" % peak.threads)
    return found + p.settled(files)


# Where a client vanishes.
POINTS = ("connected", "half a head", "half a body", "sent", "status",
          "first line", "a moment", "end")


def vanish(p, box, point, rng):
    """One execution whose client goes."""
    client = Client(p.gateway.port)
    code = p.code[rng.choice(("one", "sleep", "short", "line"))]
    code = rng.choice((code, code, code, p.code["bytes"] % (1 << 19)))
    head, body = box.cell_bytes(code)
    try:
        client.connect()
        if point == "connected":
            return
        if point == "half a head":
            client.send(head[:rng.randrange(1, len(head))])
            return
        if point == "half a body":
            client.send(head + body[:rng.randrange(len(body))])
            return
        client.send(head + body)
        if point == "sent":
            return
        if point == "a moment":
            threading.Event().wait(rng.random() * 0.05)
            return
        status, headers = client.head()
        if status != 200:
            raise Status(status, b"".join(client.pieces(headers)))
        if point == "status":
            return
        for line in lines_of(client.pieces(headers)):
            if point == "first line" or b"end_of_execution" in line or \
                    b'"up' in line:
                return
    finally:
        client.close(reset=rng.random() < 0.3)


def vanishing(p):
    """--vanish executions, in ten sandboxes, whose clients go at any point."""
    # a context has its machine and its interpreter
    files = p.files()
    boxes = [p.box() for _ in range(10)]
    for box in boxes:
        box.cell(p.code["keep"])
    warm = p.files()
    waits = queue.SimpleQueue()
    for n in range(p.args.vanish):
        waits.put(n)

    def worker(w):
        rng = random.Random("%d %d" % (p.args.seed, w))
        while True:
            try:
                n = waits.get_nowait()
            except queue.Empty:
                return
            vanish(p, rng.choice(boxes), POINTS[n % len(POINTS)], rng)

    with Peak(p.gateway.pid) as peak:
        found = each(16, worker)
    p.tap.say("%d vanished clients: %.1f MiB at most, %.1f before, %d descriptors at most"
              % (p.args.vanish, peak.most, peak.before, peak.files))
    # each connection has two, and each client two or three under way
    if peak.files > files[0][2] + 180:
        found.append("the gateway has %d descriptors: it keeps connections" % peak.files)
    for box in boxes:
        box.client.close()
    # the connections of the boxes are closed now
    warm = [(who, pid, had) for who, pid, had in warm]
    found += p.settled(warm, sandboxes=len(boxes))

    def after(n):
        kept = boxes[n].cell(p.code["kept"])
        if kept != "kept\n":
            yield "the state of sandbox %d is %r" % (n, kept)
        boxes[n].end()
    found += each(len(boxes), after)
    return found + p.settled(files)


def traffic(p, over, tally, rng):
    """Requests of each kind until it is over. Each has an end: it is counted."""
    def count(word):
        tally[word] = tally.get(word, 0) + 1

    while not over.is_set():
        box = None
        try:
            box = p.box()
            for step in range(4):
                what = rng.choice(("cell", "sleep", "file", "command", "list"))
                if what == "cell":
                    box.cell(p.code["one"])
                elif what == "sleep":
                    for line in box.begin(p.code["sleep"]):
                        if over.is_set():
                            box.client.close()
                            break
                elif what == "file":
                    box.upload("x", b"x" * 300000)
                    box.download("x")
                elif what == "command":
                    box.command(p.code["hi"])
                else:
                    box.client.call(200, "GET", "/v2/sandboxes")
                count(what)
        except Cut:
            count("cut")
        except Status as e:
            count("status %d" % e.status)
            if e.status == 503:
                over.wait(0.05)
        except ValueError as e:
            count("error")
        finally:
            if box:
                with contextlib.suppress(Cut, Status):
                    box.end()


def server_kills(p):
    """The server of the mount dies --kills times under load."""
    over = threading.Event()
    tally = {}
    found = []
    # requests that hang fail in ANSWER_S, those that sleep must be cut
    load = threading.Thread(target=lambda: found.extend(each(
        8, lambda n: traffic(p, over, tally, random.Random(n)))))
    files = p.files()[:1]
    load.start()
    try:
        for _ in range(p.args.kills):
            # so long that sandboxes begin
            threading.Event().wait(0.1 + p.rng.random() * 0.4)
            found += kill_server(p)
            if found:
                break
    finally:
        over.set()
        load.join()
    p.tap.say("%d kills of the server: %s" % (p.args.kills, ", ".join(
        "%s %d" % pair for pair in sorted(tally.items()))))
    box = p.box()
    box.cell(p.code["keep"])
    if box.cell(p.code["kept"]) != "kept\n":
        found.append("a cell behind the kills is wrong")
    box.end()
    return found + p.settled(files)


def kill_server(p):
    """Return: findings."""
    pid = p.service.server()
    os.kill(pid, signal.SIGKILL)
    if service.until(service.START_S, lambda: os.getxattr(
            p.mnt, "user.fsd.pid") != str(pid).encode()):
        return []
    return ["no server follows %d" % pid]


def server_survived(p):
    """The server of the mount dies --kills / 2 times: no sandbox, cell, command, byte
    of input or file is lost, and nobody is told."""
    boxes = [p.box() for _ in range(4)]
    over = threading.Event()
    tally = {}
    found = []
    for box in boxes:
        box.cell("kept, n = 'kept', 0")

    def use(n):
        rng = random.Random("%d %d" % (p.args.seed, n))
        box, steps, said = boxes[n], 0, b""
        other = box.again()
        frames = other.process("Start", {"process": p.code["echo"], "tag": "e"})
        pid = next(frames)[1]["event"]["start"]["pid"]
        next(frames)  # it is up
        while not over.is_set():
            what = rng.choice(("cell", "file", "command", "input"))
            if what == "cell":
                steps += 1
                got = box.cell("n += 1\nprint(n, kept)\nimport time\n"
                               "time.sleep(%f)" % (rng.random() / 4))
                if got != "%d kept\n" % steps:
                    yield "step %d said %r" % (steps, got)
            elif what == "file":
                data = os.urandom(rng.randrange(1, 1 << 18))
                box.upload("f%d" % n, data)
                if box.download("f%d" % n) != data:
                    yield "a file is not what was uploaded"
            elif what == "command":
                if box.command(p.code["hi"]) != ("kept\n", 0):
                    yield "a command did not say what it should"
            else:
                line = b"%d\n" % rng.getrandbits(64)
                box.unary("SendInput", {"process": {"pid": pid}, "input": {
                    "stdin": base64.b64encode(line).decode()}})
                said = b""
                while len(said) < len(line):
                    event = next(frames)[1]["event"]
                    said += base64.b64decode(event["data"]["stdout"])
                if said != line:
                    yield "%r came back as %r" % (line, said)
            tally[what] = tally.get(what, 0) + 1
        other.client.close()

    load = threading.Thread(target=lambda: found.extend(each(len(boxes), use)))
    load.start()
    try:
        for _ in range(max(p.args.kills // 2, 1)):
            threading.Event().wait(p.rng.random())
            found += kill_server(p)
            if found:
                break
    finally:
        over.set()
        load.join()
    p.tap.say("%d kills of the server: %s" % (max(p.args.kills // 2, 1), ", ".join(
        "%s %d" % pair for pair in sorted(tally.items()))))
    if len(p.sandboxes()) != len(boxes):
        found.append("%d sandboxes are left" % len(p.sandboxes()))
    for box in boxes:
        box.end()
    return found + p.settled(p.files()[:1])


def gateway_kills(p):
    """The gateway dies --gateway-kills times; sandboxes and commands do not."""
    boxes = [p.box() for _ in range(6)]
    pids = []
    found = []
    for box in boxes:
        box.cell(p.code["keep"])
        other = box.again()
        frames = other.process("Start", {"process": p.code["echo"],
                                         "tag": "echo"})
        pids.append(next(frames)[1]["event"]["start"]["pid"])
        next(frames)  # it is up
        other.client.close()
    for _ in range(p.args.gateway_kills):
        # cells whose client loses its connection, one of them asleep
        cells = [box.again() for box in boxes]
        ups = [cell.begin(p.code["sleep"] if n % 2 else p.code["short"])
               for n, cell in enumerate(cells)]
        for up in ups:
            next(up)
            next(up)
        port = p.gateway.port
        p.gateway.kill()
        for box in boxes + cells:
            box.client.close()
        began = time.monotonic()
        p.gateway = p.gateway_new(port)
        made = time.monotonic()

        def use(n):
            box = boxes[n]
            kept = box.cell(p.code["kept"])
            if kept != "kept\n":
                yield "the state is %r" % kept
            listed = box.unary("List", {})["processes"]
            if [c["pid"] for c in listed] != [pids[n]]:
                yield "the commands are %s" % listed
            other = box.again()
            frames = other.process("Connect", {"process": {"pid": pids[n]}})
            next(frames)
            box.unary("SendInput", {"process": {"pid": pids[n]}, "input": {
                "stdin": base64.b64encode(b"hey\n").decode()}})
            event = next(frames)[1]["event"]
            if base64.b64decode(event["data"]["stdout"]) != b"hey\n":
                yield "a command answers %s" % event
            other.client.close()
        found += each(len(boxes), use)
        found += p.figure("usable behind a kill of the gateway",
                          time.monotonic() - began, "s", most=1)
        p.tap.say("of that its start %.2f s" % (made - began))
        if len(p.sandboxes()) != len(boxes):
            found.append("%d sandboxes are left" % len(p.sandboxes()))
    for box in boxes:
        box.end()
    files = p.files()[:1]
    return found + p.settled(files)


def stdout(p):
    """--mib / 4 MiB of output through one cell; a stream that nobody reads."""
    size = p.args.mib * MIB // 4
    box = p.box()
    box.cell(p.code["bytes"] % (size // 8))

    def read():
        got = 0
        for line in box.begin(p.code["bytes"] % size):
            if line["type"] == "stdout":
                got += len(line["text"])
            elif line["type"] == "error":
                return line
        return got
    with Peak(p.gateway.pid) as peak:
        ms, got = timed(read)
    found = [] if got == size else ["%r of %d bytes came" % (got, size)]
    found += p.figure("stdout through /execute", size / MIB / ms * 1000,
                      "MB/s", least=50)
    found += flat(p, "stdout", peak)
    # so the program waits at its pipe, and the gateway takes no memory for it
    client = Client(p.gateway.port)
    with Peak(p.gateway.pid) as peak:
        client.send(b"".join(box.cell_bytes(p.code["bytes"] % size)))
        client.head()
        service.until(2 * SLOW, lambda: False)
    found += flat(p, "stdout that nobody reads", peak)
    client.close()
    box.end()
    return found


def flat(p, name, peak):
    p.tap.say("%s: %.1f MiB at most, %.1f before" % (name, peak.most,
                                                     peak.before))
    if peak.most > peak.before + 8 and not p.args.sanitized:
        return ["%s: memory rose from %.1f to %.1f MiB" % (
            name, peak.before, peak.most)]
    return []


def transfer(p):
    """A file of --mib MiB, up and down."""
    size = p.args.mib * MIB
    data = p.rng.randbytes(MIB) * p.args.mib
    box = p.box()
    box.upload("a", data[:16 * MIB])
    box.download("a")
    with Peak(p.gateway.pid) as peak:
        up, _ = timed(box.upload, "a", data)
    found = p.figure("upload", size / MIB / up * 1000, "MB/s", least=50)
    found += flat(p, "upload", peak)

    def down():
        status, pieces = box.client.ask("GET", "/files?path=a", b"",
                                        box.headers(49983))
        at = 0
        for piece in pieces:
            if piece != data[at:at + len(piece)]:
                raise ValueError("other bytes at %d" % at)
            at += len(piece)
        return at
    with Peak(p.gateway.pid) as peak:
        ms, got = timed(down)
    if got != size:
        found.append("%d of %d bytes came" % (got, size))
    found += p.figure("download", size / MIB / ms * 1000, "MB/s", least=50)
    found += flat(p, "download", peak)
    box.end()
    return found


# --- figures --------------------------------------------------------------------------

def by_files(p, name, config, count):
    """The same cell without a gateway: until its end was read."""
    path = "%s/f%d" % (p.mnt, count)
    os.mkdir(path)
    with open(path + "/config.json", "w") as f:
        f.write(config)
    with open(path + "/events") as f:
        f.read()
    return path


def overhead(p):
    """A cell of 1+1, over HTTP and by files in turn."""
    box = p.box()
    box.cell(p.code["one"])
    name = p.sandboxes()[0]
    session = os.listdir("%s/.fsd/sandboxes/%s/sessions" % (p.mnt, name))[0]
    config = json.dumps({"sandbox": name, "session": session, "mode": "cell",
                         "language": "python", "code": p.code["one"],
                         "timeout": 0})
    http, direct = [], []
    for n in range(p.args.samples):
        http.append(timed(box.cell, p.code["one"])[0])
        ms, path = timed(by_files, p, name, config, n)
        direct.append(ms)
        os.unlink(path + "/config.json")
        os.rmdir(path)
    found = []
    for part, most in ((0.5, 2), (0.95, 5)):
        one, other = percentile(http, part), percentile(direct, part)
        found += p.figure("1+1, p%d: /execute %.2f ms, by files %.2f ms, more"
                          % (part * 100, one, other), one - other, "ms", most)
    box.end()
    return found


def making(p):
    """create and delete, without a machine."""
    make, end, found = [], [], []
    client = Client(p.gateway.port)
    body = json.dumps({"templateID": "base"}).encode()
    for _ in range(p.args.samples):
        ms, text = timed(client.call, 201, "POST", "/v2/sandboxes", body)
        make.append(ms)
        path = "/sandboxes/" + json.loads(text)["sandboxID"]
        end.append(timed(client.call, 204, "DELETE", path)[0])
    for name, values in (("create", make), ("delete", end)):
        found += p.figure("%s, p50" % name, percentile(values, 0.5), "ms", 3)
        p.figure("%s, p95" % name, percentile(values, 0.95), "ms")
    return found


def first_line(p):
    """From the time that the mount gives a line to its arrival here."""
    box = p.box()
    box.cell(p.code["one"])
    late = []
    for _ in range(p.args.samples):
        for line in box.begin(p.code["line"]):
            if line["type"] == "stdout":
                now = time.time()
                at = line["timestamp"]
                whole = time.strptime(at[:19], "%Y-%m-%dT%H:%M:%S")
                # a time is cut to its millisecond: on average half of one
                late.append((now - calendar.timegm(whole) -
                             float("0" + at[19:-1])) * 1000 - 0.5)
    box.end()
    return p.figure("first line of output, p50", percentile(late, 0.5), "ms",
                    5)


def beside(p):
    """1+1 beside --sandboxes idle streams."""
    box = p.box()
    box.cell(p.code["one"])

    def median():
        return percentile([timed(box.cell, p.code["one"])[0]
                           for _ in range(p.args.samples)], 0.5)
    alone = median()
    idle = [None] * p.args.sandboxes

    def open_one(n):
        idle[n] = p.box()
        lines = idle[n].begin(p.code["sleep"])
        next(lines)
        next(lines)
    found = each(p.args.sandboxes, open_one)
    full = median()
    found += p.figure("1+1 alone %.2f ms, beside %d idle streams %.2f ms, more"
                      % (alone, p.args.sandboxes, full), full - alone, "ms", 1)
    for other in idle:
        other.client.close()
    box.end()
    return found


def leaving(p):
    """From a client's going to the end of its cell, and to the next one's."""
    box = p.box()
    box.cell(p.code["keep"])
    found, ends, nexts = [], [], []
    for _ in range(min(50, p.args.samples)):
        other = box.again()
        lines = other.begin(p.code["sleep"])
        next(lines)
        next(lines)
        events = open("%s/%s/events" % (p.mnt, p.jobs()[0]))
        began = time.monotonic()
        other.client.close()
        text = events.read()
        ends.append((time.monotonic() - began) * 1000)
        events.close()
        if '"exit_code": 130' not in text and '"exit_code":130' not in text:
            found.append("the cell ended with %s" % text[-300:])
        if box.cell(p.code["kept"]) != "kept\n":
            found.append("the state is lost")
        nexts.append((time.monotonic() - began) * 1000)
        service.until(SETTLE_S, lambda: not p.jobs())
    found += p.figure("client gone to its cell's end, worst", max(ends), "ms",
                      50)
    found += p.figure("client gone to the end of the next cell, worst",
                      max(nexts), "ms", 1000)
    box.end()
    return found


# What clients of E2B start first in a new sandbox: a login shell for one program.
LOGIN = {"cmd": "/bin/bash", "args": ["-l", "-c", "node -v"]}


def to_interactive(p, ends):
    """Milliseconds from a sandbox's creation to the end of its first command."""
    began = time.monotonic()
    box = p.box()
    out, code = box.command(LOGIN)
    ms = (time.monotonic() - began) * 1000
    if code != 0 or not out.startswith("v"):
        raise ValueError("the command ended with %r, %r" % (code, out))
    if ends:
        box.end()
    return ms, box


def interactive(p):
    """One after the other; then 30 at once, which end, or stay until all have begun."""
    for _ in range(4):
        to_interactive(p, True)  # the first machines of a mount are heated meanwhile
    turn = [to_interactive(p, True)[0] for _ in range(20)]
    found = p.figure("a sandbox and its first command, in turn, p50",
                     percentile(turn, 0.5), "ms", 500)
    for name, ends in (("each ended", True), ("all kept", False)):
        times, boxes = [], []

        def one(_, ends=ends, times=times, boxes=boxes):
            ms, box = to_interactive(p, ends)
            times.append(ms)
            boxes.append(box)
        found += each(30, one)
        for box in boxes:
            if not ends:
                box.end()
        p.figure("30 at once, %s, p50" % name, percentile(times, 0.5), "ms")
        found += p.figure("30 at once, %s, worst" % name, max(times), "ms", 10000)
    return found


# name, groups, sentence, function
# --- the worst that clients can do ---------------------------------------------------

MACHINES = {"worst": 4}
KEYS = {"worst": ("files", "watch", "half", "other")}
QUICK_S = 2 * SLOW  # another key's request


def hold_files(p, over):
    """Requests for files of sandboxes that get no machine. Gives their clients."""
    held = []
    for n in range(2 + 24):
        box = p.box(who="files")
        if n < 2:
            box.cell(p.code["keep"])
            continue
        client = Client(p.gateway.port)
        client.send(head_of("GET", "/files?path=x", 0, box.headers(49983)))
        held.append(client)
    return held


def hold_watchers(p, over):
    """Questions to a watcher that does not answer."""
    box = p.box(who="watch")
    name = 'w\nout {"ready": true}\nsleep 600000'
    call = "/filesystem.Filesystem/"
    headers = [*box.headers(49983), "Content-Type: application/json"]

    def ask(client, what, body):
        data = json.dumps(body).encode()
        client.send(head_of("POST", call + what, len(data), headers) + data)
        return client

    box.client.call(200, "POST", call + "MakeDir",
                    json.dumps({"path": name}).encode(), headers)
    ask(box.client, "CreateWatcher", {"path": name})
    status, found = box.client.head()
    made = json.loads(b"".join(box.client.pieces(found)))
    return [ask(Client(p.gateway.port), "GetWatcherEvents", made) for _ in range(48)]


def hold_bodies(p, over):
    """Bodies of which a byte is missing: of a sandbox that is there, and of none."""
    box = p.box(who="half")
    size, held = 8 << 20, []
    for n in range(64):
        client = Client(p.gateway.port)
        headers = box.headers(49999) if n % 2 else ["E2b-Sandbox-Id: nothing"]
        with contextlib.suppress(Cut):
            client.send(head_of("POST", "/execute", size, headers) + b" " * (size - 1))
        held.append(client)
    return held


def hold_heads(p, over):
    """Half a head."""
    client = Client(p.gateway.port)
    client.send(b"GET /health HTTP/1.1\r\nHost: local")
    return [client]


def others_wait(p, box):
    """How long the slowest of another key's requests, and of /health, took."""
    def look():
        client = Client(p.gateway.port)
        client.call(200, "GET", "/health")
        client.close()

    def work():
        assert box.cell(p.code["one"]) is not None
        box.upload("x", b"x" * 300000)
        assert len(box.download("x")) == 300000
        box.client.call(200, "GET", "/v2/sandboxes")
    return max(timed(look)[0] for _ in range(10)), max(timed(work)[0] for _ in range(5))


def statuses_of(held):
    """What the clients that were held are told at last."""
    found = {}
    for client in held:
        try:
            status, _ = client.head()
        except Cut:
            status = "cut"
        found[status] = found.get(status, 0) + 1
        client.close()
    return found


def worst(p):
    """Clients of three keys do their worst at once: others do not wait for them. With
    --held their requests end at the bound, and hold nothing."""
    box, found, held = p.box(who="other"), [], {}
    box.cell(p.code["keep"])
    files = p.files()[:1]
    with Peak(p.gateway.pid) as peak:
        found += each(4, lambda n: held.update({n: (
            hold_files, hold_watchers, hold_bodies, hold_heads)[n](p, held)}))
        health, work = others_wait(p, box)
    p.tap.say("beside them: /health %.0f ms, another key's work %.0f ms; %.1f MiB" % (
        health, work, peak.most))
    if max(health, work) > QUICK_S * 1000:
        found.append("others wait for them")
    if peak.most - peak.before > 320 and not p.args.sanitized:
        found.append("they take %.1f MiB" % (peak.most - peak.before))
    wanted = [({503}, 1), ({408}, 3)]
    if p.args.held:
        wanted += [({503, 429}, 0), ({408, 429, 502}, 2)]
    for may, n in wanted:
        told = statuses_of(held.pop(n))
        p.tap.say("they are told: %s" % told)
        if not set(told) <= may:
            found.append("they are told %s, not %s" % (told, may))
    for clients in held.values():
        for client in clients:
            client.close()
    for name in p.sandboxes():
        os.rmdir(p.mnt + "/.fsd/sandboxes/" + name)
    return found + (p.settled(files) if p.args.held else [])


def odd(p):
    """--odd requests of a generator: each is answered or closed in time."""
    return odd_requests.odd(p, each, ANSWER_S)


CASES = (
    ("many", "robust", "many sandboxes work at once, in little memory", many),
    ("vanish", "robust", "clients that vanish leave nothing", vanishing),
    ("servers", "robust", "no request hangs when the server dies",
     server_kills),
    ("survive", "robust", "a server that dies takes nothing with it",
     server_survived),
    ("gateways", "robust figures",
     "a gateway that dies takes nothing with it", gateway_kills),
    ("worst", "robust", "those who do their worst hold up themselves", worst),
    ("odd", "robust", "odd requests are answered or closed in time", odd),
    ("stdout", "robust figures", "much output takes no memory", stdout),
    ("files", "robust figures", "large files take no memory", transfer),
    ("overhead", "figures", "a cell costs little more than by files",
     overhead),
    ("making", "figures", "a sandbox is made and ended fast", making),
    ("line", "figures", "a line of output comes fast", first_line),
    ("idle", "figures", "streams that are idle cost nothing", beside),
    ("gone", "figures", "a cell ends with its client", leaving),
    ("interactive", "figures", "a new sandbox answers soon", interactive),
)
# What fake machines cannot show: a server's death, and how long programs take.
REAL_ONLY = {"survive", "interactive"}


def run_case(args, name, fn):
    """Return: findings."""
    place = Place(args, name)
    found = []
    try:
        found += fn(place)
    except Exception as e:
        import traceback
        found += traceback.format_exc().splitlines()
    finally:
        if found:
            args.tap.say(place.gateway.tail())
        found += place.end()
    return found


def options():
    top = service.TOP + "/build/"
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add = p.add_argument
    add("--only", default="robust,figures",
        help="robust, figures, or names of cases: " +
        ", ".join(case[0] for case in CASES))
    add("--real", action="store_true", help="on real machines")
    add("--program", help="the daemon (build/fsd-fake, build/fsd)")
    add("--gateway", help="its neighbour fsd-gateway")
    add("--option", action="append", default=[], help="of fsd mount")
    add("--state", help="a state directory that is there")
    add("--seed", type=int, default=int(time.time()))
    add("--sandboxes", type=int, default=200)
    add("--vanish", type=int, default=10000)
    add("--kills", type=int, default=50)
    add("--gateway-kills", type=int, default=10)
    add("--held", type=int, default=1, help="1: wait until requests that wait for "
        "machines are ended, 0: do not")
    add("--odd", type=int, default=10000, help="odd requests")
    add("--mib", type=int, default=256, help="of a large file")
    add("--samples", type=int, default=300, help="of a figure")
    args = p.parse_args()
    args.program = args.program or top + ("fsd" if args.real else "fsd-fake")
    args.gateway = args.gateway or \
        os.path.dirname(os.path.abspath(args.program)) + "/fsd-gateway"
    args.sanitized = "/asan/" in os.path.abspath(args.program)
    args.only = args.only.split(",")
    wanting = REAL_ONLY & set(args.only)
    if wanting and not args.real:
        p.error("%s runs on real machines only: add --real" %
                ", ".join(sorted(wanting)))
    args.bounds = "figures" in args.only
    return args


def main():
    args = options()
    # so that nothing is left behind
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    args.tap = tap_module.Tap()
    args.tap.say("seed %d" % args.seed)
    args.top = tempfile.mkdtemp(prefix="fsd-load.")
    try:
        for name, groups, sentence, fn in CASES:
            if name in REAL_ONLY and not args.real:
                continue
            if name in args.only or set(groups.split()) & set(args.only):
                args.tap.run(sentence, run_case, args, name, fn)
    finally:
        shutil.rmtree(args.top)
    return args.tap.end()


if __name__ == "__main__":
    sys.exit(main())
