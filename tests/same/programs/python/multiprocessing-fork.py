# Pools and queues of forked processes.
import multiprocessing as mp


def square(n):
    return n * n


def works(queue, lock, total):
    for n in iter(queue.get, None):
        with lock:
            total.value += n


if __name__ == "__main__":
    mp.set_start_method("fork")
    with mp.Pool(3) as pool:
        print(pool.map(square, range(10)))
        print(pool.apply_async(square, (12,)).get())
        try:
            pool.map(len, [[1], 2])
        except TypeError as e:
            print(e)
    queue, lock, total = mp.Queue(), mp.Lock(), mp.Value("i", 0)
    workers = [mp.Process(target=works, args=(queue, lock, total))
               for _ in range(2)]
    for w in workers:
        w.start()
    for n in range(20):
        queue.put(n)
    for w in workers:
        queue.put(None)
    for w in workers:
        w.join()
    print(total.value, [w.exitcode for w in workers])
