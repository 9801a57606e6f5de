# SPDX-License-Identifier: Apache-2.0
"""The notebook that a cell's program can ask about: get_ipython().

One object has the magics, the history, what is called around a cell, and the ways to
show a type. It is what the name get_ipython gives, in cells and in all that they
import, and what the modules of IPython give (fill() makes those). `cell` is cell.py.
"""
import inspect
import os
import re
import sys
import types

magics = cell.own("magics")
UsageError = magics.UsageError
HIDDEN = {"In", "Out", "get_ipython", "display", "exit", "quit"}
EVENTS = "pre_execute", "pre_run_cell", "post_execute", "post_run_cell"


class Printer:
    """What a _repr_pretty_() of IPython writes to."""

    def __init__(self):
        self.parts = []

    def text(self, text):
        self.parts.append(str(text))

    def pretty(self, value):
        self.text(plain_text(value))

    def breakable(self, sep=" "):
        self.text(sep)

    def break_(self):
        self.text("\n")

    def begin_group(self, indent=0, open=""):
        self.text(open)

    def end_group(self, dedent=0, close=""):
        self.text(close)

    def group(self, indent=0, open="", close=""):
        import contextlib

        @contextlib.contextmanager
        def both():
            self.text(open)
            yield
            self.text(close)
        return both()

    indent = group

    def flush(self):
        """All is in parts."""


class Formatter:
    """How values of some types are shown as one MIME type."""

    enabled = True

    def __init__(self, mime):
        self.format_type, self.type_printers, self.deferred = mime, {}, {}

    def for_type(self, kind, function=None):
        if isinstance(kind, str):
            return self.for_type_by_name(*kind.rpartition(".")[::2], function)
        before = self.type_printers.get(kind)
        if function:
            self.type_printers[kind] = function
        return before

    def for_type_by_name(self, module, name, function=None):
        before = self.deferred.get((module, name))
        if function:
            self.deferred[module, name] = function
        return before

    def pop(self, kind, *otherwise):
        return self.type_printers.pop(kind, *otherwise)

    def lookup_by_type(self, kind):
        for one in kind.__mro__:
            named = one.__module__, one.__name__
            function = self.type_printers.get(one) or self.deferred.get(named)
            if function:
                return function
        raise KeyError(kind)

    def lookup(self, value):
        return self.lookup_by_type(type(value))

    def __call__(self, value):
        try:
            function = self.lookup(value)
        except KeyError:
            return None
        if self.format_type != "text/plain":
            return function(value)
        printer = Printer()
        function(value, printer, False)
        return "".join(printer.parts)


class Formatters:
    """display_formatter"""

    def __init__(self):
        self.formatters = {mime: Formatter(mime) for mime in (
            *cell.METHODS.values(), "text/plain")}
        self.mimebundle_formatter = Formatter("mimebundle")
        self.ipython_display_formatter = Formatter("display")

    def format(self, value, include=None, exclude=None):
        found = cell.describe(value)
        return {mime: entry.get("data", entry.get("base64"))
                for mime, entry in found.items()}, {}

    def ask(self, value):
        """Return: pairs of a MIME type and what a function says of the value."""
        for mime, formatter in self.formatters.items():
            if formatter.type_printers or formatter.deferred:
                data = formatter(value)
                if data is not None:
                    yield mime, data


class Events:
    """Functions that are called before and after each cell."""

    def __init__(self):
        self.callbacks = {name: [] for name in (*EVENTS, "shell_initialized")}

    def register(self, event, function):
        if function not in self.callbacks[event]:
            self.callbacks[event].append(function)

    def unregister(self, event, function):
        self.callbacks[event].remove(function)

    def trigger(self, event, *text):
        for function in list(self.callbacks[event]):
            try:
                takes = inspect.signature(function).parameters
                function(*[Result(Info(text[0])) if event == "post_run_cell" else
                           Info(text[0])] if takes and text else ())
            except (Exception, KeyboardInterrupt):
                print(f"Error in callback {function} (for {event}):",
                      file=sys.stderr)
                sys.excepthook(*sys.exc_info())


