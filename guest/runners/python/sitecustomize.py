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
    import atexit
    import gc
    import os
    import posix
    import sys

    control, result = 3, 4
    program = "/home/user/code.py"
    fresh = "FSD_FRESH"  # in the environment: again() has started this one
    started = dict(sys.modules)
    for name in ("sys", "builtins", "__main__", __name__):
        started.pop(name, None)
    here = __file__.rpartition("/")[0]
    try:
        import rehash
    except ImportError:
        rehash = None

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
        del os.environ["PYTHONPATH"]
        sys.path[:] = [p for p in sys.path if p != here]
        sys.path_importer_cache.pop(here, None)
        sys.modules.pop("rehash", None)
        sys.dont_write_bytecode = True

    def become(texts):
        """Takes the job's arguments and environment."""
        count = int(texts[3])
        argv = [os.fsdecode(t) for t in texts[4:4 + count]]
        # The usual one is there already: see guest/child.c.
        if texts[4 + count:-1] != usual:
            os.environ.clear()
            for text in texts[4 + count:-1]:
                name, _, value = text.partition(b"=")
                os.environb[name] = value
            if "TZ" in os.environ:
                import time
                time.tzset()
        sys.argv[:] = argv
        sys.orig_argv[:] = [sys.executable] + argv
        posix.close(control)
        return argv[0]

    def end(pid=posix.getpid()):
        """The last of the program's exit functions.

        Tells what ended the program, if something did. Then it takes the
        modules that were there before the program, if that has put nothing
        into them, out of the interpreter's sight: to take them apart one by
        one is long, and no program can see it done.
        """
        if hasattr(sys, "last_value") and posix.getpid() == pid:
            sys.path.insert(0, here)
            import call
            call.report(result, sys.last_value)
        for name, (module, size) in started.items():
            if sys.modules.get(name) is module and len(vars(module)) == size:
                del sys.modules[name]
        try:
            sys.stdout.flush()
            rehash.leave()
        except Exception:
            pass  # output is lost, and the long way tells how

    def heat():
        """A child goes the program's whole way, to its end."""
        child = os.fork()
        if child:
            posix.waitpid(child, 0)
        return not child

    def wait(said):
        """Says that all is ready and waits for the next message.

        Clones of this interpreter must not hash alike. Return: has it got a
        hash secret of its own? If not, again() has to start one that has.
        """
        try:
            rehash.wait(control, said)
        except (AttributeError, RuntimeError):
            posix.write(control, said)
            return False
        except OSError:
            os._exit(126)
        return True

    def is_for_start(texts):
        """Is there a variable that an interpreter obeys only at its start?"""
        env = texts[4 + int(texts[3]):-1]
        return env != usual and fresh not in os.environ and any(
            text.startswith((b"PYTHON", b"LC_", b"LANG", b"MALLOC_"))
            for text in env if text not in usual)

    def again(message, texts):
        """A fresh interpreter takes the message, with a secret of its own."""
        job = os.memfd_create("job")
        while message:
            message = message[os.write(job, message):]
        os.lseek(job, 0, os.SEEK_SET)
        os.dup2(job, control)
        os.set_inheritable(result, True)
        env = dict(text.split(b"=", 1) for text in texts[4 + int(texts[3]):-1])
        os.execve(sys.executable, sys.orig_argv,
                  {**env, b"PYTHONPATH": os.fsencode(here),
                   fresh.encode(): b"1"})

    posix.set_inheritable(control, False)
    posix.set_inheritable(result, False)
    forget()
    usual = [name + b"=" + value for name, value in os.environb.items()]
    if rehash and fresh not in os.environ:
        rehash.stay()
    for name, module in started.items():
        started[name] = module, len(vars(module))
    # What is there now is not garbage: no collection needs to look at it.
    # The ring keeps it alive beyond the interpreter's end.
    ring = [started]
    ring.append(ring)
    del ring
    gc.collect()
    gc.freeze()
    # But the program's own module has to be collected at the end.
    main = type(sys)("__main__")
    main.__dict__.update(sys.modules["__main__"].__dict__)
    main.__annotations__ = {}
    sys.modules["__main__"] = main
    del main
    # Where the interpreter would look whether the program is an archive.
    sys.path_importer_cache[program] = None
    # own: the hash secret is this machine's; later ones would be no better.
    said, own, settled = b"R", False, fresh in os.environ
    while True:
        if settled:
            own = True
            if said and fresh not in os.environ:
                posix.write(control, said)
        else:
            own = wait(said)
        length = read(4)
        message = read(int.from_bytes(length, "little"))
        texts = message.split(b"\0")
        if texts[0] == b"own":
            settled = own
        elif texts[0] == b"run" or fresh in os.environ or heat():
            break
        said = b"H"
    if not own or is_for_start(texts):
        again(length + message, texts)
    path = become(texts)
    atexit.register(end)
    if texts[1] == b"call" or path != program:
        sys.path.insert(0, here)
        import call
        sys.path.remove(here)
        call.run(path, texts[2].decode() if texts[1] == b"call" else "",
                 result)


_wait()
raise ImportError(name="sitecustomize")
