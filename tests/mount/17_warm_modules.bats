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
