# SPDX-License-Identifier: Apache-2.0
"""The Python runner.

The interpreter is started as `python3 /home/user/code.py`, imports site, and
site imports this module, which waits for the job. Then it goes out of the way
by an ImportError that site is made to ignore: the interpreter itself opens,
compiles and runs the program, so tracebacks, __main__, exit codes and the end
are those of Python and not an imitation.

A function call (mode "call") is run from here, by call.py. A session, and a program
that is not called code.py, take the usual program's place: see stand_in().
"""


def _wait():
    import atexit
    import gc
    import os
    import posix
    import sys

    if "PYTHONPATH" not in os.environ:
        return  # forget() was here: this is a subinterpreter
    control, result = 3, 900  # of guest/run/runner.h it is 4, which is the program's
    program = "/home/user/code.py"
    fresh = "FSD_FRESH"  # in the environment: again() has started this one
    is_fresh = fresh in os.environ
    user_site = "/lib/python%d.%d/site-packages" % sys.version_info[:2]
    here = __file__.rpartition("/")[0]
    internal = "<frozen importlib._bootstrap>"  # of frames that no traceback has
    import native
    plain = set(sys.modules)
    # Modules that most programs import: a waiting interpreter has imported them, and
    # the modules that they import. A package is listed with each module that programs
    # name. The look-up of a host's name imports encodings.idna, which takes 200 ms
    # without this.
    usual_modules = """
        abc argparse array ast asyncio base64 binascii bisect calendar code
        codecs collections collections.abc concurrent.futures configparser
        contextlib copy csv ctypes dataclasses datetime decimal difflib
        encodings.idna enum errno fractions functools getpass glob gzip hashlib heapq hmac html
        html.parser http.client importlib.resources inspect io itertools json
        keyword logging math mimetypes numbers operator os pathlib pickle
        platform pprint queue random re resource secrets select shlex shutil signal
        socket sqlite3 ssl stat statistics string struct subprocess sys
        tempfile textwrap threading time timeit traceback types typing
        unicodedata urllib.error urllib.parse urllib.request uuid warnings
        weakref xml.etree.ElementTree zipfile zlib zoneinfo
    """.split()

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
        sys.modules.pop("native", None)
        sys.dont_write_bytecode = True

    def skip_usercustomize():
        """A program with packages of its user's gets a fresh interpreter."""
        import site
        usual = site.execusercustomize

        def nothing():
            site.execusercustomize = usual
        if not is_fresh:
            site.execusercustomize = nothing

    def take_input():
        """Makes the file that the host has sent as standard input descriptor 0 and
        sys.stdin: see RUNNER_INPUT in guest/os/sys.h."""
        import io
        given = posix.open("/run/input/stdin", posix.O_RDONLY)
        posix.dup2(given, 0)
        posix.close(given)
        # The one of the interpreter's start knows that a pipe cannot seek.
        raw = io.FileIO(0, "r", closefd=False)
        raw.name = "<stdin>"
        text = io.TextIOWrapper(io.BufferedReader(raw), sys.stdin.encoding,
                                sys.stdin.errors, "\n")
        text.mode = "r"
        sys.stdin = sys.__stdin__ = text

    def become(texts):
        """Takes the job's arguments and environment."""
        count = int(texts[5])
        argv = [os.fsdecode(t) for t in texts[6:6 + count]]
        if texts[4]:
            posix.chdir(texts[4])
        # The usual one is there already: see guest/run/child.c.
        if texts[6 + count:-1] != usual:
            os.environ.clear()
            for text in texts[6 + count:-1]:
                name, _, value = text.partition(b"=")
                os.environb[name] = value
            if "TZ" in os.environ:
                import time
                time.tzset()
        sys.argv[:] = argv
        sys.orig_argv[:] = [sys.executable] + argv
        return argv[0]

    def is_step(texts):
        return texts[1] in (b"session", b"cell")

    def stand_in(run):
        """The interpreter asks for what imports the program, as for an archive.

        It finds something at the program's place, calls runpy for it, and finds
        this one there. So no frame lies below what it calls, which has to call
        the function that is returned.
        """
        def step_back():
            sys.modules.pop("runpy", None)
            sys.modules.update(kept)
            sys.path_importer_cache[program] = None

        kept = {"runpy": sys.modules["runpy"]} if "runpy" in sys.modules else {}
        runpy = sys.modules["runpy"] = type(sys)("runpy")
        runpy._run_module_as_main = run
        sys.path_importer_cache[program] = runpy  # anything
        return step_back

    def start_session():
        def run(name, alter_argv):
            step_back()
            session.begin(control, native, make_way)

        step_back = stand_in(run)
        posix.close(result)

    def start_named(path):
        """Runs a program that is not called code.py, in the same way as code.py."""
        def prepare():
            # Before an import looks at sys.path.
            step_back()
            if sys.path[0] == program:
                sys.path[0] = path.rpartition("/")[0]
            import _io
            from _frozen_importlib_external import SourceFileLoader
            main["__file__"], main["__cached__"] = path, None
            main["__loader__"] = SourceFileLoader("__main__", path)
            with _io.open_code(path) as file:
                return compile(file.read(), path, "exec", dont_inherit=True)

        main = sys.modules["__main__"].__dict__
        step_back = stand_in(native.main_program(prepare, main))

    def end(pid=posix.getpid()):
        """The last exit function of the program. Reports an exception that ended the
        program. Then leave() hides the modules that were loaded before the
        program, and that it has not changed, from the interpreter: to free them
        one by one takes long, and no program can see that."""
        if hasattr(sys, "last_value") and posix.getpid() == pid:
            sys.path.insert(0, here)
            import call
            call.report(result, sys.last_value)
        native.live_rest()
        try:
            sys.stdout.flush()
            native.leave()
        except Exception:
            pass  # output is lost; the longer end of the interpreter reports it

    def heat():
        """Heats: forks a child that runs a program from its start to its end."""
        child = os.fork()
        if child:
            posix.waitpid(child, 0)
        return not child

    def load():
        """Imports the usual modules, and those of the environment. Return: functions
        that reseed their random generators; variables that they read at their
        start; the module session; the Waiting object, which decides about the
        program's imports of them."""
        import ctypes
        import importlib
        # Without OPENSSL_INIT_NO_ATEXIT libcrypto frees its tables at exit, which is
        # half of a short program's end, and no program can see it.
        ctypes.CDLL("libcrypto.so.3").OPENSSL_init_crypto(
            ctypes.c_uint64(0x80000), None)
        sys.path.insert(0, here)
        import waiting
        recorder = waiting.Recorder()
        with recorder:
            for name in usual_modules:
                importlib.import_module(name)
            import session
            import warm
            sys.path.remove(here)
            session.cell.prepare()
            recipe = {}
            try:
                recipe = warm.read()
                cold = warm.load(recipe)
            except Exception as error:
                cold = [f"warm.json: {type(error).__name__}: {error}"]
        for line in cold:
            say(b"L", line)
        for name in "session", "cell", "warm", "waiting":
            del sys.modules[name]
        sys.path_importer_cache.pop(here, None)
        waiting.hide(internal)
        return warm.generators(), warm.obeyed(recipe), session, waiting.Waiting(
            {name: module for name, module in sys.modules.items()
             if name not in plain}, recorder)

    def own():
        """Draws new secrets: each clone has those that the template has drawn. A
        clone that cannot do that ends, because its random numbers would be the
        same as another clone's."""
        try:
            for seed in seeds:
                seed()
            sys.modules["ssl"].RAND_add(posix.urandom(64), 64)
        except BaseException:
            os._exit(126)

    def say(letter, text):
        """Tells init a line: see guest/run/begun.h and guest/run/runner.h."""
        posix.write(control, letter + ascii(text)[1:-1].encode()[:250] + b"\0")

    def begin():
        """Lets relative times of logging count from the program's start."""
        sys.modules["logging"]._startTime = sys.modules["time"].time_ns()

    def shadow(path):
        """Return: the name of a file beside the program that its imports would find
        in place of a loaded module; or of the user's own packages, whose directory
        an interpreter looks for only at its start; or of the file that matplotlib
        reads when it is imported; or None. The program's own file does not count:
        an import of "code", as by pdb, means the library's."""
        directory, _, itself = path.rpartition("/")
        with posix.scandir(directory or "/") as entries:
            for entry in entries:
                name, _, suffix = entry.name.partition(".")
                if entry.name == ".local" and os.path.isdir(
                        entry.path + user_site):
                    return entry.name
                if name in loaded and entry.name != itself and (
                        suffix in ("", "py", "pyc") or
                        suffix.endswith("so")):
                    return entry.name
                if name == "matplotlibrc" and "matplotlib" in loaded:
                    return entry.name
        return None

    def make_way(path):
        """Before a later step: removes from sys.modules the loaded modules in whose
        place the files beside the step's program would be imported."""
        directory, _, itself = path.rpartition("/")
        with posix.scandir(directory or "/") as entries:
            names = {entry.name.partition(".")[0] for entry in entries
                     if entry.name != itself and
                     entry.name.partition(".")[2] in ("", "py")} & loaded
        for name, module in started if names else ():
            if name.partition(".")[0] in names and (
                    sys.modules.get(name) is module):
                del sys.modules[name]

    def needs_start(texts):
        """Decides whether the job needs a fresh interpreter: it asks for one, sets a
        variable that is read only at the start, or has a file that would be
        imported in place of a loaded module. Return: None, or a letter of
        guest/run/begun.h and the name that it goes with."""
        if texts[3]:
            return b"A", ""
        env = texts[6 + int(texts[5]):-1]
        for text in env if env != usual else ():
            name = text.partition(b"=")[0]
            if text not in usual and (name in at_start[0] or name.startswith(
                    (b"PYTHON", b"LC_", b"LANG", b"MALLOC_", *at_start[1]))):
                return b"E", os.fsdecode(name)
        found = shadow(os.fsdecode(texts[6]))
        return found and (b"F", found)

    def again(message, texts):
        """Starts a fresh interpreter, which takes the message that this one got, or
        begins the session."""
        env = dict(text.split(b"=", 1) for text in texts[6 + int(texts[5]):-1])
        if is_step(texts):
            posix.set_inheritable(control, True)
            os.execve(sys.executable, [sys.executable, here + "/session.py"],
                      env)
        job = os.memfd_create("job")
        while message:
            message = message[os.write(job, message):]
        os.lseek(job, 0, os.SEEK_SET)
        os.dup2(job, control)
        os.dup2(result, 4)
        os.execve(sys.executable, sys.orig_argv,
                  {**env, b"PYTHONPATH": os.fsencode(here),
                   fresh.encode(): b"1"})

    posix.set_inheritable(control, False)
    os.dup2(4, result, inheritable=False)
    posix.close(4)
    skip_usercustomize()
    forget()
    usual = [name + b"=" + value for name, value in os.environb.items()]
    # Register before the modules do: exit functions run in reverse order, so end()
    # runs last.
    atexit.register(end)
    if not is_fresh:
        seeds, at_start, session, wait = load()
    if is_fresh:
        import _own_code
        del _own_code
    else:
        native.stay()
    # A module of the program's that has the name of one of these is found in a fresh
    # interpreter, which has only what Python itself has loaded.
    native.clocks_stay(["time", "posix"] + ([] if is_fresh else ["resource"]))
    # A program's print() would write their rest later.
    for stream in sys.stdout, sys.stderr:
        if hasattr(stream.buffer, "raw"):  # it may have no buffer
            native.live_watch(stream.buffer.raw)
    native.live_stay()
    # Top-level names of modules that a plain interpreter has not loaded.
    loaded = {name.partition(".")[0] for name in sys.modules.keys() - plain}
    # The modules that are there now.
    started = [(name, module)
               for name, module in sys.modules.items()
               if name not in ("sys", "builtins", "__main__", __name__)]
    native.start(started)
    if not is_fresh:
        native.imports_stay(wait.modules, wait.taken, wait.decide)
    # No object that exists now is garbage: keep collections from looking at them.
    # The ring, a cycle, keeps the lists alive beyond the interpreter's end.
    ring = [started] if is_fresh else [started, loaded, seeds, session, wait]
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
    said, owned = b"R", is_fresh
    while True:
        if not is_fresh:
            posix.write(control, said)
        length = read(4)
        message = read(int.from_bytes(length, "little"))
        texts = message.split(b"\0")
        if texts[0] == b"own":
            own()
            owned = True
        elif texts[0] in (b"run", b"file") or is_fresh or heat():
            break
        said = b"H"
    if not is_fresh:
        if texts[0] == b"file":
            take_input()
        if why := needs_start(texts):
            say(b"C", why[0].decode() + why[1])
            again(length + message, texts)
        if not owned:
            own()
        begin()
    path = become(texts)
    native.clocks_begin()
    if not is_fresh:
        native.imports_begin(path.rpartition("/")[0] or "/", wait.has_changed())
    if is_step(texts):
        start_session()
        return
    posix.close(control)
    native.live_begin()
    if texts[1] == b"call":
        sys.path.insert(0, here)
        import call
        sys.path.remove(here)
        call.run(path, texts[2].decode(), result)
    elif path != program:
        start_named(path)


_wait()
raise ImportError(name="sitecustomize")
