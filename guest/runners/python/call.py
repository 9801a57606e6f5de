# SPDX-License-Identifier: Apache-2.0
"""The Python runner needs this only sometimes.

run() is for a program that the interpreter cannot be left to run by itself: a
function is to be called, or its file is not the one that the interpreter was
started with. report() tells the host which exception ended the program.
"""
import _imp
import sys

# The file name of the frames here. Warnings skip frames of that name, and it looks
# like no real file.
INTERNAL = "<frozen importlib._bootstrap>"


def _bytes(text):
    """Return: text as UTF-8. A lone surrogate, which JSON cannot hold, becomes U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        pairs = text.encode("utf-16-le", "surrogatepass")
        return pairs.decode("utf-16-le", "replace").encode()


def _write(result, text):
    import os

    view = memoryview(_bytes(text))
    try:
        while view:
            view = view[os.write(result, view):]
    except OSError:
        pass  # the program closed it; its loss


def _send(result, value):
    """Writes value as JSON; ValueError or TypeError if JSON cannot hold it. NaN and
    the infinities become null, as in JavaScript."""
    import json

    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        value = json.loads(json.dumps(value), parse_constant=lambda name: None)
        text = json.dumps(value, ensure_ascii=False)
    _write(result, text)


def _quote(text):
    """text as JSON: the module would take longer to import than the rest."""
    escapes = {code: f"\\u{code:04x}" for code in (*range(32), 34, 92)}
    return f'"{str.translate(text, escapes)}"'


def _show(error, trace):
    """The interpreter's own words about it, without a module for that."""
    import io

    stderr, sys.stderr = sys.stderr, io.StringIO()
    try:
        sys.__excepthook__(type(error), error, trace)
        return sys.stderr.getvalue()
    except Exception:
        return ""  # the program has taken the function away
    finally:
        sys.stderr = stderr


def report(result, error):
    if isinstance(error, KeyboardInterrupt):
        # An import may evaluate code, and then the interpreter forgets that
        # it is to end by a signal.
        import posix
        posix.write(result, b'{"error": {"name": "KeyboardInterrupt", '
                    b'"value": "", "traceback": "KeyboardInterrupt\\n"}}')
        return
    trace = getattr(sys, "last_traceback", None) or error.__traceback__
    try:
        value = str(error)
    except Exception:
        value = "<unprintable>"
    texts = ("name", type(error).__name__), ("value", value), (
        "traceback", _show(error, trace))
    _write(result, '{"error": {%s}}' % ", ".join(
        f"{_quote(name)}: {_quote(text)}" for name, text in texts))


def _load(path):
    """Runs the program at path as the main module, as the interpreter would.

    As __mp_main__ it is loaded and does nothing for itself; multiprocessing calls the
    main module so in other processes, and pickle finds it there.
    """
    from importlib.machinery import SourceFileLoader
    import io

    name = "__mp_main__"
    main = sys.modules[name] = sys.modules["__main__"]
    main.__name__ = name
    main.__file__ = path
    main.__loader__ = SourceFileLoader(name, path)
    main.__cached__ = None
    if not sys.flags.safe_path:
        sys.path.insert(0, path.rpartition("/")[0] or "/")
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    exec(code, main.__dict__)
    return main


def _call(main, name, result):
    import json
    import os

    arguments = {}
    directory, _, program = main.__file__.rpartition("/")
    # In a shared home both have a name of their own: see guest/run/lane.h.
    own = program.startswith(".code-") and program[5:].partition(".")[0]
    path = f"{directory}/" + (f".input{own}.json" if own else "input.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            arguments = json.load(file)
    function = getattr(main, name, None)
    if not callable(function):
        raise NameError(f"the program has no function {name!r}")
    if isinstance(arguments, dict):
        value = function(**arguments)
    else:
        value = function(arguments)
    if hasattr(value, "__await__"):
        import asyncio

        async def wait():
            return await value
        value = asyncio.run(wait())
    try:
        _send(result, {"value": value})
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"what {name}() returned cannot be JSON: "
                        f"{error}") from None


def _own_frames(trace):
    """Return: the traceback from the program's first frame on."""
    while trace and trace.tb_frame.f_code.co_filename == INTERNAL:
        trace = trace.tb_next
    return trace


def _exit_code(error):
    """Return: the exit code that the interpreter gives a SystemExit."""
    code = error.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xff
    sys.stdout.flush()
    print(code, file=sys.stderr)
    return 1


def run(path, name, result):
    """Runs path, then calls name. Never returns."""
    import atexit
    import os
    import signal
    import threading

    for thing in list(globals().values()):
        if isinstance(thing, type(run)):
            _imp._fix_co_filename(thing.__code__, INTERNAL)
    frame = sys._getframe()
    for _ in range(2):  # of sitecustomize
        frame = frame.f_back
        _imp._fix_co_filename(frame.f_code, INTERNAL)
    del frame
    code = 0
    try:
        _call(_load(path), name, result)
    except SystemExit as error:
        code = _exit_code(error)
    except BaseException as error:
        code = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
        error.__traceback__ = _own_frames(error.__traceback__)
        sys.last_type, sys.last_value = type(error), error
        sys.last_traceback = error.__traceback__
        sys.excepthook(type(error), error, error.__traceback__)
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.modules["__main__"].__dict__.clear()
    for stream in sys.stdout, sys.stderr:
        if stream is None or getattr(stream, "closed", False):
            continue
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            code = code or 120
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)
