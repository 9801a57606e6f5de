#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The interpreters that run one step after another, on the host.

bats_require_minimum_version 1.5.0
load lib/common

setup() {
	cd "$BATS_TEST_DIRNAME/.." || return
}

# python|node|bash <STEPS — what tests/lib/session_test.py says of them.
session() {
	run -0 bounded 60 /usr/bin/python3 tests/lib/session_test.py "$1" \
		guest/runners
	refute_line --regexp '^died'
}

# output_is LINE... — all that was said, but for the last line.
output_is() {
	[ "$output" = "$(printf '%s\n' "$@" ended)" ] || {
		diff <(printf '%s\n' "$@" ended) <(echo "$output") >&2 || true
		fail "the steps said something else"
	}
}

# --- Python

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
		'out: 1 2' 'exit: 0'
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
	output_is "result: {\"text\": \"[1, 'a']\", \"results\": [{\"mime\": \"text/plain\", \"data\": \"[1, 'a']\"}]}" \
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
	assert_line --index 0 'err: Traceback (most recent call last):'
	assert_line --index 1 'err:   File "HOME/step.py", line 3, in <module>'
	assert_line --index 2 'err:     1 / 0'
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
	assert_line --partial '{"mime": "text/html", "data": "<b>"}'
	assert_line --partial '{"mime": "image/png", "base64": "iVBORw=="}'
	assert_line --partial '{"mime": "application/json", "data": {"a": 1}}'
	assert_line --partial '{"mime": "text/plain", "data": "rich"}'
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
	assert_line --partial '{"mime": "text/plain", "data": "own"}'
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
	assert_line --partial '"results": [{"mime": "text/plain", "data": "whole"}]'
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
	assert_line 'err: ValueError: bad'
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
	assert_line --partial '"text": "3", "results": [{"mime": "text/plain", "data": "1"}, {"mime": "text/plain", "data": "'"'two'"'"}, {"mime": "text/plain", "data": "3"}]'
	assert_line 'out: 4'
}

@test "Python: what was displayed before an error is there" {
	session python <<-'END'
		### cell
		display(1)
		1 / 0
	END
	assert_line --partial '"results": [{"mime": "text/plain", "data": "1"}]'
	assert_line --partial '"error"'
}

