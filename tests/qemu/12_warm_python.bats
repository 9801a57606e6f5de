#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The modules that Python has loaded before the program: what it can see of that.

load ../lib/qemu

setup_file() { file_setup --shared; }
teardown_file() { file_teardown; }
teardown() { jobs_done; }

@test "Python: the modules that most programs import are there before the program" {
	prog code.py <<'PY'
import sys
there = set(sys.modules)
import argparse, asyncio, base64, collections, csv, dataclasses, datetime, decimal
import enum, functools, glob, hashlib, io, itertools, json, logging, math, pathlib
import random, re, shutil, socket, sqlite3, ssl, statistics, string, subprocess
import tempfile, textwrap, threading, traceback, typing, urllib.request, uuid
import xml.etree.ElementTree, zipfile
print(sorted(set(sys.modules) - there))
PY
	ok '[]'
}

@test "Python: a module of the job's own is found before one that is there" {
	job_made code.py <<'PY'
import random, statistics, json
print(random.mine, statistics.mine, json.dumps([1]))
import sys
print("sqlite3" in sys.modules)
PY
	job_put "$J" random.py 'mine = "my random"'
	mkdir "$MNT/$J/statistics"
	job_put "$J" statistics/__init__.py 'mine = "my statistics"'
	go
	ok $'my random my statistics [1]\nFalse'
}

@test "Python: an input that is called as a module and is none changes nothing" {
	job_made code.py <<<'import sys; print("json" in sys.modules, open("json.txt").read().strip())'
	job_put "$J" json.txt 'text'
	go
	ok 'True text'
}

@test "Python: logging counts from the program's start" {
	prog code.py <<'PY'
import logging
record = logging.makeLogRecord({"msg": "x"})
print(0 <= record.relativeCreated < 30000 or record.relativeCreated)
PY
	ok True
}

@test "Python: what the library does at the end it does after the program, and all is written" {
	prog code.py <<'PY'
import atexit, logging, logging.handlers, sys, weakref
class Thing: pass
thing = Thing()
weakref.finalize(thing, print, "finalized")
handler = logging.handlers.MemoryHandler(100, target=logging.StreamHandler(sys.stdout))
logging.getLogger().addHandler(handler)
logging.getLogger().warning("kept until the end")
atexit.register(print, "at exit")
PY
	ok $'at exit\nfinalized\nkept until the end'
}

@test "Python: what a program leaves in a module of the library comes to its end" {
	prog code.py <<'PY'
import json, sys
class Thing:
    def __del__(self): sys.stdout.write("gone\n")
json.left = Thing()
PY
	ok gone
	prog code.py <<'PY'
import gc, os, sys
gc.disable()
class Thing:
    def __init__(self, name): self.name = name
    def __del__(self, write=os.write): write(1, self.name)
sys.left = Thing(b"sys ")
kept = Thing(b"main")
PY
	ok 'sys main'
}

@test "Python: the interpreter's end is the short one" {
	prog code.py <<'PY'
import atexit, sys
sys.path.insert(0, "/usr/lib/fsd/runners/python")
import native
atexit.register(lambda: print(native.leave()))
PY
	ok True
}

@test "Python: a program that empties sys.modules, sys or builtins ends as it would" {
	prog code.py <<<'import sys; sys.modules.clear(); print("1")'
	ok 1
	prog code.py <<<'import sys, builtins; print("2"); builtins.__dict__.clear()'
	stdout_is "$J" 2
	prog code.py <<<'import sys; print("3", flush=True); sys.__dict__.clear()'
	stdout_is "$J" 3
	prog code.py <<<'import sys; sys.modules["json"] = 5; sys.modules["re"] = None; print("4")'
	ok 4
}

@test "the library finds its module \"code\", though the program is called code.py" {
	prog code.py <<'PY'
import pdb, subprocess, sys
print(pdb.code.InteractiveConsole.__name__)
for words in ["-c", "import pdb; print(pdb.code.__file__)"], ["-m", "pdb", "--help"]:
    r = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    print(r.returncode, r.stdout.strip().splitlines()[0], r.stderr)
PY
	ended "$J" 0 exited
	run cat "$MNT/$J/stdout"
	assert_line --index 0 InteractiveConsole
	assert_line '0 /usr/lib/python3.13/code.py '
	assert_line --partial '0 usage: pdb'
	# The program's author has not called it so, and means the library's.
	prog code.py <<<'import code; print(code.InteractiveConsole.__name__)'
	ok InteractiveConsole
	# What another program imports is its own.
	prog code.sh <<<'echo "name = \"mine\"" >code.py; echo "import code; print(code.name)" >test.py; python3 test.py'
	ok mine
}

@test "Python: packages in the user's own site-packages are found" {
	local at=.local/lib/python3.13/site-packages
	job_made code.py <<<'import mine, own_path, sys; print(mine.x, own_path.y, sys.flags.no_user_site)'
	mkdir -p "$MNT/$J/$at/mine" "$MNT/$J/more"
	job_put "$J" $at/mine/__init__.py 'x = 1'
	job_put "$J" $at/more.pth /home/user/more
	job_put "$J" more/own_path.py 'y = 2'
	go
	ok '1 2 0'
}

@test "a mount with --heat quick has its zygote heated once, and rests" {
	at_rest
	touch "$LOG.before" # of the files before this one, if there are any
	cat "$LOG.before" "$LOG" >"$BATS_TEST_TMPDIR/log"
	assert_equal "$(grep -c 'a zygote is ready' "$BATS_TEST_TMPDIR/log")" 1
}
