#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What the Python runner does with an environment's list, on the host's Python.

load ../lib/common

setup() {
	mkdir "$BATS_TEST_TMPDIR/lib"
	cd "$BATS_TEST_TMPDIR/lib" || return
	echo 'import sys; sys.order = getattr(sys, "order", []) + [__name__]' |
		tee first.py >second.py
	echo 'import first; raise ValueError("no luck\nmore")' >broken.py
	cat >drawn.py <<-'END'
		class FooGenerator:
		    def seed(self): pass
		live = FooGenerator()
	END
	cat >threaded.py <<-'END'
		import threading
		threading.Thread(target=threading.Event().wait, daemon=True).start()
	END
}

# warm JSON — warms by that warm.json, then runs the Python of standard input.
warm() {
	echo "$1" >warm.json
	cat >then.py
	run /usr/bin/python3 -B -c '
import sys
sys.path[:0] = [sys.argv[1], "."]
import random, warm
warm.PLACE = "warm.json"
recipe = warm.read()
cold = warm.load(recipe)
exec(open("then.py").read())' "$TESTS/../guest/runners/python"
}

@test "an environment's modules are imported in order, and then its program runs unheard" {
	warm '{"python": ["second", "first"], "program":
		"import os, sys; sys.order.append(__name__); print(1); os.system(\"echo 2\"); os.chdir(\"/\")"}' <<-'END'
		import os
		print(sys.order, cold, "first" in sys.modules, os.getcwd() == "/")
	END
	assert_success
	assert_output "['second', 'first', '__main__'] [] True False"
}

@test "a module that cannot be imported is left out and named, and so is a program" {
	warm '{"python": ["broken", "absent", "second"], "program": "1 / 0"}' <<-'END'
		print(*cold, sep="\n")
		print("broken" in sys.modules, "first" in sys.modules, sys.order)
	END
	assert_success
	assert_output "broken: ValueError: no luck
absent: ModuleNotFoundError: No module named 'absent'
program: ZeroDivisionError: division by zero
False False ['first', 'second']"
}

@test "a module with a generator that cannot be seeded is cold" {
	warm '{"python": ["drawn", "first"]}' <<-'END'
		print(*cold, sep="\n")
		print("drawn" in sys.modules, "first" in sys.modules)
	END
	assert_success
	assert_output "drawn: its clones would share the numbers of drawn.FooGenerator
False True"
}

@test "a module that leaves a thread running ends the runner and is named" {
	warm '{"python": ["first", "threaded"]}' <<<'print("ready")'
	assert_failure 1
	assert_output "the module threaded has left a thread running; take it off the environment's warm list"
}

@test "every generator of random numbers that is alive is seeded anew" {
	warm '{"python": ["first"]}' <<-'END'
		mine = random.Random(1)
		before = mine.random(), random.Random(1).random()
		mine.seed(1)
		random.seed(1)
		for seed in warm.generators():
		    seed()
		print(before[0] == before[1], mine.random() != before[0],
		      random.random() != before[0])
	END
	assert_success
	assert_output 'True True True'
}

@test "variables that an environment's modules obey are known by name and by prefix" {
	warm '{"env_at_start": ["X_*", "ONE"]}' <<-'END'
		names, prefixes = warm.obeyed(recipe)
		print(names, b"X_" in prefixes, b"OMP_" in prefixes, warm.obeyed({}))
	END
	assert_success
	assert_output "(b'ONE',) True True ((), ())"
}

# waits PYTHON — as in a template: what that imports waits, and is noted. Then it runs
# standard input, where decide(NAME, ...) comes before the program's import of NAME.
waits() {
	cat >then.py
	run /usr/bin/python3 -B -c '
import sys
sys.path[:0] = [sys.argv[1], "."]
import os, waiting
before = set(sys.modules)
with waiting.Recorder() as recorder:
    exec(sys.argv[2])
wait = waiting.Waiting({name: module for name, module in sys.modules.items()
                        if name not in before}, recorder)
def decide(name, *items):
    wait.decide(name, items)
    wait.taken.add((name, items) if items else name)
exec(open("then.py").read())' "$TESTS/../guest/runners/python" "$1"
}

