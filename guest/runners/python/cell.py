# SPDX-License-Identifier: Apache-2.0
"""Notebook cells: the last expression's value and rich representations."""
import ast
import base64
import builtins
import inspect
import json
import os
import re
import sys
import threading
import traceback
import types

__builtins__ = dict(vars(builtins))

METHODS = {
    "_repr_html_": "text/html",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_markdown_": "text/markdown",
    "_repr_latex_": "text/latex",
    "_repr_json_": "application/json",
}

# What is larger is put into a file, which comes out under output/.
LARGE = 65536
FOLDER = "results"
ENDINGS = {
    "text/html": "html", "image/svg+xml": "svg", "image/png": "png",
    "image/jpeg": "jpg", "text/markdown": "md", "text/latex": "tex",
    "application/json": "json", "text/plain": "txt",
}

IMPORTED = re.compile(rb"^\s*(import|from)\s[^#\n]*\basyncio\b", re.MULTILINE)
PLOTS = re.compile(
    rb"^\s*(import\s[^#\n]*\bmatplotlib\.pyplot\b|"
    rb"from\s+matplotlib(\s+import\s[^#\n]*\bpyplot\b|\.pyplot\b))",
    re.MULTILINE)

_home = os.getcwd()  # where the session began
_now = None  # the cell that runs; display() adds to it
_runner = None  # of asyncio: an event loop that lives as long as the session


def clean(text):
    """As a plain str that UTF-8 can hold; TypeError if it is none."""
    return str.encode(text, "utf-8", "backslashreplace").decode()


def _result(mime, data):
    """One entry of "results"; TypeError if data is nothing for mime."""
    mime = clean(mime)
    if mime == "application/json":
        # A copy: the program may change its own.
        data = json.loads(json.dumps(data, allow_nan=False))
        return {"mime": mime, "data": data}
    if isinstance(data, (bytes, bytearray)):
        return {"mime": mime, "base64": base64.b64encode(data).decode()}
    if not isinstance(data, str):
        raise TypeError(f"{mime} is a {type(data).__name__}, not text")
    if mime.startswith("image/") and mime != "image/svg+xml":
        return {"mime": mime, "base64": "".join(data.split())}
    return {"mime": mime, "data": clean(data)}


def _asked(value, name, **how):
    """What a method returns, without its metadata; None if there is none."""
    method = getattr(type(value), name, None)
    data = method(value, **how) if callable(method) else None
    return data[0] if isinstance(data, tuple) else data


def _shelve(entry):
    """The same entry, with a path instead of much data."""
    if "base64" in entry:
        data = base64.b64decode(entry["base64"])
    elif isinstance(entry["data"], str):
        data = entry["data"].encode()
    else:
        data = json.dumps(entry["data"]).encode()
    if len(data) <= LARGE:
        return entry
    folder = os.path.join(_home, FOLDER)
    os.makedirs(folder, exist_ok=True)
    number = 1 + len(os.listdir(folder))
    name = f"{number}.{ENDINGS.get(entry['mime'], 'bin')}"
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)
    return {"mime": entry["mime"], "path": f"{FOLDER}/{name}"}


def _keep(said, entries):
    for entry in entries:
        try:
            entry = _shelve(entry)
        except (OSError, ValueError):
            traceback.print_exc()  # no room, or no base64: as it is
        said["results"].append(entry)


def _rich(value):
    """mime: entry, for all that value has to say about itself."""
    found = {}

    def attempt(name, take, **how):
        try:
            data = _asked(value, name, **how)
            if data is not None:
                take(data)
        except Exception:
            print(f"{type(value).__name__}.{name}:", file=sys.stderr)
            traceback.print_exc()

    def bundle(data):
        for mime, part in data.items():
            found[mime] = _result(mime, part)

    def single(mime):
        def take(data):
            found.setdefault(mime, _result(mime, data))
        return take

    attempt("_repr_mimebundle_", bundle, include=None, exclude=None)
    for name, mime in METHODS.items():
        attempt(name, single(mime))
    return found


def _add(said, value):
    """Return: value's repr()."""
    text = clean(repr(value))
    found = _rich(value)
    found.setdefault("text/plain", _result("text/plain", text))
    _keep(said, found.values())
    return text


def display(*values):
    """Shows values as the cell's last expression would be shown."""
    for value in values:
        if _now is None:
            print(repr(value))
        else:
            _add(_now, value)


