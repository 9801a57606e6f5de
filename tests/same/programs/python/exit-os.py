# os._exit leaves at once: what is buffered is lost, what is flushed is not.
import atexit
import os

atexit.register(print, "never")
print("seen", flush=True)
print("not seen")
os._exit(7)
