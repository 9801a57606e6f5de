#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Two network namespaces joined by a veth, for tests of "network"; nothing leaves them.

world.py DIR — this process has the servers' namespace: a name server, HTTP on ports 80 and
8080, HTTPS on 443, an echo on 81, a server that resets
on 82, downloads on 83. A child has the other namespace, and mounts of its own with
resolv.conf and hosts for it. Prints the child's process id when all answer, and ends both
with its standard input. DIR/www is what HTTP serves, DIR/ca.pem the authority of the
certificates. The official suites (gateway/official) ask hosts of the internet by
address or name: STATUSES has what these answer here. Names below LOOPBACK lead to the
asking namespace itself.
"""
import ctypes
import functools
import http.server
import os
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import threading
import time

CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
NAMES, SERVER, OTHER = "93.184.216.1", "93.184.216.10", "93.184.216.11"
PRIVATE, SECRET, OWN = "10.9.9.1", "169.254.169.254", "93.184.216.2"
FAR = "93.184.217.1"  # no way leads there
DEAD = "93.184.216.99"  # does not answer, as behind a firewall that drops
CHECK, SITE = "93.184.216.12", "93.184.216.13"
STATUSES = {"1.1.1.1": 301, "8.8.8.8": 302, CHECK: 204, SITE: 200}
LOOPBACK = ".sbx.example"
ALIASES = {"alias.test": "example.test"}
HOSTS = {"example.test": SERVER, "other.test": OTHER, "private.test": PRIVATE,
         "meta.test": SECRET, "own.test": OWN, "a.wild.test": SERVER,
         "closed.test": SERVER, "sneaky.test": PRIVATE, "far.test": FAR, "dead.test": DEAD,
         "connectivitycheck.gstatic.com": CHECK, "e2b.dev": SITE}
SILENT = {"silent.test"}
A, CNAME = 1, 5


def ip(*words, pid=None):
    enter = ["nsenter", "-n", "-t", str(pid)] if pid else []
    subprocess.run([*enter, "ip", *words], check=True)


def unshare(flags):
    if LIBC.unshare(flags) < 0:
        raise OSError(ctypes.get_errno(), "unshare")


def inner(directory):
    """The other namespace, in a child that ends with its standard input."""
    unshare(CLONE_NEWNET | CLONE_NEWNS)
    # what is mounted below / itself stays here; what is mounted in the tests' own
    # file system is seen by all
    subprocess.run(["mount", "--make-private", "/"], check=True)
    for name, text in (("resolv.conf", "nameserver %s\noptions timeout:2 attempts:1\n"
                        % NAMES), ("hosts", "127.0.0.1 localhost\n")):
        path = os.path.join(directory, name)
        with open(path, "w") as f:
            f.write(text)
        # the file may be a mount already
        if os.path.ismount("/etc/" + name):
            subprocess.run(["mount", "--make-private", "/etc/" + name], check=True)
        subprocess.run(["mount", "--bind", path, "/etc/" + name], check=True)
    os.write(1, b"\n")
    os.read(0, 1)


def join(pid):
    ip("link", "set", "lo", "up")
    ip("link", "add", "v0", "type", "veth", "peer", "name", "v1", "netns", str(pid))
    ip("link", "set", "v0", "up")
    for address in (NAMES, SERVER, OTHER, PRIVATE):
        ip("addr", "add", address + "/24", "dev", "v0")
    for address in (SECRET, *STATUSES):
        ip("addr", "add", address + "/32", "dev", "v0")
    ip("link", "set", "lo", "up", pid=pid)
    ip("link", "set", "v1", "up", pid=pid)
    for address in (OWN, "10.9.9.2"):
        ip("addr", "add", address + "/24", "dev", "v1", pid=pid)
    ip("route", "add", "default", "via", NAMES, pid=pid)
    ip("route", "add", "unreachable", FAR, pid=pid)
    ip("neigh", "add", DEAD, "lladdr", "02:00:00:00:00:99", "dev", "v1", pid=pid)


# --- names ----------------------------------------------------------------------

def pack_name(name):
    return b"".join(bytes([len(x)]) + x.encode() for x in name.split(".")) + b"\0"


def record(name, kind, value):
    return pack_name(name) + struct.pack(">HHIH", kind, 1, 0, len(value)) + value


def answer(data):
    """The reply to one question: addresses have a TTL of 0."""
    labels, at = [], 12
    while data[at]:
        labels.append(data[at + 1:at + 1 + data[at]].decode().lower())
        at += 1 + data[at]
    name, question = ".".join(labels), data[12:at + 5]
    kind = struct.unpack_from(">H", data, at + 1)[0]
    if name in SILENT:
        return None
    real, out = ALIASES.get(name, name), []
    address = "127.0.0.1" if real.endswith(LOOPBACK) else HOSTS.get(real)
    if real != name:
        out.append(record(name, CNAME, pack_name(real)))
    if kind == A and address:
        out.append(record(real, A, socket.inet_aton(address)))
    code = 0 if address else 3
    return (data[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(out), 0, 0) +
            question + b"".join(out))


def serve_names():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((NAMES, 53))

    def run():
        while True:
            data, peer = s.recvfrom(4096)
            reply = answer(data)
            if reply:
                s.sendto(reply, peer)
    threading.Thread(target=run, daemon=True).start()


# --- servers --------------------------------------------------------------------

class Handler(http.server.SimpleHTTPRequestHandler):
    """Files of DIR/www; /hello says which host was asked for; /big/N has N bytes,
    which /slow/N sends in ten seconds; /to/HOST is a redirect to HOST."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        with open(self.log, "a") as f:
            f.write("%s %s %s\n" % (self.headers.get("Host") if hasattr(self, "headers")
                                    else "-", self.connection.getsockname()[0],
                                    words[0] % words[1:]))

    def send_status(self):
        """Returns False if this server has files."""
        status = STATUSES.get(self.connection.getsockname()[0])
        if status:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()
        return bool(status)

    def do_HEAD(self):
        if not self.send_status():
            super().do_HEAD()

    def do_GET(self):
        if self.send_status():
            return
        if self.path == "/hello":
            self.send_text(b"hello from " + self.headers["Host"].encode() + b"\n")
        elif self.path.startswith("/big/"):
            self.send_text(b"x" * int(self.path[5:]))
        elif self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", "http://%s/hello" % self.path[4:])
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path.startswith("/slow/"):
            self.send_slowly(int(self.path[6:]))
        else:
            super().do_GET()

    def do_POST(self):
        left, got = int(self.headers["Content-Length"]), 0
        while got < left:
            got += len(self.rfile.read(min(left - got, 65536)))
        self.send_text(b"%d\n" % got)

    def send_slowly(self, size):
        """In forty pieces, 0.25 s apart."""
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        for i in range(40):
            time.sleep(0.25)
            self.wfile.write(b"x" * (size * (i + 1) // 40 - size * i // 40))

    def send_text(self, text):
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request, client_address):
        pass  # a client that goes away is no news


def serve_http(directory):
    handler = type("Of", (Handler,), {"log": os.path.join(directory, "asked")})
    make = functools.partial(handler, directory=os.path.join(directory, "www"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(directory, "server.pem"))
    for port in (80, 8080, 443):
        server = Server(("", port), make)
        if port == 443:
            server.socket = context.wrap_socket(server.socket, server_side=True,
                                                do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        try:
            while data := self.request.recv(65536):
                self.request.sendall(data)
        except OSError:
            pass  # a client that goes away is no news


class Reset(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.recv(1)
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                struct.pack("ii", 1, 0))
        os.close(self.request.detach())  # without a FIN before it


class Download(socketserver.BaseRequestHandler):
    """A line "BYTES MS" asks for so many bytes, of a known pattern, in that time."""

    def handle(self):
        words = self.request.makefile("rb").readline().split()
        if len(words) != 2:
            return
        size, pieces = int(words[0]), 20
        data = (bytes(i * 7 & 255 for i in range(256)) * (size // 256 + 1))[:size]
        for i in range(pieces):
            time.sleep(int(words[1]) / 1000 / pieces)
            self.request.sendall(data[size * i // pieces:size * (i + 1) // pieces])


def serve_raw():
    for port, handler in ((81, Echo), (82, Reset), (83, Download)):
        server = socketserver.ThreadingTCPServer(("", port), handler, False)
        server.allow_reuse_address = server.daemon_threads = True
        server.request_queue_size = 1024
        server.server_bind()
        server.server_activate()
        threading.Thread(target=server.serve_forever, daemon=True).start()


def certificates(directory):
    """An authority with key identifiers (Python 3.13 wants them), one for the servers."""
    def at(name):
        return os.path.join(directory, name)

    def run(*words):
        subprocess.run(["openssl", *words], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    with open(at("ext"), "w") as f:
        f.write("subjectAltName=DNS:example.test,DNS:other.test,DNS:alias.test,"
                "DNS:*.wild.test,DNS:connectivitycheck.gstatic.com,DNS:e2b.dev,"
                "%s\nauthorityKeyIdentifier=keyid\n"
                "subjectKeyIdentifier=hash\nextendedKeyUsage=serverAuth\n" %
                ",".join("IP:" + address for address in (SERVER, *STATUSES)))
    run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
        "-days", "3650", "-subj", "/CN=test authority", "-keyout", at("ca.key"), "-out",
        at("ca.pem"), "-addext", "keyUsage=critical,keyCertSign")
    run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
        "/CN=example.test", "-keyout", at("server.key"), "-out", at("server.csr"))
    run("x509", "-req", "-in", at("server.csr"), "-CA", at("ca.pem"), "-CAkey",
        at("ca.key"), "-CAcreateserial", "-days", "3650", "-extfile", at("ext"), "-out",
        at("server.crt"))
    with open(at("server.pem"), "w") as out:
        for name in ("server.key", "server.crt"):
            with open(at(name)) as f:
                out.write(f.read())


def main():
    directory = os.path.abspath(sys.argv[1])
    if sys.argv[2:] == ["inner"]:
        inner(directory)
        return
    os.makedirs(os.path.join(directory, "www"), exist_ok=True)
    certificates(directory)
    unshare(CLONE_NEWNET)
    child = subprocess.Popen([sys.executable, "-I", "-S", __file__, directory, "inner"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if child.stdout.read(1) != b"\n":
        sys.exit("the inner namespace cannot be made")
    join(child.pid)
    serve_names()
    serve_http(directory)
    serve_raw()
    print(child.pid, flush=True)
    os.read(0, 1)
    child.stdin.close()
    child.wait()


main()
