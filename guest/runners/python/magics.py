# SPDX-License-Identifier: Apache-2.0
"""Cells have this beyond Python: `!command`, `%name` and `%%name`, and indentation
in front of all lines.

cell.py asks for rewrite() when a cell is no Python as it stands; `cell` is that
module. Each line of the cell stays the line that it was, so tracebacks are right.
Text inside a string, or inside brackets, is no magic.
"""
import ast
import builtins
import contextlib
import importlib
import linecache
import os
import re
import string
import sys
import time
import types
from importlib.util import decode_source

NAME = "__magic__"  # what a line calls, among the cell's names
LOOK_S = 1  # how long a command waits before it looks for an interrupt again
# These end a stretch of code in a line, or begin a string.
MARK = re.compile(r"""#|'''|\"""|'|"|[([{]|[)\]}]""")
REST = {"'": re.compile(r"(?:\\.|[^'\\])*'"), '"': re.compile(r'(?:\\.|[^"\\])*"'),
        "'''": re.compile(r"(?:\\.|[^\\])*?'''", re.S),
        '"""': re.compile(r'(?:\\.|[^\\])*?"""', re.S)}
ASSIGN = re.compile(r"(\s*[A-Za-z_][\w.,\s*\[\]'\"]*?\s*=\s*)([%!])(?!=)(.*)")
LINE = re.compile(r"(\s*)(!!|!|%)(.*)")
# Many write these without the sign.
BARE = re.compile(r"(\s*)((?:pip3?|conda|mamba)\s+"
                  r"(?:install|uninstall|list|show|freeze|download)\b.*)")
# name?, name??, ?name, %name? and names with a star
HELP = re.compile(r"(\s*)(?:(\?\??)\s*(%{0,2}[\w*][\w.*\[\]'\"]*)|"
                  r"(%{0,2}[A-Za-z_*][\w.*\[\]'\"]*)(\?\??))\s*;?\s*")
DOLLAR = re.compile(r"\$(\$?[A-Za-z_]\w*)(?=(?:[^']*'[^']*')*[^']*$)")


class UsageError(Exception):
    """A magic that is not there, or not meant so."""

    __module__ = "builtins"  # it is called by its name alone


# --- rewriting

class Scanner:
    """Goes through code line by line. quote: what ends the string that goes on."""

    def __init__(self):
        self.quote, self.depth, self.joined = None, 0, False

    def at_statement(self):
        return not (self.quote or self.depth or self.joined)

    def take(self, line):
        at, self.joined = 0, False
        while True:
            if self.quote:
                end = REST[self.quote].match(line, at)
                if not end:
                    if len(self.quote) == 1 and not line.endswith("\\"):
                        self.quote = None  # it has no end: Python will say so
                    return
                at, self.quote = end.end(), None
            mark = MARK.search(line, at)
            if not mark or mark[0] == "#":
                self.joined = not mark and line.endswith("\\")
                return
            at = mark.end()
            if mark[0] in "([{":
                self.depth += 1
            elif mark[0] in ")]}":
                self.depth = max(0, self.depth - 1)
            else:
                self.quote = mark[0]


def _margin(lines):
    """The whitespace that all lines begin with."""
    return os.path.commonprefix([
        line[:len(line) - len(line.lstrip())] for line in lines if line.strip()])


def _dedented(lines):
    margin = _margin(lines)
    if margin:
        return [line[len(margin):] for line in lines]
    # A string may have lines of its own.
    scanner, starts = Scanner(), []
    for line in lines:
        starts.append(not scanner.quote)
        scanner.take(line)
    margin = _margin([line for line, is_start in zip(lines, starts) if is_start])
    return [line[len(margin):] if is_start else line
            for line, is_start in zip(lines, starts)]


def _call(kind, name, rest):
    return f"{NAME}.{kind}({name!r}, {rest!r})"


