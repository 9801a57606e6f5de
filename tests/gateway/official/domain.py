# SPDX-License-Identifier: Apache-2.0
"""A domain with TLS in front of a gateway, for hosts of ports and for old clients.

As a program, domain.py CERTIFICATE PORT: takes TLS at port 443 of loopback, says so, and
hands all bytes to PORT.  Names below DOMAIN lead there (tests/network/world.py).
"""
import asyncio
import contextlib
import os
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
    server = await asyncio.start_server(taken, "127.0.0.1", 443, ssl=context)
    print("ready", flush=True)
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
    """Gives what the environment of a client needs to trust the domain."""
    path = certificate_of(out)
    with subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), path, url.split(":")[-1]],
            stdout=subprocess.PIPE, text=True) as proxy:
        try:
            if not proxy.stdout.readline():
                raise SystemExit("port 443 of the suites' network cannot be taken")
            yield {"SSL_CERT_FILE": path, "NODE_EXTRA_CA_CERTS": path}
        finally:
            proxy.kill()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2])))
