#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The door (fsd/door) in two network namespaces of the test's own, joined by a veth.

door.py [NAME...] — all tests, or these. Speaks TAP. Nothing leaves the namespaces: the
public addresses below are those of the second one, which has name servers and servers.

The door runs as the broker starts it, with one end of a socket pair as descriptor 3. The
test is its server and its relays.
"""
import array
import ctypes
import mmap
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

DOOR = os.environ.get("FSD_DOOR", "build/fsd-door")
SANITIZED = "asan" in DOOR  # then it has no list of calls
CLONE_NEWNET, CLONE_NEWUSER = 0x40000000, 0x10000000
LIBC = ctypes.CDLL(None, use_errno=True)
BOUND = 20 * float(os.environ.get("SLOW", "1"))  # a wait that lasts longer has failed

# The second namespace's addresses, and the door's own ones.
SERVER, OTHER, DEAD = "93.184.216.10", "93.184.216.11", "93.184.216.99"
NAMES = "93.184.216.1"
PRIVATE, SECRET, OWN = "10.9.9.1", "169.254.169.254", "93.184.216.2"
SERVER6 = "2600::1"

NEW, GONE, POLICY, RECORD, RESOLVE, CONNECT, CHECK, ANSWER = range(1, 9)
TOLD = ("ok denied unresolved refused unreachable timeout private own sni ech limit "
        "reset lost").split()


# --- namespaces -------------------------------------------------------------

def unshare(flags):
    if LIBC.unshare(flags) < 0:
        raise OSError(ctypes.get_errno(), "unshare")


def ip(*words, inside=None):
    enter = ["nsenter", "-n", "-t", str(inside)] if inside else []
    subprocess.run([*enter, "ip", *words], check=True)


def make_namespaces():
    """Enters the servers' namespace. Returns the process that holds the door's."""
    uid, gid = os.getuid(), os.getgid()
    if uid:
        unshare(CLONE_NEWUSER)
        for name, text in (("setgroups", "deny"), ("uid_map", "0 %d 1" % uid),
                           ("gid_map", "0 %d 1" % gid)):
            with open("/proc/self/" + name, "w") as f:
                f.write(text)
    unshare(CLONE_NEWNET)
    inner = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo; read x"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    inner.stdout.readline()
    pid = inner.pid
    ip("link", "set", "lo", "up")
    ip("link", "add", "v0", "type", "veth", "peer", "name", "v1", "netns", str(pid))
    ip("link", "set", "v0", "up")
    for device, address in (("v0", NAMES), ("v0", SERVER), ("v0", OTHER),
                            ("v0", PRIVATE)):
        ip("addr", "add", address + "/24", "dev", device)
    ip("addr", "add", SECRET + "/32", "dev", "v0")
    ip("addr", "add", SERVER6 + "/64", "dev", "v0", "nodad")
    ip("link", "set", "lo", "up", inside=pid)
    ip("link", "set", "v1", "up", inside=pid)
    for address in (OWN + "/24", "10.9.9.2/24"):
        ip("addr", "add", address, "dev", "v1", inside=pid)
    ip("addr", "add", "2600::2/64", "dev", "v1", "nodad", inside=pid)
    ip("route", "add", "default", "via", NAMES, inside=pid)
    # no answer for the dead address, as behind a firewall that drops
    ip("neigh", "add", DEAD, "lladdr", "02:00:00:00:00:99", "dev", "v1", inside=pid)
    return inner


# --- servers ----------------------------------------------------------------

class Hello(threading.Thread):
    """Accepts on all addresses; sends one line with the address that was reached."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.sock = socket.socket(socket.AF_INET6)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self.sock.bind(("::", port))
        self.sock.listen(512)
        self.reached = {}

    def run(self):
        while True:
            conn, _ = self.sock.accept()
            at = conn.getsockname()[0].replace("::ffff:", "")
            self.reached[at] = self.reached.get(at, 0) + 1
            try:
                conn.sendall(at.encode() + b"\n")
            except OSError:
                pass
            conn.close()


def dns_name(data, at):
    labels = []
    while data[at]:
        labels.append(data[at + 1:at + 1 + data[at]].decode("latin-1"))
        at += 1 + data[at]
    return ".".join(labels).lower(), at + 1


def pack_name(name):
    return b"".join(bytes([len(x)]) + x.encode() for x in name.split(".")) + b"\0"


class Names(threading.Thread):
    """A name server. answers: name -> a function of (type, query count) that gives a list
    of (owner, type, ttl, value), a string of bytes to send, or None for no answer.
    liars: name -> a function of the query that gives the whole reply. stalls: names whose
    answers by TCP end in the middle."""

    def __init__(self):
        super().__init__(daemon=True)
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((NAMES, 53))
        self.tcp = socket.socket()
        self.tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.tcp.bind((NAMES, 53))
        self.tcp.listen(64)
        self.answers, self.asked, self.by_tcp = {}, {}, 0
        self.liars, self.stalls, self.held = {}, set(), []

    def answer(self, data, tcp):
        name, at = dns_name(data, 12)
        kind = struct.unpack_from(">H", data, at)[0]
        question = data[12:at + 4]
        self.asked[name] = self.asked.get(name, 0) + 1
        if name in self.liars:
            return self.liars[name](data)
        found = self.answers.get(name)
        rows = found(kind, self.asked[name]) if found else "none"
        if rows is None or isinstance(rows, bytes):
            return rows
        flags, body = 0x8180, b""
        if rows == "none":
            return data[:2] + struct.pack(">HHHHH", flags | 3, 1, 0, 0, 0) + question
        if rows and rows[0] == "truncated":
            if not tcp:
                return data[:2] + struct.pack(">HHHHH", flags | 0x200, 1, 0, 0, 0) + \
                    question
            rows = rows[1:]
        for owner, rtype, ttl, value in rows:
            body += pack_name(owner) + struct.pack(">HHIH", rtype, 1, ttl, len(value)) + \
                value
        return data[:2] + struct.pack(">HHHHH", flags, 1, len(rows), 0, 0) + question + body

    def run(self):
        while True:
            for s in select.select([self.udp, self.tcp], [], [])[0]:
                if s is self.udp:
                    data, peer = self.udp.recvfrom(4096)
                    text = self.answer(data, False)
                    if text is not None:
                        self.udp.sendto(text, peer)
                    continue
                conn, _ = self.tcp.accept()
                conn.settimeout(BOUND)
                data = conn.recv(4096)
                if len(data) < 16:  # who asks has given up
                    conn.close()
                    continue
                self.by_tcp += 1
                text = self.answer(data[2:], True)
                if dns_name(data, 14)[0] in self.stalls:
                    conn.sendall(struct.pack(">H", len(text)) + text[:40])
                    self.held.append(conn)
                    continue
                if text is not None:
                    conn.sendall(struct.pack(">H", len(text)) + text)
                conn.close()