def _magic(line):
    """Return: the Python for a line of magic, or None."""
    assign, plain, bare = ASSIGN.match(line), LINE.match(line), BARE.match(line)
    help = HELP.fullmatch(line)
    if help:
        left, before, first, second, behind = help.groups()
        return left + _call("line", "pinfo2" if "??" in (before, behind) else "pinfo",
                            first or second)
    if assign:
        left, sign, rest = assign.groups()
        if sign == "!":
            return left + _call("line", "!!", rest.lstrip("!"))
    elif plain:
        left, sign, rest = plain.groups()
        if sign != "%":
            return left + _call("line", sign, rest)
    elif bare:
        return bare[1] + _call("line", "!", bare[2])
    else:
        return None
    name, _, rest = rest.strip().partition(" ")
    return left + _call("line", name, rest.strip())


def _rewrite_lines(lines):
    """Return: the lines as Python, and the numbers of those that were none."""
    scanner, found, numbers, at = Scanner(), [], set(), 0
    while at < len(lines):
        line, first = lines[at], at
        at += 1
        if scanner.at_statement():
            while line.endswith("\\") and at < len(lines) and _magic(line):
                line, at = line[:-1] + lines[at].lstrip(), at + 1
            python = _magic(line)
            if python:
                found += [python] + [""] * (at - first - 1)
                numbers.add(first + 1)
                continue
        scanner.take(line)
        found.append(line)
    return found, numbers


def rewrite(source, file, names):
    """Return: the text, what is done around it or None, and which lines were
    magic; None if there is no magic and no indentation."""
    try:
        text = decode_source(source)
    except (SyntaxError, UnicodeDecodeError):
        return None
    before = text.split("\n")
    lines = _dedented(before)
    if lines != before:
        linecache.cache[file] = (len(source), None,
                                 [line + "\n" for line in lines], file)
    first = next((at for at, line in enumerate(lines) if line.strip()), 0)
    around = None
    if lines[first].startswith("%%"):
        name, _, rest = lines[first][2:].strip().partition(" ")
        around = AROUND.get(name)
        if not around:
            body = "\n".join(lines[first + 1:])
            call = f"{NAME}.cell({name!r}, {rest.strip()!r}, {body!r})"
            lines = [""] * first + [call]
            names[NAME] = cell.get_ipython()
            return "\n".join(lines) + "\n", None, {first + 1}
        around = around(rest.strip(), names)
        lines[first] = ""
    found, numbers = _rewrite_lines(lines)
    if found == before:
        return None
    if numbers:
        names[NAME] = cell.get_ipython()
    return "\n".join(found), around, numbers


def place(tree, numbers):
    """The code made of a magic line is at the whole line, for tracebacks."""
    for node in ast.walk(tree) if numbers else ():
        if getattr(node, "lineno", None) in numbers:
            node.col_offset, node.end_col_offset = 0, 1 << 16
            node.end_lineno = node.lineno


# --- what the lines call

class Words(string.Formatter):
    """Puts values in the place of {expression} and $name, as IPython does."""

    def __init__(self, frame):
        super().__init__()
        self.frame = frame

    def parse(self, text):
        for literal, *field in super().parse(text):
            yield DOLLAR.sub(self.dollar, literal), *field

    def dollar(self, found):
        name = found[1]
        if name.startswith("$"):
            return name
        for names in (self.frame.f_locals, self.frame.f_globals, vars(builtins)):
            if name in names:
                return str(names[name])
        return found[0]

    def get_field(self, name, args, kwargs):
        return eval(name, self.frame.f_globals, self.frame.f_locals), name


def expand(text, frame):
    try:
        return Words(frame).vformat(text, (), {})
    except Exception:
        return text  # braces and dollars that are the shell's own


class Lines(list):
    """The lines of a command's output; .s and .n are its text."""

    n = property(lambda self: "\n".join(self))
    s = property(lambda self: " ".join(self))
    l = list = property(lambda self: self)


