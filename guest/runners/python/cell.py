# SPDX-License-Identifier: Apache-2.0
"""Notebook cells: the last expression's value and rich representations.

own() loads the files beside this one: shell.py, which has the notebook that a cell can
ask about, and magics.py, reload.py, figures.py, chart.py and ipython_display.py for the
cells that need them.
"""
import _imp
import ast
import base64
import builtins
import contextlib
import inspect
import json
import linecache
import os
import re
import sys
import threading
import traceback
import types
import warnings
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import decode_source

__builtins__ = dict(vars(builtins))

METHODS = {
    "_repr_html_": "text/html",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_markdown_": "text/markdown",
    "_repr_latex_": "text/latex",
    "_repr_json_": "application/json",
    "_repr_javascript_": "application/javascript",
    "_repr_pdf_": "application/pdf",
}
BINARY = re.compile(r"image/(?!svg\+xml)|application/pdf")

# Larger data is put into a file, which comes out under output/.
LARGE = 65536
FOLDER = "results"
ENDINGS = {
    "text/html": "html", "image/svg+xml": "svg", "image/png": "png",
    "image/jpeg": "jpg", "text/markdown": "md", "text/latex": "tex",
    "application/json": "json", "application/javascript": "js",
    "application/pdf": "pdf", "text/plain": "txt",
}

# A list or a dictionary that is larger or deeper has no JSON.
MANY = 250000
DEPTH = 64
PLAIN = frozenset((str, int, float, bool, type(None)))

# The file name of the frames here: see session.py.
INTERNAL = "<frozen importlib._bootstrap>"

IMPORTED = re.compile(rb"^\s*(import|from)\s[^#\n]*\basyncio\b", re.MULTILINE)
OF_FIGURES = ("matplotlib.pyplot", "matplotlib.figure", "PIL.Image", "pandas",
              "plotly.io")
NOTEBOOK = re.compile(rb"^\s*(import|from)\s[^#\n]*\bIPython\b", re.MULTILINE)
PARSE = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST

_place = __file__.rpartition("/")[0]
_self = sys.modules[__name__]
_own = {}  # the modules that own() has loaded
_home = os.getcwd()  # where the session began, or its shelf
_now = None  # the cell that runs; display() adds to it
_runner = None  # of asyncio: an event loop that lives as long as the session
_shell = None  # the notebook
_inside = 0  # how many cells are running inside another cell


def own(name):
    """Return: a module of the runner, which an import of the program does not find."""
    if name not in _own:
        loader = SourceFileLoader(name, f"{_place}/{name}.py")
        code = loader.get_code(name)
        _imp._fix_co_filename(code, INTERNAL)
        module = types.ModuleType(name)
        module.__dict__.update(__builtins__=__builtins__, cell=_self)
        exec(code, module.__dict__)
        _own[name] = module
    return _own[name]


def prepare():
    """Imports the modules that cells may need, before the template is saved."""
    for name in "shell", "figures", "ipython_display", "reload":
        own(name)


def get_ipython():
    """The notebook that runs this cell."""
    return _shell


def _begin_notebook(names):
    """Makes the notebook, and says so to whoever looks for one."""
    global _shell
    _shell = own("shell").ZMQInteractiveShell(names)
    builtins.get_ipython, builtins.__IPYTHON__ = get_ipython, True
    names["get_ipython"] = get_ipython
    names.setdefault("display", display)
    sys.meta_path.append(Notebook)
    # tqdm has a bar for notebooks with widgets, and says so where there are none.
    warnings.filterwarnings("ignore", "IProgress not found")
    if "pandas" in sys.modules:
        own("figures").tell_pandas(sys.modules["pandas"])


class Notebook:
    """Finds modules of IPython's, where there is no IPython: ours.

    It is the last of sys.meta_path, so whatever is there goes before it.
    """
    packages = ("IPython", "IPython.core", "IPython.terminal", "IPython.utils",
                "matplotlib_inline")
    names = (*packages, "IPython.display", "IPython.core.display",
             "IPython.core.display_functions", "IPython.core.getipython",
             "IPython.core.interactiveshell", "IPython.core.error",
             "IPython.core.magic", "IPython.core.pylabtools", "IPython.utils.capture",
             "IPython.utils.io", "IPython.terminal.interactiveshell",
             "matplotlib_inline.backend_inline")

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return ModuleSpec(name, cls, is_package=name in cls.packages) \
            if name in cls.names else None

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        own("ipython_display").fill(module)
        own("shell").fill(module)


