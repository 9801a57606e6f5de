# An error in an exit function is shown and changes no code.
import atexit
import sys


@atexit.register
def last():
    print("others still run")


class Fails:
    def __call__(self):
        raise ValueError("at exit")

    def __repr__(self):
        return "<fails>"


atexit.register(Fails())


sys.exit(3)