class Magic:
    """A cell's magics, with its names. own_lines and own_cells are the program's."""

    def __init__(self, names):
        self.names, self.own_lines, self.own_cells = names, {}, {}

    def line(self, name, rest, depth=1):
        """depth: how far away the frame is whose names the line may use."""
        find, own = LINES.get(name), self.own_lines.get(name)
        if not find and not own:
            raise UsageError(f"%{name} is not there; there are %" + ", %".join(
                sorted(one for one in {*LINES, *self.own_lines} if one[0] != "!")))
        frame = sys._getframe(depth)
        if name not in AS_WRITTEN:
            rest = expand(rest, frame)
        if own:
            return own(rest, **_scope(own, frame.f_locals))
        return find(self, rest, frame)

    def cell(self, name, rest, body):
        own = self.own_cells.get(name)
        if own:
            return own(rest, body, **_scope(own, self.names))
        if name in AROUND:
            with AROUND[name](rest, self.names):
                return cell.run_inside(body, self.names)
        find = CELLS.get(name)
        if not find:
            raise UsageError(f"%%{name} is not there; there are %%" + ", %%".join(
                sorted({*CELLS, *AROUND, *self.own_cells})))
        return find(self, rest, body)

    AROUND = property(lambda self: AROUND)


def _scope(function, names):
    return {"local_ns": names} if getattr(function, "needs_local_scope", False) else {}


def _stop(process):
    """Ends all that a command has begun, as the interrupt of a terminal does. A
    process that the shell is just making may miss that: what is left is killed."""
    import signal
    import subprocess

    gone = contextlib.suppress(ProcessLookupError)
    with gone:
        os.killpg(process.pid, signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1)
    with gone:
        os.killpg(process.pid, signal.SIGKILL)


def _begin(command, how, interrupts):
    """Return: the process. An interrupt meanwhile is noted, or it would be lost."""
    import signal
    import subprocess

    try:
        handler = signal.signal(signal.SIGINT,
                                lambda *what: interrupts.append(what))
    except ValueError:  # another thread, which no interrupt reaches
        return subprocess.Popen(command, process_group=0, **how)
    try:
        return subprocess.Popen(command, process_group=0, **how)
    finally:
        signal.signal(signal.SIGINT, handler)


def _said(process):
    """Waits for the end. Python sees a signal that comes just before a system call
    when that returns, so none lasts longer than a second. Return: the output."""
    import select
    import subprocess

    while process.stdout or process.stderr:
        try:
            return process.communicate(timeout=LOOK_S)
        except subprocess.TimeoutExpired:
            pass
    # Its wait(timeout) would look every few milliseconds.
    end = select.poll()
    try:
        fd = os.pidfd_open(process.pid)
    except ProcessLookupError:  # the cell ignores SIGCHLD
        return process.communicate()
    try:
        end.register(fd, select.POLLIN)
        while not end.poll(LOOK_S * 1000):
            pass
    finally:
        os.close(fd)
    return process.communicate()


def _run(command, **how):
    """Return: the process, when it has ended, and its output."""
    for stream in sys.stdout, sys.stderr:
        stream.flush()
    interrupts = []
    with _begin(command, how, interrupts) as process:
        try:
            if not interrupts:
                process.said = _said(process)
        except KeyboardInterrupt:
            interrupts.append(None)
        if interrupts:
            _stop(process)
    if interrupts:
        raise KeyboardInterrupt
    return process


def _find_installed(text):
    """pip may have made the user's directory of packages: Python looks for it at its
    start only."""
    if "pip" not in text:
        return
    import site
    place = site.getusersitepackages()
    if place not in sys.path and os.path.isdir(place):
        site.addsitedir(place)
    importlib.invalidate_caches()


def _system(magic, text, frame):
    ended = _run(["/bin/bash", "-c", text])
    _find_installed(text)
    magic.names["_exit_code"] = ended.returncode


def _output(magic, text, frame):
    ended = _run(["/bin/bash", "-c", text], stdout=-1, stderr=-2)
    _find_installed(text)
    magic.names["_exit_code"] = ended.returncode
    return Lines(ended.said[0].decode("utf-8", "replace").splitlines())


def _alias(name):
    return lambda magic, text, frame: _system(magic, f"{name} {text}", frame)


# Of magics that set up a window: what a cell has in any case, and what is said of all
# else that is asked for.
SETTINGS = {
    "matplotlib": ("inline agg --list", "figures are shown as pictures (inline)"),
    "gui": ("inline", "figures are shown as pictures, and no window has a loop"),
    "xmode": ("plain context", "tracebacks are those of Python"),
    "colors": ("nocolor", "output has no colours but the program's own"),
    "automagic": ("off 0", "a magic is written with its %"),
}


