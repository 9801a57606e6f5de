# SPDX-License-Identifier: Apache-2.0
"""Makes an environment's modules warm, before the template is saved.

A layer has /usr/lib/fsd-environment/warm.json (guest/os/environment.h):

    {"python": [modules], "program": "text", "env_at_start": ["NAME", "PREFIX_*"]}

The modules are imported in that order, then the program runs once, for what
imports leave to the first use. Its output is thrown away.

A module that cannot be imported is left out and named. So is one that brings a
generator of random numbers which reseed() cannot seed: clones would share its
numbers. A module that leaves a thread running ends this process: a thread is not
in a child of heating.
"""
import gc
import os
import posix
import random
import sys

PLACE = "/usr/lib/fsd-environment/warm.json"

# Variables that modules for numbers and plots read when they are imported or started.
OBEYED = ("OPENBLAS_*", "OMP_*", "MKL_*", "BLIS_*", "NUMEXPR_*", "NPY_*",
          "MPL*", "PANDAS_*")
GENERATOR = ("Generator", "RandomState")
told = set()  # types of generators that made a module cold


def read():
    """Return: warm.json's object; {} in environment base."""
    try:
        file = open(PLACE, "rb")
    except OSError:
        return {}
    import json
    with file:
        recipe = json.loads(file.read())
    return recipe if isinstance(recipe, dict) else {}


def obeyed(recipe):
    """Return: names of variables, and prefixes of names, as bytes: a program that
    sets one gets a fresh interpreter."""
    if not recipe:
        return (), ()
    names = [os.fsencode(name)
             for name in (*OBEYED, *recipe.get("env_at_start", []))]
    return (tuple(name for name in names if not name.endswith(b"*")),
            tuple(name[:-1] for name in names if name.endswith(b"*")))


def _threads():
    """Return: how many threads this process has, also those that are not Python's."""
    return len(posix.listdir("/proc/self/task"))


def _why(error):
    return f"{type(error).__name__}: {error}".partition("\n")[0]


class _Aside:
    """Drops standard output and error meanwhile, also the output of C code."""

    def __enter__(self):
        self.kept = [posix.dup(fd) for fd in (1, 2)]
        nothing = posix.open("/dev/null", posix.O_RDWR)
        for fd in (1, 2):
            posix.dup2(nothing, fd)
        posix.close(nothing)

    def __exit__(self, *unused):
        for stream in sys.stdout, sys.stderr:
            stream.flush()
        for fd, kept in zip((1, 2), self.kept):
            posix.dup2(kept, fd)
            posix.close(kept)


class _Threads(Exception):
    """Raised if a module, or the program, has left a thread running."""


def _refuse(name):
    raise _Threads(f"{name} has left a thread running; take it off the "
                   "environment's warm list\n")


def _forget(before):
    for name in [name for name in sys.modules if name not in before]:
        del sys.modules[name]


def _import(name, cold):
    import importlib

    before, threads = set(sys.modules), _threads()
    try:
        importlib.import_module(name)
    except BaseException as error:
        cold.append(f"{name}: {_why(error)}")
        _forget(before)
        return
    if _threads() > threads:
        _refuse("the module " + name)
    unknown = _unknown(before)
    if unknown:
        cold.append(f"{name}: its clones would share the numbers of "
                    f"{unknown}")
        _forget(before)


def _unknown(before):
    """Return: the type of a random number generator that a new module (not in before)
    has made and reseed() does not know; None: there is none."""
    for thing in gc.get_objects():
        kind = type(thing)
        if (kind.__name__.endswith(GENERATOR) and
                callable(getattr(kind, "seed", None)) and
                kind.__module__ not in before and
                kind not in told and not _is_known(thing)):
            told.add(kind)  # name it once: the object may outlive its module
            return f"{kind.__module__}.{kind.__name__}"
    return None


def _is_known(thing):
    numpy = sys.modules.get("numpy.random")
    return isinstance(thing, random.Random) or bool(numpy) and isinstance(
        thing, (numpy.RandomState, numpy.Generator,
                numpy.bit_generator.BitGenerator))


def _run(program, cold):
    threads, main = _threads(), type(sys)("__main__")
    kept, sys.modules["__main__"] = sys.modules["__main__"], main
    argv, sys.argv = sys.argv, ["program"]
    state = os.getcwd(), dict(os.environ)
    try:
        exec(compile(program, "<warm>", "exec", dont_inherit=True),
             main.__dict__)
    except BaseException as error:
        cold.append(f"program: {_why(error)}")
    sys.modules["__main__"], sys.argv = kept, argv
    main.__dict__.clear()
    os.chdir(state[0])
    if os.environ != state[1]:
        os.environ.clear()
        os.environ.update(state[1])
    if _threads() > threads:
        _refuse("the warm program")


def load(recipe):
    """Imports the recipe's modules and runs its program. Return: a line for each
    module that could not be made warm, with the reason."""
    cold = []
    try:
        with _Aside():
            for name in recipe.get("python", []):
                _import(str(name), cold)
            if recipe.get("program"):
                _run(str(recipe["program"]), cold)
    except _Threads as error:
        posix.write(2, ascii(str(error))[1:-3].encode() + b"\n")
        posix._exit(1)
    _forget_place()
    return cold


def _forget_place():
    """Forgets the directory for temporary files: the program's TMPDIR decides it."""
    tempfile = sys.modules.get("tempfile")
    if tempfile:
        tempfile.tempdir = None


def generators():
    """Return: functions that reseed every random number generator that exists."""
    found = []
    numpy = sys.modules.get("numpy.random")
    for thing in gc.get_objects():
        if isinstance(thing, random.Random):
            if not isinstance(thing, random.SystemRandom):
                found.append(thing.seed)
        elif numpy and isinstance(thing, numpy.Generator):
            found.append(_reseed(thing.bit_generator, numpy))
        elif numpy and isinstance(thing, numpy.RandomState):
            found.append(_reseed(thing._bit_generator, numpy))
        elif numpy and isinstance(thing, numpy.bit_generator.BitGenerator):
            found.append(_reseed(thing, numpy))
    if numpy:
        # gc does not list numpy's global generator.
        found.append(_reseed(numpy.mtrand._rand._bit_generator, numpy))
    return found


def _reseed(bits, numpy):
    """Return: a function that gives the generator a new state, as a new one of its
    type has."""
    kind = type(bits)

    def seed():
        bits.state = kind(numpy.SeedSequence()).state
    return seed
