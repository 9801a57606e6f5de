# SPDX-License-Identifier: Apache-2.0
"""What a program with a network tries. Its rules are those of qemu/55_network.bats, its
servers those of network/world.py: example.test, which it may reach on 80, 81 and 443;
names that lead to an address of metadata, of the host and of a private net; and others."""
import ctypes
import errno
import os
import signal
import socket
import ssl
import struct
import urllib.error
import urllib.request

import hostile
from hostile import denied

HELPER = ("127.0.0.53", 53)
SECONDS = 60
IP_TRANSPARENT, SO_MARK = 19, 36
BPF = {"MAP_GET_NEXT_ID": 12, "PROG_GET_FD_BY_ID": 13, "MAP_GET_FD_BY_ID": 14,
       "LINK_GET_NEXT_ID": 31, "LINK_DETACH": 34}


# --- connections ----------------------------------------------------------------

def connected(host, port, family=socket.AF_INET):
    try:
        at = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)[0][4]
    except socket.gaierror as e:
        raise OSError(errno.ENOENT, "no such name") from e
    s = socket.socket(family)
    s.settimeout(SECONDS)
    s.connect(at)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def connect(host, port, family=socket.AF_INET):
    """Its outcome is that of the first byte: a refusal may follow the connection."""
    def attack():
        with connected(host, port, family) as s:
            s.sendall(b"GET /hello HTTP/1.0\r\nHost: x\r\n\r\n")
            return "reached" if s.recv(1) else "closed"
    return attack


def fetch(url, host=None):
    def attack():
        request = urllib.request.Request(url, headers={"Host": host} if host else {})
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return answer.read().decode().strip()
        except urllib.error.URLError as e:
            if isinstance(e.reason, socket.gaierror):
                raise OSError(errno.ENOENT, "no such name") from e
            raise e.reason from e
    return attack


def datagram(host, port):
    def attack():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(SECONDS)
            s.connect((host, port))
            s.send(b"x" * 40)
            s.recv(1)
    return attack


def bound(kind, address):
    def attack():
        with socket.socket(socket.AF_INET, kind) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            s.bind(address)
    return attack


def made(*words):
    def attack():
        socket.socket(*words).close()
    return attack


def option(level, name):
    def attack():
        with socket.socket() as s:
            s.setsockopt(level, name, 1)
    return attack


# --- names: the bytes of a question ------------------------------------------------

def labels(*parts):
    return b"".join(bytes([len(p)]) + p for p in parts) + b"\0"


def question(name, count=1):
    """The code of the helper's answer, and how many records it has."""
    def attack():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(SECONDS)
            s.connect(HELPER)
            s.send(struct.pack(">6H", 7, 0x100, count, 0, 0, 0) +
                   (name + b"\0\1\0\1") * count)
            answer = s.recv(4096)
            return "%d %d" % (answer[3] & 15, int.from_bytes(answer[6:8], "big"))
    return attack


# --- TLS: the first bytes of a connection -------------------------------------------

class Hello:
    """A client of TLS whose bytes are sent by hand."""

    def __init__(self, name):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.into, self.out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.into, self.out, server_hostname=name)
        self.step()
        self.bytes = self.out.read()

    def step(self):
        try:
            self.tls.do_handshake()
            return True
        except ssl.SSLWantReadError:
            return False

    def with_ech(self):
        """The same with the extension of an encrypted one at its end."""
        data, extension = bytearray(self.bytes), struct.pack(">HH", 0xfe0d, 8) + bytes(8)
        at = 5 + 4 + 2 + 32
        at += 1 + data[at]
        at += 2 + int.from_bytes(data[at:at + 2], "big")
        at += 1 + data[at]
        for place, size in ((3, 2), (6, 3), (at, 2)):
            value = int.from_bytes(data[place:place + size], "big") + len(extension)
            data[place:place + size] = value.to_bytes(size, "big")
        self.bytes = bytes(data) + extension
        return self


def hello(name, port=443, split=False, ech=False):
    def attack():
        client = Hello(name)
        data = client.with_ech().bytes if ech else client.bytes
        with connected("example.test", port) as s:
            for part in (data[i:i + 1] for i in range(len(data))) if split else [data]:
                s.sendall(part)
            if port != 443:
                return "reached" if s.recv(1) else "closed"
            while not client.step():
                s.sendall(client.out.read())
                more = s.recv(65536)
                if not more:
                    return "closed"
                client.into.write(more)
            return client.tls.version()
    return attack


def plain_on_443():
    with connected("example.test", 443) as s:
        s.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return "reached" if s.recv(1) else "closed"


# --- the kernel's settings ------------------------------------------------------------

def netlink(kind, flags, body):
    """One message of NETLINK_ROUTE and the kernel's answer to it."""
    def attack():
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
            s.settimeout(SECONDS)
            s.send(struct.pack("=IHHII", 16 + len(body), kind, flags | 5, 1, 0) + body)
            error = struct.unpack_from("=i", s.recv(4096), 16)[0]
            if error:
                raise OSError(-error, os.strerror(-error))
    return attack