def _setting(name):
    def run(magic, text, frame):
        there, sentence = SETTINGS[name]
        word = text.strip().strip("'\"").lower()
        if word and word not in there.split():
            print(f"%{name} {text.strip()}: {sentence}", file=sys.stderr)
    return run


def _cd(magic, text, frame):
    place = text.strip().strip("'\"")
    quiet = place == "-q" or place.startswith("-q ")
    place = place[2:].strip() if quiet else place
    before = os.getcwd()
    if place == "-":
        place = magic.names.get("_old_directory", before)
    os.chdir(os.path.expanduser(place or "~"))
    magic.names["_old_directory"] = before
    if not quiet:
        print(os.getcwd())


def _pwd(magic, text, frame):
    return os.getcwd()


def _env(magic, text, frame):
    if not text:
        return dict(os.environ)
    name, sign, value = text.partition("=")
    if not sign:
        name, sign, value = text.partition(" ")
    name, value = name.strip(), value.strip()
    if sign:
        os.environ[name] = value
        print(f"env: {name}={value}")
        return None
    if name not in os.environ:
        raise UsageError(f"%env: there is no variable {name}")
    return os.environ[name]


# --- programs

def _run_words(text):
    """Return: the options of %run, and the program with its arguments; patterns are the
    names of files, unless there is -G."""
    import glob
    import shlex

    words, options = shlex.split(text), set()
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option not in ("-i", "-n", "-e", "-t", "-G", "-m"):
            raise UsageError(f"%run has no {option}; it has -e, -G, -i, -m, -n, -t")
        options.add(option)
    if not words:
        raise UsageError("%run needs a file, as in %run program.py")
    if "-G" not in options:
        words[1:] = [found for word in words[1:]
                     for found in sorted(glob.glob(word)) or [word]]
    return options, words


def _run_file(magic, text, frame):
    """A program is its own __main__, with its directory in front of sys.path; what it
    leaves is the cell's. -i: it has the cell's names; -n: it is not __main__; -e: its
    sys.exit() is no error; -t: the time is told."""
    options, words = _run_words(text)
    with Clock() if "-t" in options else contextlib.nullcontext():
        if "-m" in options:
            _run_module(magic, words, "-e" in options)
        else:
            _run_program(magic, options, words)


def _run_module(magic, words, quiet):
    import runpy

    with _arguments(words, quiet):
        _leave(magic, runpy.run_module(words[0], run_name="__main__", alter_sys=True))


def _run_program(magic, options, words):
    file = os.path.expanduser(words[0])
    words[0] = file = file if os.path.exists(file) else file + ".py"
    with open(file, "rb") as program:
        source = program.read()
    if file.endswith(".ipynb"):
        _run_notebook(source, magic)
        return
    path = os.path.abspath(file)
    code = compile(source, path, "exec", dont_inherit=True)
    quiet = "-e" in options
    if "-i" in options:
        with _file_of(magic.names, path):
            _execute(code, magic.names, words, None, quiet)
        return
    main = types.ModuleType(
        "__main__" if "-n" not in options else
        os.path.splitext(os.path.basename(file))[0])
    main.__file__, main.__builtins__ = path, builtins
    try:
        _execute(code, vars(main), words, main, quiet)
    finally:
        _leave(magic, vars(main))


@contextlib.contextmanager
def _file_of(names, path):
    """A program with the cell's names has a __file__ of its own while it runs."""
    kept = names.get("__file__")
    names["__file__"] = path
    try:
        yield
    finally:
        names["__file__"] = kept


@contextlib.contextmanager
def _arguments(argv, quiet):
    """The program has these, and sys.exit(0) ends the program and not the cell."""
    kept, sys.argv = sys.argv, argv
    try:
        yield
    except SystemExit as error:
        if error.code and not quiet:
            raise
    finally:
        sys.argv = kept


