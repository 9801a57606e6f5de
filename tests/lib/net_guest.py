#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""net_guest.py CASE...: the guest's side of a network on a real machine, against a host
written here (net_machine.py). Each check is a line of TAP. Programs are in Python and bash,
and run on lanes of one machine."""
import os
import ssl
import subprocess
import sys
import tempfile
import threading
import time

from net_machine import HOSTS, Machine, NONE, OK, PEER, REFUSED, SLOW, block

COUNT = FAILED = 0


def ok(good, name, *why):
    global COUNT, FAILED
    COUNT += 1
    FAILED += not good
    print("%sok %d - %s" % ("" if good else "not ", COUNT, name), flush=True)
    if not good:
        for line in why:
            print("#  ", repr(line), flush=True)


def is_(got, want, name):
    ok(got == want, name, "got", got, "want", want)


class Host(threading.Thread):
    """Answers look-ups by a table, and serves each stream by its name or address: "echo"
    sends back what comes, "data" sends so many bytes, "sink" counts them."""

    def __init__(self, port, names):
        super().__init__(daemon=True)
        self.port, self.names = port, names
        self.opens, self.resets, self.asked = [], [], []
        self.got, self.finished, self.serves = {}, threading.Event(), {}
        self.rest, self.room, self.why = {}, {}, None
        self.tls, self.context = {}, None
        self.opened = threading.Event()
        self.start()

    def run(self):
        try:
            while True:
                self.frame(*self.port.next(3600))
        except (EOFError, OSError) as e:
            self.why = e

    def push(self, stream):
        """Sends what is left of the bytes that a stream is to have."""
        while self.rest.get(stream) and self.room[stream]:
            n = min(16384, self.rest[stream], self.room[stream])
            self.port.send("DATA", stream, tail=b"x" * n)
            self.rest[stream] -= n
            self.room[stream] -= n
            if not self.rest[stream]:
                self.port.send("END", stream)

    def frame(self, kind, number, data, arg):
        if kind == "RESOLVE":
            name = data[4:].decode()
            self.asked.append(name)
            if name in self.names:
                self.port.allow(number, *self.names[name])
            else:
                self.port.send("ANSWER", number, arg=NONE)
        elif kind == "OPEN":
            port, name = int.from_bytes(data[:4], "little"), data[8:].decode()
            self.opens.append((name, port))
            if name.startswith("refused"):
                self.port.send("RESET", number, arg=REFUSED)
                return
            self.got[number], self.room[number] = b"", 128 << 10
            self.serves[number] = name
            self.port.send("OPENED", number)
            if name.startswith("data"):
                self.rest[number] = 30000000
                self.push(number)
        elif kind == "DATA":
            name = self.serves.get(number, "echo")
            if name.startswith("sink"):
                self.got[number] = len(data).to_bytes(8, "little") if not self.got[
                    number] else (int.from_bytes(self.got[number], "little") +
                                  len(data)).to_bytes(8, "little")
            else:
                self.got[number] = self.got.get(number, b"") + data
            if name.startswith("stuck"):
                return
            self.port.send("WINDOW", number, len(data))
            if name.startswith("tls"):
                tls = self.tls.setdefault(number, Tls(self.context))
                back = tls.feed(data)
                if back:
                    self.port.send("DATA", number, tail=back)
                if tls.over:
                    self.port.send("END", number)
                return
            if not name.startswith(("sink", "data", "stuck")) and number < HOSTS:
                self.port.send("DATA", number, tail=data)
        elif kind == "WINDOW":
            self.room[number] = self.room.get(number, 0) + int.from_bytes(data, "little")
            self.push(number)
        elif kind == "END":
            if number in self.serves and not self.serves[number].startswith(
                    ("data", "tls")):
                self.port.send("END", number)
        elif kind == "RESET":
            self.resets.append((number, arg))
        elif kind == "OPENED":
            self.opened.set()
        elif kind == "FINISHED":
            self.finished.set()


class Tls:
    """A web server's side of one connection, of which the bytes are given and taken."""

    def __init__(self, context):
        self.into, self.out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.into, self.out, server_side=True)
        self.request, self.over = b"", False

    def feed(self, data):
        """What it sends back, and whether that is all."""
        self.into.write(data)
        try:
            self.tls.do_handshake()
            self.request += self.tls.read(65536)
            if b"\r\n\r\n" in self.request and not self.over:
                self.tls.write(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n"
                               b"Connection: close\r\n\r\ntrusted")
                self.over = True
        except ssl.SSLError:
            pass  # it needs more, or was refused
        return self.out.read()


