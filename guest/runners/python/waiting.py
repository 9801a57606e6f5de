# SPDX-License-Identifier: Apache-2.0
"""Is a module that waits imported what the program's import would find now?

Recorder notes in the template which module has imported which, and what of its process
a module has read at its import: variables, the working directory, sys.argv.
Waiting.decide() is asked about the first import of a
module that waits, when something has changed on which imports depend; see imports.h.

In an interpreter that has just begun the program would find the first module of that
name in sys.path, unless an import of the program has loaded it before, by itself or
through others. The module's own imports would find the first ones as well, and its code would
run with the variables, the directory and the arguments of now.
"""
import _frozen_importlib
import _imp
import builtins
import os
import posix
import sys


# What a module has read beside variables. No variable has such a name.
NAMES = ""  # which variables there are
PLACE, ARGUMENTS = "=cwd", "=argv"


def _top(name):
    return name.partition(".")[0]


def _place():
    try:
        return os.getcwd()
    except OSError:
        return None  # it is removed


def _read(variable):
    if variable == NAMES:
        return sorted(os.environ)
    if variable == PLACE:
        return _place()
    if variable == ARGUMENTS:
        return list(sys.argv)
    return os.environ.get(variable)


# --- in the template

class _Arguments(list):
    """sys.argv while modules are imported."""

    def _noted(name):
        plain = getattr(list, name)

        def read(self, *items):
            self.note(ARGUMENTS)
            return plain(self, *items)
        return read

    __getitem__, __iter__, __len__, __contains__, __eq__ = map(_noted, (
        "__getitem__", "__iter__", "__len__", "__contains__", "__eq__"))
    __hash__ = None


class Recorder:
    """needs: name: names that it has imported; reads: name: variables that it has read
    at its import, and PLACE and the like."""

    def __init__(self):
        self.needs, self.reads = {}, {}

    def __enter__(self):
        self.plain = (builtins.__import__, _frozen_importlib._gcd_import,
                      os._Environ.__getitem__, os._Environ.__iter__,
                      os.getcwd, sys.argv)
        plain_import, plain_own, plain_read, plain_names, plain_place, _ = self.plain

        def import_(name, globals=None, locals=None, fromlist=(), level=0):
            module = plain_import(name, globals, locals, fromlist, level)
            self.note(globals, name, fromlist, level)
            return module

        def own_import(name, package=None, level=0):
            module = plain_own(name, package, level)
            self.note(sys._getframe(2).f_globals, module.__name__, (), 0)
            return module

        def read(environ, key):
            self.note_read(os.fsdecode(key))
            return plain_read(environ, key)

        def names(environ):
            self.note_read(NAMES)
            return plain_names(environ)

        def place():
            self.note_read(PLACE)
            return plain_place()

        arguments = _Arguments(sys.argv)
        arguments.note = self.note_read
        self.own = place, arguments
        os.getcwd, sys.argv = self.own
        builtins.__import__ = import_
        _frozen_importlib._gcd_import = own_import
        os._Environ.__getitem__ = read
        os._Environ.__iter__ = names
        return self

    def __exit__(self, *unused):
        (builtins.__import__, _frozen_importlib._gcd_import,
         os._Environ.__getitem__, os._Environ.__iter__,
         os.getcwd, sys.argv) = self.plain
        # A module may have taken them by "from os import getcwd".
        for module in [*sys.modules.values()]:
            for name, value in [*getattr(module, "__dict__", {}).items()]:
                for own, plain in zip(self.own, self.plain[-2:]):
                    if value is own:
                        module.__dict__[name] = plain

    def note(self, names, name, fromlist, level):
        importer = (names or {}).get("__name__")
        if importer == _frozen_importlib.__name__:
            return  # it loads a package before its parts
        if level:
            package = (names.get("__package__") or "").split(".")
            whole = package[:len(package) - level + 1] + ([name] if name else [])
            name = ".".join(whole)
        found = self.needs.setdefault(importer, set())
        found.add(name)
        for one in fromlist or ():
            if f"{name}.{one}" in sys.modules:
                found.add(f"{name}.{one}")

    def note_read(self, variable):
        frame = sys._getframe(2)
        while frame and frame.f_code.co_name != "<module>":
            frame = frame.f_back
        if frame:
            name = frame.f_globals.get("__name__")
            self.reads.setdefault(name, set()).add(variable)


