#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Python that runs one step after another, on the host.

bats_require_minimum_version 1.5.0
load ../lib/session

# bats test_tags=smoke
@test "Python: variables, functions, classes and imports stay" {
	session python <<-'END'
		### session
		import math
		x = 20
		def double(n): return 2 * n
		class Box:
		    size = 2
		### session
		print(double(x) + Box.size, math.floor(1.5))
	END
	output_is 'exit: 0' 'out: 42 1' 'exit: 0'
}

@test "Python: the directory, the environment and files stay" {
	session python <<-'END'
		### session
		import os
		os.mkdir("sub"); os.chdir("sub"); os.environ["A"] = "1"
		open("file", "w").write("text")
		### session env=B=2
		print(os.getcwd(), os.environ["A"], os.environ["B"])
		print(open("file").read())
		### session
		os.system("echo $A $B")
	END
	output_is 'exit: 0' 'out: HOME/sub 1 2' 'out: text' 'exit: 0' \
		'out: 1' 'exit: 0'
}

@test "Python: a step's variables are put back after it, whatever it made of them" {
	session python <<-'END'
		### session env=NEW=1,HOME=/h
		import os, time
		print(os.environ["NEW"], os.environ["HOME"])
		os.environ["NEW"] = "2"; os.environ["KEPT"] = "3"
		del os.environ["HOME"]
		### session env=TZ=Etc/GMT-5,KEPT=4
		print(os.environ.get("NEW"), os.environ["HOME"], os.environ["KEPT"])
		print(time.localtime(0).tm_hour)
		raise ValueError
		### session
		os.system('echo ${NEW-none} $HOME $KEPT ${TZ-none}')
		print(time.localtime(0).tm_hour)
	END
	assert_line --index 0 'out: 1 /h'
	assert_line 'out: None / 4'
	assert_line 'out: 5'
	assert_line 'out: none / 3 none'
	assert_line 'out: 0'
}

@test "Python: a step is __main__ with its own file and arguments" {
	session python <<-'END'
		### session args=a,b
		import sys
		print(__name__, __file__, sys.argv, sys.path[0])
		print(sys.modules["__main__"].__dict__ is globals())
		### session file=other.py
		print(__file__, sys.argv)
	END
	output_is "out: __main__ HOME/step.py ['HOME/step.py', 'a', 'b'] HOME" \
		'out: True' 'exit: 0' "out: HOME/other.py ['HOME/other.py']" \
		'exit: 0'
}

@test "Python: an exception is printed as python3 prints it, and all stays" {
	session python <<-'END'
		### session
		x = 3
		def f():
		    return 1 / 0
		f()
		### session
		print(x)
	END
	assert_line --index 0 'err: Traceback (most recent call last):'
	assert_line --index 1 'err:   File "HOME/step.py", line 4, in <module>'
	assert_line --index 2 'err:     f()'
	assert_line --index 3 'err:   File "HOME/step.py", line 3, in f'
	assert_line --index 4 'err:     return 1 / 0'
	assert_line --index 5 'err:            ~~^~~'
	assert_line --index 6 'err: ZeroDivisionError: division by zero'
	assert_line --index 7 --partial \
		'"name": "ZeroDivisionError", "value": "division by zero"'
	assert_line --index 8 'exit: 1'
	assert_line --index 9 'out: 3'
}

@test "Python: a traceback shows the lines of the file as it is now" {
	session python <<-'END'
		### session
		import traceback
		try: 1 / 0
		except Exception: traceback.print_exc()
		### session
		"another file, of the same name"
		try: int("x")
		except Exception: traceback.print_exc()
	END
	assert_line 'err:     try: 1 / 0'
	assert_line 'err:     try: int("x")'
}

@test "Python: wrong syntax ends a step with 1 and shows the line" {
	session python <<-'END'
		### session
		if x
		### session
		print("on")
	END
	assert_line --index 0 'err:   File "HOME/step.py", line 1'
	assert_line --index 3 "err: SyntaxError: expected ':'"
	assert_line 'out: on'
}