def make_ca(folder):
    """A CA with key identifiers (Python 3.13 wants them) and a server's certificate."""
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-days", "30",
            "-subj", "/CN=test CA", "-addext", "keyUsage=critical,keyCertSign")
    with open(folder + "/extensions", "w") as f:
        f.write("subjectAltName=DNS:tls.example\nauthorityKeyIdentifier=keyid\n"
                "subjectKeyIdentifier=hash\n")
    openssl("req", *new, "-keyout", "key.pem", "-out", "server.csr", "-subj",
            "/CN=tls.example")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-out", "server.pem", "-days", "30", "-extfile", "extensions")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder + "/server.pem", folder + "/key.pem")
    with open(folder + "/ca.pem") as f:
        return f.read(), context


def python(machine, program, seconds=120):
    return machine.run(["/usr/bin/python3", "-I", "-c", program], seconds=seconds)


def bash(machine, program):
    return machine.run(["/bin/bash", "-c", program])


LOOK_UP = """
import socket, time
began = time.monotonic()
try:
    print(socket.getaddrinfo("%s", 443, type=socket.SOCK_STREAM)[0][4][0])
except OSError as e:
    print(e)
print(time.monotonic() - began < %d)
"""


def look_up(machine, name):
    return python(machine, LOOK_UP % (name, 4 * SLOW))[1].split("\n")[0]


def case_without(machine):
    """A machine that never gets NET."""
    machine.own()
    machine.share()
    is_(look_up(machine, "a.example"), "[Errno -2] Name or service not known",
        "without a network a name is not known")
    ok(look_up(machine, "localhost") in ("127.0.0.1", "::1"), "and localhost is the machine")
    _, out, _ = bash(machine, "ls /sys/class/net; ls /run/network; (echo > "
                     "/dev/tcp/198.18.1.0/443) 2>&1 | grep -o ': [A-Z].*' | head -n 1")
    is_(out, "lo\n: Network is unreachable\n", "there is lo and no route")
    machine.port.sock.close()
    is_(look_up(machine, "a.example"), "[Errno -2] Name or service not known",
        "so it is when the host's end has gone")


TALK = """
import socket, sys
s = socket.create_connection(("%s", %d), 20)
s.sendall(b"hello")
print(s.recv(5).decode())
s.shutdown(socket.SHUT_WR)
print(repr(s.recv(5)))
"""
CONNECT = """
import socket
try:
    s = socket.create_connection(("%s", %d), 20)
    print(repr(s.recv(1)))
except OSError as e:
    print(e.strerror)
"""


def connect(machine, host, port):
    return python(machine, CONNECT % (host, port))[1].strip()


