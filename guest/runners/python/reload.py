# SPDX-License-Identifier: Apache-2.0
"""%autoreload: modules whose files have changed are loaded anew before a cell.

Functions and classes that other modules or the cells hold get the new code, as with
IPython: the old function runs the new code, the old class has the new methods.
Files of the image and of an environment cannot change and are not looked at.
"""
import gc
import os
import sys
import traceback
import types

FIXED = "/usr/", "/lib/"
NOT_SHOWN = "<frozen ", os.path.dirname(os.__file__) + "/importlib/"
PARTS = ("__code__", "__defaults__", "__kwdefaults__", "__doc__", "__dict__",
         "__annotations__")


class Reloader:
    """mode: 0 nothing, 1 what %aimport names, 2 all but what `%aimport -NAME` names."""

    def __init__(self):
        self.mode, self.named, self.left_out = 0, set(), set()
        self.seen = {}  # name: (the module, its file as it was)

    def note(self):
        """After a cell: notes the present state of the files of the modules that it
        has imported."""
        if self.mode:
            for name, module, now in self.files():
                known = self.seen.get(name)
                if not known or known[0] is not module:
                    self.seen[name] = module, now

    def check(self, mode=None):
        """Before a cell: reloads the modules whose files have changed."""
        mode = self.mode if mode is None else mode
        for name, module, now in self.files() if mode else ():
            known = self.seen.get(name)
            if not known or known[0] is not module:
                self.seen[name] = module, now
            elif known[1] != now and self.is_wanted(name, mode):
                self.seen[name] = module, now
                _load_anew(name, module)

    def is_wanted(self, name, mode):
        return name in self.named if mode == 1 else name not in self.left_out

    @staticmethod
    def files():
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if name in ("__main__", "__mp_main__") or not isinstance(file, str) or (
                    file.startswith(FIXED) or not file.endswith(".py")):
                continue
            try:
                found = os.stat(file)
            except OSError:
                continue
            yield name, module, (found.st_mtime_ns, found.st_size, found.st_ino)


def _load_anew(name, module):
    import importlib

    old = dict(vars(module))
    try:
        # Compiled code is taken for that of a file of the same second and size.
        os.unlink(module.__cached__)
    except (AttributeError, TypeError, OSError):
        pass
    try:
        importlib.reload(module)
    except Exception as error:
        trace = error.__traceback__
        while trace and trace.tb_frame.f_code.co_filename.startswith(NOT_SHOWN):
            trace = trace.tb_next
        told = "".join(traceback.format_exception(type(error), error, trace))
        print(f"[autoreload of {name} failed: {told}]", file=sys.stderr)
        return
    changed = {}  # id of the old thing: the old thing, the new ones
    for key, thing in vars(module).items():
        before = old.get(key)
        if before is not None and before is not thing and (
                getattr(before, "__module__", None) == name):
            _renew(before, thing)
            changed.setdefault(id(before), (before, []))[1].append(thing)
    _hand_over({key: new[0] for key, (before, new) in changed.items()
                if _is_declared(before, name) and all(one is new[0] for one in new)})


def _is_declared(thing, name):
    """Return: whether the module itself has defined this thing, a function or a
    class. An instance of a class of the module has a state that the program may
    have changed."""
    return callable(thing) and getattr(type(thing), "__module__", None) != name


def _hand_over(new):
    """Names of modules and of the cells that hold an old thing hold the new one: the
    old function of a decorator cannot run the new code. new: id of the old: the new."""
    for module in list(sys.modules.values()) if new else ():
        if isinstance(module, types.ModuleType):
            names = types.ModuleType.__getattribute__(module, "__dict__")
            names.update([(key, new[id(held)]) for key, held in list(names.items())
                          if id(held) in new])


def _renew(old, new):
    """Puts the code of the new thing into the old one, so that references to the old
    one run it."""
    if type(old) is not type(new):
        return
    if isinstance(old, types.FunctionType):
        for part in PARTS:
            try:
                setattr(old, part, getattr(new, part))
            except (AttributeError, TypeError, ValueError):
                pass  # such as a __code__ with other free variables
    elif isinstance(old, property):
        for part in "fget", "fset", "fdel":
            _renew(getattr(old, part), getattr(new, part))
    elif isinstance(old, (classmethod, staticmethod)):
        _renew(old.__func__, new.__func__)
    elif isinstance(old, type):
        _renew_class(old, new)


def _renew_class(old, new):
    for key in list(vars(old)):
        if key in ("__dict__", "__weakref__"):
            continue
        before = vars(old)[key]
        try:
            if key not in vars(new):
                delattr(old, key)
            elif before is not vars(new)[key]:
                _renew(before, vars(new)[key])
                setattr(old, key, vars(new)[key])
        except (AttributeError, TypeError):
            pass  # it cannot be written
    for key in vars(new).keys() - vars(old).keys():
        try:
            setattr(old, key, vars(new)[key])
        except (AttributeError, TypeError):
            pass
    for thing in gc.get_referrers(old):
        if type(thing) is old:
            try:
                object.__setattr__(thing, "__class__", new)
            except TypeError:
                pass  # it has another layout


def autoreload(magic, text, frame):
    """%autoreload [now|off|explicit|all|0|1|2|3], %autoreload: once, now"""
    reloader = _reloader(magic)
    word = text.strip().lower().split(" ")[0]
    modes = {"0": 0, "off": 0, "1": 1, "explicit": 1, "2": 2, "all": 2, "3": 2,
             "complete": 2}
    if word in ("", "now"):
        reloader.check(2)
    elif word in modes:
        reloader.mode = modes[word]
        reloader.note()
    else:
        raise cell.own("magics").UsageError(
            f"%autoreload {word} is not there; it must be one of now, "
            + ", ".join(modes))


def aimport(magic, text, frame):
    """%aimport NAME, -NAME: imports a module, which mode 1 then looks after."""
    import importlib

    reloader = _reloader(magic)
    names = text.replace(",", " ").split()
    if not names:
        print("Modules to reload:\n" + (" ".join(sorted(reloader.named)) if
              reloader.mode == 1 else "all-except-skipped"))
        print("\nModules to skip:\n" + " ".join(sorted(reloader.left_out)))
    for name in names:
        if name.startswith("-"):
            reloader.left_out.add(name[1:])
            reloader.named.discard(name[1:])
            continue
        importlib.import_module(name)
        reloader.named.add(name)
        reloader.left_out.discard(name)
        top = name.partition(".")[0]
        magic.names[top] = sys.modules[top]
    reloader.note()


def _reloader(magic):
    if not magic.reloader:
        magic.reloader = Reloader()
        magic.reloader.note()
        magic.events.register("pre_run_cell", lambda: magic.reloader.check())
        magic.events.register("post_execute", lambda: magic.reloader.note())
    return magic.reloader
