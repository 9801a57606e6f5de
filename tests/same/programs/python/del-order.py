# Objects that live to the end are finalized, and a failing one is told.
import sys
import weakref


class Thing:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("del", self.name)


class Bad:
    def __del__(self):
        raise ValueError("in del")


sys.unraisablehook = lambda u: print(repr(u.exc_value), u.err_msg)


kept = Thing("global")
weakref.finalize(kept, print, "finalize")
Thing("at once")
Bad()
cycle = Thing("cycle")
cycle.me = cycle
del cycle
print("end")