# --- in a program

class Waiting:
    """Decides about the program's imports of modules that wait. modules: these
    modules by their names; taken: the imports of them that the program has made,
    see imports.h."""

    def __init__(self, modules, recorder):
        self.modules, self.taken = modules, set()
        self.needs = recorder.needs
        self.reads = {name: read for name, read in recorder.reads.items()
                      if name in modules}
        variables = set().union(*self.reads.values())
        self.values = {name: _read(name) for name in variables}
        self.reached = set()  # the imports in `taken` whose modules are in `there`
        # names of the modules that the program has loaded, directly or through
        # another
        self.there = set()
        self.renewed = set()
        for name, note in NOTES.items():
            if name in modules:
                self.values[name, None] = note(modules[name])
        self.ways = [*sys.path], [*sys.meta_path], [*sys.path_hooks]

    def has_changed(self):
        """Return: whether sys.argv differs from what a module has read at its import."""
        return ARGUMENTS in self.values and (
            self.values[ARGUMENTS] != _read(ARGUMENTS))

    def decide(self, name, fromlist):
        """Removes from sys.modules the modules that this import would not find in a
        new interpreter."""
        for key in self.taken - self.reached:
            self.reach(self.there, *([key, ()] if isinstance(key, str) else key))
        self.reached |= self.taken
        top = _top(name)
        if not self.is_found(top):
            self.drop(top)
            return
        new = set()
        self.reach(new, name, fromlist)
        new -= self.there
        tops = {_top(one) for one in new}
        gone = self.users({one for one in self.suspects(tops)
                           if not self.is_found(one)}, new)
        for one in gone:
            self.drop(one)
        for one in sorted(tops - gone - self.renewed):
            self.renew(one, new)

    def suspects(self, tops):
        """Return: the modules that an import could find at another place than in the
        template. Checking each of hundreds would take longer than a short
        program."""
        known, *rest = self.ways
        if rest != [sys.meta_path, sys.path_hooks] or (
                [place for place in sys.path if place in known] != known):
            return tops
        names = set()
        for place in sys.path:
            if place in known:
                continue
            try:
                names.update(map(_top, posix.listdir(place or ".")))
            except NotADirectoryError:
                return tops  # an archive
            except (OSError, TypeError, ValueError):
                pass
        return tops & names

    def users(self, lost, new):
        """Return: the packages in lost, and those of the modules in new that have
        imported one of them; without packages that cannot be imported twice."""
        gone = set(lost)
        while more := lost and {
                _top(one) for one in new
                if _top(one) not in gone and not self.is_compiled(_top(one)) and
                not gone.isdisjoint(map(_top, self.needs.get(one, ())))}:
            gone |= more
        return gone

    def reach(self, there, name, fromlist):
        """Adds to the set `there` the names of all modules that wait and that this
        import would load in a new interpreter."""
        rest = [name, *(f"{name}.{one}" for one in fromlist or ()
                        if f"{name}.{one}" in self.modules)]
        while rest:
            one = rest.pop()
            if one not in there and one in self.modules:
                there.add(one)
                rest += self.needs.get(one, ())
                if "." in one:
                    rest.append(one.rpartition(".")[0])

    def is_found(self, top):
        """Return: whether the import would find the module that is loaded, or the
        module stays in any case."""
        module = self.modules.get(top)
        known = getattr(module, "__spec__", None)
        if not known or top in self.there or sys.modules.get(top) is not module:
            return True
        try:
            spec = _frozen_importlib._find_spec(top, None)
        except Exception:
            return False  # the import itself will raise the error
        # The program's file is called code.py by the host, not by its author: "code" of
        # the library is what the program means.
        program = getattr(sys.modules.get("__main__"), "__file__", None)
        return spec is not None and spec.origin in (known.origin, program)

    def drop(self, top):
        begin = top + "."
        for name, module in self.modules.items():
            if (name == top or name.startswith(begin)) and (
                    sys.modules.get(name) is module) and name not in self.there:
                del sys.modules[name]

    def renew(self, top, new):
        """If a package has read something that is different now: gives it the state
        that its import would give it now, or removes it, so that it is imported again."""
        names = [name for name in new if _top(name) == top]
        stale = any(_read(variable) != self.values[variable]
                    for name in names for variable in self.reads.get(name, ()))
        note = NOTES.get(top)
        if note and not stale:
            stale = note(self.modules[top]) != self.values[top, None]
        if not stale:
            return
        self.renewed.add(top)
        if top in RENEW:
            if top not in self.there:
                RENEW[top](self.modules[top])
        elif not self.is_compiled(top):
            self.drop(top)

    def is_compiled(self, top):
        """Return: whether the package has a compiled library, which a process loads
        only once."""
        begin = top + "."
        return any(str(getattr(module, "__file__", "")).endswith(".so")
                   for name, module in self.modules.items()
                   if name == top or name.startswith(begin))


