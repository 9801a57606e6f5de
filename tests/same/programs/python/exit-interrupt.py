# SIGINT is KeyboardInterrupt; not caught it shows where, and the code is 130.
import os
import signal

try:
    os.kill(os.getpid(), signal.SIGINT)
    print("never")
except KeyboardInterrupt:
    print("caught")


def works():
    signal.raise_signal(signal.SIGINT)


works()