def case_names(machine):
    machine.own()
    machine.port.start()
    host = Host(machine.port, {n: [(443, 443), (8000, 8100)] for n in (
        "echo.example", "data.example", "sink.example", "refused.example")})
    machine.network(1, [block("10.0.0.0", 8), block("2001:db8::", 32, True)])
    machine.share()
    is_(look_up(machine, "echo.example"), "198.18.1.0", "an allowed name has an address")
    is_(look_up(machine, "no.example"), "[Errno -2] Name or service not known",
        "another one is not known")
    ok("no.example" in host.asked, "the host was asked", host.asked)
    code, out, err = python(machine, TALK % ("echo.example", 443))
    is_(out, "hello\nb''\n", "a stream goes both ways, and ends both ways")
    is_(host.opens[-1:], [("echo.example", 443)], "to the name and its port")
    is_(connect(machine, "echo.example", 80), "Connection refused",
        "a port that no rule has is refused")
    is_(connect(machine, "refused.example", 8050), "Connection reset by peer",
        "a server that refuses shows as a reset")
    _, out, err = python(machine, TALK % ("10.1.2.3", 5432))
    is_(host.opens[-1:], [("10.1.2.3", 5432)], "an address that NET routes is an OPEN")
    is_(out, "hello\nb''\n", "and its bytes go")
    python(machine, CONNECT % ("2001:db8::7", 5432))
    is_(host.opens[-1:], [("2001:db8::7", 5432)], "of IPv6 as well")
    is_(connect(machine, "192.0.2.1", 443), "Network is unreachable",
        "an address that it does not route is unreachable")
    is_(connect(machine, "127.0.0.53", 53), "Connection reset by peer",
        "the helper's own address is reset")
    is_(connect(machine, "198.18.1.200", 443), "Connection refused",
        "and one that stands for no name is refused")
    _, out, _ = bash(machine, "ls -l /run/network | wc -l; (echo > /dev/udp/198.18.1.0/443)"
                     " 2>&1; kill -9 $(pgrep -x fsd-net) 2>&1 | wc -l; pgrep -c fsd-net;"
                     " cat /proc/net/tcp | wc -l")
    ok(out.startswith("1\n"), "a program sees that there is a network", out)
    is_(python(machine, """
import socket
def own(address, family):
    s = socket.socket(family)
    s.bind((address, 9000)); s.listen()
    c = socket.create_connection((address, 9000)); a, _ = s.accept()
    a.sendall(b"own"); return c.recv(3)
print(own("127.0.0.1", socket.AF_INET), own("198.18.0.1", socket.AF_INET),
      own("::1", socket.AF_INET6), own("0.0.0.0", socket.AF_INET))
""")[1], "b'own' b'own' b'own' b'own'\n", "listeners of programs are untouched")
    ok("has no pip that downloads" in bash(machine, "pip install no-such")[2],
       "pip says that it is a stub")
    speed(machine, host)
    finish(machine, host)


def speed(machine, host):
    _, out, err = python(machine, """
import socket, time
s = socket.create_connection(("data.example", 443), 60)
began = time.monotonic(); n = 0
while True:
    got = s.recv(1 << 18)
    if not got: break
    n += len(got)
print(n); print("# in: %.0f MB/s" % (n / 1e6 / (time.monotonic() - began)))
s = socket.create_connection(("sink.example", 443), 60)
began = time.monotonic()
for i in range(30): s.sendall(b"x" * 1000000)
s.shutdown(socket.SHUT_WR); s.recv(1)
print("# out: %.0f MB/s" % (30 / (time.monotonic() - began)))
""", 300)
    is_(out.split("\n")[0], "30000000", "30 MB come as they are")
    print("\n".join(out.split("\n")[1:-1]) or "# " + err[-200:])
    total = [int.from_bytes(v, "little") for k, v in host.got.items()
             if host.serves[k].startswith("sink")]
    is_(total, [30000000], "and 30 MB go")


def finish(machine, host):
    """Bytes that a program gave to the kernel before it ended."""
    code, _, _ = python(machine, """
import os, socket
s = socket.create_connection(("sink.example", 443), 60)
s.sendall(b"x" * 100000)
os._exit(3)
""")
    host.port.send("FINISH")
    ok(host.finished.wait(20 * SLOW), "FINISH is answered")
    is_((code, [int.from_bytes(v, "little") for v in host.got.values()][-1]), (3, 100000),
        "when all bytes of a program that has ended are there")


