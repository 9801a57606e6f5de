# SPDX-License-Identifier: Apache-2.0
"""The living Python interpreter: it runs one step after another in __main__.

Descriptor 3 is the control socket. Here is said R when all is ready, S when a
step has its streams, and E and the exit code when it has ended. A line there,
`step MODE FILE DIR`, is the next step; the end of that file is the end.

What a program may replace (functions of os, names of builtins, streams) is
taken hold of before the first step.
"""
import builtins
import fcntl
import io
import json
import linecache
import os
import posix
import sys
import traceback
import weakref
import _signal
from importlib.machinery import SourceFileLoader

import cell

# A program that takes a name out of builtins takes it from itself.
__builtins__ = dict(vars(builtins))

HIGH = 200  # where a program looks for descriptors last


def _strings(path):
    """The NUL-terminated strings of a file that may be missing."""
    try:
        with io.open(path, "rb") as file:
            return file.read().split(b"\0")[:-1]
    except FileNotFoundError:
        return []


def _session():
    read, write, close = posix.read, posix.write, posix.close
    open_, dup2, getpid = posix.open, posix.dup2, posix.getpid
    getsignal, set_signal = _signal.getsignal, _signal.signal
    ignore, interrupt = _signal.SIG_IGN, _signal.SIGINT
    dumps, run_cell, show = json.dumps, cell.run, cell.show
    format_exception = traceback.format_exception
    excepthook, modules = sys.excepthook, sys.modules
    own = {__file__, cell.__file__}
    stdin_errors, stdout_errors = sys.stdin.errors, sys.stdout.errors
    pid = getpid()
    received = b""
    streams = []  # weak: those of earlier steps may be held by the program

    def high(fd):
        moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, HIGH)
        close(fd)
        return moved

    control = high(3)
    nothing = high(open_("/dev/null", posix.O_RDWR))
    main = type(sys)("__main__")
    main.__builtins__ = builtins
    modules["__main__"] = main
    del modules["cell"]
    sys.path[0] = posix.getcwd()

    def say(data):
        while data:
            data = data[write(control, data):]

    def line():
        """Return: the next line's words; None at the end of the socket."""
        nonlocal received
        while b"\n" not in received:
            more = read(control, 4096)
            if not more:
                return None
            received += more
        text, _, received = received.partition(b"\n")
        return text.decode("utf-8", "surrogateescape").split(" ")

    def stream(fd, mode, name, errors, line_buffering=False):
        raw = io.FileIO(fd, mode, closefd=False)
        raw.name = name
        buffer = (io.BufferedReader if mode == "r" else io.BufferedWriter)(raw)
        text = io.TextIOWrapper(buffer, "utf-8", errors, "\n", line_buffering)
        text.mode = mode
        streams.append(weakref.ref(text))
        return text

    def open_streams(place):
        for fd, name in enumerate(("in", "out", "err")):
            opened = open_(place + "/" + name, posix.O_CLOEXEC |
                           (posix.O_WRONLY if fd else posix.O_RDONLY))
            dup2(opened, fd)
            close(opened)
        result = high(open_(place + "/result",
                            posix.O_WRONLY | posix.O_CLOEXEC))
        streams[:] = [ref for ref in streams if ref() is not None]
        sys.stdin = sys.__stdin__ = stream(0, "r", "<stdin>", stdin_errors)
        sys.stdout = sys.__stdout__ = stream(1, "w", "<stdout>",
                                             stdout_errors)
        sys.stderr = sys.__stderr__ = stream(2, "w", "<stderr>",
                                             "backslashreplace", True)
        return result

    def flush():
        """Also what the program has put in the place of the streams."""
        for text in [sys.stdout, sys.stderr] + [ref() for ref in streams]:
            try:
                text.flush()
            except Exception:
                pass  # it was closed or its reader has gone

    def close_streams():
        flush()
        for fd in range(3):
            dup2(nothing, fd)
        flush()  # what a stream could not write is dropped here

    def prepare(file, place):
        for text in _strings(place + "/env"):
            name, _, value = text.partition(b"=")
            os.environb[name] = value
        sys.argv = [file] + [os.fsdecode(t) for t in _strings(place + "/args")]
        modules["__main__"] = main
        main.__name__ = "__main__"
        main.__file__ = file
        main.__loader__ = SourceFileLoader("__main__", file)
        linecache.cache.pop(file, None)

    def execute(mode, file, said):
        with io.open_code(file) as source:
            text = source.read()
        if mode == "cell":
            run_cell(text, file, main.__dict__, said)
        else:
            exec(compile(text, file, "exec", dont_inherit=True),
                 main.__dict__)

    def own_frames_off(trace, file):
        """The traceback from FILE's first frame on."""
        first = trace
        while first and first.tb_frame.f_code.co_filename != file:
            first = first.tb_next
        while not first and trace and (
                trace.tb_frame.f_code.co_filename in own):
            trace = trace.tb_next
        return first or trace

    def failed(error, file, said):
        """Prints the exception as the interpreter would and reports it."""
        trace = own_frames_off(error.__traceback__, file)
        error.__traceback__ = trace
        sys.last_type, sys.last_value = type(error), error
        sys.last_traceback = trace
        try:
            sys.stdout.flush()
        except Exception:
            pass
        try:
            sys.excepthook(type(error), error, trace)
        except BaseException:
            excepthook(type(error), error, trace)
        try:
            value = str(error)
        except Exception:
            value = "<unprintable>"
        said["error"] = {
            "name": type(error).__name__, "value": value,
            "traceback": "".join(format_exception(type(error), error, trace))}

    def leave(error):
        """Return: the exit code that SystemExit means."""
        code = error.code
        if code is None or isinstance(code, int):
            return (code or 0) & 0xff
        try:
            sys.stdout.flush()
            print(code, file=sys.stderr)
        except Exception:
            pass
        return 1

    def run(mode, file, place, said):
        try:
            prepare(file, place)
            try:
                execute(mode, file, said)
            finally:
                if mode == "cell":
                    show(said)
            return 0
        except SystemExit as error:
            return leave(error)
        except KeyboardInterrupt as error:
            failed(error, file, said)
            return 130
        except BaseException as error:
            failed(error, file, said)
            return 1

    def report(result, said):
        said = {name: value for name, value in said.items() if value}
        if not said:
            return
        data = dumps(said, ensure_ascii=False)
        data = data.encode("utf-8", "backslashreplace")
        try:
            while data:
                data = data[write(result, data):]
        except OSError:
            pass  # the program closed it; its loss

    def step(mode, file, place):
        result = open_streams(place)
        said = {"text": None, "results": []}
        say(b"S")
        if handler is not None:  # else it is no handler of Python's
            set_signal(interrupt, handler)
        try:
            code = run(mode, file, place, said)
            kept = getsignal(interrupt)
            set_signal(interrupt, ignore)
        except KeyboardInterrupt:
            code = 130  # it came too late to end the program
            kept = getsignal(interrupt)
            set_signal(interrupt, ignore)
        if getpid() != pid:
            flush()
            sys.exit(code)  # a child that the program has forked
        report(result, said)
        close_streams()
        try:
            close(result)
        except OSError:
            pass
        say(b"E" + bytes([code]))
        return kept

    # An interrupt is for a step; between two there is nothing to interrupt.
    handler = getsignal(interrupt)
    set_signal(interrupt, ignore)
    say(b"R")
    while words := line():
        handler = step(*words[1:])
    posix._exit(0)


_session()