def _execute(code, names, argv, main, quiet):
    place, kept = os.path.dirname(code.co_filename), sys.modules["__main__"]
    sys.path.insert(0, place)
    if main and main.__name__ == "__main__":
        sys.modules["__main__"] = main
    try:
        with _arguments(argv, quiet):
            exec(code, names)
    finally:
        sys.modules["__main__"] = kept
        if place in sys.path:
            sys.path.remove(place)


def _leave(magic, names):
    """The program's names become the cell's."""
    magic.names.update((name, value) for name, value in names.items()
                       if not (name.startswith("__") and name.endswith("__")))


def _run_notebook(source, magic):
    import json

    for one in json.loads(source)["cells"]:
        if one["cell_type"] == "code":
            cell.run_inside("".join(one["source"]), magic.names)


def _profile(magic, text, body=None):
    """%prun and %%prun, with -s SORT and -l LINES of the report."""
    import cProfile
    import pstats

    order, most = "tottime", ()
    while option := re.match(r"-([sl])\s*(\S+)\s*|-[qr]\s+", text):
        text = text[option.end():]
        if option[1] == "s":
            order = {"cumulative": "cumtime", "time": "tottime"}.get(
                option[2], option[2])
        elif option[1] == "l":
            most = int(option[2]),
    profile = cProfile.Profile()
    try:
        profile.runctx(text if body is None else body, magic.names, magic.names)
    finally:
        pstats.Stats(profile, stream=sys.stdout).strip_dirs().sort_stats(
            order).print_stats(*most)


def _last_traceback(magic, text, frame):
    import traceback

    if getattr(sys, "last_value", None) is None:
        print("No traceback available to show.")
    else:
        traceback.print_exception(sys.last_value, file=sys.stdout)


# --- settings

def _extension(method):
    def run(magic, text, frame):
        if not text.strip():
            raise UsageError("the name of an extension is missing")
        getattr(magic, method)(text.strip())
    return run


def _config(magic, text, frame):
    """Settings of Class.name = VALUE; figures obey those of InlineBackend."""
    name, sign, value = text.partition("=")
    place, dot, name = name.strip().rpartition(".")
    if not sign:
        kept = magic.config.get(place or name, {})
        return kept.get(name) if dot else dict(kept)
    if not dot:
        raise UsageError("%config is as in %config InlineBackend.figure_format = 'svg'")
    getattr(magic.config, place)[name] = eval(
        value.strip(), frame.f_globals, frame.f_locals)
    return None


def _precision(magic, text, frame):
    """How many digits floats are shown with, or a format as %.3e; none: as usual."""
    text = text.strip()
    form = f"%.{int(text)}f" if text.isdigit() else text
    texts = magic.display_formatter.formatters["text/plain"]
    if form:
        form % 3.14159
        texts.for_type(float, lambda value, p, cycle: p.text(form % value))
    else:
        texts.type_printers.pop(float, None)
    numpy = sys.modules.get("numpy")
    if numpy:
        digits = re.search(r"\.(\d+)", form)
        numpy.set_printoptions(precision=int(digits[1]) if digits else 8)


def _pylab(magic, text, frame):
    exec("import numpy, matplotlib\nfrom matplotlib import pyplot\n"
         "np, plt = numpy, pyplot\nfrom pylab import *\nfrom numpy import *",
         magic.names)


def _of(name, function):
    """What another file of the runner does."""
    return lambda magic, text, frame: getattr(cell.own(name), function)(
        magic, text, frame)


def _explain(detail):
    return lambda magic, text, frame: cell.own("shell").explain(
        magic, text.strip(), frame, detail)


# --- time

def _told_time(seconds):
    if seconds >= 60:
        parts, left = [], seconds
        for name, size in ("d", 86400), ("h", 3600), ("min", 60), ("s", 1):
            number, left = divmod(left, size)
            if number:
                parts.append(f"{number:.0f}{name}")
        return " ".join(parts)
    for name, size in ("s", 1), ("ms", 1e-3), ("µs", 1e-6):
        if seconds >= size:
            return f"{seconds / size:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"