def route(family, table=254):
    """A default route by lo."""
    return struct.pack("=8BI", family, 0, 0, 0, table, 3, 253, 1, 0) + \
        struct.pack("=HHI", 8, 4, 1)


def device(name, request, body):
    def attack():
        import fcntl
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            fcntl.ioctl(s, request, name.ljust(16, b"\0") + body.ljust(24, b"\0"))
    return attack


def kill_unseen():
    """Kills by number each process that is not in its /proc: one of these is the helper.
    Another one may be its own: it keeps the memory of a warm interpreter."""
    seen = {int(task) for name in os.listdir("/proc") if name.isdigit()
            for task in os.listdir("/proc/%s/task" % name)}
    got = set()
    for pid in range(2, 2000):
        if pid not in seen:
            got.add(hostile.outcome(lambda pid=pid: os.kill(pid, signal.SIGKILL)))
    return " ".join(sorted(got - {"ok"}))


def lives():
    with connected("example.test", 81) as s:
        s.sendall(b"still")
        return s.recv(5).decode()


METADATA = {
    "dotted": "169.254.169.254", "hexadecimal": "0xa9fea9fe", "octal": "0251.0376.0251.0376",
    "decimal": "2852039166", "short": "169.16689662", "mixed": "169.254.0xa9fe",
}
IP6 = {
    "mapped": "::ffff:169.254.169.254", "NAT64": "64:ff9b::a9fe:a9fe",
    "of Amazon": "fd00:ec2::254", "6to4": "2002:a9fe:a9fe::1",
}

