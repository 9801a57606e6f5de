# SPDX-License-Identifier: Apache-2.0
"""Cells have this beyond Python: `!command`, `%name` and `%%name`, and indentation
in front of all lines.

cell.py asks for rewrite() when a cell is no Python as it stands; `cell` is that
module. Each line of the cell stays the line that it was, so tracebacks are right.
Text inside a string, or inside brackets, is no magic.
"""
import ast
import builtins
import linecache
import os
import re
import string
import sys
import time
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
            names[NAME] = Magic(names)
            return "\n".join(lines) + "\n", None, {first + 1}
        around = around(rest.strip(), names)
        lines[first] = ""
    found, numbers = _rewrite_lines(lines)
    if found == before:
        return None
    if numbers:
        names[NAME] = Magic(names)
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
    """A cell's magics, with its names."""

    def __init__(self, names):
        self.names = names

    def __repr__(self):
        return "the magics of cells"

    def line(self, name, rest):
        find = LINES.get(name)
        if not find:
            raise UsageError(
                f"%{name} is not there; there are %"
                + ", %".join(sorted(one for one in LINES if one[0] != "!")))
        frame = sys._getframe(1)
        if name not in AS_WRITTEN:
            rest = expand(rest, frame)
        return find(self, rest, frame)

    def cell(self, name, rest, body):
        find = CELLS.get(name)
        if not find:
            raise UsageError(f"%%{name} is not there; there are %%"
                             + ", %%".join(sorted([*CELLS, *AROUND])))
        return find(self, rest, body)


def _stop(process):
    """Ends all that a command has begun, as the interrupt of a terminal does. A
    process that the shell is just making may miss that: what is left is killed."""
    import contextlib
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


def _system(magic, text, frame):
    ended = _run(["/bin/bash", "-c", text])
    magic.names["_exit_code"] = ended.returncode


def _output(magic, text, frame):
    ended = _run(["/bin/bash", "-c", text], stdout=-1, stderr=-2)
    magic.names["_exit_code"] = ended.returncode
    return Lines(ended.said[0].decode("utf-8", "replace").splitlines())


def _alias(name):
    return lambda magic, text, frame: _system(magic, f"{name} {text}", frame)


def _without_effect(magic, text, frame):
    """Only a notebook's window, or its own display, has a use for this."""


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


def _run_file(magic, text, frame):
    import shlex

    words = [word for word in shlex.split(text)
             if word not in ("-i", "-n", "-e", "-t", "-G")]
    if not words:
        raise UsageError("%run needs a file, as in %run program.py")
    file = words[0] if os.path.exists(words[0]) else words[0] + ".py"
    with open(file, "rb") as program:
        code = compile(program.read(), file, "exec", dont_inherit=True)
    argv, sys.argv = sys.argv, words
    try:
        exec(code, magic.names)
    except SystemExit as error:
        if error.code:
            raise
    finally:
        sys.argv = argv


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


def _time_cell(magic, text, body):
    return _timed(magic, text, body)


LINES = {
    "!": _system, "!!": _output, "system": _system, "sx": _output,
    "cd": _cd, "pwd": _pwd, "env": _env, "set_env": _env, "run": _run_file,
    "time": _time, "timeit": lambda magic, text, frame: _timed(magic, text, None),
    **{name: _alias(name) for name in (
        "pip", "conda", "ls", "cat", "cp", "mv", "rm", "mkdir", "rmdir", "npm")},
    **dict.fromkeys((
        "matplotlib", "load_ext", "reload_ext", "unload_ext", "autoreload",
        "config", "precision", "xmode", "colors", "automagic", "pylab", "gui"),
        _without_effect),
}
AS_WRITTEN = {"time", "timeit"}  # these hold Python
CELLS = {
    "bash": _script(["/bin/bash"]), "sh": _script(["/bin/sh"]),
    "script": _script([]), "python": _script([sys.executable]),
    "python3": _script([sys.executable]), "timeit": _time_cell,
    "javascript": _shown("application/javascript"),
    "writefile": _write_file, "file": _write_file, "html": _shown("text/html"),
    "HTML": _shown("text/html"), "markdown": _shown("text/markdown"),
    "latex": _shown("text/latex"), "svg": _shown("image/svg+xml"),
    "SVG": _shown("image/svg+xml"),
}
AROUND = {"time": Clock, "capture": Capture}
