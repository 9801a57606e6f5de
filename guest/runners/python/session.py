# SPDX-License-Identifier: Apache-2.0
"""The living Python interpreter: it runs one step after another in __main__.

The waiting runner calls begin(), as for a program. A fresh interpreter runs this
file, when the session must not have what was loaded before it, and tests do.

Descriptor 3 is the control socket. Here is said R when all is ready, S when a
step has its streams, and E and the exit code when it has ended. A line there,
`step MODE FILE DIR`, is the next step; the end of that file is the end.

Things that a program may replace (functions of os, names of builtins, streams) are
taken hold of before the first step.
"""
import _imp
import builtins
import fcntl
import inspect
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
from importlib.util import decode_source
from time import monotonic, sleep, tzset

if __name__ == "__main__" and sys.flags.safe_path:
    sys.path.insert(0, __file__.rpartition("/")[0])
import cell

# A program that takes a name out of builtins takes it from itself.
__builtins__ = dict(vars(builtins))

HIGH = 200  # where a program looks for descriptors last
# The file name of the frames here. Warnings skip frames of that name, and it looks
# like no real file.
INTERNAL = "<frozen importlib._bootstrap>"
# Most bytes that are sent at once when a display is shown: of one display, and of all
# of a step. The limits in guest/wire/wire.h and layout/event_line.h are not smaller.
SHOWN_MOST = 1 << 20
SHOWN_ALL = 8 << 20
TAKEN_SECONDS = 0.2
TAKEN_LOOK_SECONDS = 0.0002


def _strings(path):
    """Return: the NUL-terminated strings in a file; none if it does not exist."""
    try:
        with io.open(path, "rb") as file:
            return file.read().split(b"\0")[:-1]
    except FileNotFoundError:
        return []


