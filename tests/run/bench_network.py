# SPDX-License-Identifier: Apache-2.0
"""The part "network" of `make bench`: jobs that connect to servers, and ports.

The servers live in a network namespace of their own (tests/network/world.py), the mount
in another one; a veth joins both. Each figure is the median of several turns, and each
turn measures all figures: the host is another one each minute.
"""
import atexit
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

WORLD = os.path.abspath(__file__ + "/../../network/world.py")
SERVER = "93.184.216.10"
POLICY = {"allow": ["*:*", SERVER + ":*"], "rate": 1000}
HTTP_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"

# What a job measures by itself; it prints one line of JSON.
PROBE = r"""
import json, socket, statistics, threading, time
SERVER, MB = "93.184.216.10", 1 << 20
found = {}

def ms(call):
    start = time.monotonic()
    value = call()
    return 1000 * (time.monotonic() - start), value

def one_byte():
    with socket.create_connection((SERVER, 81)) as s:
        s.sendall(b"x")
        s.recv(1)

names = [ms(lambda: socket.getaddrinfo(name, 81, socket.AF_INET))[0]
         for name in ("example.test", "other.test", "example.test", "other.test")]
found["name_first"], found["name_later"] = names[0], statistics.median(names[1:])
connects = [ms(one_byte)[0] for _ in range(101)]
found["connect_first"], found["connect"] = connects[0], statistics.median(connects[1:])

def each_second():
    for _ in range(25):
        one_byte()
threads = [threading.Thread(target=each_second) for _ in range(8)]
for t in threads: t.start()
spent = ms(lambda: [t.join() for t in threads])[0]
found["connects"] = 200 / spent * 1000

s = socket.create_connection((SERVER, 81))
def trip():
    s.sendall(b"x")
    s.recv(1)
found["round_trip"] = statistics.median(ms(trip)[0] for _ in range(200))
s.close()

s = socket.create_connection((SERVER, 80))
buffer = memoryview(bytearray(256 << 10))
def take():
    s.sendall(b"GET /big/%d HTTP/1.1\r\nHost: x\r\n\r\n" % (50 * MB))
    head = b""
    while b"\r\n\r\n" not in head:
        head += s.recv(4096)
    left = 50 * MB - len(head.partition(b"\r\n\r\n")[2])
    while left:
        left -= s.recv_into(buffer)
found["in"] = 50 / ms(take)[0] * 1000

block = b"x" * (256 << 10)
def give():
    s.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (50 * MB))
    for _ in range(200):
        s.sendall(block)
    s.recv(4096)
found["out"] = 50 / ms(give)[0] * 1000
print(json.dumps(found))
"""
THOUSAND = """
import socket, time
start = time.monotonic()
held = [socket.create_connection((%r, 81)) for _ in range(1000)]
for s in held: s.sendall(b"x")
for s in held: s.recv(1)
print(1000 * (time.monotonic() - start))
""" % SERVER
SERVE = """
import socket
s = socket.create_server(("127.0.0.1", 8080))
while True:
    c = s.accept()[0]
    c.recv(4096)
    c.sendall(%r)
    c.close()
""" % HTTP_ANSWER


