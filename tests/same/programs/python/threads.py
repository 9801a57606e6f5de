# Threads, locks, conditions and the names of threads.
import queue
import threading

print(threading.current_thread().name, threading.active_count())
print(threading.get_native_id() == __import__("os").getpid())
q, results, lock = queue.Queue(), [], threading.Lock()


def works():
    while (n := q.get()) is not None:
        with lock:
            results.append(n * 2)
        q.task_done()


workers = [threading.Thread(target=works, name=f"w{i}") for i in range(4)]
for w in workers:
    w.start()
for n in range(50):
    q.put(n)
q.join()
for w in workers:
    q.put(None)
for w in workers:
    w.join()
print(sorted(results) == [n * 2 for n in range(50)], [w.name for w in workers])
local = threading.local()
local.x = 1
barrier = threading.Barrier(2)
t = threading.Thread(target=lambda: (barrier.wait(), print(hasattr(local, "x"))))
t.start()
barrier.wait()
t.join()
timer = threading.Timer(0.01, print, ["timer"])
timer.start()
timer.join()