def clean(text):
    """As a plain str that UTF-8 can hold; TypeError if it is none."""
    return str.encode(text, "utf-8", "backslashreplace").decode()


def result(mime, data):
    """One entry of "results"; TypeError if data is nothing for mime."""
    mime = clean(mime)
    if mime == "application/json" or mime.endswith("+json"):
        # A copy: the program may change its own. What is no number is null.
        data = json.loads(json.dumps(data), parse_constant=lambda name: None)
        return {"mime": mime, "data": data}
    if isinstance(data, (bytes, bytearray)):
        return {"mime": mime, "base64": base64.b64encode(data).decode()}
    if not isinstance(data, str):
        raise TypeError(f"{mime} is a {type(data).__name__}, not text")
    if BINARY.match(mime):
        return {"mime": mime, "base64": "".join(data.split())}
    return {"mime": mime, "data": clean(data)}


def _asked(value, name, **how):
    """Return: the result of a method of the value, without its metadata; None if
    there is none."""
    method = getattr(type(value), name, None)
    data = method(value, **how) if callable(method) else None
    return data[0] if isinstance(data, tuple) else data


def take_shelf(place):
    """Sets the directory for large results: shelf in the step's directory, if there
    is one."""
    global _home
    if os.path.isdir(place + "/shelf"):
        _home = place + "/shelf"


def _shelve(entry):
    """Return: the entry with a path in place of large data, which goes into a file."""
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
    ending = "json" if entry["mime"].endswith("+json") else "bin"
    name = f"{number}.{ENDINGS.get(entry['mime'], ending)}"
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)
    return {"mime": entry["mime"], "path": f"{FOLDER}/{name}"}


def keep(said, entries, main=False):
    """Adds what one display shows to the cell's results, and sends it to the host
    now. main: it is the last expression's value."""
    results = said["results"]
    bundle = results[-1]["bundle"] + 1 if results else 1
    mark = {"bundle": bundle, "main": main}
    entries = [{**entry, **mark} for entry in entries]
    said["tell"](bundle, entries, main)
    for entry in entries:
        try:
            entry = _shelve(entry)
        except (OSError, ValueError):
            traceback.print_exc()  # no room, or no base64: as it is
        results.append({**entry, **mark})


def _is_json(value, room, depth=0):
    """Can JSON hold a list or a dictionary as it is? Calls nothing of the
    program's."""
    if type(value) is dict:
        if not set(map(type, value)) <= {str}:
            return False
        value = value.values()
    room[0] -= len(value)
    kinds = set(map(type, value))
    if room[0] < 0 or depth == DEPTH or not kinds <= PLAIN | {list, dict}:
        return False
    # Many readers of JSON cannot hold integers of more than 64 bits.
    if int in kinds and not all(type(one) is not int or
                                -2 ** 63 <= one < 2 ** 63 for one in value):
        return False
    return not kinds & {list, dict} or all(
        type(one) in PLAIN or _is_json(one, room, depth + 1) for one in value)


def _rich(value):
    """mime: entry, for all that value has to say about itself; without its text,
    unless it has one of its own."""
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
            found[mime] = result(mime, part)

    def single(mime):
        def take(data):
            found.setdefault(mime, result(mime, data))
        return take

    if type(value) in (list, dict):
        if _is_json(value, [MANY]):
            found["application/json"] = result("application/json", value)
        return found
    if _shell:
        try:
            for mime, data in _shell.display_formatter.ask(value):
                found[mime] = result(mime, data)
        except Exception:
            traceback.print_exc()
    attempt("_repr_mimebundle_", bundle, include=None, exclude=None)
    for name, mime in METHODS.items():
        attempt(name, single(mime))
    figures = _figures()
    if figures:
        for mime, data in figures.more(value, found):
            found[mime] = result(mime, data)
    return found


def _add(said, value, main=False):
    """Return: value's repr()."""
    text = clean(own("shell").plain_text(value))
    keep(said, describe(value, text).values(), main)
    return text