class World:
    """The servers, and a directory in memory that is seen in both mount namespaces."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="bench-world-", dir="/tmp")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "world", self.dir],
                       check=True)
        atexit.register(self.end)
        subprocess.run(["mount", "--make-shared", self.dir], check=True)
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", WORLD, self.dir], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)
        pid = self.process.stdout.readline().decode().strip()
        if not pid:
            sys.exit("bench: the two network namespaces cannot be made")
        self.policy = os.path.join(self.dir, "policy.json")
        self.allow()
        self.enter = ["nsenter", "-n", "-m", "-t", pid]

    def allow(self, **limits):
        with open(self.policy, "w") as f:
            json.dump({**POLICY, **limits}, f)
        os.chmod(self.policy, 0o600)

    def end(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(20)
        subprocess.run(["umount", "-l", self.dir], check=True)
        os.rmdir(self.dir)
        atexit.unregister(self.end)


def submit(mount, name, text, config):
    job = os.path.join(mount.mnt, name)
    os.mkdir(job)
    with open(os.path.join(job, "code.py"), "w") as f:
        f.write(text)
    with open(os.path.join(job, "config.json"), "w") as f:
        json.dump(config, f)
    return job


def spent_ms(mount, name, config, remove):
    mount.ready(warm=4)
    start = time.monotonic()
    job = submit(mount, name, "print(1)\n", config)
    mount.wait(job)
    spent = 1000 * (time.monotonic() - start)
    remove(job)
    return spent


def stdout_rate(mount, remove):
    """MB/s of 50 MB that a program writes to standard output, which a reader follows."""
    job = submit(mount, "out", "import os\nb = b'x' * (256 << 10)\nfor _ in range(200):\n"
                 "    os.write(1, b)\n", {"output_limit": 64 << 20})
    start, count = time.monotonic(), 0
    with open(job + "/stdout.follow", "rb", buffering=0) as f:
        while True:
            data = f.read(1 << 20)
            if not data:
                break
            start = start if count else time.monotonic()
            count += len(data)
    rate = count / (1 << 20) / (time.monotonic() - start)
    mount.wait(job)
    remove(job)
    return rate


def port_ms(path):
    """A request of HTTP to a port of a job, from connect to the end of the answer."""
    start = time.monotonic()
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(20)
        s.connect(path)
        s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        got = b""
        while True:
            data = s.recv(4096)
            if not data:
                break
            got += data
    if got != HTTP_ANSWER:
        sys.exit("bench: a port answered %r" % got)
    return 1000 * (time.monotonic() - start)


def thousand_ms(mount, no, remove):
    job = submit(mount, "thousand%d" % no, THOUSAND, {"network": True, "timeout": 300})
    mount.wait(job)
    with open(job + "/stdout") as f:
        spent = float(f.read())
    remove(job)
    return spent


def turn(mount, no, remove):
    """All figures, once."""
    found, spent = {}, {"without": [], "with": []}
    for i in range(10):
        for kind, config in (("without", {}), ("with", {"network": True})):
            spent[kind].append(spent_ms(mount, "%s%d.%d" % (kind, no, i), config, remove))
    for kind, all_ms in spent.items():
        found[kind] = statistics.median(all_ms)
    job = submit(mount, "probe%d" % no, PROBE, {"network": True, "timeout": 300})
    mount.wait(job)
    with open(job + "/stdout") as f:
        found.update(json.load(f))
    remove(job)
    found["stdout"] = stdout_rate(mount, remove)
    job = submit(mount, "serve%d" % no, SERVE, {"ports": [8080]})
    path = job + "/ports/8080"
    mount.until(lambda: os.path.exists(path), "socket of a port")
    port_ms(path)  # this one waits for the program
    found["port"] = statistics.median(port_ms(path) for _ in range(20))
    with open(job + "/ctl", "w") as f:
        f.write("kill\n")
    with open(job + "/wait") as f:
        f.read()
    remove(job)
    return found


def measure(make_mount, remove, turns, table):
    """make_mount(enter, options, top) gives a mount whose daemon is started by the command
    `enter`; remove(job) removes a job."""
    world = World()
    mount = make_mount(world.enter, ("--network", world.policy), world.dir)
    turns = [turn(mount, no, remove) for no in range(turns)]
    world.allow(connections=1024)
    with open(mount.mnt + "/.fsd/ctl", "w") as f:
        f.write("reload-network\n")
    for no, found in enumerate(turns):
        found["thousand"] = thousand_ms(mount, no, remove)
    mount.close()
    world.end()
    f = {name: statistics.median(t[name] for t in turns) for name in turns[0]}
    table.add("network: a job that connects to nothing", f["with"], "ms",
              "a job without network", f["without"],
              (f["with"] <= f["without"] + 10, "<= 10 ms more"))
    for what, name, unit, most in (
            ("first name", "name_first", "ms", 60), ("a later name", "name_later", "ms", 8),
            ("first connection and a byte back", "connect_first", "ms", 100),
            ("a later one", "connect", "ms", 5),
            ("a byte there and back, connected", "round_trip", "ms", 1.5),
            ("1,000 connections, opened and answered", "thousand", "ms", 8000),
            ("a request to a job's port", "port", "ms", 100)):
        table.add("  " + what, f[name], unit, bar=(f[name] <= most, "<= %g" % most))
    table.add("  connections with a byte back", f["connects"], "/s",
              bar=(f["connects"] >= 150, ">= 150"))
    for what, name, least in (("50 MB from a server", "in", 20),
                              ("50 MB to a server", "out", 25)):
        table.add("  " + what, f[name], "MB/s", "the same to standard output", f["stdout"],
                  (f[name] >= 0.5 * f["stdout"] and f[name] >= least,
                   ">= 0.5 of it, and %d" % least))
