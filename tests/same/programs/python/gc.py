# Garbage is collected, and what the program made can be counted.
import gc
import tracemalloc
import weakref


class Node:
    pass


gc.collect()
a = Node()
a.me = a
ref = weakref.ref(a)
del a
print(gc.collect() >= 1, ref(), gc.isenabled(), gc.get_threshold())
print(gc.garbage, gc.callbacks)
print(sum(isinstance(o, Node) for o in gc.get_objects()))
tracemalloc.start()
x = [bytes(1000) for _ in range(100)]
stat = tracemalloc.take_snapshot().statistics("filename")[0]
print(stat.traceback, stat.size > 100000)
