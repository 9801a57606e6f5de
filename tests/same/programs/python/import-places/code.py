# An import finds what sys.path has now, unless the program has loaded the name before.
import importlib.machinery
import os
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))


def whose(name, module=None):
    module = module or importlib.import_module(name)
    print(name, getattr(module, "MINE", "the library's"))


# Loaded by the program, itself or through another module: these stay.
import json
import tempfile  # imports random

sys.path.insert(0, HERE + "/src")
import calendar
import json as again
import random
from resource import MINE as resource_mine

whose("calendar", calendar)
whose("json", again)
whose("random", random)
print("resource", resource_mine)
import subprocess  # which imports selectors
whose("selectors", subprocess.selectors)
whose("csv")  # a directory without modules hides nothing
whose("math")  # found before any file

# Behind the library's directories there is nothing to find first.
sys.path.append(HERE + "/vendor")
whose("argparse")
sys.path.remove(HERE + "/vendor")
sys.path.insert(0, HERE + "/vendor")
whose("argparse")  # loaded already
whose("difflib")
whose("xml.etree.ElementTree")

# An archive.
with zipfile.ZipFile("/tmp/own.zip", "w") as archive:
    archive.writestr("glob.py", "MINE = 'of the archive'\n")
    archive.writestr("html/__init__.py", "MINE = 'of the archive'\n")
sys.path.insert(0, "/tmp/own.zip")
whose("glob")
whose("html")

# A path file.
import site

os.makedirs("/tmp/site")
with open("/tmp/site/more.pth", "w") as file:
    file.write(HERE + "/later\n")
before = sys.path[:]
site.addsitedir("/tmp/site")
sys.path[:] = [path for path in sys.path if path not in before] + before
whose("statistics")

# A finder of the program's.


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "queue":
            return importlib.machinery.ModuleSpec(name, Loader)
        if name == "sqlite3":
            raise ImportError("not with us")


class Loader:
    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        module.MINE = "of a finder"


sys.meta_path.insert(0, Finder)
whose("queue")
try:
    import sqlite3
except ImportError as error:
    print("sqlite3", error)
sys.meta_path.remove(Finder)
whose("sqlite3")

# Written by the program.
sys.path[:] = [HERE] + [path for path in sys.path if path.startswith("/usr")]
with open(HERE + "/uuid.py", "w") as file:
    file.write("MINE = 'written'\n")
importlib.invalidate_caches()
whose("uuid")
os.remove(HERE + "/uuid.py")

# The directory that is empty means the working one.
sys.path[0] = ""
os.chdir("later")
whose("secrets")

try:
    import wave.nothing
except ImportError as error:
    print(error)
sys.path.clear()
try:
    import shlex
except ImportError as error:
    print(error)