def rows(name, *addresses, ttl=60, via=None):
    """An answer of these addresses; via: a chain of CNAMEs to their owner."""
    chain = [name] + list(via or [])

    def answer(kind, _count):
        found = [(a, 5, ttl, pack_name(b)) for a, b in zip(chain, chain[1:])]
        for a in addresses:
            family = socket.AF_INET6 if ":" in a else socket.AF_INET
            if kind == (28 if ":" in a else 1):
                found.append((chain[-1], kind, ttl, socket.inet_pton(family, a)))
        return found
    return answer


# --- the door ---------------------------------------------------------------

def address_bytes(text):
    if ":" in text:
        return socket.inet_pton(socket.AF_INET6, text)
    return bytes(10) + b"\xff\xff" + socket.inet_aton(text)


def address_text(data):
    if data[:12] == bytes(10) + b"\xff\xff":
        return socket.inet_ntoa(data[12:])
    return socket.inet_ntop(socket.AF_INET6, data)


def receive(sock, size=65536, seconds=None):
    sock.settimeout(BOUND if seconds is None else seconds)
    data, fds = sock.recvmsg(size, 1024)[:2]
    found = array.array("i")
    for level, kind, value in fds:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found.frombytes(value[:len(value) - len(value) % found.itemsize])
    return data, list(found)


def text_of(data):
    return data.split(b"\0")[0].decode()