def _session(control, native, make_way):
    read, write, close = posix.read, posix.write, posix.close
    open_, dup2, getpid = posix.open, posix.dup2, posix.getpid
    chdir, take_shelf = posix.chdir, cell.take_shelf
    ioctl, FIONREAD = fcntl.ioctl, 0x541b
    getsignal, set_signal = _signal.getsignal, _signal.signal
    signals = range(1, _signal.NSIG)
    dumps, run_cell, show = json.dumps, cell.run, cell.show
    clean, with_traceback = cell.clean, BaseException.with_traceback
    traceback_of = BaseException.__traceback__.__get__
    lines_of = linecache.cache
    getfile, isclass = inspect.getfile, inspect.isclass
    format_exception = traceback.format_exception
    excepthook, modules = sys.excepthook, sys.modules
    steps = []  # the names that the files of all steps have in tracebacks
    encoding = sys.stdout.encoding
    stdin_errors, stdout_errors = sys.stdin.errors, sys.stdout.errors
    unbuffered = sys.stdout.write_through
    pid = getpid()
    received = b""
    streams = []  # weak references: the program may hold streams of earlier steps
    handlers = {}  # handlers of signals that the program has set; kept between two steps
    variables = {}  # the step's variables: their values before it; None: not set
    missed = False  # an interrupt came before the step's handlers were there

    def high(fd):
        moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, HIGH)
        close(fd)
        return moved

    control = high(control)
    nothing = high(open_("/dev/null", posix.O_RDWR))
    main = type(sys)("__main__")
    main.__builtins__ = builtins
    modules["__main__"] = main
    for name in "cell", "native":
        modules.pop(name, None)
    sys.path[:1] = [] if sys.flags.safe_path else [posix.getcwd()]

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
        if mode == "w" and not unbuffered and native:
            native.live_watch(raw)
        if mode == "r":
            buffer = io.BufferedReader(raw)
        else:
            buffer = raw if unbuffered else io.BufferedWriter(raw)
        text = io.TextIOWrapper(buffer, encoding, errors, "\n",
                                line_buffering, unbuffered and mode == "w")
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
        """Flushes the standard streams, also those that the program has put in their
        place."""
        for find in [lambda: sys.stdout, lambda: sys.stderr] + streams:
            try:
                find().flush()
            except BaseException:
                pass  # it was closed, or is no stream

    def close_streams():
        flush()
        for fd in range(3):
            dup2(nothing, fd)
        flush()  # what a stream could not write is dropped here

    def put_variable(name, value):
        if value is None:
            os.environb.pop(name, None)
        else:
            os.environb[name] = value
        if name == b"TZ":
            tzset()

    def set_variables(place):
        """Sets the step's variables. The interpreter has started with those of the
        first step; a file has the values that they would have without it."""
        was = os.environb if steps else dict(
            text.split(b"=", 1) for text in _strings(place + "/was"))
        for text in _strings(place + "/env"):
            name, _, value = text.partition(b"=")
            variables[name] = (was or os.environb).get(name)
            put_variable(name, value)

    def put_variables_back():
        while variables:
            try:
                put_variable(*variables.popitem())
            except BaseException:
                pass  # the program has replaced os.environ by something else

    def prepare(file, place):
        set_variables(place)
        for path in _strings(place + "/cwd"):
            chdir(path)
        take_shelf(place)
        sys.argv = [file] + [os.fsdecode(t) for t in _strings(place + "/args")]
        modules["__main__"] = main
        main.__name__ = "__main__"
        main.__file__ = file
        main.__loader__ = SourceFileLoader("__main__", file)

    def keep(file, text):
        """Keeps a step's source lines, since functions that the step defines run in
        later steps. Return: the name of its code, another one for each step: all
        steps may have the same file."""
        name = f"{file} (step {len(steps) + 1})" if steps else file
        steps.append(name)
        try:
            lines = decode_source(text).splitlines(True)
        except (SyntaxError, UnicodeDecodeError):
            lines = []  # compile() says what is wrong
        # Without a time linecache does not compare the entry with a file.
        lines_of[name] = len(text), None, lines, name
        return name

    def find_file(thing):
        """As inspect.getfile(), which finds for a class only the file of its module."""
        if thing is main and steps:
            return steps[-1]
        if isclass(thing) and thing.__module__ == "__main__":
            words = "class " + thing.__name__
            first = getattr(thing, "__firstlineno__", 1) - 1
            for name in reversed(steps):
                lines = lines_of.get(name, ("", "", ()))[2]
                if any(line.lstrip().startswith(words)
                       for line in lines[first:first + 50]):
                    return name
        return getfile(thing)

    def read_program(file, place):
        """Return: the program's text. If jobs share the home, the program is in the
        directory of the step's streams."""
        try:
            source = io.open_code(place + "/" + file.rpartition("/")[2])
        except FileNotFoundError:
            source = io.open_code(file)
        with source:
            return source.read()

    def execute(mode, file, place, said):
        text = read_program(file, place)
        name = keep(file, text)
        if mode == "cell":
            run_cell(text, name, main.__dict__, said)
        else:
            exec(compile(text, name, "exec", dont_inherit=True),
                 main.__dict__)

    def own_frames_off(trace):
        """Return: the traceback from the step's first frame on, without the frames of
        this runner that the step has called."""
        first = trace
        while first and first.tb_frame.f_code.co_filename not in steps[-1:]:
            first = first.tb_next
        while not first and trace and (
                trace.tb_frame.f_code.co_filename == INTERNAL):
            trace = trace.tb_next
        at = first
        while at and at.tb_next:
            if at.tb_next.tb_frame.f_code.co_filename == INTERNAL:
                at.tb_next = at.tb_next.tb_next
            else:
                at = at.tb_next
        return first or trace

    def told(ask, otherwise):
        """Return: the result of ask() as a plain str, whatever the program's part
        in it does."""
        try:
            return clean(ask())
        except BaseException:
            return otherwise

    def failed(error, mode, said):
        """Reports the step's exception, and prints it as the interpreter would. The
        exception of a cell is only reported: it is a result of the cell, as in a
        notebook."""
        kind = type(error)
        trace = own_frames_off(traceback_of(error))
        error = with_traceback(error, trace)
        said["error"] = {
            "name": told(lambda: kind.__name__, "Exception"),
            "value": told(lambda: str(error), "<unprintable>"),
            "traceback": told(lambda: "".join(
                format_exception(kind, error, trace)), "")}
        sys.last_type, sys.last_value = kind, error
        sys.last_traceback = trace
        try:
            sys.stdout.flush()
        except BaseException:
            pass
        try:
            if sys.excepthook is excepthook and said["error"]["traceback"]:
                if mode != "cell":
                    sys.stderr.write(said["error"]["traceback"])
            else:
                sys.excepthook(kind, error, trace)
        except BaseException:
            excepthook(kind, error, trace)

    def leave(error):
        """Return: the exit code that SystemExit means."""
        try:
            code = error.code
            if code is None:
                return 0
            if int in type(code).__mro__:
                return int.__and__(code, 0xff)
            sys.stdout.flush()
            print(code, file=sys.stderr)
        except BaseException:
            pass  # it cannot be printed
        return 1

    def quiet():
        """Puts nobody() in place of the program's signal handlers, and keeps those."""
        for number in signals:
            handler = getsignal(number)
            if callable(handler) and handler is not nobody:
                handlers[number] = handler
                set_signal(number, nobody)

    def nobody(number, frame):
        """Handles signals between two steps: only notes a SIGINT, for heed()."""
        nonlocal missed
        missed = number == _signal.SIGINT

    def heed():
        """Calls the SIGINT handler if the signal came before the handler was set."""
        handler = getsignal(_signal.SIGINT)
        if missed and callable(handler):
            handler(_signal.SIGINT, sys._getframe())

    def run(mode, file, place, said):
        try:
            while handlers:
                set_signal(*handlers.popitem())
            heed()
            prepare(file, place)
            if steps and make_way:
                make_way(file)
            try:
                execute(mode, file, place, said)
            finally:
                if mode == "cell":
                    show(said)
            return 0
        except SystemExit as error:
            return leave(error)
        except KeyboardInterrupt as error:
            failed(error, mode, said)
            return 130
        except BaseException as error:
            failed(error, mode, said)
            return 1

    def encoded(value):
        """Return: JSON on one line, as bytes."""
        data = dumps(value, ensure_ascii=False)
        try:
            return data.encode()
        except UnicodeEncodeError:  # half of a surrogate pair, which no JSON has
            return data.encode("utf-16-le", "surrogatepass").decode(
                "utf-16-le", "replace").encode()

    def report(result, said):
        del said["tell"]
        said = {name: value for name, value in said.items() if value}
        if not said:
            return
        try:
            data = encoded(said)
        except (RecursionError, MemoryError):
            said.pop("results", None)
            data = encoded(said)
        try:
            while data:
                data = data[write(result, data):]
        except OSError:
            pass  # the program closed it; its loss

    def taken(fds):
        """Waits until init has read these pipes, so that what is written next to
        another pipe comes behind it. Does not wait long for a process that writes
        on and on."""
        waiting, end = bytearray(4), monotonic() + TAKEN_SECONDS
        for fd in fds:
            try:
                while monotonic() < end:
                    ioctl(fd, FIONREAD, waiting)
                    if not any(waiting):
                        break
                    sleep(TAKEN_LOOK_SECONDS)
            except OSError:
                pass  # it is no pipe any more

    def teller(result):
        """Return: a function that sends a display to the host as soon as it is shown."""
        room = SHOWN_ALL

        def tell(bundle, entries, last):
            nonlocal room
            try:
                data = encoded({"bundle": bundle, "main": last,
                                "results": entries})
            except (RecursionError, MemoryError):
                return
            room -= len(data) + 2
            if len(data) > SHOWN_MOST or room < 0 or getpid() != pid:
                return  # the report has it
            flush()
            taken((1, 2))
            data = b"\x1e" + data + b"\n"
            try:
                while data:
                    data = data[write(result, data):]
            except OSError:
                return
            if not last:
                taken((result,))

        return tell

    def step(mode, file, place):
        nonlocal missed
        result = open_streams(place)
        said = {"text": None, "results": [], "tell": teller(result)}
        if native:
            native.live_begin()
        missed = False
        say(b"S")
        code = None
        while True:
            try:
                if code is None:
                    code = 1  # if not even its error can be told
                    code = run(mode, file, place, said)
                quiet()
                if native:
                    native.live_rest()
                break
            except KeyboardInterrupt:
                code = 130
            except BaseException:
                pass  # a handler came too late to end the program
        if getpid() != pid:
            flush()
            raise SystemExit(code)  # a child that the program has forked
        put_variables_back()
        report(result, said)
        close_streams()
        try:
            close(result)
        except OSError:
            pass
        say(b"E" + bytes([code]))

    inspect.getfile = find_file
    quiet()
    say(b"R")
    while words := line():
        step(*words[1:])
    posix._exit(0)


def begin(control, native, make_way=None):
    """Runs the session, and never returns.

    native: the module, whose live_stay() was called, or None. make_way is called
    before each later step.
    """
    for thing in vars(cell).values():
        if isinstance(thing, type(begin)):
            _imp._fix_co_filename(thing.__code__, INTERNAL)
    frame = sys._getframe()
    while frame:
        _imp._fix_co_filename(frame.f_code, INTERNAL)
        frame = frame.f_back
    _imp._fix_co_filename(_session.__code__, INTERNAL)
    _session(control, native, make_way)


def _begin_fresh():
    try:
        import native
        native.live_stay()
    except ImportError:
        native = None  # on a host: what is printed is seen at the step's end
    begin(3, native)


if __name__ == "__main__":
    _begin_fresh()