@test "Python: open figures become pictures and are closed" {
	session python <<-'END'
		### cell
		import os, sys, types
		figures = [1, 2]
		class Figure:
		    def savefig(self, file, **how): file.write(b"picture")
		pyplot = types.ModuleType("matplotlib.pyplot")
		pyplot.get_fignums = lambda: list(figures)
		pyplot.figure = lambda number: Figure()
		pyplot.close = lambda which: figures.clear()
		sys.modules["matplotlib.pyplot"] = pyplot
		### cell
		figures, os.environ["MPLBACKEND"]
	END
	picture='{"mime": "image/png", "base64": "cGljdHVyZQ=="}'
	assert_line --partial "\"results\": [$picture, $picture]"
	assert_line --partial "\"text\": \"([], 'Agg')\""
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

# --- JavaScript

@test "JavaScript: const, let, var, functions and classes stay" {
	session node <<-'END'
		### session
		const a = 1; let b = 2; var c = 3;
		function f() { return a + b + c; }
		class K { four() { return 4; } }
		const { d, e: [g] } = { d: 5, e: [6] };
		### session
		console.log(f(), new K().four(), d, g);
	END
	output_is 'exit: 0' 'out: 6 4 5 6' 'exit: 0'
}

@test "JavaScript: everything may be declared again, as anything" {
	session node <<-'END'
		### session
		const a = 1; let b = 1; class c {} function d() {} var e = 1;
		### session
		class a {} const b = 2; let c; var d = 2; function e() { return 2; }
		console.log(typeof a, b, c, d, e());
		### session
		let a = 3; function b() {} const e = 3, d = 3;
		console.log(a, typeof b, d, e);
	END
	output_is 'exit: 0' 'out: function 2 undefined 2 2' 'exit: 0' \
		'out: 3 function 3 3' 'exit: 0'
}

@test "JavaScript: a constant may have the name of a global of Node" {
	session node <<-'END'
		### session
		const crypto = require('crypto');
		const performance = require('perf_hooks').performance;
		const fetch = 5;
		console.log(typeof crypto.createHash, typeof performance.now, fetch);
	END
	output_is 'out: function function 5' 'exit: 0'
}

@test "JavaScript: a step finds what a CommonJS program finds" {
	session node <<-'END'
		### session args=a,b env=A=1
		console.log(require.main === module, __filename, __dirname);
		console.log(process.argv.slice(1), process.env.A);
		console.log(exports === module.exports, typeof require.resolve);
		### session file=other.js
		console.log(__filename, process.argv.length);
	END
	output_is 'out: true HOME/step.js HOME' \
		"out: [ 'HOME/step.js', 'a', 'b' ] 1" 'out: true function' \
		'exit: 0' 'out: HOME/other.js 2' 'exit: 0'
}

@test "JavaScript: require() finds files beside the step and keeps them" {
	session node <<-'END'
		### session
		require('fs').writeFileSync('lib.js', 'exports.n = 1;');
		require('./lib').n++;
		### session
		console.log(require('./lib.js').n);
	END
	output_is 'exit: 0' 'out: 2' 'exit: 0'
}

@test "JavaScript: import() finds modules beside the step" {
	session node <<-'END'
		### session
		require('fs').writeFileSync('lib.mjs', 'export const n = 4;');
		const load = () => import('./lib.mjs');
		### session
		load().then((lib) => console.log(lib.n));
		import('os').then((os) => console.log(typeof os.cpus));
		import('./no.mjs').catch((e) => console.log(e.code));
	END
	assert_line 'out: 4'
	assert_line 'out: function'
	assert_line 'out: ERR_MODULE_NOT_FOUND'
	refute_line --regexp '^err'
}

@test "JavaScript: a step ends when its timers and promises are done" {
	session node <<-'END'
		### session
		require('fs').promises.readFile(__filename).then(() => {
			console.log('read');
			setTimeout(() => console.log('timer'), 1);
		});
		process.nextTick(() => console.log('tick'));
		Promise.resolve().then(() => console.log('promise'));
		console.log('code');
		### session
		console.log('next');
	END
	output_is 'out: code' 'out: tick' 'out: promise' 'out: read' \
		'out: timer' 'exit: 0' 'out: next' 'exit: 0'
}

@test "JavaScript: await works outside functions, and what it declares stays" {
	session node <<-'END'
		### session
		console.log(early());
		const a = await Promise.resolve(1);
		let [b, c] = [await 2, 3];
		function early() { return 'early'; }
		for (var i = 0; i < 2; i++) await null;
		if (a) var d = 4
		class K {}
		### session
		console.log(a, b, c, d, i, typeof K, early());
	END
	output_is 'out: early' 'exit: 0' 'out: 1 2 3 4 2 function early' 'exit: 0'
}

@test "JavaScript: an await that is never settled ends the step with 13" {
	session node <<-'END'
		### session
		await new Promise(() => {});
		### session
		console.log('on');
	END
	output_is 'err: Warning: Detected unsettled top-level await' 'exit: 13' \
		'out: on' 'exit: 0'
}

@test "JavaScript: a return outside functions ends the step" {
	session node <<-'END'
		### session
		const a = 1;
		if (a) return;
		console.log('not');
		### session
		console.log(a);
	END
	output_is 'exit: 0' 'out: 1' 'exit: 0'
}

@test "JavaScript: an uncaught error is printed as Node does, and all stays" {
	session node <<-'END'
		### session
		const a = 1;
		function f() {
			throw new TypeError('wrong');
		}
		f();
		### session
		console.log(a);
	END
	assert_line --index 0 'err: HOME/step.js:3'
	assert_line --index 1 "err: throw new TypeError('wrong');"
	assert_line --index 2 'err: ^'
	assert_line --index 4 'err: TypeError: wrong'
	assert_line --index 5 --regexp '^err:     at f \(HOME/step.js:3:[0-9]+\)$'
	assert_line --index 6 'err:     at HOME/step.js:5:1'
	assert_line --regexp '^err: Node.js v'
	assert_line --partial '"error": {"name": "TypeError", "value": "wrong"'
	assert_line 'exit: 1'
	assert_line 'out: 1'
	refute_line --partial 'session.js'
}

@test "JavaScript: an unhandled rejection is an error" {
	session node <<-'END'
		### session
		Promise.reject(new RangeError('far'));
		### session
		Promise.reject(5);
		### session
		await Promise.reject(new Error('awaited'));
		### session
		console.log('on');
	END
	assert_line 'err: RangeError: far'
	assert_line --partial '"name": "RangeError", "value": "far"'
	assert_line --partial 'ERR_UNHANDLED_REJECTION'
	assert_line 'err: Error: awaited'
	assert_line 'out: on'
}

@test "JavaScript: an error in a timer ends the step, and other timers with it" {
	session node <<-'END'
		### session
		setInterval(() => {}, 1000000);
		setTimeout(() => { throw new Error('late'); }, 1);
		### session
		console.log('on');
	END
	assert_line 'err: Error: late'
	assert_line 'exit: 1'
	assert_line 'out: on'
}

@test "JavaScript: what is thrown need be no Error" {
	session node <<-'END'
		### session
		throw { my: 'value' };
		### session
		throw undefined;
	END
	assert_line "err: { my: 'value' }"
	assert_line --partial '"error": {"name": "object"'
	assert_line --partial '"error": {"name": "undefined"'
}

@test "JavaScript: wrong syntax shows its line, and all stays" {
	session node <<-'END'
		### session
		const a = 1;
		### session
		let b = ;
		### session
		console.log(a);
	END
	assert_line 'err: HOME/step.js:1'
	assert_line 'err: let b = ;'
	assert_line "err: SyntaxError: Unexpected token ';'"
	assert_line 'exit: 1'
	assert_line 'out: 1'
}

@test "JavaScript: process.exit() ends the step and keeps the session" {
	session node <<-'END'
		### session
		const a = 1;
		setTimeout(() => console.log('never'), 1000000);
		setInterval(() => console.log('never'), 0);
		process.on('exit', () => console.log('never'));
		(function f() { process.exit(4); })();
		### session
		console.log(a);
		setTimeout(() => process.exit(5), 1);
		### session
		await null;
		process.exit();
		console.log('never');
		### session
		try { process.exit(6); } catch {}
	END
	output_is 'exit: 4' 'out: 1' 'exit: 5' 'exit: 0' 'exit: 6'
}

@test "JavaScript: process.exitCode counts for its step only" {
	session node <<-'END'
		### session
		process.exitCode = 6;
		### session
		process.exitCode = 7; process.exit();
		### session
	END
	output_is 'exit: 6' 'exit: 7' 'exit: 0'
}

@test "JavaScript: a server that a step leaves open holds up no other" {
	session node <<-'END'
		### session
		const net = require('net');
		const server = net.createServer((s) => s.end('served'));
		server.listen('socket', () => process.exit());
		### session
		net.connect('socket').on('data', (d) => console.log(String(d)));
		### session
		console.log(server.listening);
	END
	output_is 'exit: 0' 'out: served' 'exit: 0' 'out: true' 'exit: 0'
}

@test "JavaScript: stdin is the step's, by stream and by file" {
	session node <<-'END'
		### session stdin=one\n
		process.stdin.on('data', (d) => console.log(String(d).trim()));
		### session stdin=two
		console.log(require('fs').readFileSync(0, 'utf8'));
		### session stdin=a\nb\n
		const lines = require('readline').createInterface({
			input: process.stdin });
		for await (const line of lines) console.log(line);
		### session open stdin=c\n
		process.stdin.once('data', (d) => {
			console.log(String(d).trim());
			process.stdin.destroy();
		});
	END
	output_is 'out: one' 'exit: 0' 'out: two' 'exit: 0' 'out: a' 'out: b' \
		'exit: 0' 'out: c' 'exit: 0'
}

@test "JavaScript: stdout and stderr are the step's, also when kept" {
	session node <<-'END'
		### session
		const { stdout } = process, { log } = console;
		stdout.write('first\n');
		### session
		log('second'); console.error('third');
		process.stdout.write('fourth\n');
	END
	output_is 'out: first' 'exit: 0' 'out: second' 'out: fourth' \
		'err: third' 'exit: 0'
}

@test "JavaScript: a large output is whole, also before process.exit()" {
	session node <<-'END'
		### session
		process.stdout.write('x'.repeat(300000) + '\n');
		process.exit();
	END
	[ ${#lines[0]} = 300005 ] || fail "${#lines[0]} bytes"
}

@test "JavaScript: children have the step's streams and nothing else" {
	session node <<-'END'
		### session
		require('child_process').spawn('sh',
			['-c', 'for f in /proc/self/fd/*; do echo ${f##*/}; done'],
			{ stdio: 'inherit' });
	END
	output_is 'out: 0' 'out: 1' 'out: 2' 'out: 3' 'exit: 0'
}

@test "JavaScript: a program that spoils fs and process spoils its own" {
	session node <<-'END'
		### session
		const fs = require('fs');
		fs.writeSync = fs.openSync = fs.closeSync = null;
		process.reallyExit = null;
		JSON.stringify = null;
		### cell
		1
	END
	assert_line --partial '"text": "1"'
}

@test "JavaScript: a cell's completion value is its result" {
	session node <<-'END'
		### cell
		const a = new Map([[1, 2]]);
		a
		### cell
		undefined
		### cell
		if (a) { 'text' }
		### cell
		await Promise.resolve(7)
		### session
		a
	END
	output_is 'result: {"text": "Map(1) { 1 => 2 }", "results": [{"mime": "text/plain", "data": "Map(1) { 1 => 2 }"}]}' \
		'exit: 0' 'exit: 0' \
		"result: {\"text\": \"'text'\", \"results\": [{\"mime\": \"text/plain\", \"data\": \"'text'\"}]}" \
		'exit: 0' \
		'result: {"text": "7", "results": [{"mime": "text/plain", "data": "7"}]}' \
		'exit: 0' 'exit: 0'
}

@test "JavaScript: plain objects and arrays are results as JSON too" {
	session node <<-'END'
		### cell
		({ a: [1, null, 'x'] })
		### cell
		{ b: 1 }
		### cell
		[NaN]
		### cell
		const loop = {}; loop.loop = loop
		### cell
		[new Date(0)]
	END
	assert_line --partial '{"mime": "application/json", "data": {"a": [1, null, "x"]}}'
	assert_line --partial '{"mime": "application/json", "data": {"b": 1}}'
	[ "$(grep -c application/json <<<"$output")" = 2 ] || fail "$output"
	assert_line --partial '"text": "[ NaN ]"'
}

# --- bash

@test "bash: variables, functions, arrays and aliases stay" {
	session bash <<-'END'
		### session
		x=1; list=(a b); declare -A map=([k]=v)
		f() { echo "f $1"; }
		shopt -s expand_aliases
		alias hi='echo hello'
		### session
		f "$x ${list[1]} ${map[k]}"
		hi
	END
	output_is 'exit: 0' 'out: f 1 b v' 'out: hello' 'exit: 0'
}

@test "bash: the directory, the environment and options stay" {
	session bash <<-'END'
		### session env=B=2
		mkdir sub; cd sub; export A=1; set -f; shopt -s nullglob
		### session
		echo "$PWD" *; printenv A B; shopt nullglob
	END
	output_is 'exit: 0' 'out: HOME/sub *' 'out: 1' 'out: 2' \
		"out: nullglob       	on" 'exit: 0'
}

@test "bash: a step has its own name and arguments" {
	session bash <<-'END'
		### session args=a,b
		echo "$0 ${BASH_SOURCE[0]} $# $*"
		### session file=other.sh
		echo "$0 ${BASH_SOURCE[0]} $#"
	END
	output_is 'out: HOME/step.sh HOME/step.sh 2 a b' 'exit: 0' \
		'out: HOME/other.sh HOME/other.sh 0' 'exit: 0'
}

@test "bash: the last command's status is the exit code" {
	session bash <<-'END'
		### session
		false
		### session
		(exit 200)
		### session
		return 3
		### session
		no_such_command
		### session
	END
	output_is 'exit: 1' 'exit: 200' 'exit: 3' \
		'err: HOME/step.sh: line 1: no_such_command: command not found' \
		'exit: 127' 'exit: 0'
}

@test "bash: exit ends the step anywhere and keeps the session" {
	session bash <<-'END'
		### session
		x=1
		exit 3
		### session
		f() { x=2; declare -g y=3; exit 4; echo not; }
		f
		echo not
		### session
		for i in 1 2; do exit; done
		### session
		echo $x $y $i
		f | cat; (exit 5)
	END
	output_is 'exit: 3' 'exit: 4' 'exit: 0' 'out: 2 3 1' 'exit: 5'
}

@test "bash: exit leaves loops, conditions, files and functions" {
	session bash <<-'END'
		### session
		i=0; while :; do exit $((++i)); done; echo not
		### session
		g() { if exit 2; then echo not; fi; }; while ! g; do echo not; done
		echo not
		### session
		set -e; exit 3 || echo not; (echo not); echo not | cat
		### session
		echo 'eval "exit 4"; echo not' >lib.sh; . ./lib.sh; echo not
		### session
		x=$(exit 5) || exit; echo not
		### session
		(exit 6) || echo "$? $i"
		### session
		exit 263
		### session
		exit no 2>/dev/null
		### session
		set -o | grep -c 'errtrace *on\|functrace *on'; trap -p DEBUG
	END
	output_is 'exit: 1' 'exit: 2' 'exit: 3' 'exit: 4' 'exit: 5' 'out: 6 1' \
		'exit: 0' 'exit: 7' 'exit: 2' 'out: 0' 'exit: 0'
}

@test "bash: exit leaves no local variable behind" {
	session bash <<-'END'
		### session
		IFS=:; f() { local IFS=, x=1; exit 1; }; f
		### session
		echo "$IFS ${x-none}"
	END
	output_is 'exit: 1' 'out: : none' 'exit: 0'
}

@test "bash: exit makes no process stay" {
	session bash <<-'END'
		### session
		first=$BASHPID; exit 1
		### session
		[ "$first" = "$BASHPID" ] && echo same
	END
	output_is 'exit: 1' 'out: same' 'exit: 0'
}

@test "bash: exit works under a program's own traps" {
	session bash <<-'END'
		### session
		trap 'echo error' ERR; trap 'exit 8' USR1
		f() { exit 3; }; f; echo not
		### session
		kill -USR1 $BASHPID; echo not
		### session
		trap 'echo debug' DEBUG
		exit 4
		### session
		trap - DEBUG
		builtin exit 5
		### session
		echo on
	END
	assert_line --index 0 'exit: 3'
	assert_line 'exit: 4'
	assert_line 'exit: 5'
	assert_line 'exit: 8'
	assert_line 'out: on'
	refute_line 'out: error'
	refute_line 'out: not'
}

@test "bash: what is declared after an exit stays as well" {
	session bash <<-'END'
		### session
		f() { exit 1; }; f
		### session
		declare -A map=([k]=v); declare -i n=2+3; g() { echo g; }
		exit 2
		### session
		echo ${map[k]} $n; g
	END
	output_is 'exit: 1' 'exit: 2' 'out: v 5' 'out: g' 'exit: 0'
}

@test "bash: a session outlives many exits" {
	{
		for i in {1..40}; do
			printf '### session\necho $((++n)); set -e; (exit %d)\n' "$i"
		done
	} >"$BATS_TEST_TMPDIR/steps"
	session bash <"$BATS_TEST_TMPDIR/steps"
	assert_line --index 78 'out: 40'
	assert_line --index 79 'exit: 40'
}

@test "bash: set -e ends its step and is off in the next" {
	session bash <<-'END'
		### session
		set -euo pipefail
		x=1
		false
		echo not
		### session
		false | true; echo "$x $nothing"
	END
	output_is 'exit: 1' 'out: 1 ' 'exit: 0'
}

@test "bash: an unset variable under set -u ends the step" {
	session bash <<-'END'
		### session
		set -u
		echo $nothing
		echo not
		### session
		echo on ${gone:?is gone}
		### session
		echo on
	END
	output_is 'err: HOME/step.sh: line 2: nothing: unbound variable' 'exit: 1' \
		'err: HOME/step.sh: line 1: gone: is gone' 'exit: 1' \
		'out: on' 'exit: 0'
}

@test "bash: wrong syntax is 2, and all stays" {
	session bash <<-'END'
		### session
		x=1
		### session
		if then
		### session
		echo $x
	END
	assert_line --partial 'err: HOME/step.sh: line 1: syntax error near'
	assert_line 'exit: 2'
	assert_line 'out: 1'
}

@test "bash: set -x shows the step's commands only" {
	session bash <<-'END'
		### session
		set -x
		echo hi
		### session
		echo on
	END
	output_is 'out: hi' 'err: ++ echo hi' 'exit: 0' 'out: on' 'exit: 0'
}

@test "bash: stdin is the step's" {
	session bash <<-'END'
		### session stdin=one\ntwo\n
		read -r line; echo "$line"
		### session stdin=three\n
		cat
		### session
		read -r line || echo end
	END
	output_is 'out: one' 'exit: 0' 'out: three' 'exit: 0' 'out: end' 'exit: 0'
}

@test "bash: exec with a redirection lasts until the step's end" {
	session bash <<-'END'
		### session
		exec >file 3>other
		echo in file; echo in other >&3
		### session
		cat file other
	END
	output_is 'exit: 0' 'out: in file' 'out: in other' 'exit: 0'
}

@test "bash: a program's EXIT trap runs at the end of its step, once" {
	session bash <<-'END'
		### session
		trap 'echo "bye $?"' EXIT
		(exit 3)
		### session
		trap 'echo "gone $?"' 0 TERM
		exit 4
		### session
		trap 'exit 9' EXIT
		### session
		trap 'echo not' EXIT
		trap - EXIT
	END
	output_is 'out: bye 3' 'exit: 3' 'out: gone 4' 'exit: 4' 'exit: 9' 'exit: 0'
}

@test "bash: other traps stay" {
	session bash <<-'END'
		### session
		trap 'echo signal' USR1
		### session
		kill -USR1 $BASHPID
		echo on
	END
	output_is 'exit: 0' 'out: signal' 'out: on' 'exit: 0'
}

@test "bash: a subshell's EXIT trap is the subshell's" {
	session bash <<-'END'
		### session
		(trap 'echo sub' EXIT; echo in)
		echo "after $(trap 'echo end' EXIT)"
		### session
		echo on
	END
	output_is 'out: in' 'out: sub' 'out: after end' 'exit: 0' 'out: on' 'exit: 0'
}

@test "bash: break and continue outside loops end only the step" {
	session bash <<-'END'
		### session
		x=1; continue; echo not
		### session
		break 2; echo not
		### session
		echo $x
	END
	output_is 'exit: 0' 'exit: 0' 'out: 1' 'exit: 0'
}

@test "bash: children have the step's streams and nothing else" {
	session bash <<-'END'
		### session
		exit
		### session
		/bin/sh -c 'for f in /proc/self/fd/*; do echo ${f##*/}; done'
	END
	output_is 'exit: 0' 'out: 0' 'out: 1' 'out: 2' 'out: 3' 'exit: 0'
}

@test "bash: a background job goes on in its step's streams" {
	session bash <<-'END'
		### session later=late
		mkfifo go
		{ read -r _ <go; echo late; } &
		{ echo >go; } &
	END
	assert_line 'exit: 0'
	assert_line 'out: late'
}

@test "bash: IFS and positional parameters do not confuse the session" {
	session bash <<-'END'
		### session
		IFS=/; set -- x y; set -a
		### cell
		echo "$#"; IFS=$' \t\n'
	END
	output_is 'exit: 0' 'out: 0' 'exit: 0'
}