class Result:
    """What run_cell() has made of a cell."""

    def __init__(self, info=None):
        self.info, self.result = info, None
        self.error_before_exec = self.error_in_exec = None
        self.execution_count = None

    @property
    def success(self):
        return not (self.error_before_exec or self.error_in_exec)

    def raise_error(self):
        for error in self.error_before_exec, self.error_in_exec:
            if error:
                raise error


class Info:
    """What the functions of pre_run_cell get."""

    def __init__(self, source):
        self.raw_cell, self.store_history, self.silent = source, True, False


class Config(dict):
    """Names of settings are attributes as well; each has settings of its own."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.setdefault(name, Config())

    __setattr__ = dict.__setitem__


class InteractiveShell(magics.Magic):
    """The notebook."""

    @staticmethod
    def initialized():
        return True

    @staticmethod
    def instance(*args, **more):
        return cell.get_ipython()

    def __init__(self, names):
        super().__init__(names)
        self.user_ns = self.user_global_ns = names
        self.inputs, self.outputs, self.shown = [""], {}, [None] * 3
        self.config = Config(IPKernelApp=Config())
        self.display_formatter, self.events = Formatters(), Events()
        self.own_lines, self.own_cells, self.extensions = {}, {}, {}
        self.reloader = None
        self.kernel = types.SimpleNamespace(shell=self)
        self.history_manager = types.SimpleNamespace(
            input_hist_raw=self.inputs, input_hist_parsed=self.inputs,
            output_hist=self.outputs)
        self.magics_manager = types.SimpleNamespace(
            magics={"line": magics.LINES, "cell": magics.CELLS},
            register=self.register_magics)

    def __repr__(self):
        return f"<ipykernel.zmqshell.{type(self).__name__} object>"

    @property
    def user_module(self):
        return sys.modules["__main__"]

    @property
    def execution_count(self):
        return len(self.inputs)

    # --- history

    def begin(self, text):
        """A cell begins; its text is In[-1]."""
        names, inputs = self.names, self.inputs
        inputs.append(text)
        names.update(In=inputs, Out=self.outputs, _ih=inputs, _oh=self.outputs,
                     _dh=names.get("_dh", [os.getcwd()]))
        names[f"_i{len(inputs) - 1}"] = text
        for name, back in ("_i", 2), ("_ii", 3), ("_iii", 4):
            names[name] = inputs[-back] if len(inputs) >= back else ""

    def keep(self, value):
        """A cell's value is in Out, and in _ unless the program has its own."""
        if value is self.outputs:
            return
        names, number = self.names, len(self.inputs) - 1
        self.outputs[number] = names[f"_{number}"] = value
        before = self.shown
        if any(names.get(name, one) is not one
               for name, one in zip(("_", "__", "___"), before)):
            return
        self.shown = [value, *before[:2]]
        names.update(zip(("_", "__", "___"), self.shown))

    def forget(self, inputs=True, outputs=True):
        if outputs:
            for number in self.outputs:
                self.names.pop(f"_{number}", None)
            self.outputs.clear()
            self.shown = [None] * 3
            for name in "_", "__", "___":
                self.names.pop(name, None)
        if inputs:
            for number in range(len(self.inputs)):
                self.names.pop(f"_i{number}", None)
            self.inputs[:] = [""] * len(self.inputs)

    def user_names(self):
        return sorted(name for name in self.names
                      if not name.startswith("_") and name not in HIDDEN)

    def reset(self, new_session=True, aggressive=False):
        for name in self.user_names():
            del self.names[name]
        self.forget()

    # --- magics and commands

    def run_line_magic(self, magic_name, line="", _stack_depth=1):
        return self.line(magic_name, line, _stack_depth + 1)

    def run_cell_magic(self, magic_name, line, cell):
        return self.cell(magic_name, line, cell)

    def magic(self, text):
        name, _, rest = text.lstrip("%").partition(" ")
        return self.line(name, rest.strip(), 2)

    def find_magic(self, name, magic_kind="line"):
        own, all = (self.own_lines, magics.LINES) if magic_kind == "line" else (
            self.own_cells, magics.CELLS)
        return own.get(name) or all.get(name)

    find_line_magic = find_magic

    def find_cell_magic(self, name):
        return self.find_magic(name, "cell")

    def system(self, cmd):
        self.line("!", cmd, 2)

    system_raw = system_piped = system

    def getoutput(self, cmd, split=True, depth=0):
        lines = self.line("!!", cmd, 2)
        return lines if split else lines.n

    def register_magic_function(self, func, magic_kind="line", magic_name=None):
        name = magic_name or func.__name__
        if "line" in magic_kind:
            self.own_lines[name] = func
        if "cell" in magic_kind:
            self.own_cells[name] = func

    def register_magics(self, *things):
        for thing in things:
            thing = thing(self) if isinstance(thing, type) else thing
            for kind, name, method in getattr(type(thing), "magics_of_cells", ()):
                self.register_magic_function(getattr(thing, method), kind, name)

    def set_next_input(self, text, replace=False):
        """There is no window to put it into."""

    # --- programs

    def run_cell(self, raw_cell, store_history=False, silent=False,
                 shell_futures=True, **more):
        result = Result(Info(raw_cell))
        try:
            result.result = cell.run_inside(raw_cell, self.names)
        except SyntaxError as error:
            result.error_before_exec = error
        except Exception as error:
            result.error_in_exec = error
        if not result.success:
            error = result.error_before_exec or result.error_in_exec
            sys.excepthook(type(error), error, error.__traceback__)
        return result

    def run_code(self, code, result=None, **more):
        exec(code, self.names)

    def ex(self, text):
        exec(text, self.names)

    def ev(self, text):
        return eval(text, self.names)

    def push(self, variables, interactive=True):
        self.names.update(variables if isinstance(variables, dict) else {
            name: sys._getframe(1).f_locals[name] for name in (
                variables.split() if isinstance(variables, str) else variables)})

    def del_var(self, varname, by_name=False):
        del self.names[varname]

    def all_at_rgx(self, *unused):
        return []

    # --- what has a window only

    def enable_gui(self, gui=None):
        """Figures are shown as pictures."""

    def enable_matplotlib(self, gui=None):
        return "inline", "module://matplotlib_inline.backend_inline"

    def enable_pylab(self, gui=None, import_all=True, welcome_message=False):
        self.line("pylab", "", 2)

    def showtraceback(self, *unused, **more):
        sys.excepthook(*sys.exc_info())

    def set_custom_exc(self, *unused):
        """Errors are those of Python."""

    def ask_yes_no(self, prompt, default=None, interrupt=None):
        return default

    # --- extensions

    def load_extension(self, name):
        if name in self.extensions:
            return "already loaded"
        begin = LOADED.get(name)
        if not begin:
            import importlib

            module = importlib.import_module(name)
            begin = getattr(module, "load_ipython_extension", None)
            if not begin:
                raise UsageError(f"the module {name} is no extension: it has no "
                                 "load_ipython_extension()")
        self.extensions[name] = begin
        begin(self)
        return None

    def reload_extension(self, name):
        module = sys.modules.get(name)
        if module:
            import importlib

            importlib.reload(module)
        self.extensions.pop(name, None)
        self.load_extension(name)

    def unload_extension(self, name):
        if self.extensions.pop(name, None):
            end = getattr(sys.modules.get(name), "unload_ipython_extension", None)
            if end:
                end(self)

    extension_manager = property(lambda self: self)

    # --- what an object is

    def find(self, text, frame=None):
        """Return: the object of that name; raises Exception."""
        frame = frame or sys._getframe(1)
        if not re.fullmatch(r"[\w.\[\]'\"]+", text):
            raise NameError(text)
        return eval(text, frame.f_globals, frame.f_locals)

    def object_inspect(self, oname, detail_level=0):
        try:
            return {"found": True, **dict(facts(self.find(oname), detail_level))}
        except Exception:
            return {"found": False}


