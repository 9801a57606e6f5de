# A forked child has its own memory, and its parent gets its code.
import os
import sys

x = [1]
pid = os.fork()
if not pid:
    x.append(2)
    print("child", x, flush=True)
    os._exit(9)
print("parent", x, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
sys.stdout.flush()
pid = os.fork()
if not pid:
    sys.exit("the child leaves")
print(os.wait()[1] >> 8)
try:
    os.wait()
except ChildProcessError as e:
    print(e)