def _make_runner(asyncio):
    class Runner(asyncio.Runner):
        """An interrupt cancels what waits, and ends code that runs at once."""
        hit = ()  # the cell's task, and the one whose code ran

        def _on_sigint(self, number, frame, main_task):
            self.hit = main_task, asyncio.current_task(self.get_loop())
            module = str(frame.f_globals.get("__name__")).partition(".")[0]
            if module not in ("asyncio", "selectors"):
                raise KeyboardInterrupt
            super()._on_sigint(number, frame, main_task)

    return Runner()


async def _cancel(task):
    task.cancel()
    await sys.modules["asyncio"].wait([task])


def _interrupted(error):
    """Return: the KeyboardInterrupt with the cell's own frames only."""
    main, now = _runner.hit or (None, None)
    if main and not main.done():  # it was another task's code that ran
        _runner.run(_cancel(main))
    for task in main, now:
        if task and task.done() and not task.cancelled():
            task.exception()  # it is told, here
    waited = error.__context__
    if isinstance(waited, sys.modules["asyncio"].CancelledError):
        return KeyboardInterrupt().with_traceback(waited.__traceback__)
    last = error.__traceback__
    while last.tb_next and last.tb_next.tb_frame.f_code.co_name != "_on_sigint":
        last = last.tb_next
    last.tb_next = None
    return error


def _keep_loop(wanted):
    """Has the session's event loop there for the cell, if it may need one.

    A task that one cell creates is awaited by another. No loop runs between the
    awaits, so asyncio.run() works as in a script; whoever asks for the running
    loop outside of one gets the session's.
    """
    global _runner
    asyncio = sys.modules.get("asyncio")
    if _runner is None:
        if not asyncio and not wanted:
            return
        import asyncio
        _runner = _make_runner(asyncio)
        loop = _runner.get_loop()
        main = threading.get_ident()
        running = asyncio.events._get_running_loop

        def get_running_loop():
            """Return the running event loop, here the session's if none runs."""
            now = running()
            if now is None and threading.get_ident() == main:
                now = loop
            if now is None:
                raise RuntimeError("no running event loop")
            return now

        for module in asyncio, asyncio.events, asyncio.tasks:
            module.get_running_loop = get_running_loop
    # asyncio.run() in an earlier cell has taken it away.
    asyncio.set_event_loop(_runner.get_loop())


def _turn_loop():
    """What the cell has begun gets as far as it comes without waiting."""
    if _runner and sys.modules["asyncio"].all_tasks(_runner.get_loop()):
        _runner.run(_nothing())


async def _nothing():
    pass


def _evaluate(code, names):
    """As eval(); awaits the code if there is an await outside functions."""
    if not code.co_flags & inspect.CO_COROUTINE:
        return eval(code, names)
    _keep_loop(True)
    _runner.hit = ()
    try:
        return _runner.run(types.FunctionType(code, names)())
    except KeyboardInterrupt as error:
        interrupt = _interrupted(error)
    raise interrupt


def _take_show(source):
    """Lets pyplot.show() put its pictures where it is called."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if not pyplot and PLOTS.search(source):
        try:
            import matplotlib.pyplot as pyplot
        except Exception:
            return  # the cell will say why
    plain = getattr(pyplot, "show", None)
    if not plain or getattr(plain, "__wrapped__", None) is _pictures:
        return

    def show(*args, **kwargs):
        """Show all figures, as results of the cell."""
        if _now is None or pyplot.get_backend().lower() != "agg":
            return plain(*args, **kwargs)
        _pictures(_now)

    show.__wrapped__ = _pictures
    pyplot.show = show


def run(source, file, names, said):
    global _now
    _now = said
    if "display" not in names:
        names["display"] = display
    os.environ.setdefault("MPLBACKEND", "Agg")
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    _keep_loop(IMPORTED.search(source))
    _take_show(source)
    tree = compile(source, file, "exec", flags | ast.PyCF_ONLY_AST,
                   dont_inherit=True)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)
    _evaluate(compile(tree, file, "exec", flags, dont_inherit=True), names)
    if last:
        value = _evaluate(compile(last, file, "eval", flags,
                                  dont_inherit=True), names)
        # As in other notebooks, a semicolon keeps the value back.
        if value is not None and not source.rstrip().endswith(b";"):
            said["text"] = _add(said, value)
    _turn_loop()


def show(said):
    """The end of a cell: the open figures."""
    global _now
    _now = None
    _pictures(said)


def _pictures(said):
    pyplot = sys.modules.get("matplotlib.pyplot")
    if not pyplot:
        return
    try:
        import io

        for number in pyplot.get_fignums():
            image = io.BytesIO()
            pyplot.figure(number).savefig(image, format="png",
                                          bbox_inches="tight")
            _keep(said, [_result("image/png", image.getvalue())])
        pyplot.close("all")
    except Exception:
        traceback.print_exc()
