# Tracing, profiling, audit and except hooks are called.
import cProfile
import pstats
import sys


def work(n):
    x = n
    return x + 1


seen = []
sys.settrace(lambda frame, event, arg: seen.append((event, frame.f_code.co_name)))
work(1)
sys.settrace(None)
print(seen)
sys.setprofile(lambda frame, event, arg: seen.append(event))
work(2)
sys.setprofile(None)
print(seen[1:3])
audited = []
sys.addaudithook(lambda name, args: audited.append(name) if name.startswith("open") else None)
open(__file__).close()
print(audited)
p = cProfile.Profile()
p.runcall(work, 1)
print(pstats.Stats(p).total_calls)
sys.excepthook = lambda kind, value, trace: print("hook:", kind.__name__, value)
raise LookupError("to the hook")