class ZMQInteractiveShell(InteractiveShell):
    """Libraries know a notebook by the name of this class."""


class TerminalInteractiveShell:
    """Nothing is one."""


ZMQInteractiveShell.__module__ = "ipykernel.zmqshell"
InteractiveShell.__module__ = "IPython.core.interactiveshell"


def plain_text(value):
    """As repr(), but for types that the notebook shows otherwise."""
    shell = cell.get_ipython()
    text = shell.display_formatter.formatters["text/plain"](value)
    ask = getattr(type(value), "_repr_pretty_", None)
    if text is None and callable(ask):
        printer = Printer()
        ask(value, printer, False)
        text = "".join(printer.parts)
    return repr(value) if text is None else text


# --- help

def facts(value, detail):
    """Return: pairs of a title and a text about a value. detail: with its source."""
    try:
        yield "Signature", f"{value.__name__}{inspect.signature(value)}"
    except (AttributeError, TypeError, ValueError):
        if not callable(value):
            yield "Type", type(value).__name__
            text = plain_text(value)
            yield "String form", text if len(text) < 200 else text[:200] + "..."
            if hasattr(value, "__len__"):
                yield "Length", str(len(value))
    source = None
    if detail:
        try:
            source = inspect.getsource(value)
        except (OSError, TypeError):
            pass  # it has none
    if source:
        yield "Source", "\n" + source.rstrip()
    else:
        yield "Docstring", inspect.getdoc(value) or "<no docstring>"
        if isinstance(value, type):
            made = inspect.getdoc(value.__init__)
            if made and made != inspect.getdoc(object.__init__):
                yield "Init docstring", made
    try:
        yield "File", inspect.getsourcefile(value) or inspect.getfile(value)
    except (OSError, TypeError):
        pass  # it is none of a file
    if callable(value):
        yield "Type", type(value).__name__


