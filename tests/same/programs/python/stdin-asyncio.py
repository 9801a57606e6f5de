# asyncio takes no file as a pipe to read from, and says so.
import asyncio
import sys


async def main():
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    try:
        await loop.connect_read_pipe(lambda: protocol, sys.stdin)
        print(await reader.read())
    except ValueError as e:
        print(e)
    print(await asyncio.to_thread(sys.stdin.readline))


asyncio.run(main())
