# asyncio runs children, serves streams and takes signals.
import asyncio
import os
import signal
import sys


async def serve(reader, writer):
    writer.write((await reader.readline()).upper())
    await writer.drain()
    writer.close()


async def main():
    p = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "print(input()[::-1])",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    print(await p.communicate(b"abc\n"), p.returncode)
    p = await asyncio.create_subprocess_shell("exit 7")
    print(await p.wait())
    server = await asyncio.start_server(serve, "localhost", 0)
    reader, writer = await asyncio.open_connection(
        *server.sockets[0].getsockname()[:2])
    writer.write(b"line\n")
    print(await reader.read())
    await asyncio.start_unix_server(serve, "sock")
    reader, writer = await asyncio.open_unix_connection("sock")
    writer.write(b"unix\n")
    print(await reader.read())
    got = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, got.set)
    os.kill(os.getpid(), signal.SIGTERM)
    await got.wait()
    print("got SIGTERM")


asyncio.run(main())