def case_many(machine):
    """Connections in numbers, from one program."""
    machine.own()
    machine.port.start(window=16384, streams=1200)
    host = Host(machine.port, {"echo.example": [(443, 443)]})
    machine.network(1)
    machine.share()
    _, out, err = python(machine, """
import resource, socket, time
resource.setrlimit(resource.RLIMIT_NOFILE, (2048, 2048))
at = socket.gethostbyname("echo.example")
began = time.monotonic()
s = [socket.create_connection((at, 443), 60) for i in range(1000)]
for i, c in enumerate(s): c.sendall(b"%04d" % i)
right = sum(c.recv(4) == b"%04d" % i for i, c in enumerate(s))
print(right); print("# 1000 streams: %.1f s" % (time.monotonic() - began))
for c in s: c.close()
times = []
for i in range(100):
    began = time.monotonic()
    c = socket.create_connection((at, 443), 60); c.sendall(b"x"); c.recv(1); c.close()
    times.append((time.monotonic() - began) * 1000)
times.sort()
print("# connect and one byte back: median %.1f ms, first %.1f" % (times[50], times[0]))
c = socket.create_connection((at, 443), 60)
c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
times = []
for i in range(200):
    began = time.monotonic(); c.sendall(b"x"); c.recv(1)
    times.append((time.monotonic() - began) * 1000)
times.sort()
print("# round trip of a byte: median %.2f ms" % times[100])
times = []
for i in range(50):
    began = time.monotonic(); socket.gethostbyname("echo.example")
    times.append((time.monotonic() - began) * 1000)
print("# look-up: first %.1f ms, median %.1f" % (times[0], sorted(times)[25]))
""", 300)
    is_(out.split("\n")[0], "1000", "a thousand streams at once, each with its own bytes")
    print("\n".join(out.split("\n")[1:-1]) or "# " + err[-300:])
    _, out, _ = python(machine, """
import socket
s = []
for i in range(1300):
    try: s.append(socket.create_connection(("198.18.1.0", 443), 60))
    except OSError as e: print(e); break
""")
    ok(host.why is None, "more than START allows are refused, and the helper lives")
    is_(look_up(machine, "echo.example"), "198.18.1.0", "it serves on")


def case_full(machine):
    """Streams of which no side reads: the helper's memory is bounded by windows."""
    machine.own()
    machine.port.start(window=128 << 10, streams=200)
    host = Host(machine.port, {n: [(443, 443)] for n in (
        "data.example", "stuck.example", "echo.example")})
    machine.network(1)
    machine.share()
    lane = machine.begin(["/usr/bin/python3", "-I", "-c", """
import socket
def many(name):
    at = socket.gethostbyname(name)
    return [socket.create_connection((at, 443), 60) for i in range(64)]
get, put = many("data.example"), many("stuck.example")
for s in put: s.setblocking(False)
for s in put:
    try:
        while True: s.send(b"x" * 65536)
    except BlockingIOError: pass
print("up", flush=True)
c = socket.create_connection((socket.gethostbyname("echo.example"), 443), 60)
c.sendall(b"x"); print(c.recv(1), flush=True)
n = 0
while n < 30000000:
    got = len(get[0].recv(1 << 18))
    if not got: break
    n += got
print(n, flush=True)
"""])
    code, out, err = machine.end(lane, 200)
    is_(out, "up\nb'x'\n30000000\n", "128 streams stall no other one")
    ok(46 not in machine.aside and host.why is None, "and the helper lives", err[-200:])


FETCH = """
fetch("https://tls.example/").then(async (r) => console.log(await r.text()),
                                   (e) => console.log(e.cause.code));
"""


def case_trust(machine):
    """A server whose certificate is one of the operator's CA."""
    with tempfile.TemporaryDirectory() as folder:
        pem, context = make_ca(folder)
    machine.own()
    machine.port.start()
    host = Host(machine.port, {"tls.example": [(443, 443)]})
    host.context = context
    machine.network(1, ca=pem)
    machine.share()
    fetch = """
import ssl, urllib.request
try: print(urllib.request.urlopen("https://tls.example/", timeout=60).read().decode())
except OSError as e: print(e.reason.verify_message)
"""
    is_(python(machine, fetch)[1].strip(), "trusted", "Python trusts it")
    is_(machine.run(["/usr/bin/python3", "-c", fetch], ["SSL_CERT_FILE=/dev/null"])[1]
        .strip(), "unable to get local issuer certificate", "unless it is told not to")
    node = ["/usr/bin/node", "-e", FETCH]
    is_(machine.run(node)[1].strip(), "trusted", "Node trusts it")
    is_(machine.run(node, ["SSL_CERT_FILE=/run/ca.pem"])[1].strip(), "trusted",
        "and so does what reads the list that a variable names")
    _, out, _ = bash(machine, "grep -c BEGIN /run/ca.pem /etc/ssl/certs/ca-certificates.crt;"
                     " echo x 2>&1 >>/run/ca.pem | grep -c denied")
    counts = [int(line.rpartition(":")[2]) for line in out.split()]
    ok(counts[0] == counts[1] > 100, "the list has Debian's certificates as well", out)
    is_(bash(machine, "echo x >>/run/ca.pem")[0], 1, "and a program cannot change it")