@test "a module that waits is imported once more if it has read a variable that is another now" {
	mkdir deep
	echo 'import os; MODE = os.environ.get("DEEP_MODE", "none")' >deep/part.py
	echo 'from . import part' >deep/__init__.py
	echo 'import deep' >over.py
	DEEP_MODE=first waits 'import over, first' <<-'END'
		import over, deep, first
		mine = deep
		os.environ["OTHER"] = "1"
		decide("first"); decide("deep", "part")
		import deep
		print(deep is mine, deep.part.MODE)
		os.environ["DEEP_MODE"] = "second"
		decide("over"); decide("deep.part")
		import deep.part
		print(deep is mine, deep.part.MODE)  # loaded before the change
	END
	assert_success
	assert_output $'True first\nTrue first'
	DEEP_MODE=first waits 'import over' <<-'END'
		os.environ["DEEP_MODE"] = "second"
		decide("over")
		import deep.part
		print(deep.part.MODE)
		kept = deep
		os.environ["DEEP_MODE"] = "third"
		decide("deep")
		import deep
		print(deep is kept)
	END
	assert_success
	assert_output $'second\nTrue'
}

@test "a module that waits is imported once more if it has read all variables and there is another" {
	echo 'import os; MODE = dict(os.environ).get("LATE_MODE", "none")' >whole.py
	waits 'import whole, first' <<-'END'
		decide("whole")
		import whole
		print(whole.MODE)
	END
	assert_output none
	waits 'import whole, first' <<-'END'
		os.environ["LATE_MODE"] = "late"
		decide("whole")
		import whole
		print(whole.MODE)
	END
	assert_success
	assert_output late
}

@test "a temporary file lies where the program says, though a module has asked before" {
	echo 'import tempfile; PLACE = tempfile.gettempdir()' >asks.py
	mkdir scratch
	warm '{"python": ["asks"]}' <<-'END'
		import os, tempfile
		os.environ["TMPDIR"] = os.path.abspath("scratch")
		print(os.path.basename(tempfile.gettempdir()))
	END
	assert_success
	assert_output scratch
}

@test "matplotlib and pandas that wait get what they read anew, and stay" {
	mkdir matplotlib pandas
	cat >matplotlib/__init__.py <<-'END'
		import os
		def once(function):
		    called, kept = False, None
		    def ask():
		        nonlocal called, kept
		        if not called:
		            called, kept = True, function()
		        return kept
		    return ask
		get_configdir = once(lambda: os.environ.get("MPLCONFIGDIR", "usual"))
		get_cachedir = once(lambda: "cache")
		matplotlib_fname = lambda: os.environ.get("MATPLOTLIBRC", "rc")
		rc_params_from_file = lambda name: {"file": name, "backend": "auto"}
		class RcParams(dict): pass
		import types
		rcParamsDefault, rcsetup = {}, types.SimpleNamespace(_auto_backend_sentinel=0)
		rcParams = RcParams(rc_params_from_file(matplotlib_fname()))
		rcParamsOrig = RcParams(rcParams)
		if os.environ.get("MPLBACKEND"):
		    rcParams["backend"] = os.environ["MPLBACKEND"]
		get_configdir()
	END
	echo '_backend_mod = "found"' >matplotlib/pyplot.py
	cat >pandas/__init__.py <<-'END'
		import os, types
		options = types.SimpleNamespace(mode=types.SimpleNamespace(
		    copy_on_write=os.environ.get("PANDAS_COPY_ON_WRITE") == "1"))
	END
	MPLBACKEND=Agg waits 'import matplotlib.pyplot, pandas' <<-'END'
		import matplotlib, pandas
		mine = matplotlib, pandas
		os.environ.update(MPLBACKEND="svg", MATPLOTLIBRC="own", MPLCONFIGDIR="dir",
		                  PANDAS_COPY_ON_WRITE="1")
		decide("pandas"); decide("matplotlib.pyplot")
		import matplotlib.pyplot, pandas
		print(matplotlib.rcParams, matplotlib.get_configdir(),
		      matplotlib.pyplot._backend_mod, pandas.options.mode.copy_on_write,
		      (matplotlib, pandas) == mine)
	END
	assert_success
	assert_output "{'file': 'own', 'backend': 'svg'} dir None True True"
	MPLBACKEND=Agg waits 'import matplotlib.pyplot' <<-'END'
		decide("matplotlib")
		os.environ["MPLBACKEND"] = "svg"
		decide("matplotlib.pyplot")
		import matplotlib.pyplot
		print(matplotlib.rcParams["backend"])  # imported before
	END
	assert_success
	assert_output Agg
}