class Clock:
    """Tells how long what it surrounds has taken."""

    def __init__(self, text="", names=None):
        self.text, self.names = text, names

    def __enter__(self):
        self.times, self.wall = os.times(), time.perf_counter()

    def __exit__(self, *unused):
        wall, now = time.perf_counter() - self.wall, os.times()
        user, system = (now[0] - self.times[0], now[1] - self.times[1])
        print(f"CPU times: user {_told_time(user)}, sys: {_told_time(system)}, "
              f"total: {_told_time(user + system)}")
        print(f"Wall time: {_told_time(wall)}")


def _time(magic, text, frame):
    text = text.strip()
    tree = compile(text, "<time>", "exec", cell.PARSE, dont_inherit=True)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)
    codes = [(compile(part, "<time>", mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
                      dont_inherit=True))
             for part, mode in ((tree, "exec"), (last, "eval")) if part]
    if frame.f_locals is not frame.f_globals:  # in a function
        run = [lambda code=code: eval(code, frame.f_globals, frame.f_locals)
               for code in codes]
    else:
        run = [lambda code=code: cell.evaluate(code, frame.f_globals)
               for code in codes]
    value = None
    with Clock():
        for one in run:
            value = one()
    return value if not text.endswith(";") else None


class Timing:
    """The result of %timeit -o."""

    def __init__(self, loops, times):
        self.loops, self.repeat, self.all_runs = loops, len(times), times
        self.timings = [one / loops for one in times]
        self.best, self.worst = min(self.timings), max(self.timings)
        self.average = sum(self.timings) / len(times)
        self.stdev = (sum((one - self.average) ** 2 for one in self.timings)
                      / len(times)) ** 0.5

    def __repr__(self):
        return f"<TimeitResult : {self}>"

    def __str__(self):
        return (f"{_told_time(self.average)} ± {_told_time(self.stdev)} per loop "
                f"(mean ± std. dev. of {self.repeat} run"
                f"{'s' * (self.repeat != 1)}, {self.loops:,} loop"
                f"{'s' * (self.loops != 1)} each)")


def _timed(magic, text, body):
    """text: options, then the statement, or for a cell what comes before it."""
    import timeit

    loops, repeat, setup, quiet, returned = 0, 7, "pass", False, False
    while option := re.match(r"-([nrs])\s*(\S+)\s*|-([qoctp])\s*(?!\S)|-p\s*\d+\s*",
                             text):
        text = text[option.end():].lstrip()
        if option[1] == "n":
            loops = int(option[2])
        elif option[1] == "r":
            repeat = int(option[2])
        elif option[1] == "s":
            setup = option[2]
        quiet |= option[3] == "q"
        returned |= option[3] == "o"
    if body is not None:
        setup, text = text or setup, body
    timer = timeit.Timer(text, setup, globals=magic.names)
    if not loops:
        loops = 1
        while loops < 10 ** 9 and timer.timeit(loops) < 0.2:
            loops *= 10
    timing = Timing(loops, timer.repeat(max(1, repeat), loops))
    if not quiet:
        print(timing)
    return timing if returned else None


# --- cells

class Capture:
    """Takes what the cell prints, and leaves it in a name."""

    def __init__(self, text, names):
        words = [word for word in text.split() if not word.startswith("--")]
        self.name, self.names = words[0] if words else None, names

    def __enter__(self):
        import io

        self.kept = sys.stdout, sys.stderr
        self.said, self.results = cell._now, cell._now["results"]
        self.out, self.err = io.StringIO(), io.StringIO()
        sys.stdout, sys.stderr = self.out, self.err
        self.said["results"] = []

    def __exit__(self, kind, *unused):
        sys.stdout, sys.stderr = self.kept
        self.stdout, self.stderr = self.out.getvalue(), self.err.getvalue()
        self.outputs, self.said["results"] = self.said["results"], self.results
        self.said["text"] = None
        if self.name:
            self.names[self.name] = self
        if kind:  # the error comes, and what led to it
            sys.stdout.write(self.stdout)
            sys.stderr.write(self.stderr)

    def __str__(self):
        return self.stdout

    def show(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)

    __call__ = show


class capture_output:
    """As %%capture, for a part of a cell."""

    def __init__(self, stdout=True, stderr=True, display=True):
        self.took = Capture("", {})

    def __enter__(self):
        self.took.__enter__()
        return self.took

    def __exit__(self, *what):
        self.took.__exit__(*what)


