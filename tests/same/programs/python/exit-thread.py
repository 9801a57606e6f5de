# sys.exit in a thread ends that thread only; its other errors are shown.
import sys
import threading


def leaves():
    sys.exit(5)


def fails():
    raise RuntimeError("in a thread")


for f in (leaves, fails):
    t = threading.Thread(target=f, name="worker")
    t.start()
    t.join()
print("main goes on")