@test "Python: sys.exit() is the step's exit code and no error" {
	session python <<-'END'
		### session
		import sys
		sys.exit(7)
		### session
		sys.exit()
		### session
		raise SystemExit(258)
		### session
		sys.exit(-1)
	END
	output_is 'exit: 7' 'exit: 0' 'exit: 2' 'exit: 255'
}

@test "Python: sys.exit() with a text prints it and is 1" {
	session python <<-'END'
		### session
		print("out")
		raise SystemExit("enough")
	END
	output_is 'out: out' 'err: enough' 'exit: 1'
}

@test "Python: an interrupt ends the step with 130, and all stays" {
	session python <<-'END'
		### session int=go
		x = 1
		print("go", flush=True)
		while True: pass
		### session
		print(x)
	END
	assert_line 'err: KeyboardInterrupt'
	assert_line 'exit: 130'
	assert_line 'out: 1'
}

@test "Python: an interrupt ends a call that sleeps, a child that runs and a wait of asyncio" {
	session python <<-'END'
		### session
		import asyncio, subprocess, threading, time
		def soon(): threading.Timer(0.2, print, ["go"], {"flush": True}).start()
		x = 1
		### session int=go
		soon(); time.sleep(1000)
		### session int=go
		soon(); subprocess.run(["sleep", "1000"])
		### cell int=go
		soon(); await asyncio.sleep(1000)
		### cell int=go
		await asyncio.sleep(0)
		soon()
		while True: pass
		### cell int=go
		async def endless():
		    soon()
		    while True: pass
		asyncio.create_task(endless())
		await asyncio.sleep(1000)
		### cell
		x, len(asyncio.all_tasks(asyncio.get_running_loop()))
	END
	assert_equal "$(grep -cx 'exit: 130' <<<"$output")" 5
	assert_equal "$(grep -cx 'err: KeyboardInterrupt' <<<"$output")" 2
	assert_equal "$(grep -c '"error": {"name": "KeyboardInterrupt"' <<<"$output")" 5
	refute_output --partial CancelledError
	refute_output --partial on_sigint
	refute_output --partial 'never retrieved'
	assert_line --partial '"text": "(1, 0)"'
}

@test "Python: input() reads the step's stdin" {
	session python <<-'END'
		### session stdin=one\ntwo\n
		print(input())
		### session stdin=three\n
		import sys
		print(input(), sys.stdin.read() == "")
		### session
		try: input()
		except EOFError: print("end")
		### session stdin=four
		print(sys.stdin.read())
	END
	output_is 'out: one' 'exit: 0' 'out: three True' 'exit: 0' \
		'out: end' 'exit: 0' 'out: four' 'exit: 0'
}

@test "Python: a step need not read its stdin to the end" {
	session python <<-'END'
		### session open stdin=one\n
		print(input())
		### session stdin=two\n
		print(input())
	END
	output_is 'out: one' 'exit: 0' 'out: two' 'exit: 0'
}

@test "Python: a stream that an earlier step has kept writes to this step" {
	session python <<-'END'
		### session
		import sys, logging
		kept = sys.stdout
		logging.basicConfig(format="%(message)s")
		### session
		kept.write("kept\n")
		logging.warning("logged")
	END
	output_is 'exit: 0' 'out: kept' 'err: logged' 'exit: 0'
}

@test "Python: streams that a step closes or replaces are fresh in the next" {
	session python <<-'END'
		### session
		import sys, os, io
		sys.stdout.close(); sys.stdin.close(); os.close(2)
		### session
		print("fresh", file=sys.stderr)
		sys.stdout = io.StringIO()
		### session
		print("fresh", sys.stdout.encoding, sys.stdout.name)
	END
	output_is 'exit: 0' 'err: fresh' 'exit: 0' \
		'out: fresh utf-8 <stdout>' 'exit: 0'
}

@test "Python: a thread goes on in the next step" {
	session python <<-'END'
		### session
		import threading
		go, done = threading.Event(), threading.Event()
		def work():
		    go.wait()
		    print("worked")
		    done.set()
		threading.Thread(target=work).start()
		### session
		go.set()
		done.wait()
	END
	output_is 'exit: 0' 'out: worked' 'exit: 0'
}