ROWS = [
    ("metadata " + name, "connects to the metadata's address, written " + name,
     "ENETUNREACH", connect(text, 80)) for name, text in METADATA.items()
] + [
    ("metadata " + name, "connects to the metadata's address, " + name, "ENETUNREACH",
     connect(text, 80, socket.AF_INET6)) for name, text in IP6.items()
] + [
    ("metadata name", "connects to a name of it, which a rule has", "ENOENT",
     connect("meta.test", 80)),
    ("own name", "connects to a name of the host, which a rule has", "ENOENT",
     connect("own.test", 80)),
    ("own address", "connects to the host's address", "ENETUNREACH",
     connect("93.184.216.2", 80)),
    ("private name", "connects to a name of a private address", "ENOENT",
     connect("sneaky.test", 80)),
    ("private address", "connects to a private address", "ENETUNREACH",
     connect("10.9.9.1", 80)),
    ("other name", "connects to a name that no rule has", "ENOENT",
     connect("other.test", 80)),
    ("other port", "connects to a port that no rule has", "ECONNREFUSED",
     connect("example.test", 8080)),
    ("other address", "connects to an address that no rule has", "ENETUNREACH",
     connect("93.184.216.11", 81)),
    ("port of an address", "connects to a port of an address that no rule has",
     "ECONNRESET", connect("93.184.216.10", 82)),
    ("address", "reaches an address of a rule", "reached", connect("93.184.216.10", 81)),
    ("alias", "reaches a name that a rule has by a CNAME", "hello from alias.test",
     fetch("http://alias.test/hello")),
    ("wildcard", "reaches a name of a wildcard rule", "hello from a.wild.test",
     fetch("http://a.wild.test/hello")),
    ("redirect", "follows a redirect to another host", "ENOENT",
     fetch("http://example.test/to/other.test")),
    ("host header", "asks a server for another site of its own: that is not stopped",
     "hello from other.test", fetch("http://example.test/hello", "other.test")),
    # the helper
    ("helper", "connects to the helper's own port", "ECONNRESET", connect(*HELPER)),
    ("helper's address", "connects to the machine's address of the network",
     "ECONNREFUSED", connect("198.18.0.1", 53)),
    ("no name's address", "connects to an address that stands for no name",
     "ECONNREFUSED", connect("198.18.9.9", 443)),
    ("take 53 tcp", "listens where the helper does", "EACCES",
     bound(socket.SOCK_STREAM, HELPER)),
    ("take 53 udp", "answers where the helper does", "EACCES",
     bound(socket.SOCK_DGRAM, HELPER)),
    ("take 53 of all", "answers on port 53 of all addresses", "EACCES",
     bound(socket.SOCK_DGRAM, ("", 53))),
    ("kill unseen", "kills the helper by its number", "EPERM ESRCH", kill_unseen),
] + [
    ("bpf " + name, "reaches the helper's program by bpf " + name, "EPERM",
     denied("bpf", number, ctypes.create_string_buffer(64), 64))
    for name, number in BPF.items()
] + [
    # routes, addresses, packets
    ("route", "adds a route", "EPERM",
     netlink(24, 0x400, route(socket.AF_INET))),
    ("route of IPv6", "adds a route of IPv6", "EPERM",
     netlink(24, 0x400, route(socket.AF_INET6))),
    ("local route", "adds an address to the local routes", "EPERM",
     netlink(24, 0x400, route(socket.AF_INET, 255))),
    ("no route", "removes a route", "EPERM", netlink(25, 0, route(socket.AF_INET))),
    ("rule", "adds a rule of routing", "EPERM",
     netlink(32, 0x400, struct.pack("=8BI", 2, 0, 0, 0, 254, 0, 0, 1, 0))),
    ("address of lo", "gives lo an address", "EPERM",
     netlink(20, 0x400, struct.pack("=4BI", 2, 32, 0, 0, 1) +
             struct.pack("=HH4s", 8, 2, b"\1\2\3\4"))),
    ("link", "makes a device", "EPERM",
     netlink(16, 0x400, struct.pack("=BBHiII", 0, 0, 0, 0, 0, 0) +
             struct.pack("=HHHH5s3x", 16, 18, 9, 1, b"dummy"))),
    ("lo down", "takes lo down", "EPERM",
     netlink(16, 0, struct.pack("=BBHiII", 0, 0, 0, 1, 0, 1))),
    ("ioctl down", "takes lo down by an ioctl", "EPERM", device(b"lo", 0x8914, b"")),
    ("ioctl address", "gives lo an address by an ioctl", "EPERM",
     device(b"lo", 0x8916, struct.pack("=HH4s", 2, 0, b"\1\2\3\4"))),
    ("raw ICMP", "makes a raw socket of ICMP", "EPERM",
     made(socket.AF_INET, socket.SOCK_RAW, 1)),
    ("raw TCP", "makes a raw socket of TCP", "EPERM",
     made(socket.AF_INET, socket.SOCK_RAW, 6)),
    ("raw IP", "makes a raw socket with a header of its own", "EPERM",
     made(socket.AF_INET, socket.SOCK_RAW, 255)),
    ("raw IPv6", "makes a raw socket of IPv6", "EPERM",
     made(socket.AF_INET6, socket.SOCK_RAW, 58)),
    ("ping", "makes a socket of ping", "EACCES",
     made(socket.AF_INET, socket.SOCK_DGRAM, 1)),
    ("packet", "makes a socket of packets", "EAFNOSUPPORT",
     made(socket.AF_PACKET, socket.SOCK_RAW, 0)),
    ("transparent", "takes connections to any address", "EPERM",
     option(socket.SOL_IP, IP_TRANSPARENT)),
    ("mark", "marks its packets", "EPERM", option(socket.SOL_SOCKET, SO_MARK)),
    # names
    ("other resolver", "asks another name server", "ENETUNREACH", datagram("8.8.8.8", 53)),
    ("resolver of a rule", "asks a name server at an address of a rule", "ECONNREFUSED",
     datagram("93.184.216.10", 53)),
    ("QUIC", "speaks UDP to a server of a rule", "ECONNREFUSED",
     datagram("example.test", 443)),
    ("name", "asks for a name of a rule", "0 1", question(labels(b"example", b"test"))),
    ("upper case", "asks for it in capitals", "0 1", question(labels(b"EXAMPLE", b"Test"))),
    ("below a name", "asks for a name below it", "3 0",
     question(labels(b"secret", b"example", b"test"))),
    ("no dot", "asks for a name without a dot", "3 0", question(labels(b"db"))),
    ("long label", "asks for a label of 64 bytes", "1 0",
     question(b"\x40" + b"a" * 64 + labels(b"wild", b"test"))),
    ("long name", "asks for a name of 254 bytes", "3 0",
     question(labels(*[b"a" * 60] * 4, b"wild", b"t"))),
    ("NUL", "asks for a name with a NUL", "3 0", question(labels(b"a\0b", b"wild", b"test"))),
    ("newline", "asks for a name with a newline", "3 0",
     question(labels(b"a\nb", b"wild", b"test"))),
    ("dot in a label", "asks for a label with a dot", "3 0",
     question(labels(b"a.wild", b"test"))),
    ("wrong xn--", "asks for a name that is wrongly encoded", "3 0",
     question(labels(b"xn--zz-", b"wild", b"test"))),
    ("pointer", "asks for a name that points back", "1 0", question(b"\xc0\x0c")),
    ("two questions", "asks two questions at a time", "1 0",
     question(labels(b"example", b"test"), 2)),
    # TLS
    ("TLS", "sends the server's name", "TLSv1.3", hello("example.test")),
    ("TLS in capitals", "sends it in capitals", "TLSv1.3", hello("EXAMPLE.test")),
    ("TLS in bytes", "sends it in packets of one byte", "TLSv1.3",
     hello("example.test", split=True)),
    ("TLS of another", "sends another name", "ECONNRESET", hello("other.test")),
    ("TLS of another in bytes", "sends another name in packets of one byte", "ECONNRESET",
     hello("other.test", split=True)),
    ("TLS without a name", "sends no name", "ECONNRESET", hello(None)),
    ("TLS with ECH", "sends an encrypted hello", "ECONNRESET",
     hello("example.test", ech=True)),
    ("TLS on 81", "sends another name on another port", "ECONNRESET",
     hello("other.test", 81)),
    ("no TLS", "sends plain HTTP on 443", "ECONNRESET", plain_on_443),
    ("lives", "finds the network as it was, after all that", "still", lives),
]

if __name__ == "__main__":
    hostile.run(ROWS)
