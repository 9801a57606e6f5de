# the functions that start programs look like Python's own
import _posixsubprocess
import inspect
import os
import pickle
import posix
import subprocess

for function in (os.system, os.posix_spawn, os.posix_spawnp,
                 _posixsubprocess.fork_exec):
    print(function, type(function), function.__name__, function.__qualname__,
          function.__module__, function.__self__)
    print(function.__text_signature__)
    print(function.__doc__)
    try:
        print(inspect.signature(function))
    except ValueError as e:
        print(e)
    print(pickle.loads(pickle.dumps(function)) is function)
print([getattr(os, name) is getattr(posix, name)
       for name in ("system", "posix_spawn", "posix_spawnp")])
print(subprocess._fork_exec is _posixsubprocess.fork_exec)
try:
    os.posix_spawn("/bin/true")
except TypeError as e:
    print(e)
print(os.system("exit 3"))