@test "Python: children have the step's streams and nothing else" {
	session python <<-'END'
		### session
		import os, subprocess
		subprocess.run("for f in /proc/self/fd/*; do echo ${f##*/}; done",
		               shell=True, close_fds=False)
	END
	output_is 'out: 0' 'out: 1' 'out: 2' 'out: 3' 'exit: 0'
}

@test "Python: a child keeps writing to the step that has started it" {
	session python <<-'END'
		### session later=late open
		import subprocess
		p = subprocess.Popen(["sh", "-c", "read line; echo late"],
		                     stdin=subprocess.PIPE)
		import threading
		threading.Thread(target=lambda: (p.stdin.write(b"x\n"),
		                                 p.stdin.close())).start()
	END
	assert_line 'exit: 0'
	assert_line 'out: late'
}

@test "Python: a forked child ends with the program and is no second session" {
	session python <<-'END'
		### session
		import os
		pid = os.fork()
		if pid: print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
		else: raise SystemExit(5)
		### session
		print("one")
	END
	output_is 'out: 5' 'exit: 0' 'out: one' 'exit: 0'
}

@test "Python: a program that closes all descriptors keeps its session" {
	session python <<-'END'
		### session
		import os
		os.closerange(0, 100)
		### session
		print("here")
	END
	output_is 'exit: 0' 'out: here' 'exit: 0'
}

@test "Python: a program that spoils os, sys and builtins spoils its own" {
	session python <<-'END'
		### session
		import os, sys, posix, builtins
		os.write = posix.write = os.read = os.dup2 = None
		del builtins.len, builtins.isinstance, builtins.bytes
		sys.excepthook = None
		### session
		print("here")
	END
	output_is 'exit: 0' 'out: here' 'exit: 0'
}

@test "Python: os._exit() ends the session" {
	run -0 bounded 60 /usr/bin/python3 tests/lib/session_test.py python \
		guest/runners <<-'END'
		### session
		import os
		os._exit(3)
	END
	assert_output 'died: 3'
}

@test "Python: a cell's last expression is its result and is not printed" {
	session python <<-'END'
		### cell
		x = [1, "a"]
		x
		### cell
		None
		### cell
		x = 5
		### session
		x
		### cell
		x;
	END
	output_is "result: {\"text\": \"[1, 'a']\", \"results\": [{\"mime\": \"application/json\", \"data\": [1, \"a\"], \"bundle\": 1, \"main\": true}, {\"mime\": \"text/plain\", \"data\": \"[1, 'a']\", \"bundle\": 1, \"main\": true}]}" \
		'exit: 0' 'exit: 0' 'exit: 0' 'exit: 0' 'exit: 0'
}

@test "Python: a cell may await" {
	session python <<-'END'
		### cell
		import asyncio
		async def f(n):
		    await asyncio.sleep(0)
		    return n
		y = await f(4)
		await f(y + 1)
		### session
		print(y, asyncio.run(f(6)))
		### cell
		await asyncio.gather(f(1), f(2))
	END
	assert_line --partial '"text": "5"'
	assert_line 'out: 4 6'
	assert_line --partial '"text": "[1, 2]"'
}

@test "Python: an error behind an await shows only the cell's lines" {
	session python <<-'END'
		### cell
		import asyncio
		await asyncio.sleep(0)
		1 / 0
	END
	assert_line --index 0 --partial '"traceback": "Traceback (most recent call last):\n  File \"HOME/step.py\", line 3, in <module>\n    1 / 0\n'
}

