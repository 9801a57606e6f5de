# Executors of threads and processes give results and errors in order.
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, wait
import os


def work(n):
    if n == 3:
        raise ValueError("three")
    return n * 10


def dies(n):
    os._exit(1)


if __name__ == "__main__":
    for kind in (ThreadPoolExecutor, ProcessPoolExecutor):
        with kind(2) as pool:
            print(list(pool.map(work, [1, 2])))
            futures = [pool.submit(work, n) for n in (3, 4)]
            wait(futures)
            print([f.exception() or f.result() for f in futures])
    with ProcessPoolExecutor(1) as pool:
        print(repr(pool.submit(dies, 1).exception()))