def _script(program):
    def run(magic, text, body):
        import shlex
        import subprocess

        words, kept, begin = shlex.split(text), {}, program
        while words and words[0] in ("--out", "--err", "--no-raise-error"):
            option = words.pop(0)
            kept[option] = words.pop(0) if option != "--no-raise-error" else ""
        if not begin:
            begin, words = words, []
        if not begin:
            raise UsageError("%%script needs a program, as in %%script bash")
        script = os.memfd_create("cell")
        try:
            with open(script, "w", encoding="utf-8", closefd=False) as file:
                file.write(body)
            ended = _run([*begin, f"/dev/fd/{script}", *words],
                         pass_fds=[script],
                         stdout=-1 if "--out" in kept else None,
                         stderr=-1 if "--err" in kept else None)
        finally:
            os.close(script)
        for option, data in zip(("--out", "--err"), ended.said):
            if option in kept:
                magic.names[kept[option]] = data.decode("utf-8", "replace")
        magic.names["_exit_code"] = ended.returncode
        if ended.returncode and "--no-raise-error" not in kept:
            raise subprocess.CalledProcessError(
                ended.returncode, "%%" + begin[-1].rpartition("/")[2])
    return run


def _write_file(magic, text, body):
    append = text.startswith("-a ")
    file = os.path.expanduser((text[3:] if append else text).strip().strip("'\""))
    if not file:
        raise UsageError("%%writefile needs a file, as in %%writefile data.txt")
    exists = os.path.exists(file)
    with open(file, "a" if append else "w", encoding="utf-8") as out:
        out.write(body)
    print(f"{'Appending to' if append else 'Overwriting' if exists else 'Writing'}"
          f" {file}")


def _shown(mime):
    return lambda magic, text, body: cell.display({mime: body}, raw=True)


def _lines_of(magic, text, body):
    return _output(magic, f"{text}\n{body}", None)


def _time_cell(magic, text, body):
    return _timed(magic, text, body)


LINES = {
    "!": _system, "!!": _output, "system": _system, "sx": _output,
    "cd": _cd, "pwd": _pwd, "env": _env, "set_env": _env, "run": _run_file,
    "time": _time, "timeit": lambda magic, text, frame: _timed(magic, text, None),
    **{name: _alias(name) for name in (
        "pip", "conda", "ls", "cat", "cp", "mv", "rm", "mkdir", "rmdir", "npm")},
    "load_ext": _extension("load_extension"),
    "reload_ext": _extension("reload_extension"),
    "unload_ext": _extension("unload_extension"),
    "config": _config, "precision": _precision, "pylab": _pylab, "tb": _last_traceback,
    "prun": lambda magic, text, frame: _profile(magic, text),
    "pinfo": _explain(0), "pdoc": _explain(0), "pdef": _explain(0),
    "pinfo2": _explain(1), "psource": _explain(1),
    **{name: _of("shell", name) for name in (
        "who", "who_ls", "whos", "history", "reset", "lsmagic")},
    "hist": _of("shell", "history"), "autoreload": _of("reload", "autoreload"),
    "aimport": _of("reload", "aimport"),
    **{name: _setting(name) for name in SETTINGS},
}
# These hold Python.
AS_WRITTEN = {"time", "timeit", "prun", "config", "precision", "pinfo", "pinfo2"}
CELLS = {
    "bash": _script(["/bin/bash"]), "sh": _script(["/bin/sh"]),
    "script": _script([]), "python": _script([sys.executable]),
    "python3": _script([sys.executable]), "timeit": _time_cell,
    "javascript": _shown("application/javascript"),
    "writefile": _write_file, "file": _write_file, "html": _shown("text/html"),
    "HTML": _shown("text/html"), "markdown": _shown("text/markdown"),
    "latex": _shown("text/latex"), "svg": _shown("image/svg+xml"),
    "SVG": _shown("image/svg+xml"), "js": _shown("application/javascript"),
    "prun": _profile, **dict.fromkeys(("!", "sx", "system"), _lines_of),
}
AROUND = {"time": Clock, "capture": Capture}