def explain(magic, text, frame, detail=0):
    """name?, name??, %name?, and names with a star."""
    if "*" in text:
        return _list(magic, text, frame)
    try:
        found = magic.find(text, frame)
    except Exception:
        return _explain_magic(magic, text, detail)
    return _tell(found, detail)


def _tell(found, detail):
    for title, words in facts(found, detail):
        gap = "\n" if "\n" in words and not words.startswith("\n") else " "
        print(f"{title}:{gap}{words}")


def _explain_magic(magic, text, detail):
    """The program's own are functions of the program; ours are not to be read."""
    sign, name = "%%" if text.startswith("%%") else "%", text.lstrip("%")
    own, all = (magic.own_cells, {**magics.CELLS, **magics.AROUND}) \
        if sign == "%%" else (magic.own_lines, magics.LINES)
    if name in own:
        _tell(own[name], detail)
    elif name in all:
        print(f"{sign}{name} is a magic of cells; jobtree(5) says what each does.")
    else:
        print(f"Object `{text}` not found.")


def _list(magic, text, frame):
    import builtins
    import fnmatch

    place, dot, pattern = text.rpartition(".")
    names = dir(magic.find(place, frame)) if dot else (
        set(magic.names) | set(vars(builtins)))
    for name in sorted(fnmatch.filter(names, pattern)):
        if not name.startswith("_") or pattern.startswith("_"):
            print(place + dot + name)


# --- what there is

def _chosen(magic, text):
    """Return: the program's names, of the types that text names."""
    kinds = text.split()
    return [name for name in magic.user_names()
            if not kinds or type(magic.names[name]).__name__ in kinds]


def who_ls(magic, text, frame):
    return _chosen(magic, text)


def who(magic, text, frame):
    names = _chosen(magic, text)
    print("\t ".join([*names, ""]) if names else "Interactive namespace is empty.")


def _data(value):
    shape = getattr(value, "shape", None)
    if shape is not None and hasattr(value, "dtype"):
        return f"{'x'.join(map(str, shape))}: {getattr(value, 'size', '')} elems, " \
            f"type `{value.dtype}`"
    if isinstance(value, (list, tuple, dict, set, frozenset)):
        return f"n={len(value)}"
    text = str(value).replace("\n", "\\n")
    return text if len(text) <= 50 else f"{text[:25]}<...>{text[-25:]}"


def whos(magic, text, frame):
    rows = [(name, type(magic.names[name]).__name__, _data(magic.names[name]))
            for name in _chosen(magic, text)]
    if not rows:
        print("Interactive namespace is empty.")
        return
    head = "Variable", "Type", "Data/Info"
    wide = [max(len(row[at]) for row in (head, *rows)) + 3 for at in (0, 1)]
    lines = [f"{a:{wide[0]}}{b:{wide[1]}}{c}" for a, b, c in (head, *rows)]
    lines.insert(1, "-" * len(lines[0]))
    print("\n".join(lines))


