# Tasks, groups, timeouts, queues and errors of asyncio.
import asyncio


async def worker(name, queue, done):
    while (n := await queue.get()) is not None:
        await asyncio.sleep(0)
        done.append((name, n))


async def fails():
    raise ValueError("in a task")


async def main():
    queue, done = asyncio.Queue(), []
    async with asyncio.TaskGroup() as group:
        group.create_task(worker("a", queue, done))
        for n in (1, 2, None):
            await queue.put(n)
    print(done)
    try:
        async with asyncio.timeout(0.01):
            await asyncio.Event().wait()
    except TimeoutError:
        print("timeout")
    print(await asyncio.gather(fails(), asyncio.sleep(0, "x"),
                               return_exceptions=True))
    task = asyncio.create_task(asyncio.sleep(100))
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled")
    print(await asyncio.to_thread(sum, range(10)))
    print(type(asyncio.get_running_loop()).__name__)
    asyncio.get_running_loop().call_soon(lambda: 1 / 0)
    await asyncio.sleep(0)
    await fails()


asyncio.run(main())