@test "a file that matplotlib would read now counts, though no variable has changed" {
	mkdir matplotlib
	cat >matplotlib/__init__.py <<-'END'
		import os
		get_configdir = get_cachedir = lambda: ""
		matplotlib_fname = lambda: "own" if os.path.exists("matplotlibrc") else "usual"
		rc_params_from_file = lambda name: {"file": name}
		import types
		rcParamsDefault, rcsetup = {}, types.SimpleNamespace(_auto_backend_sentinel=0)
		rcParams, rcParamsOrig = {}, {}
		rcParams.update(rc_params_from_file(matplotlib_fname()))
	END
	waits 'import matplotlib' <<-'END'
		decide("first")
		open("matplotlibrc", "w").close()
		decide("matplotlib")
		import matplotlib
		print(matplotlib.rcParams)
	END
	assert_success
	assert_output "{'file': 'own'}"
}

@test "a module that waits goes if sys.path has another one before it, and its parts go with it" {
	mkdir -p mine/deep deep
	echo 'from . import part' | tee mine/deep/__init__.py >deep/__init__.py
	echo 'WHO = "mine"' >mine/deep/part.py
	echo 'WHO = "usual"' >deep/part.py
	echo 'import deep' >over.py
	waits 'import over, deep' <<-'END'
		sys.path.insert(0, "mine")
		decide("deep.part")
		import deep.part
		print(deep.part.WHO)
	END
	assert_output mine
	waits 'import over, deep' <<-'END'
		decide("over")  # has loaded it
		sys.path.insert(0, "mine")
		decide("deep.part")
		import deep.part
		print(deep.part.WHO)
	END
	assert_output usual
}

@test "a module that waits goes if it has imported one that sys.path has another of now" {
	mkdir -p mine deep
	echo 'import low' >deep/__init__.py
	echo 'import deep' >over.py
	echo 'import first' >aside.py
	echo 'WHO = "usual"' >low.py
	echo 'WHO = "mine"' >mine/low.py
	waits 'import over, aside' <<-'END'
		import over, aside
		mine = over, aside, aside.first
		sys.path.insert(0, "mine")
		decide("over"); decide("aside")
		import over, aside
		print(over.deep.low.WHO, over is mine[0], (aside, aside.first) == mine[1:])
	END
	assert_success
	assert_output 'mine False True'
	# as it was: a module that the program has loaded before the change
	waits 'import over' <<-'END'
		decide("low")
		import low
		sys.path.insert(0, "mine")
		decide("over")
		import over
		print(over.deep.low.WHO)
	END
	assert_output usual
	# a way to import that the template did not have may find each of them
	waits 'import over' <<-'END'
		import importlib.machinery
		class Finder:
		    def find_spec(name, path=None, target=None):
		        if name == "low":
		            return importlib.machinery.PathFinder.find_spec(name, ["mine"])
		sys.meta_path.insert(0, Finder)
		decide("over")
		import over
		print(over.deep.low.WHO)
	END
	assert_success
	assert_output mine
	# a library cannot be loaded once more: its package stays as it is
	echo 'class Library: __file__ = "x.so"
import sys; sys.modules["deep.library"] = Library' >>deep/__init__.py
	waits 'import over' <<-'END'
		import over
		kept = over.deep
		sys.path.insert(0, "mine")
		decide("over")
		import over, low
		print(over.deep is kept, over.deep.low.WHO, low.WHO)
	END
	assert_success
	assert_output 'True usual mine'
}

@test "a module that waits is imported once more if it has read another directory or other arguments" {
	echo 'import os; PLACE = os.path.abspath("x")' >place.py
	echo 'from os import getcwd; PLACE = getcwd()' >taken.py
	echo 'import sys; NAME = sys.argv[0]' >name.py
	echo 'from sys import argv; COUNT = len(argv)' >count.py
	waits 'import place, taken, name, count, first' <<-'END'
		import place, taken, name, count, first
		mine = place, taken, name, count, first
		print(wait.has_changed(), taken.getcwd is os.getcwd, count.argv is sys.argv,
		      type(sys.argv) is list)
		sys.argv[:] = ["program", "one"]
		os.mkdir("other")
		os.chdir("other")
		sys.path.append("..")
		print(wait.has_changed())
		for each in "place", "taken", "name", "count", "first":
		    decide(each)
		import place, taken, name, count, first
		print(place.PLACE.rpartition("lib/")[2], taken.PLACE.rpartition("lib/")[2],
		      name.NAME, count.COUNT, first is mine[4])
	END
	assert_success
	assert_output $'False True True True\nTrue\nother/x other program 2 True'
}