# --- packages that are not imported once more, but get what they read anew

def _renew_matplotlib(matplotlib):
    for ask in matplotlib.get_configdir, matplotlib.get_cachedir:
        _ask_again(ask)
    # The template's first use of pyplot has stored the backend that it found there.
    dict.__setitem__(matplotlib.rcParamsDefault, "backend",
                     matplotlib.rcsetup._auto_backend_sentinel)
    found = matplotlib.rc_params_from_file(matplotlib.matplotlib_fname())
    for params in matplotlib.rcParams, matplotlib.rcParamsOrig:
        dict.update(params, found)
    backend = os.environ.get("MPLBACKEND")
    if backend:
        matplotlib.rcParams["backend"] = backend
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot:
        pyplot._backend_mod = None  # pyplot chooses the backend at its next use


def _ask_again(function):
    """Makes a function of matplotlib compute its cached answer again. The cache is in
    a closure."""
    names = function.__code__.co_freevars
    if "called" in names:
        function.__closure__[names.index("called")].cell_contents = False


def _note_matplotlib(matplotlib):
    return matplotlib.matplotlib_fname()


def _renew_pandas(pandas):
    copies = os.environ.get("PANDAS_COPY_ON_WRITE", "0")
    pandas.options.mode.copy_on_write = (
        "warn" if copies == "warn" else copies == "1")


def _renew_zoneinfo(zoneinfo):
    zoneinfo.reset_tzpath()


def _note_numpy(numpy):
    return [os.environ.get(name) for name in THREADS]


def _renew_numpy(numpy):
    import ctypes

    count = next(filter(None, _note_numpy(numpy)), "")
    try:
        ctypes.CDLL("libopenblas.so.0", os.RTLD_NOLOAD).openblas_set_num_threads(
            max(1, min(int(count), os.cpu_count())))
    except (OSError, ValueError, AttributeError):
        pass  # another library, which reads the variable itself, or no number


THREADS = "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"
RENEW = {"matplotlib": _renew_matplotlib, "pandas": _renew_pandas,
         "zoneinfo": _renew_zoneinfo, "numpy": _renew_numpy}
# Functions that note what a module read beside variables, or not through Python.
NOTES = {"matplotlib": _note_matplotlib, "numpy": _note_numpy}


def hide(internal):
    """Gives the functions of this file the file name `internal`, whose frames no
    traceback shows."""
    for thing in (*vars(Waiting).values(), *globals().values()):
        if isinstance(thing, type(hide)):
            _imp._fix_co_filename(thing.__code__, internal)