class Door:
    def __init__(self, policy, hosts="", resolv=None, mode=0o600, words=(), ca=None,
                 fds=1 << 20):
        self.dir = tempfile.mkdtemp(prefix="door.")
        os.chmod(self.dir, 0o755)
        paths = {}
        for name, text in (("policy", policy), ("hosts", hosts), ("ca.pem", ca),
                           ("resolv.conf", resolv or "nameserver %s\n" % NAMES)):
            paths[name] = "%s/%s" % (self.dir, name)
            if text is not None:
                with open(paths[name], "w") as f:
                    f.write(text)
                os.chmod(paths[name], mode if name == "policy" else 0o644)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 192 << 10)
        self.sock, self.jobs, self.records = ours, 0, []
        no = theirs.fileno()
        self.process = subprocess.Popen(
            ["bash", "-c", "ulimit -n $((%d < $(ulimit -n) ? %d : $(ulimit -n))); " %
             (fds, fds) + ('exec "$@" 3<&%d %d<&-' % (no, no) if no != 3 else 'exec "$@"'),
             "-", "nsenter", "-n", "-t", str(INNER.pid), os.path.abspath(DOOR),
             *(words or ("--policy", paths["policy"])),
             "--hosts", paths["hosts"], "--resolv-conf", paths["resolv.conf"]],
            pass_fds=(no,))
        theirs.close()
        data, fds = receive(self.sock)
        version, op, code, has_ca, size, self.walls = struct.unpack("<IIiIII", data[:24])
        assert (version, op) == (1, POLICY), data
        self.code, self.text = code, text_of(data[24:])
        self.policy = os.pread(fds[0], 1 << 20, 0)[:size].decode() if fds else None
        self.ids = os.pread(fds[0], 1 << 20, size) if fds else b""
        self.ca = os.pread(fds[1], 1 << 20, 0).decode() if has_ca else None
        self.fds = fds

    def job(self, wish, uid=1000):
        self.jobs += 1
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        text = wish.encode()
        socket.send_fds(self.sock, [struct.pack("<IIIII", 1, NEW, self.jobs, uid,
                                                len(text)) + text], [theirs.fileno()])
        theirs.close()
        return Job(self, self.jobs, ours)

    def record(self, seconds=None):
        data, _ = receive(self.sock, seconds=seconds)
        version, op, job, stream, told, port, has = struct.unpack("<7I", data[:28])
        assert (version, op) == (1, RECORD), data
        return {"job": job, "stream": stream, "told": TOLD[told], "port": port,
                "address": address_text(data[28:44]) if has else None,
                "name": text_of(data[56:310]), "why": text_of(data[310:])}

    def drain(self):
        """Reads all records from now on: a server that does not read stops the door."""
        def read():
            self.sock.settimeout(None)
            try:
                while self.sock.recv(65536):
                    self.records.append(1)
            except OSError:
                pass
        threading.Thread(target=read, daemon=True).start()

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.process.pid))

    def end(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()
        code = self.process.wait(timeout=BOUND)
        if code not in (0, 1):  # 1: records that the server has not read
            ok(False, "the door ends with its server", code)
        for fd in self.fds:
            os.close(fd)
        subprocess.run(["rm", "-r", self.dir], check=True)
        return code


class Job:
    def __init__(self, door, no, sock):
        self.door, self.no, self.sock, self.next = door, no, sock, 0

    def send(self, op, name, port=0, address=None):
        self.next += 1
        self.sock.sendall(struct.pack("<IIIII", 1, op, self.next, port, address is not None)
                          + (address_bytes(address) if address else bytes(16))
                          + name.encode("latin-1").ljust(254, b"\0") + bytes(2))
        return self.next

    def answer(self, seconds=None):
        data, fds = receive(self.sock, seconds=seconds)
        v = struct.unpack("<8I", data[:32])
        count = struct.unpack_from("<I", data, 48)[0]
        assert (v[0], v[1]) == (1, ANSWER), data
        assert len(fds) == (v[2] == CONNECT and v[4] == 0), (v, fds)
        return {"asked": v[2], "id": v[3], "told": TOLD[v[4]], "again": v[5],
                "compares": v[6], "ech": v[7], "address": address_text(data[32:48]),
                "ranges": [struct.unpack_from("<HH", data, 52 + 4 * i)
                           for i in range(count)],
                "socket": socket.socket(fileno=fds[0]) if fds else None}

    def ask(self, *words, **more):
        no = self.send(*words, **more)
        found = self.answer()
        assert found["id"] == no, found
        return found

    def resolve(self, name):
        return self.ask(RESOLVE, name)

    def connect(self, name, port=443):
        """The answer, with the line that the server has sent."""
        found = self.ask(CONNECT, name, port)
        if found["socket"]:
            found["socket"].settimeout(BOUND)
            found["line"] = found["socket"].recv(100).decode().strip()
            found["socket"].close()
        return found


# --- tests ------------------------------------------------------------------

count = failed = 0


def ok(good, name, *what):
    global count, failed
    count += 1
    failed += not good
    print("%s %d - %s" % ("ok" if good else "not ok", count, name), flush=True)
    for line in () if good else what:
        print("#  %s" % (line,), flush=True)
    return good


def same(got, want, name):
    ok(got == want, name, "got  %r" % (got,), "want %r" % (want,))


def told(found):
    return found["told"]


def test_policy():
    text = '{"allow": ["*.example"], "users": {"root": {}, "7": {}}, "ca": "ca.pem"}'
    pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    door = Door(text, ca=pem)
    same((door.code, door.text), (0, ""), "a right policy is taken")
    same(door.policy, text, "the server gets its bytes")
    same(struct.unpack("<II", door.ids), (0, 7), "and the ids of its users")
    same(door.ca, pem, "and the certificates")
    status = open("/proc/%d/status" % door.process.pid).read()
    lines = dict(x.split(":\t", 1) for x in status.splitlines() if ":\t" in x)
    same((lines["CapEff"], lines["CapPrm"], lines["CapBnd"].strip("0") if os.getuid() else
          ""), ("0" * 16, "0" * 16, ""), "it has no capability")
    same((lines["Seccomp"], lines["NoNewPrivs"]), ("0" if SANITIZED else "2", "1"),
         "it has a list of permitted calls")
    if os.getuid() == 0 and os.access("/run", os.W_OK) and door.walls & 2:
        ok(int(lines["Uid"].split()[0]) >= 1000, "it has a user id of its own", lines["Uid"])
    same(door.end(), 0, "it ends with its server")


def refused(policy, start, name, **more):
    door = Door(policy, **more)
    ok(door.code < 0 and start in door.text, name, door.text)
    door.end()


def test_wrong_policies():
    refused('{"allow": x}', "line 1", "a policy that is no JSON has a sentence with its place")
    refused('{"alow": []}', '"alow" is not a key', "an unknown key is refused")
    refused("{}", "may be written by others (mode 0666); only its owner may: chmod go-w",
            "a policy that all may write is refused", mode=0o666)
    refused('{"users": {"nobody-of-this-name": {}}}', "which is no user of this host",
            "a user whom the host does not know is refused")
    refused('{"ca": "ca.pem"}', '"ca": ', "certificates that are missing are refused")
    refused('{"ca": "ca.pem"}', "has no certificate in PEM form",
            "certificates that are none are refused", ca="hello\n")
    refused("{}", "No such file", "a policy that is missing is refused",
            words=("--policy", "/nonexistent/policy"))
    refused("{}", '"allow" has "bücher.example"'.encode("ascii", "replace").decode()[:10],
            "a wrong rule of --network-allow is refused",
            words=("--allow", "bücher.example"))


def test_names():
    names.answers["a.example"] = rows("a.example", SERVER)
    names.answers["six.example"] = rows("six.example", SERVER6)
    names.answers["chain.example"] = rows("chain.example", OTHER,
                                          via=["x.other.org", "y.other.org"])
    door = Door('{"allow": ["*.example:443,8000-8010", "b.example/tcp:443"]}'.replace(
        "b.example/tcp:443", "tcp.example:443/tcp"), hosts="%s  Host.Example x\n" % OTHER)
    job = door.job('["*.example:443,8000-8010"]')
    found = job.resolve("A.Example.")
    same((told(found), found["ranges"]), ("ok", [(443, 443), (8000, 8010)]),
         "a name has the ports of its rules")
    found = job.connect("a.example")
    same((told(found), found["address"], found["line"], found["compares"]),
         ("ok", SERVER, SERVER, 1), "a name leads to its server")
    same(door.record(), {"job": 1, "stream": 2, "told": "ok", "port": 443,
                         "address": SERVER, "name": "a.example", "why": ""},
         "the server hears of the connection")
    same(job.connect("six.example")["line"], SERVER6, "a name with IPv6 only works")
    door.record()
    same(job.connect("host.example")["line"], OTHER, "the host's own file comes first")
    door.record()
    same(job.connect("chain.example")["line"], OTHER, "a chain of CNAMEs leads to its end")
    door.record()
    before = dict(names.asked)
    for name in ("b.org", "localhost", "example", "a..example", "x" * 64 + ".example",
                 "10.9.9.1", "0x7f.1", "a.example:443"):
        same(told(job.resolve(name)), "denied", "%s is denied" % name[:20])
        record = door.record()
    same(names.asked, before, "no name server was asked for these")
    same((record["why"], record["stream"]), ("it is no name of a host", 0),
         "the record has the reason")
    same(told(job.connect("a.example", 80)), "denied", "a port that no rule names is denied")
    same(door.record()["why"], "no rule names this port", "with the reason")
    same(told(job.resolve("none.example")), "unresolved", "a name that is none")
    same(door.record()["why"], "does not exist", "does not exist")
    asked = names.asked["a.example"]
    job.resolve("a.example")
    same(names.asked["a.example"], asked, "an answer is kept for its time")
    door.job("true", uid=1001).resolve("a.example")
    ok(names.asked["a.example"] > asked, "but not for another user")
    door.end()


def test_rebinding():
    turn = [0]

    def alternate(kind, _count):
        if kind != 1:
            return []
        turn[0] += 1
        address = PRIVATE if turn[0] % 2 else SERVER
        return [("rebind.example", 1, 0, socket.inet_aton(address))]
    names.answers["rebind.example"] = alternate
    door = Door('{"allow": ["*.example"]}')
    seen = {}
    before = hello.reached.get(PRIVATE, 0)
    jobs = [door.job("true", uid=1000 + i) for i in range(500)]
    for job in jobs:  # each user has answers of his own, so each asks the name server
        for step in (job.resolve, job.connect):
            found = step("rebind.example")
            seen[told(found)] = seen.get(told(found), 0) + 1
    ok(sum(seen.values()) == 1000 and set(seen) <= {"ok", "private"},
       "1,000 look-ups whose answers alternate", seen)
    ok(seen.get("ok", 0) > 100 and seen.get("private", 0) > 100, "some pass, some do not",
       seen)
    same(hello.reached.get(PRIVATE, 0), before, "no connection to the private address")
    door.end()


def test_addresses():
    cases = (("secret.example", SECRET, "private"), ("mapped.example", "::ffff:10.9.9.1",
             "private"), ("nat.example", "64:ff9b::a09:901", "private"),
             ("private.example", PRIVATE, "private"), ("loop.example", "127.0.0.1",
             "own"), ("zero.example", "0.0.0.0", "private"),
             ("own.example", OWN, "own"), ("own6.example", "2600::2", "own"),
             ("ownmapped.example", "::ffff:" + OWN, "own"))
    for name, address, _ in cases:
        names.answers[name] = rows(name, address)
    names.answers["mixed.example"] = rows("mixed.example", PRIVATE, SERVER)
    names.answers["cname.example"] = rows("cname.example", SECRET, via=["metadata.google"])
    door = Door('{"allow": ["*:*", "0.0.0.0/0:*", "::/0:*"], "users": {"7": {"reach": '
                '["10.0.0.0/8"]}, "8": {"deny": ["93.184.216.0/24:443"]}}}')
    job = door.job("true")
    before = dict(hello.reached)
    for name, address, want in cases:
        same((told(job.resolve(name)), told(job.connect(name))), (want, want),
             "a name that leads to %s is refused" % address)
        record = door.record()
        ok(address.replace("::ffff:", "") in record["why"], "and the reason names it", record)
        door.record()
    same(told(job.connect("cname.example")), "private",
         "an allowed name that leads to a secret address by CNAME is refused")
    door.record()
    for literal in (SECRET, "10.9.9.1", "127.0.0.1", "::1", "::ffff:169.254.169.254",
                    "64:ff9b::a9fe:a9fe", OWN, "2600::2"):
        ok(told(job.connect(literal)) in ("private", "own"),
           "the address %s itself is refused" % literal)
        door.record()
    same(hello.reached, before, "none of these was connected to")
    same(job.connect("mixed.example")["line"], SERVER, "of two addresses the public one")
    door.record()
    same(job.connect(SERVER)["line"], SERVER, "a public address itself passes")
    door.record()
    same(job.connect(SERVER)["compares"], 0, "and no server name is compared")
    door.record()
    same(door.job("true", uid=7).connect("private.example")["line"], PRIVATE,
         "\"reach\" lets a name lead to a private address")
    door.record()
    same(told(door.job("true", uid=8).connect("mixed.example")), "private",
         "a denied net counts for each address")
    door.record()
    same(told(door.job('{"deny": ["0.0.0.0/0:443"]}').connect(SERVER)), "denied",
         "the job's own deny counts")
    door.end()


def test_connecting():
    names.answers["dead.example"] = rows("dead.example", DEAD, DEAD, DEAD, OTHER)
    names.answers["both.example"] = rows("both.example", "2600::dead", SERVER)
    names.answers["closed.example"] = rows("closed.example", SERVER)
    names.answers["far.example"] = rows("far.example", DEAD)
    door = Door('{"allow": ["*:*"]}')
    job = door.job("true")
    start = time.monotonic()
    same(job.connect("dead.example")["line"], OTHER, "a living address after dead ones")
    ok(time.monotonic() - start < BOUND / 2, "soon")
    door.record()
    same(job.connect("both.example")["line"], SERVER, "IPv4 where IPv6 does not answer")
    door.record()
    same(told(job.connect("closed.example", 444)), "refused", "a closed port is refused")
    same(door.record()["why"], "connection refused", "with its reason")
    start = time.monotonic()
    same(told(job.connect("far.example")), "timeout", "no answer in 10 s")
    ok(9 < time.monotonic() - start, "after 10 s", time.monotonic() - start)
    same(door.record()["why"], "no answer in 10 s", "is told")
    door.end()


def test_bad_name_servers():
    names.answers["silent.example"] = lambda kind, count: None
    names.answers["garbage.example"] = lambda kind, count: b"\xff" * 40
    names.answers["big.example"] = lambda kind, count: ["truncated"] + [
        ("big.example", 1, 60, socket.inet_aton("93.184.216.%d" % (10 + i)))
        for i in range(40)] if kind == 1 else []
    # c-ares 1.18 drops the record of another name; 1.34 takes it for this name
    names.answers["wrong.example"] = rows("other.example", PRIVATE)
    door = Door('{"allow": ["*.example"]}')
    job = door.job("true")
    start = time.monotonic()
    found = job.resolve("silent.example")
    ok(told(found) == "unresolved" and found["again"] == 1,
       "name servers that do not answer: the program may ask again", found)
    ok(time.monotonic() - start < BOUND, "within 5 s", time.monotonic() - start)
    same(door.record()["why"], "could not be looked up: the host's name servers did not "
         "answer", "with its reason")
    found = job.resolve("garbage.example")
    ok(told(found) == "unresolved", "garbage is no answer", found)
    door.record()
    same(told(job.resolve("big.example")), "ok", "a truncated answer is asked for by TCP")
    ok(names.by_tcp > 0, "the name server saw that")
    ok(told(job.resolve("wrong.example")) in ("unresolved", "private"),
       "the address of another name is none, or is judged as one of this name")
    door.record()
    same(told(job.connect("big.example")), "ok", "and of its addresses one is connected to")
    door.end()


def test_check():
    names.answers["a.example"] = rows("a.example", SERVER)
    door = Door('{"allow": ["*.example", "%s:443"]}' % OTHER)
    job = door.job('["a.example", "%s:443"]' % OTHER)
    same(told(job.ask(CHECK, "a.example", 443, address=SERVER)), "ok",
         "a stream that the rules allow may go on")
    same(told(job.ask(CHECK, "b.example", 443, address=SERVER)), "denied",
         "one that they do not may not")
    same(told(job.ask(CHECK, "a.example", 443, address=PRIVATE)), "private",
         "its address is judged anew")
    same(told(job.ask(CHECK, OTHER, 443, address=OTHER)), "ok", "so is a literal")
    # the next record is that of another question
    same(told(job.resolve("b.other")), "denied", "a name that no rule names")
    same(door.record()["name"], "b.other", "the relay itself tells the ends of streams")
    door.end()


def test_hostile_relay():
    names.answers["a.example"] = rows("a.example", SERVER)
    names.answers["silent.example"] = lambda kind, count: None
    door = Door('{"allow": ["*.example"]}')
    door.drain()
    good = door.job("true", uid=1)
    for text in (b"", b"x", b"\0" * 292, os.urandom(292), b"\xff" * 4000):
        job = door.job("true")
        job.sock.sendall(text) if text else job.sock.shutdown(socket.SHUT_WR)
        same(receive(job.sock)[0], b"", "a wrong message of %d bytes ends the job's socket"
             % len(text))
    bad = door.job("true")
    bad.sock.setblocking(False)
    sent = 0
    try:
        while sent < 100000:
            bad.send(RESOLVE, "silent%d.example" % sent)
            sent += 1
    except BlockingIOError:
        pass
    ok(sent < 100000, "a relay that does not read cannot send for ever", sent)
    same(told(good.resolve("a.example")), "ok", "others are served meanwhile")
    crowd = [door.job("true", uid=2) for _ in range(40)]
    for i, job in enumerate(crowd):
        for k in range(30):
            job.send(CONNECT, "hang%d-%d.example" % (i, k), 443)
    names.answers.update({"hang%d-%d.example" % (i, k): (lambda kind, count: None)
                          for i in range(40) for k in range(30)})
    same(told(good.connect("a.example")), "ok", "a user with 1,200 questions holds up himself")
    door.sock.sendall(struct.pack("<IIIII", 1, GONE, good.no, 0, 0))
    same(receive(good.sock)[0], b"", "GONE ends a job's socket")
    door.end()


def test_limits():
    door = Door('{"allow": ["*:*", "0.0.0.0/0:*"]}')
    door.drain()
    jobs = [door.job("true") for _ in range(5)]
    for job in jobs:
        for _ in range(80):
            job.send(CONNECT, DEAD, 443)
    found = [job.answer() for job in jobs for _ in range(80)]
    kinds = {k: sum(f["told"] == k for f in found) for k in TOLD}
    same(kinds["limit"], 400 - 256, "a user has a quarter of all connects under way")
    same(kinds["timeout"], 256, "the others wait 10 s for theirs")
    other = door.job("true", uid=1001)
    same(told(other.connect(SERVER)), "ok", "another user connects at once")
    door.end()


def test_spellings():
    """The address of a metadata service, by each way to write it."""
    names.answers["metadata.google.internal"] = rows("metadata.google.internal", SECRET)
    door = Door('{"allow": ["*:*", "0.0.0.0/0:*", "::/0:*", "169.254.0.0/16:80"], '
                '"reach": ["169.254.0.0/16"], "users": {"7": {"allow": '
                '["169.254.169.254:80"], "reach": ["169.254.169.254"]}}}',
                hosts="%s metadata.in.hosts\n" % SECRET)
    job = door.job("true")
    asked, reached = dict(names.asked), dict(hello.reached)
    for text in ("0xa9fea9fe", "0xA9.0xFE.0xA9.0xFE", "2852039166", "0251.0376.0251.0376",
                 "025177524776", "169.16689662", "169.254.43518", "169.254.169.254.",
                 "169.254.169.0xfe", "[169.254.169.254]", "::ffff:0xa9fea9fe",
                 "169.254.169.254%lo", "169.254.169.254:80", " 169.254.169.254",
                 "fe80::a9fe:a9fe%v1", "0", "0x0"):
        same((told(job.resolve(text)), told(job.connect(text, 80))), ("denied", "denied"),
             "%s is neither a name nor an address" % text)
        door.record()
        same(door.record()["why"], "it is no name of a host", "and the record says so")
    same(names.asked, asked, "no name server was asked for these")
    for text in (SECRET, "::ffff:a9fe:a9fe", "::ffff:169.254.169.254",
                 "64:ff9b::169.254.169.254", "64:ff9b::a9fe:a9fe", "fd00:ec2::254",
                 "fe80::1", "100.100.100.200", "168.63.129.16", "2002:a9fe:a9fe::",
                 "::169.254.169.254", "0:0:0:0:0:FFFF:A9FE:A9FE"):
        same(told(job.connect(text, 80)), "private", "the address %s is refused" % text)
        door.record()
    for name in ("metadata.google.internal", "METADATA.Google.Internal.",
                 "metadata.in.hosts"):
        same((told(job.resolve(name)), told(job.connect(name, 80))), ("private", "private"),
             "the name %s is refused, though a net around it is reached" % name)
        door.record()
        door.record()
    same(hello.reached, reached, "none of these was connected to")
    other = door.job("true", uid=7)
    # there is no server on that port: it was tried, so it was allowed
    same(told(other.connect(SECRET, 80)), "refused",
         "a rule and a \"reach\" of the single address pass")
    door.record()
    same(told(other.connect("::ffff:" + SECRET, 80)), "refused", "written in IPv6, too")
    door.record()
    same(told(other.connect(SECRET, 443)), "denied", "on the port of the rule only")
    door.end()


def test_odd_names():
    long_name = ".".join(["a" * 63] * 3 + ["b" * 62])  # 254 bytes
    door = Door('{"allow": ["*:443"]}', hosts="%s db short\n" % SERVER)
    job = door.job('["*:443"]')
    asked = dict(names.asked)
    for name in ("db", "short", "localhost.", "LOCALHOST", "a.localhost", "a..b.c", ".a.b",
                 "a.b..", "x" * 64 + ".b", "a b.c", "a*.c", "*.b.c", "a/b.c", "a@b.c",
                 "a:1.c", "a.1", "a.0x1", "-"):
        same(told(job.resolve(name)), "denied", "%r is denied" % name[:20])
        door.record()
    # what a relay does not send, for it reads names by the same function
    for name in (long_name, "", "a\nb.c", "a\rb.c", "a\x7f.c", "b\xfccher.c"):
        job.send(RESOLVE, name)
        same(receive(job.sock)[0], b"", "%r ends the job's socket" % name[:20])
        job = door.job('["*:443"]')
    # behind the first NUL of a field there is nothing
    job.next += 1
    job.sock.sendall(struct.pack("<IIIII", 1, RESOLVE, job.next, 0, 0) + bytes(16) +
                     b"nul.example\0.evil.org".ljust(254, b"\0") + bytes(2))
    same((told(job.answer()), door.record()["name"]), ("unresolved", "nul.example"),
         "a name ends at a NUL")
    same({n for n in names.asked if n not in asked} - {"nul.example"}, set(),
         "and no name server was asked for them")
    names.answers["xn--zz-.example"] = rows("xn--zz-.example", PRIVATE)
    same(told(job.resolve("XN--zz-.Example")), "private",
         "a wrong xn-- is a name like others, and its address is judged")
    door.end()


def test_own_address_comes_later():
    late = "93.184.217.7"
    names.answers["late.example"] = rows("late.example", late)
    door = Door('{"allow": ["*:*", "0.0.0.0/0:*", "::/0:*"]}')
    job = door.job("true")
    same(told(job.resolve("late.example")), "ok", "an address of another host")
    ip("addr", "add", late + "/32", "dev", "v1", inside=INNER.pid)
    try:
        same((told(job.connect("late.example")), told(job.connect(late))), ("own", "own"),
             "is refused as soon as this host has it, though its name was kept")
    finally:
        ip("addr", "del", late + "/32", "dev", "v1", inside=INNER.pid)
    subprocess.run(["nsenter", "-n", "-t", str(INNER.pid), "sh", "-ec",
                    "for v in 4 6; do echo 1 >/proc/sys/net/ipv$v/ip_nonlocal_bind; done"],
                   check=True)
    for address in (SERVER, SERVER6):
        found = job.connect(address)
        same(found.get("line"), address,
             "where every address can be bound, %s is not this host's" % address)
    same(told(job.connect(OWN)), "own", "and its own is")
    door.end()


def test_own_address_unknown():
    door = Door('{"allow": ["*:*"]}')
    most = door.descriptors() + 1
    door.end()
    # it has room for a job's socket, and for no other one
    door = Door('{"allow": ["*:*"]}', hosts="%s own.example\n" % OWN, fds=most)
    job = door.job("true")
    same(told(job.resolve("own.example")), "limit",
         "an address that cannot be compared with this host's is not allowed")
    same(door.record()["why"], "the host's connections are used up", "and why is said")
    same(told(job.connect("own.example")), "limit", "nor connected to")
    door.end()


def test_lying_resolver():
    """What a name server may say that is not so, or that has no end."""
    def reply(flags, *records, questions=1, ident=None):
        def build(data):
            head = data[:2] if ident is None else ident
            end = dns_name(data, 12)[1] + 4
            return head + struct.pack(">HHHHH", flags, questions, len(records), 0, 0) + \
                data[12:end] + b"".join(records)
        return build

    def record(owner, rtype, value, rclass=1):
        return owner + struct.pack(">HHIH", rtype, rclass, 60, len(value)) + value
    this, good, private = b"\xc0\x0c", socket.inet_aton(SERVER), socket.inet_aton(PRIVATE)
    cases = {
        "loop": reply(0x8180, record(this, 5, this)),
        "ring": reply(0x8180, record(this, 5, pack_name("ring2.example")),
                      record(pack_name("ring2.example"), 5, pack_name("ring.example"))),
        "pointer": reply(0x8180, record(b"\xc0\xff", 1, good)),
        "self": reply(0x8180, record(b"\xc0\x1f", 1, good)),
        "short": reply(0x8180, record(this, 1, good[:3])),
        "class": reply(0x8180, record(this, 1, good, 3)),
        "count": reply(0x8180, questions=7),
        # c-ares 1.34 takes it for the name that was asked for, and it is judged so
        "other": reply(0x8180, record(pack_name("evil.org"), 1, private)),
        "ident": reply(0x8180, record(this, 1, good), ident=b"\0\0"),
        "servfail": reply(0x8182, record(this, 1, good)),
        "refused": reply(0x8185), "empty": lambda data: b"", "one": lambda data: b"\0",
        "cut": lambda data: data[:11],
    }
    names.liars.update({name + ".example": build for name, build in cases.items()})
    door = Door('{"allow": ["*:443"]}')
    door.drain()
    ids = {}
    job = door.job("true", uid=3)
    for name in cases:  # all at once: those that do not count are waited for 5 s
        ids[job.send(CONNECT, name + ".example", 443)] = name
    seen = {}
    for _ in cases:
        found = job.answer(4 * BOUND)
        seen[ids[found["id"]]] = told(found)
        if found["socket"]:
            seen[ids[found["id"]]] += " " + found["address"]
    same({n: t for n, t in seen.items()
          if t != "unresolved" and (n, t) != ("other", "private")}, {},
         "no answer that is wrong leads to a server")
    names.answers["many.example"] = lambda kind, count: ["truncated"] + [
        ("many.example", 1, 0, private if i < 15 else good) for i in range(2000)] \
        if kind == 1 else []
    same(told(job.connect("many.example")), "ok",
         "of an answer with 2,000 addresses the first 16 count")
    names.answers["all.example"] = lambda kind, count: ["truncated"] + [
        ("all.example", 1, 0, private if i < 16 else good) for i in range(17)] \
        if kind == 1 else []
    same(told(job.connect("all.example")), "private", "and no other")
    names.answers["stall.example"] = lambda kind, count: ["truncated"] + (rows(
        "stall.example", SERVER)(kind, count))
    names.stalls.add("stall.example")
    start = time.monotonic()
    found = job.ask(RESOLVE, "stall.example")
    ok(told(found) == "unresolved" and found["again"] and
       time.monotonic() - start < BOUND / 2,
       "a name server that stalls in the middle of an answer by TCP ends in 5 s", found)
    same(told(job.connect("many.example")), "ok", "and the next question has its answer")
    door.end()


def test_tenants():
    """One user fills his part; what he asked for is no other's to see."""
    names.answers.update({"slow%d.example" % i: (lambda kind, count: None)
                          for i in range(600)})
    names.answers["quick.example"] = rows("quick.example", SERVER)
    door = Door('{"allow": ["*:*", "0.0.0.0/0:*"]}')
    door.drain()
    crowd = [door.job("true", uid=4) for _ in range(3)]
    for i in range(600):
        crowd[i % 3].send(RESOLVE, "slow%d.example" % i)
    other = door.job("true", uid=5)
    start = time.monotonic()
    same(told(other.connect("quick.example")), "ok",
         "beside a user with 600 look-ups another one's takes its time only")
    ok(time.monotonic() - start < 2 + BOUND / 10, "which is short",
       time.monotonic() - start)
    found = [job.answer(4 * BOUND) for job in crowd for _ in range(200)]
    same({told(f) for f in found}, {"unresolved"}, "each of the 600 ends by its time")
    ok(sum(n.startswith("slow") for n in names.asked) <= 600 and
       all(f["again"] for f in found), "and may be asked again")
    # the names of one are not known to the other
    asked = names.asked["quick.example"]
    door.job("true", uid=5).resolve("quick.example")
    same(names.asked["quick.example"], asked, "a user's second job finds his answer")
    door.job("true", uid=6).resolve("quick.example")
    ok(names.asked["quick.example"] > asked, "another user's asks anew")
    door.end()


def test_busy_relay():
    """A relay that asks and reads without end holds up no other one."""
    names.answers["a.example"] = rows("a.example", SERVER)
    door = Door('{"allow": ["*.example"]}')
    door.drain()
    good = door.job("true", uid=1)
    bad = door.job("true", uid=2).sock
    bad.settimeout(None)
    question = struct.pack("<IIIII", 1, RESOLVE, 1, 0, 0) + bytes(16) + \
        b"no.such".ljust(254, b"\0") + bytes(2)
    answers = mmap.mmap(-1, 8)
    floods = []
    for act in (lambda: bad.send(question), lambda: bad.recv(4096)):
        pid = os.fork()
        if not pid:
            count = 0
            while act():
                count += 1
                answers[:] = struct.pack("<Q", count)
            os._exit(1)
        floods.append(pid)

    def answered():
        return struct.unpack("<Q", answers)[0]
    try:
        while answered() < 2000:
            good.resolve("a.example")
        before = answered()
        same([told(good.resolve("a.example")) for _ in range(200)], ["ok"] * 200,
             "others are answered beside a relay that asks without end")
        ok(answered() > before, "which gets its answers, too", before, answered())
    finally:
        for pid in floods:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    door.end()


def test_other_job():
    """A relay that was taken over asks for what another job may reach."""
    for name in ("a.example", "b.example"):
        names.answers[name] = rows(name, SERVER)
    door = Door('{"allow": ["*.example"], "users": {"7": {"allow": ["b.example"]}}}')
    mine, other = door.job('["a.example"]'), door.job('["b.example"]', uid=7)
    for op in (RESOLVE, CONNECT, CHECK):
        found = mine.ask(op, "b.example", 0 if op == RESOLVE else 443,
                         **({"address": SERVER} if op == CHECK else {}))
        same(told(found), "denied", "another job's name is denied")
        if op != CHECK:
            same(door.record()["job"], mine.no,
                 "and told of the job whose socket it came by")
    same((told(other.connect("b.example")), door.record()["job"]), ("ok", other.no),
         "which that job may reach")
    wide = door.job("true", uid=7)
    same(told(wide.connect("a.example")), "denied",
         "a job that asks for all has what the operator allows its user")
    door.record()
    for op in (NEW, GONE, POLICY, RECORD, ANSWER, 0, 99):
        job = door.job('["a.example"]')
        job.send(op, "b.example", 443)
        same(receive(job.sock)[0], b"", "a message of type %d ends its socket" % op)
    job = door.job('["a.example"]')
    with open("/dev/null") as null:
        socket.send_fds(job.sock, [struct.pack("<IIIII", 1, CONNECT, 1, 443, 0) +
                                   bytes(16) + b"a.example".ljust(256, b"\0")],
                        [null.fileno()])
    same(receive(job.sock)[0], b"", "so does one with a descriptor")
    same(told(mine.connect("a.example")), "ok", "and the others go on")
    same(door.record()["job"], mine.no, "each by its own socket")
    names.answers["many.example"] = rows("many.example", SERVER)
    same(told(door.job("true").connect("many.example")), "ok", "and the door is well")
    door.end()


def test_in_turn():
    names.answers["a.example"] = rows("a.example", SERVER)
    door = Door('{"allow": ["*.example"]}')
    door.drain()
    job = door.job("true")
    job.connect("a.example")  # the door has this job's socket now
    open_fds = door.descriptors()
    same({told(job.connect("a.example")) for _ in range(1000)}, {"ok"},
         "1,000 connections in turn")
    # the door answers first, and then closes its own descriptor of the connection
    until = time.monotonic() + BOUND
    while door.descriptors() > open_fds and time.monotonic() < until:
        time.sleep(0.01)
    same(door.descriptors() <= open_fds, True, "leave no descriptor in the door")
    door.end()


def test_ports_of_rules():
    """A port that no rule has, "/tcp" against a rule without it, another host."""
    for name in ("a.example", "b.example", "t.example"):
        names.answers[name] = rows(name, SERVER)
    door = Door('{"allow": ["a.example:443,8000", "b.example", "t.example:443/tcp"]}')
    job = door.job('["a.example:443", "t.example:443"]')
    same(job.resolve("a.example")["ranges"], [(443, 443)],
         "of the operator's ports a job has those that it names")
    asked = dict(names.asked)
    for name, port, why in (("a.example", 8000, "no rule names this port"),
                            ("a.example", 444, "no rule names this port"),
                            ("b.example", 443, "no rule names it"),
                            ("www.a.example", 443, "no rule names it")):
        same(told(job.connect(name, port)), "denied", "%s:%d is denied" % (name, port))
        same(door.record()["why"], why, "with its reason")
    same({n for n in names.asked if n not in asked}, set(), "and not looked up")
    same(job.connect("t.example")["compares"], 1,
         "the operator's /tcp does not lift the look that the job's rule asks for")
    door.record()
    tcp = door.job('["a.example:443/tcp", "t.example:443/tcp"]')
    same(tcp.connect("a.example")["compares"], 1,
         "nor does a job's /tcp that of the operator's")
    door.record()
    same(tcp.connect("t.example")["compares"], 0, "both together do")
    door.end()


def test_tunnel():
    """Labels carry bytes to a name server only below a name of a wildcard rule."""
    for i in range(300):
        names.answers["b%03d.tunnel.example" % i] = lambda kind, count: []
    door = Door('{"allow": ["*.tunnel.example", "plain.example"]}')
    job = door.job("true")
    asked, counted = dict(names.asked), 0
    for name in ("secret.plain.example", "secret.tunnel.example.evil.org", "tunnel.example",
                 "secret.example"):
        same(told(job.resolve(name)), "denied", "%s is denied" % name)
        door.record()
    same(names.asked, asked, "and no name server hears of it")
    for i in range(300):
        job.resolve("b%03d.tunnel.example" % i)
        record = door.record()
        counted += record["name"] == "b%03d.tunnel.example" % i and record["job"] == job.no
    same(counted, 300, "below the wildcard each look-up is a record of its job")
    door.end()


def test_sockets():
    """A user has a quarter of the door's sockets."""
    names.answers["a.example"] = rows("a.example", SERVER)
    door = Door('{"allow": ["*.example"]}', fds=160)  # half of it for jobs: 80, a user 20
    door.drain()
    jobs = [door.job("true", uid=1) for _ in range(30)]
    same(told(door.job("true", uid=2).connect("a.example")), "ok",
         "another user connects")  # the door has heard of all by now
    good = [not select.select([job.sock], [], [], 0)[0] for job in jobs]
    same(good, [True] * 20 + [False] * 10, "of 30 jobs of a user 20 have a socket")
    same(told(jobs[0].ask(CONNECT, "a.example", 443)), "limit",
         "and none is left for a connection")
    door.sock.sendall(struct.pack("<IIIII", 1, GONE, jobs[1].no, 0, 0))
    same(receive(jobs[1].sock)[0], b"", "a job that has ended gives its place back")
    same(told(jobs[0].connect("a.example")), "ok", "and a connection gets it")
    door.end()


def test_other_calls():
    """A door that was taken over makes another system call than its own."""
    if os.getuid() or SANITIZED:
        print("# only root can make it do a call; with sanitizers it has no list of them")
        return
    # openat, open, execve, fork, clone, ptrace, kill, bind, listen, accept4, mount, setuid,
    # bpf, io_uring_setup, unlink, socketpair, pidfd_getfd, dup; sockets of AF_UNIX,
    # AF_NETLINK and AF_PACKET
    calls = ("257 -100 0 0", "2 0 0", "59 0 0 0", "57", "56 17", "101 0 0 0", "62 1 9",
             "49 3 0 0", "50 3 1", "288 3 0 0 0", "165 0 0 0 0", "105 0", "321 0 0 0",
             "425 1 0", "87 0", "53 1 1 0 0", "438 0 0 0", "32 3", "41 1 1 0", "41 16 3 0",
             "41 17 3 0")
    names.answers["a.example"] = rows("a.example", SERVER)
    door = Door('{"allow": ["*.example"]}')
    job = door.job("true")
    inject = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../hostile/inject.py")
    for call in calls:
        done = subprocess.run([sys.executable, "-B", inject, str(door.process.pid),
                               *call.split()], stdout=subprocess.PIPE, text=True,
                              timeout=BOUND, check=False)
        same(done.stdout.strip(), "-1", "the call %s is refused" % call)
    same(told(job.connect("a.example")), "ok", "and it serves on")
    door.end()


TESTS = {name[5:]: value for name, value in list(globals().items())
         if name.startswith("test_")}

if __name__ == "__main__":
    INNER = make_namespaces()
    names, hello = Names(), Hello(443)
    names.start()
    hello.start()
    for wanted in sys.argv[1:] or TESTS:
        print("# %s" % wanted, flush=True)
        TESTS[wanted]()
    INNER.stdin.close()
    INNER.wait()
    print("1..%d" % count)
    sys.exit(bool(failed))
