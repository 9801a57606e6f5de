# SPDX-License-Identifier: Apache-2.0
"""The Python runner.

The interpreter is started as `python3 /home/user/code.py`, imports site, and
site imports this module, which waits for the job. Then it goes out of the way
by an ImportError that site is made to ignore: the interpreter itself opens,
compiles and runs the program, so tracebacks, __main__, exit codes and the end
are those of Python and not an imitation.

Only a function call (mode "call"), or a program that is not called code.py,
is run from here, by call.py.
"""


def _wait():
    import os
    import posix
    import sys

    control, result = 3, 4
    here = __file__.rpartition("/")[0]

    def read(length):
        data = os.read(control, length)
        while len(data) < length:
            more = os.read(control, length - len(data))
            if not more:
                os._exit(126)
            data += more
        return data

    def forget():
        """Leaves no trace of this module in what a program looks at."""
        sys.path[:] = [p for p in sys.path if p != here]
        sys.path_importer_cache.pop(here, None)
        sys.dont_write_bytecode = True

    def become(texts):
        """Takes the job's arguments and environment."""
        count = int(texts[3])
        argv = [os.fsdecode(t) for t in texts[4:4 + count]]
        os.environ.clear()
        for text in texts[4 + count:-1]:
            name, _, value = text.partition(b"=")
            os.environb[name] = value
        sys.argv[:] = argv
        sys.orig_argv[:] = [sys.executable] + argv
        posix.close(control)
        return argv[0]

    def report(writer=result, pid=posix.getpid()):
        """At the very end: tells what ended the program, if something did."""
        if hasattr(sys, "last_value") and posix.getpid() == pid:
            sys.path.insert(0, here)
            import call
            call.report(writer, sys.last_value)

    def heat():
        """A child goes the program's whole way, to its end."""
        child = os.fork()
        if child:
            posix.waitpid(child, 0)
            posix.write(control, b"H")
        return not child

    posix.set_inheritable(control, False)
    posix.set_inheritable(result, False)
    forget()
    posix.write(control, b"R")
    while True:
        texts = read(int.from_bytes(read(4), "little")).split(b"\0")
        if texts[0] == b"run" or heat():
            break
    path = become(texts)
    import atexit
    atexit.register(report)
    if texts[1] == b"call" or path != "/home/user/code.py":
        sys.path.insert(0, here)
        import call
        sys.path.remove(here)
        call.run(path, texts[2].decode() if texts[1] == b"call" else "",
                 result)


_wait()
raise ImportError(name="sitecustomize")