def case_ports(machine):
    """Connections of the host to a program."""
    machine.own()
    machine.port.start()
    host = Host(machine.port, {})
    machine.network(2)
    machine.share()
    lane = machine.begin(["/usr/bin/python3", "-I", "-c", """
import socket
s = socket.create_server(("", 8080)); print("up", flush=True)
c, _ = s.accept(); print(c.recv(9).decode(), flush=True); c.sendall(b"200"); c.close()
"""])
    while machine.get()[2] != b"up\n":
        pass
    machine.port.send("CONNECT", HOSTS | 1, 8080)
    ok(host.opened.wait(20 * SLOW), "the host connects to a program that listens")
    machine.port.send("DATA", HOSTS | 1, tail=b"GET")
    is_(machine.end(lane)[1], "GET\n", "and its bytes come")
    is_(host.got.get(HOSTS | 1), b"200", "and the program's go")
    machine.port.send("CONNECT", HOSTS | 2, 8081)
    end = time.monotonic() + 20 * SLOW
    while not host.resets and time.monotonic() < end:
        time.sleep(0.01)
    is_(host.resets, [(HOSTS | 2, REFUSED)], "where no program listens it is refused")
    ok(bash(machine, "ls /run/network")[0] != 0, "ports alone are no network")


def case_ends(machine):
    """The host closes the port under a program."""
    machine.own()
    machine.port.start()
    host = Host(machine.port, {"echo.example": [(443, 443)]})
    machine.network(1)
    machine.share()
    lane = machine.begin(["/usr/bin/python3", "-I", "-c", """
import socket
s = socket.create_connection(("echo.example", 443), 60)
s.sendall(b"x"); s.recv(1); print("up", flush=True)
try: s.recv(1)
except OSError as e: print(e.strerror)
"""])
    while machine.get()[2] != b"up\n":
        pass
    machine.port.sock.shutdown(2)
    machine.port.sock.close()
    is_(machine.end(lane)[1], "Connection reset by peer\n", "streams are reset")
    is_(look_up(machine, "echo.example"), "[Errno -2] Name or service not known",
        "no name is known")
    is_(connect(machine, "198.18.1.0", 443), "Connection refused", "no port is open")
    _, out, _ = bash(machine, "a=$(cut -d' ' -f1-5 /proc/stat | head -1); sleep 2; "
                     "b=$(cut -d' ' -f1-6 /proc/stat | head -1); echo $a; echo $b")
    first, second = ([int(n) for n in line.split()[1:]] for line in out.splitlines())
    ok(sum(second[:3]) - sum(first[:3]) < 60, "and no processor is used", out)


def case_breaks(machine):
    """The host breaks the protocol: the helper ends, the machine does not."""
    machine.own()
    machine.port.start()
    machine.network(1)
    machine.share()
    machine.port.send("END", 77)
    code, out, _ = bash(machine, "sleep 1; echo on")
    is_(out, "on\n", "a program runs on")
    ok(46 in machine.aside, "the host is told that the helper has ended", machine.aside)
    is_(look_up(machine, "a.example")[:9], "[Errno -3", "look-ups fail")
    machine.network(1, [block("10.0.0.0", 8)])
    is_(connect(machine, "10.0.0.1", 80), "Connection refused", "and so do connections")


CASES = {name[5:]: function for name, function in list(globals().items())
         if name.startswith("case_")}


def main(names):
    for name in names:
        machine = Machine()
        try:
            ok(machine.ready() & 128, "%s: the helper's walls stand" % name)
            CASES[name](machine)
        except Exception as e:
            ok(False, "%s goes on to its end" % name, type(e).__name__, *e.args)
            if machine.process.poll() is not None:
                print("# QEMU has ended:", machine.process.returncode)
        finally:
            machine.close()
    print("1..%d" % COUNT)
    return FAILED > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(CASES)))