def history(magic, text, frame):
    words, numbered, outputs = text.split(), False, False
    last = len(magic.inputs) - 1
    first = 1
    while words:
        word = words.pop(0)
        if word == "-n":
            numbered = True
        elif word == "-o":
            outputs = True
        elif word == "-l":
            first = max(1, last - int(words.pop(0) if words else 10))
        elif found := re.fullmatch(r"(\d+)(?:-(\d+))?", word):
            first, last = int(found[1]), int(found[2] or found[1])
    for number in range(first, min(last, len(magic.inputs) - 1) + 1):
        print(f"{number:4d}: " * numbered + magic.inputs[number])
        if outputs and number in magic.outputs:
            print(repr(magic.outputs[number]))


def reset(magic, text, frame):
    words = text.split()
    kinds = {word for word in words if not word.startswith("-")}
    if kinds:
        if kinds - {"in", "out", "dhist", "array"}:
            raise UsageError("%reset can forget in, out, dhist, array")
        magic.forget("in" in kinds, "out" in kinds)
    elif "-f" not in words:
        raise UsageError("%reset would ask whether it may delete all names, and "
                         "nobody can answer; write %reset -f")
    elif "-s" in words:
        for name in magic.user_names():
            del magic.names[name]
    else:
        magic.reset()


def lsmagic(magic, text, frame):
    lines = {*magics.LINES, *magic.own_lines} - {"!", "!!"}
    cells = {*magics.CELLS, *magics.AROUND, *magic.own_cells}
    print("Available line magics:\n%" + "  %".join(sorted(lines)))
    print("\nAvailable cell magics:\n%%" + "  %%".join(sorted(cells)))


# --- the modules of IPython that have the notebook

def _register(kind):
    def register(function):
        cell.get_ipython().register_magic_function(function, kind)
        return function
    return register


def _marked(kind):
    """@line_magic and @line_magic("name") of a method."""
    def mark(thing):
        name = thing if isinstance(thing, str) else thing.__name__

        def of(function):
            function.magic_of_cells = kind, name
            return function
        return of if isinstance(thing, str) else of(thing)
    return mark


def magics_class(kind):
    kind.magics_of_cells = [
        (*function.magic_of_cells, name) for name, function in vars(kind).items()
        if hasattr(function, "magic_of_cells")]
    return kind


class Magics:
    """What an extension derives its magics from."""

    def __init__(self, shell=None, **more):
        self.shell = shell


def needs_local_scope(function):
    function.needs_local_scope = True
    return function


MODULES = {
    "IPython.core.getipython": {"get_ipython": cell.get_ipython},
    "IPython.core.interactiveshell": {
        "InteractiveShell": InteractiveShell, "ExecutionResult": Result,
        "ExecutionInfo": Info},
    "IPython.terminal.interactiveshell": {
        "TerminalInteractiveShell": TerminalInteractiveShell},
    "IPython.core.error": {"UsageError": UsageError},
    "IPython.core.pylabtools": {"backend2gui": {}, "backends": {}},
    "IPython.core.magic": {
        "Magics": Magics, "magics_class": magics_class,
        "needs_local_scope": needs_local_scope, "no_var_expand": lambda f: f,
        **{f"register_{kind}_magic": _register(kind)
           for kind in ("line", "cell", "line_cell")},
        **{f"{kind}_magic": _marked(kind) for kind in ("line", "cell", "line_cell")}},
    "IPython.utils.capture": {"capture_output": magics.capture_output},
    "IPython.utils.io": {"capture_output": magics.capture_output},
}


def _load_autoreload(shell):
    """%autoreload is there without it."""


LOADED = {"autoreload": _load_autoreload}


def fill(module):
    """Puts into a module of IPython's what this file has of it."""
    vars(module).update(MODULES.get(module.__name__, {}))
    if module.__name__ == "IPython":
        module.InteractiveShell = InteractiveShell
