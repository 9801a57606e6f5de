# A program that ends itself by a signal has 128 and its number as code.
import os
import signal

print("before", flush=True)
os.kill(os.getpid(), signal.SIGTERM)
print("never")