@test "Python: a cell's error is in its result alone, what the program prints of it stays" {
	session python <<-'END'
		### cell
		1 / 0
		### cell
		def f(:
		### cell
		import sys, traceback
		try: 1 / 0
		except Exception: traceback.print_exc()
		sys.excepthook = lambda *a: print("own hook", a[0].__name__, file=sys.stderr)
		[][1]
		### session
		del sys.excepthook
	END
	assert_equal "$(grep -c '"error": {"name": ' <<<"$output")" 3
	assert_equal "$(grep '^err:' <<<"$output" | grep -vE '\^|File|1 / 0')" \
		$'err: Traceback (most recent call last):\nerr: ZeroDivisionError: division by zero\nerr: own hook IndexError'
}

@test "Python: a session's step may not await outside functions" {
	session python <<-'END'
		### session
		await None
	END
	assert_line "err: SyntaxError: 'await' outside function"
}

@test "Python: rich representations become results" {
	session python <<-'END'
		### cell
		class Rich:
		    def __repr__(self): return "rich"
		    def _repr_html_(self): return "<b>"
		    def _repr_png_(self): return b"\x89PNG"
		    def _repr_json_(self): return {"a": 1}
		    def _repr_latex_(self): return None
		Rich()
	END
	assert_line --partial '"text": "rich"'
	assert_line --partial '{"mime": "text/html", "data": "<b>"'
	assert_line --partial '{"mime": "image/png", "base64": "iVBORw=="'
	assert_line --partial '{"mime": "application/json", "data": {"a": 1}'
	assert_line --partial '{"mime": "text/plain", "data": "rich"'
	refute_line --partial latex
}

@test "Python: _repr_mimebundle_ is asked first" {
	session python <<-'END'
		### cell
		class Bundle:
		    def _repr_mimebundle_(self, include, exclude):
		        return {"text/html": "<i>", "text/plain": "own"}, {}
		    def _repr_html_(self): return "<b>"
		Bundle()
	END
	assert_line --partial '"data": "<i>"'
	assert_line --partial '{"mime": "text/plain", "data": "own"'
	refute_line --partial '<b>'
}

@test "Python: a broken representation is told and skipped" {
	session python <<-'END'
		### cell
		class Broken:
		    def _repr_html_(self): return 1 / 0
		    def _repr_svg_(self): return 5
		    def __repr__(self): return "whole"
		Broken()
	END
	assert_line 'err: ZeroDivisionError: division by zero'
	assert_line --partial 'image/svg+xml is a int, not text'
	assert_line --partial '"results": [{"mime": "text/plain", "data": "whole"'
	assert_line 'exit: 0'
}

@test "Python: a repr() that fails is the cell's error" {
	session python <<-'END'
		### cell
		class Bad:
		    def __repr__(self): raise ValueError("bad")
		Bad()
		### cell
		1
	END
	refute_output --partial 'err:'
	assert_line --partial '"error": {"name": "ValueError"'
	assert_line 'exit: 1'
	assert_line --partial '"text": "1"'
}

@test "Python: display() adds to the results" {
	session python <<-'END'
		### cell
		display(1, "two")
		3
		### session
		display(4)
	END
	assert_line --partial '"text": "3", "results": [{"mime": "text/plain", "data": "1", "bundle": 1, "main": false}, {"mime": "text/plain", "data": "'"'two'"'", "bundle": 2, "main": false}, {"mime": "text/plain", "data": "3", "bundle": 3, "main": true}]'
	assert_line 'out: 4'
}

@test "Python: what is shown is told when it is shown" {
	session python <<-'END'
		### cell shown
		display(1)
		display({"text/html": "x" * 70000}, raw=True)
		display({"text/html": "x" * 1100000}, raw=True)
		display({"text/html": "\ud800\n"}, raw=True)
		7
	END
	run jq -rR 'ltrimstr("shown: ") | fromjson? | select(.results) | "\(.bundle) \(.main) \(.results[0].data | tostring | length)"' <<<"$output"
	assert_line --index 0 '1 false 1'
	assert_line --index 1 '2 false 70000'
	assert_line --index 2 --regexp '^4 false [0-9]$'
	assert_line --index 3 '5 true 1'
	assert_equal "${#lines[@]}" 4
}

@test "Python: what was displayed before an error is there" {
	session python <<-'END'
		### cell
		display(1)
		1 / 0
	END
	assert_line --partial '"results": [{"mime": "text/plain", "data": "1", "bundle": 1, "main": false}]'
	assert_line --partial '"error"'
}

# picture BUNDLE — what a figure of these tests is among the results.
picture() {
	local rest="\"bundle\": $1, \"main\": false}"
	printf '%s' "{\"mime\": \"image/png\", \"base64\": \"cGljdHVyZQ==\", $rest, " \
		"{\"mime\": \"text/plain\", \"data\": \"figure\", $rest"
}

@test "Python: open figures become pictures and are closed" {
	session python <<-'END'
		### cell
		import os, sys, types
		figures = [1, 2]
		class Figure:
		    def __repr__(self): return "figure"
		    def savefig(self, file, **how): file.write(b"picture")
		pyplot = types.ModuleType("matplotlib.pyplot")
		pyplot.get_fignums = lambda: list(figures)
		pyplot.figure = lambda number: Figure()
		pyplot.close = lambda which: figures.clear()
		sys.modules["matplotlib.pyplot"] = pyplot
		### cell
		figures, os.environ["MPLBACKEND"]
	END
	assert_line --partial "\"results\": [$(picture 1), $(picture 2)]"
	assert_line --partial "\"text\": \"([], 'Agg')\""
}

@test "Python: pyplot.show() puts its pictures where it is called" {
	session python <<-'END'
		### cell
		import sys, types
		figures = [1]
		class Figure:
		    def __repr__(self): return "figure"
		    def savefig(self, file, **how): file.write(b"picture")
		pyplot = types.ModuleType("matplotlib.pyplot")
		pyplot.get_fignums = lambda: list(figures)
		pyplot.figure = lambda number: Figure()
		pyplot.close = lambda which: figures.clear()
		pyplot.get_backend = lambda: "agg"
		pyplot.show = lambda: print("warning")
		sys.modules["matplotlib.pyplot"] = pyplot
		figures.clear()
		### cell
		figures.append(1)
		pyplot.show()
		figures.append(2)
		7
	END
	assert_line --partial "\"results\": [$(picture 1), {\"mime\": \"text/plain\", \"data\": \"7\", \"bundle\": 2, \"main\": true}, $(picture 3)]"
	refute_line --partial warning
}

@test "Python: cells import nothing that the program did not" {
	session python <<-'END'
		### cell
		import sys
		[m for m in ("matplotlib", "asyncio", "cell") if m in sys.modules]
	END
	assert_line --partial '"text": "[]"'
}

@test "Python: steps and cells share one state" {
	session python <<-'END'
		### session
		x = 1
		### cell
		x += 1
		### session
		print(x)
	END
	output_is 'exit: 0' 'exit: 0' 'out: 2' 'exit: 0'
}

@test "Python: pickle and dataclasses find the session's classes" {
	session python <<-'END'
		### session
		import dataclasses, pickle
		@dataclasses.dataclass
		class Point:
		    x: int
		### session
		print(pickle.loads(pickle.dumps(Point(3))))
	END
	output_is 'exit: 0' 'out: Point(x=3)' 'exit: 0'
}

@test "Python: an exit code may be anything" {
	session python <<-'END'
		### session
		class Odd:
		    __class__ = int
		    def __str__(self): return "odd"
		raise SystemExit(Odd())
		### session
		class Number(int):
		    def __and__(self, other): return 1 / 0
		raise SystemExit(Number(3))
		### session
		class Mute:
		    def __str__(self): raise KeyboardInterrupt
		raise SystemExit(Mute())
		### session
		class Bad(SystemExit):
		    code = property(lambda self: 1 / 0)
		raise Bad
		### session
		print("on")
	END
	output_is 'err: odd' 'exit: 1' 'exit: 3' 'exit: 1' 'exit: 1' 'out: on' \
		'exit: 0'
}

@test "Python: an exception whose own methods fail is told as far as it can be" {
	session python <<-'END'
		### session
		class Kind(type):
		    __name__ = property(lambda self: 1 / 0)
		class Bad(Exception, metaclass=Kind):
		    __traceback__ = property(lambda self: 1)
		    def __str__(self): raise SystemExit(4)
		    def __setattr__(self, name, value): raise ValueError
		raise Bad
		### session
		raise ValueError("\udcff")
		### session
		import traceback
		traceback.TracebackException = None
		1 / 0
		### session
		print("on")
	END
	assert_line --index 0 'err: Traceback (most recent call last):'
	assert_line --partial '"name": "Exception", "value": "<unprintable>"'
	assert_line --partial '"value": "\\udcff"'
	assert_line --partial '"name": "ZeroDivisionError", "value": "division by zero"'
	assert_line 'out: on'
}

@test "Python: streams that fail at the end of a step spoil no session" {
	session python <<-'END'
		### session
		import sys
		del sys.stdout, sys.stderr
		### session
		class Stream:
		    def flush(self): raise SystemExit(3)
		sys.stdout = Stream()
		### session
		print("on")
	END
	output_is 'exit: 0' 'exit: 0' 'out: on' 'exit: 0'
}

@test "Python: a signal's handler runs in steps and not between them" {
	session python <<-'END'
		### session
		import signal, time
		def late(*a): raise TimeoutError("late")
		signal.signal(signal.SIGALRM, late)
		signal.setitimer(signal.ITIMER_REAL, 0.05)
		### session pause=0.2
		print(signal.getsignal(signal.SIGALRM) is late)
		signal.setitimer(signal.ITIMER_REAL, 0.05)
		time.sleep(5)
		### session
		print("on")
	END
	assert_line --index 0 'exit: 0'
	assert_line --index 1 'out: True'
	assert_line 'err: TimeoutError: late'
	assert_line 'out: on'
}

@test "Python: results are what they were when they were shown" {
	session python <<-'END'
		### cell
		data = {"a": 1}
		class Live:
		    def _repr_json_(self): return data
		    def __repr__(self): return "live"
		display(Live())
		data["a"] = data
		### cell
		class Text(str):
		    def __len__(self): return 1 / 0
		class Odd:
		    def _repr_mimebundle_(self, **how): return {object(): b"x"}
		    def __repr__(self): return Text("odd")
		Odd()
		### session
		print("on")
	END
	assert_line --partial '{"mime": "application/json", "data": {"a": 1}'
	assert_line --partial '"text": "odd"'
	assert_line 'out: on'
}

@test "Python: a failure in a function of an earlier step shows that step's line" {
	session python <<-'END'
		### session
		def ratio(a, b):
		    # may be zero
		    return a / b
		### session
		items = ["x"]
		limit = 3
		name = "unrelated line"
		ratio(1, 0)
		### cell
		ratio(2, 0)
	END
	assert_line 'err:   File "HOME/step.py (step 2)", line 4, in <module>'
	assert_line 'err:     ratio(1, 0)'
	assert_line 'err:   File "HOME/step.py", line 3, in ratio'
	assert_line 'err:     return a / b'
	assert_line --partial '  File \"HOME/step.py (step 3)\", line 1, in <module>\n    ratio(2, 0)\n  File \"HOME/step.py\", line 3, in ratio\n    return a / b\n'
	refute_output --partial unrelated
}

@test "Python: the source of what an earlier step has declared is found" {
	session python <<-'END'
		### session
		def first(): return 1
		### cell
		class Thing:
		    size = 2
		def second(): return 2
		### session
		import inspect
		print(inspect.getsource(first), end="")
		print(inspect.getsource(second), end="")
		print(inspect.getsource(Thing), end="")
		print(inspect.getsource(inspect.getmodule(first)).splitlines()[0])
	END
	output_is 'exit: 0' 'exit: 0' 'out: def first(): return 1' \
		'out: def second(): return 2' 'out: class Thing:' 'out:     size = 2' \
		'out: import inspect' 'exit: 0'
}

@test "Python: a task that one cell begins is awaited by the next" {
	session python <<-'END'
		### cell
		import asyncio
		async def work(text):
		    print("begun")
		    await asyncio.sleep(0.01)
		    return text
		### cell
		t = asyncio.create_task(work("one"))
		g = asyncio.gather(work("two"), work("three"))
		### cell
		asyncio.run(work("by itself"))
		### cell
		[await t, *await g]
	END
	assert_line --index 1 'out: begun'
	assert_line --index 3 'out: begun'
	assert_line --index 4 'exit: 0'
	assert_line --index 6 --partial "\"text\": \"'by itself'\""
	assert_line --partial "\"text\": \"['one', 'two', 'three']\""
	refute_line --regexp '^err'
}

@test "Python: no warning and no stack names a file of the runner" {
	session python <<-'END'
		### cell
		async def work(): pass
		work()
		1 / 0
		### cell
		work()
		### session
		import traceback, warnings
		warnings.warn("mine")
		traceback.print_stack()
	END
	assert_line --partial "coroutine 'work' was never awaited"
	assert_line 'err: HOME/step.py (step 3):2: UserWarning: mine'
	refute_output --partial runners
}