def describe(value, text=None):
    """mime: entry, for all that value is shown as."""
    found = _rich(value)
    if "text/plain" not in found:
        text = clean(own("shell").plain_text(value)) if text is None else text
        found["text/plain"] = result("text/plain", text)
    return found


def display(*values, raw=False, **unused):
    """Shows values as the cell's last expression would be shown.

    raw: each value is a dictionary, MIME type: data. Other options of IPython's
    display() have no effect.
    """
    for value in values:
        if _now is None:
            print(repr(value))
        elif raw:
            keep(_now, [result(*item) for item in dict(value).items()])
        else:
            _add(_now, value)


def _make_runner(asyncio):
    class Runner(asyncio.Runner):
        """An asyncio.Runner. An interrupt cancels the awaits of the cell, and ends
        running code at once."""
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
    """Makes the session's event loop the current one for the cell, if the cell may
    need it. A task that one cell creates is awaited by another. No loop runs
    between the awaits, so asyncio.run() works as in a script; get_running_loop()
    outside of an await returns the session's loop."""
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
    # asyncio.run() in an earlier cell has unset the current event loop.
    asyncio.set_event_loop(_runner.get_loop())


def _turn_loop():
    """Turns the event loop: tasks that the cell has created run as far as they can
    without waiting."""
    if _runner and sys.modules["asyncio"].all_tasks(_runner.get_loop()):
        _runner.run(_nothing())


async def _nothing():
    pass


def evaluate(code, names):
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


def _figures(source=b""):
    """Return: figures.py, if the program has what that looks after, or None."""
    if (b"matplotlib" in source or b"PIL" in source or b"plotly" in source or
            any(name in sys.modules for name in OF_FIGURES)):
        return own("figures")
    return None


def _parse(source, file, names):
    """Return: the cell's tree, its text, and what is done around it, or None."""
    try:
        return compile(source, file, "exec", PARSE, dont_inherit=True), source, None
    except SyntaxError:
        written = own("magics").rewrite(source, file, names)
        if not written:
            raise
    text, around, lines = written
    tree = compile(text, file, "exec", PARSE, dont_inherit=True)
    own("magics").place(tree, lines)
    return tree, text.encode(), around


def _last(tree, file, names):
    """Runs the tree. Return: the value of its last expression, or None."""
    flags, last = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)
    evaluate(compile(tree, file, "exec", flags, dont_inherit=True), names)
    if not last:
        return None
    return evaluate(compile(last, file, "eval", flags, dont_inherit=True), names)


def _run(source, file, names, said, main=True):
    tree, text, around = _parse(source, file, names)
    # As in other notebooks, a semicolon keeps the value back.
    semicolon = text.rstrip().endswith(b";")
    with around or contextlib.nullcontext():
        value = _last(tree, file, names)
        if value is not None and not semicolon:
            said["text"] = _add(said, value, main)
            if main:
                _shell.keep(value)
    return value


def run_inside(text, names):
    """Runs a cell in a cell, as get_ipython().run_cell() does. Return: its value."""
    global _inside
    _inside += 1
    file = f"<cell {_inside}>"
    source = text.encode()
    linecache.cache[file] = len(source), None, text.splitlines(True), file
    kept, said = _now["text"] if _now else None, _now or {"text": None, "results": []}
    try:
        return _run(source, file, names, said, False)
    finally:
        said["text"] = kept


def _text(source):
    try:
        return decode_source(source).rstrip("\n")
    except (SyntaxError, UnicodeDecodeError):
        return ""  # compile() says what is wrong


def run(source, file, names, said):
    global _now
    _now = said
    if not _shell:
        _begin_notebook(names)
    os.environ.setdefault("MPLBACKEND", "Agg")
    _keep_loop(IMPORTED.search(source))
    figures = _figures(source)
    if figures:
        figures.begin(source)
    if b"IPython" in source and NOTEBOOK.search(source):
        own("ipython_display").take()
    text, events = _text(source), _shell.events
    _shell.begin(text)
    events.trigger("pre_execute")
    events.trigger("pre_run_cell", text)
    try:
        _run(source, file, names, said)
    finally:
        _turn_loop()
        events.trigger("post_execute")
        events.trigger("post_run_cell", text)


def show(said):
    """Shows the open figures at the end of a cell."""
    global _now
    try:
        figures = _figures()
        if figures:
            figures.end(said)
    finally:
        _now = None
