# SPDX-License-Identifier: Apache-2.0
"""A domain for clients that know of no address: TLS in front of a gateway.

As a program, domain.py CERTIFICATE PORT: takes TLS at a port of loopback, prints it, and
hands all bytes to PORT.  As a plugin of pytest: names below DOMAIN lead to that port,
which DOMAIN_PORT names.
"""
import asyncio
import contextlib
import os
import socket
import ssl
import subprocess
import sys

DOMAIN = "sbx.example"


async def pump(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass  # one side has gone, and the other is told by the end
    finally:
        writer.close()


async def serve(certificate, target):
    async def taken(reader, writer):
        inner = await asyncio.open_connection("127.0.0.1", target)
        await asyncio.gather(pump(reader, inner[1]), pump(inner[0], writer))

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.set_alpn_protocols(["http/1.1"])
    server = await asyncio.start_server(taken, "127.0.0.1", 0, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def certificate_of(out):
    """A file with a key and a certificate of its own, made once."""
    path = out + "/domain.pem"
    if not os.path.exists(path):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", path + ".key",
             "-out", path + ".new", "-days", "30", "-subj", "/CN=" + DOMAIN,
             "-addext", "subjectAltName=DNS:*." + DOMAIN],
            check=True, stderr=subprocess.DEVNULL)
        with open(path + ".new", "a") as both, open(path + ".key") as key:
            both.write(key.read())
        os.rename(path + ".new", path)
    return path


@contextlib.contextmanager
def over_tls(url, out):
    """Gives what the environment of a client needs to come by DOMAIN."""
    path = certificate_of(out)
    with subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), path, url.split(":")[-1]],
            stdout=subprocess.PIPE, text=True) as proxy:
        try:
            yield {"E2B_DOMAIN": DOMAIN, "SSL_CERT_FILE": path,
                   "DOMAIN_PORT": proxy.stdout.readline().strip()}
        finally:
            proxy.kill()


def pytest_configure():
    resolve, connect = socket.getaddrinfo, socket.socket.connect
    port = int(os.environ["DOMAIN_PORT"])

    def getaddrinfo(host, *args, **keys):
        name = host.decode() if isinstance(host, bytes) else host
        inner = name and name.endswith("." + DOMAIN)
        return resolve("127.0.0.1" if inner else host, *args, **keys)

    def connect_to(self, address):
        return connect(self, ("127.0.0.1", port) if address == ("127.0.0.1", 443)
                       else address)

    socket.getaddrinfo = getaddrinfo
    socket.socket.connect = connect_to


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2])))
