#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Real programs in every language.

load ../lib/qemu

setup_file() { file_setup --shared; }
teardown_file() { file_teardown; }
teardown() { jobs_done; }

# bats test_tags=smoke
@test "Python: hello, exactly" {
	prog code.py <<<'print("hello")'
	ok hello
	assert_equal "$(stat -c %s "$MNT/$J/stdout")" 6
	assert_equal "$(stat -c %s "$MNT/$J/stderr")" 0
}

@test "Python: a real main program with __file__, argv, cwd and its own module" {
	prog code.py '{"args": ["a", "b c"]}' <<'PY'
import os, sys, inspect
if __name__ == "__main__":
    print(__name__, os.path.exists(__file__), os.path.basename(__file__))
    print(sys.argv[1:], os.path.basename(sys.argv[0]))
    print(os.getcwd() == os.path.dirname(os.path.abspath(__file__)))
    print(sys.modules["__main__"].__file__ == __file__)
    def f(): pass
    print(inspect.getsource(f).strip())
    print(sys.path[0] == os.getcwd(), __doc__, __builtins__ is not None)
PY
	ok "$(printf '%s\n' '__main__ True code.py' "['a', 'b c'] code.py" True True 'def f(): pass' 'True None True')"
}

@test "Python: a traceback has the file, the line and its source" {
	prog code.py <<'PY'
print("before", flush=True)
def inner(x):
    return 1 / x
inner(0)
PY
	ended "$J" 1 exited
	stdout_is "$J" before
	run cat "$MNT/$J/stderr"
	assert_line --index 0 'Traceback (most recent call last):'
	assert_output --regexp 'File ".*code\.py", line 4, in <module>'
	assert_line '    inner(0)'
	assert_line '    return 1 / x'
	assert_line 'ZeroDivisionError: division by zero'
	refute_output --partial sitecustomize
	refute_output --partial runpy
}

@test "a program that main names is called so, and is run as one that is not" {
	local name
	prog hello.py '{"main": "hello.py", "args": ["a"]}' <<'PY'
import inspect, sys, warnings
print(__file__, sys.argv, sys.path[0], __name__, __spec__, __cached__)
print(len(inspect.stack()), type(__loader__).__name__, "runpy" in sys.modules)
def f(): return 1 / 0
f()
PY
	ended "$J" 1 exited
	stdout_is "$J" "/home/user/hello.py ['/home/user/hello.py', 'a'] /home/user __main__ None None
1 SourceFileLoader False"
	assert_equal "$(sed -n 2,3p "$MNT/$J/stderr")" '  File "/home/user/hello.py", line 5, in <module>
    f()'
	prog hello.py '{"main": "hello.py"}' <<<'print(1'
	ended "$J" 1 exited
	assert_equal "$(head -n 1 "$MNT/$J/stderr")" '  File "/home/user/hello.py", line 1'
	for name in hello.js hello.mjs hello.ts; do
		prog "$name" "{\"main\": \"$name\"}" <<<'console.log(process.argv[1]); null.x'
		ended "$J" 1 exited
		stdout_is "$J" "/home/user/$name"
		grep -q "/home/user/$name:1" "$MNT/$J/stderr"
	done
	prog hello.sh '{"main": "hello.sh"}' <<<'echo "$0"; nothing'
	ended "$J" 127 exited
	stdout_is "$J" /home/user/hello.sh
	assert_equal "$(cat "$MNT/$J/stderr")" '/home/user/hello.sh: line 1: nothing: command not found'
}

@test "Python: SyntaxError, NameError, ImportError go to stderr with their names" {
	local error
	for error in 'SyntaxError:def f(' 'NameError:nope' \
		'ModuleNotFoundError:import nope' \
		'FileNotFoundError:open("/nope")' 'KeyError:{}["k"]'; do
		prog code.py <<<"${error#*:}"
		ended "$J" 1 exited
		run cat "$MNT/$J/stderr"
		assert_output --partial "${error%%:*}"
	done
}

@test "Python: every way to exit" {
	local way code
	while IFS='|' read -r code way; do
		prog code.py <<<"import sys, os; print('x', flush=True); $way"
		ended "$J" "$code" exited
		stdout_is "$J" x
	done <<'WAYS'
0|sys.exit()
0|sys.exit(None)
1|sys.exit(1)
42|sys.exit(42)
255|sys.exit(-1)
255|sys.exit(255)
1|sys.exit("a sentence")
42|os._exit(42)
7|raise SystemExit(7)
0|exit()
1|raise Exception("x")
WAYS
}

@test "Python: atexit runs, unflushed output is kept, os._exit skips both" {
	prog code.py <<'PY'
import atexit, sys
atexit.register(lambda: print("at exit"))
sys.stdout.write("no newline ")
sys.exit(3)
PY
	ended "$J" 3 exited
	stdout_is "$J" 'no newline at exit'
}

# as_on_host PROGRAM — its output and its code are those of the host's Python.
as_on_host() {
	local code=0 expected
	prog code.py <<<"$1"
	expected=$(env -i LANG=C.UTF-8 /usr/bin/python3 -s -c "$1" \
		2>/dev/null) || code=$?
	exit_is "$J" "$code"
	stdout_is "$J" "$expected"
}

@test "Python: what a program can see of its end is as on the host" {
	local program finaliser='
class D:
    def __init__(self, name): self.name = name
    def __del__(self): os.write(1, f"del {self.name}\n".encode())
'
	for program in \
		"import os$finaliser
d = D('global'); a = D('cycle'); a.me = a; del a; print('end')" \
		"import os, sys$finaliser
d = D('global'); print('end'); sys.exit(3)" \
		"import os$finaliser
d = D('global'); print('end'); 1 / 0" \
		'import weakref
class A: pass
a = A(); weakref.finalize(a, print, "finalised"); print("end")' \
		'import os; os.close(1); print("lost")' \
		'import sys; sys.stdout.close()' \
		'import sys
def hook(*a):
    print("hook", a[0].__name__)
    del sys.last_value, sys.last_type, sys.last_traceback
sys.excepthook = hook
1 / 0' \
		'import atexit, os; atexit.register(os._exit, 9); print(1, flush=True)' \
		'import atexit; atexit.register(lambda: 1 / 0); print("end")' \
		'import threading, time
threading.Thread(target=lambda: (time.sleep(.2), print("thread"))).start()
print("main")' \
		'import threading
threading.Thread(target=lambda: [0 for _ in iter(int, 1)], daemon=True).start()
print("main")' \
		'import os, sys
child = os.fork()
if child: print("child", os.waitpid(child, 0)[1] >> 8)
sys.exit(4 if child else 3)' \
		'import builtins; builtins.print("x"); vars(builtins).clear()'; do
		as_on_host "$program"
	done
}

@test "Python: a file that a program leaves open in another's module is written" {
	prog code.py <<<'import os; os.kept = open("kept", "w"); os.kept.write("whole")'
	ok
	run cat "$MNT/$J/output/kept"
	assert_output whole
}

@test "Python: asyncio, threads, dataclasses, decimal, sqlite in memory, ssl import" {
	prog code.py <<'PY'
import asyncio, threading, dataclasses, decimal, sqlite3, ssl, json, re, zlib, hashlib
async def f(): await asyncio.sleep(0.01); return 5
print(asyncio.run(f()))
r = []
t = [threading.Thread(target=r.append, args=(i,)) for i in range(20)]
[x.start() for x in t]; [x.join() for x in t]
print(sorted(r) == list(range(20)))
c = sqlite3.connect(":memory:"); print(c.execute("select 6*7").fetchone()[0])
print(decimal.Decimal("0.1") + decimal.Decimal("0.2"), hashlib.sha256(b"x").hexdigest()[:8])
PY
	ok "$(printf '%s\n' 5 True 42 '0.3 2d711642')"
}

@test "Python: the user's own modules and packages are imported" {
	job_made code.py <<'PY'
import helper, pkg.sub
from pkg import value
print(helper.f(), pkg.sub.g(), value)
PY
	echo 'def f(): return 1' >"$MNT/$J/helper.py"
	mkdir "$MNT/$J/pkg"
	echo 'value = 3' >"$MNT/$J/pkg/__init__.py"
	echo 'def g(): return 2' >"$MNT/$J/pkg/sub.py"
	go
	ok '1 2 3'
}

@test "Python: a user's module may have the name of one of the library" {
	job_made code.py <<<'import random; print(random.mine)'
	echo 'mine = "my own random"' >"$MNT/$J/random.py"
	go
	ok 'my own random'
}

@test "Python: pickle and __main__ classes work, and main can be imported again" {
	prog code.py <<'PY'
import pickle
class P:
    def __init__(self, x): self.x = x
print(pickle.loads(pickle.dumps(P(4))).x)
import __main__; print(__main__.P is P)
PY
	ok $'4\nTrue'
}

@test "Python: nothing of the runner is in the way" {
	prog code.py <<'PY'
import sys, os, signal, threading, gc
print(sys.flags.interactive, sys.stdin.isatty(), sys.stdout.encoding, threading.active_count())
print([f for f in sorted(os.listdir("/proc/self/fd"), key=int) if int(f) < 3])
print(len([f for f in os.listdir("/proc/self/fd") if int(f) > 2 and os.path.exists("/proc/self/fd/" + f)]) <= 1)
print(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, signal.getsignal(signal.SIGINT) is signal.default_int_handler)
print(signal.pthread_sigmask(signal.SIG_BLOCK, []), gc.isenabled(), sys.getrecursionlimit())
print(signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN, os.getpgrp() == os.getpid() or os.getsid(0) > 0)
PY
	ok "$(printf '%s\n' '0 False utf-8 1' "['0', '1', '2']" True 'True True' 'set() True 1000' 'True True')"
}

@test "Python: a BOM, CRLF lines and an encoding comment" {
	prog code.py < <(printf '\xef\xbb\xbfprint("bom")\r\nprint("crlf")\r\n')
	ok $'bom\ncrlf'
	prog code.py < <(printf '# -*- coding: latin-1 -*-\nprint("\xe9")\n')
	ok é
}

@test "Python: pip as a module says what pip says" {
	prog code.py <<'PY'
import importlib, subprocess, sys
import pip, pip._internal
for words in ["install", "json"], ["install", "no-such-package"]:
    command = subprocess.run(["pip", *words], capture_output=True, text=True)
    module = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True)
    print(module.returncode, (module.stdout, module.stderr) == (command.stdout, command.stderr))
print(pip.main(["install", "-q", "json"]), pip._internal.main(["--version"]))
import runpy
from pip._internal.cli.main import main
for sys.argv in ["pip", "install", "json"], ["pip", "install", "no-such-package"]:
    try: runpy.run_module("pip", run_name="__main__")
    except SystemExit as end: print("goes on", end.code)
PY
	ok $'0 True\n1 True\npip 0 of fsd, which installs nothing\n0 0\nRequirement already satisfied: json in this Python\ngoes on 0\ngoes on 1'
}

@test "Python: mode call gives the value, and prints stay output" {
	prog code.py '{"mode": "call", "input": {"a": 2, "b": [3, 4]}}' <<'PY'
def main(a, b):
    print("printed")
    return {"sum": a + sum(b), "text": "ü", "none": None}
PY
	ok printed
	assert_equal "$(result "$J" '.value | tojson')" '{"sum":9,"text":"ü","none":null}'
	prog code.py '{"mode": "call"}' <<<'def main(): return {"rows": [1.0, float("nan")], "most": float("-inf")}'
	ended "$J" 0 exited
	assert_equal "$(result "$J" '.value | tojson')" '{"rows":[1,null],"most":null}'
	prog code.py '{"mode": "call", "call": "f"}' <<<'def f(): raise ValueError("bad thing")'
	ended "$J" 1 exited
	result_is "$J" .error.name ValueError
	result_is "$J" .error.value 'bad thing'
	result_is "$J" .value null
}

@test "Python: mode call loads the program and runs nothing under its guard" {
	prog code.py '{"mode": "call", "input": {"n": 4}, "timeout": 300}' <<'PY'
import concurrent.futures, dataclasses, inspect, multiprocessing, pickle, sys, traceback
@dataclasses.dataclass
class Pair:
    a: int
def square(n): return n * n
def main(n):
    kept = [pickle.loads(pickle.dumps(x)) == x for x in (Pair(3), square, Pair)]
    with multiprocessing.get_context("fork").Pool(1) as pool:
        kept += pool.map(square, [n])
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        kept.append(pool.submit(square, 5).result())
    kept.append(any("runners" in frame.filename for frame in inspect.stack()))
    return [*kept, __name__ == "__main__", sys.modules["__main__"].square is square]
if __name__ == "__main__":
    print("run as a script")
    sys.exit(9)
PY
	ok ''
	assert_equal "$(result "$J" '.value | tojson')" '[true,true,true,16,25,false,false,true]'
}

@test "mode call: odd strings and long numbers arrive in value as they are" {
	prog code.py '{"mode": "call"}' <<'PY'
def main():
    return {"a\0b": 1, "half\ud800": "\udfff", "n": [2**53 + 1, 2**70, -0.0], "ü": "\0\\"}
PY
	ok ''
	run cat "$MNT/$J/result.json"
	assert_output --partial '"value": {"a\u0000b":1,"half�":"�","n":[9007199254740993,1180591620717411303424,-0.0],"ü":"\u0000\\"}'
	prog code.js '{"mode": "call"}' <<<'exports.main = () => ({ "a\0b": 1, "half\ud800": "\\\udfff\\ud800😀" })'
	ok ''
	run cat "$MNT/$J/result.json"
	assert_output --partial '"value": {"a\u0000b":1,"half\ufffd":"\\\ufffd\\ud800😀"}'
	prog code.py <<<'raise ValueError("half \ud800")'
	result_is "$J" .error.name ValueError
	prog code.js <<<'throw new RangeError("half \ud800")'
	result_is "$J" .error.name RangeError
}

# bats test_tags=smoke
@test "JavaScript: CommonJS, ES modules, top-level await, JSON and timers" {
	prog code.js '{"args": ["x"]}' <<'JS'
const path = require("path");
console.log(path.basename(__filename), process.argv.slice(2), require.main === module);
setTimeout(() => console.log("later"), 5);
console.error("err");
JS
	ok "$(printf '%s\n' "code.js [ 'x' ] true" later)"
	stderr_is "$J" err
	prog code.mjs <<'JS'
import fs from "node:fs";
const x = await Promise.resolve(5);
console.log(x, fs.existsSync(new URL(import.meta.url)));
JS
	ok '5 true'
	prog code.cjs <<<'console.log(typeof require)'
	ok function
}

@test "JavaScript: the user's own modules and JSON are required" {
	job_made code.js <<<'console.log(require("./lib/m").f(), require("./data.json").k)'
	mkdir "$MNT/$J/lib"
	echo 'exports.f = () => 1' >"$MNT/$J/lib/m.js"
	echo '{"k": 2}' >"$MNT/$J/data.json"
	go
	ok '1 2'
}

@test "JavaScript: exit codes" {
	local way code
	while IFS='|' read -r code way; do
		prog code.js <<<"console.log('x'); $way"
		ended "$J" "$code" exited
		stdout_is "$J" x
	done <<'WAYS'
0|
42|process.exit(42)
3|process.exitCode = 3
1|throw new Error("x")
1|undefinedName
1|Promise.reject(new Error("x"))
1|import("nope-nope")
1|require("nope-nope")
WAYS
}

@test "JavaScript: an error's stack has the file, the line and its source" {
	prog code.js <<'JS'
console.log("before");
function inner() { throw new TypeError("went wrong"); }
inner();
JS
	ended "$J" 1 exited
	stdout_is "$J" before
	run cat "$MNT/$J/stderr"
	assert_output --regexp 'code\.js:2'
	assert_output --partial 'throw new TypeError'
	assert_output --partial 'TypeError: went wrong'
}

@test "JavaScript: a syntax error and an unknown name say so" {
	prog code.js <<<'let = ='
	[ "$(cat "$MNT/$J/exit_code")" != 0 ]
	run cat "$MNT/$J/stderr"
	assert_output --partial SyntaxError
	prog code.js <<<'nope()'
	run cat "$MNT/$J/stderr"
	assert_output --partial ReferenceError
}

@test "JavaScript: mode call awaits main" {
	prog code.js '{"mode": "call", "input": {"n": 4}}' <<'JS'
exports.main = async ({ n }) => { console.log("printed"); return { double: n * 2 }; };
JS
	ok printed
	result_is "$J" .value.double 8
}

@test "JavaScript: mode call enters no guard of a main program, of either kind of module" {
	local file
	for file in code.js code.cjs code.ts; do
		prog $file '{"mode": "call", "input": 40, "timeout": 300}' <<-'JS'
			function main(n) {
				return [n + 2, require('path').dirname(require.main.filename)];
			}
			if (require.main === module || !module.parent || module.id === '.' ||
			    require.main.filename === __filename ||
			    process.mainModule === module || module.children === require.main ||
			    process.argv[1] === __filename)
				console.log('run as a script', main(1));
			module.exports = { main };
		JS
		ok ''
		result_is "$J" '.value | join(" ")' '42 /home/user'
	done
	for file in code.mjs code.mts; do
		prog $file '{"mode": "call", "input": 40, "timeout": 300}' <<-'JS'
			import { realpathSync } from 'fs';
			import { fileURLToPath, pathToFileURL } from 'url';
			export const main = async (n) => n + 2;
			if (process.argv[1] === fileURLToPath(import.meta.url) ||
			    pathToFileURL(realpathSync(process.argv[1])).href === import.meta.url)
				console.log('run as a script', await main(1));
		JS
		ok ''
		result_is "$J" .value 42
	done
}

# bats test_tags=smoke
@test "TypeScript: types are erased, enums and generics run" {
	prog code.ts <<'TS'
interface P { readonly name: string; age?: number }
enum Color { Red, Green = 5, Blue }
type Pair<T> = [T, T];
class Box<T extends object> { constructor(private readonly v: T) {} get(): T { return this.v } }
function id<T>(x: T): T { return x }
const p: P = { name: "ü" } satisfies P;
const pair: Pair<number> = [1, 2];
abstract class A { abstract f(): string }
namespace N { export const k = 9 }
let u = <unknown>"s" as string;
console.log(p.name, Color.Blue, pair.length, new Box({ a: 1 }).get().a, id<number>(4), N.k, u!, p.age ?? "none");
TS
	ok 'ü 6 2 1 4 9 s none'
	prog code.mts <<<'const x: number = await Promise.resolve(3); console.log(x)'
	ok 3
}

@test "TypeScript: what is no TypeScript is a clear error" {
	prog code.ts <<<'const x: = 5'
	[ "$(cat "$MNT/$J/exit_code")" != 0 ]
	run cat "$MNT/$J/stderr"
	assert_output --partial code.ts
	refute_output ''
}

# bats test_tags=smoke
@test "bash: the whole of it" {
	prog code.sh '{"args": ["one", "two words"]}' <<'SH'
set -euo pipefail
declare -A m=([k]=v)
arr=(a b c)
echo "$0 $# $2 ${m[k]} ${arr[@]:1} $((2**10)) ${BASH_VERSION%%.*}"
diff <(echo 1) <(echo 1) && printf '%s\n' same
cat <<< "here string"
trap 'echo trapped' EXIT
seq 3 | while read -r n; do echo "$n"; done | tac
SH
	run out
	assert_line --partial '2 two words v b c 1024 5'
	assert_line same
	assert_line 'here string'
	assert_line --index 3 3
	assert_line --index 6 trapped
	ended "$J" 0 exited
}

@test "bash: exit codes, set -e and an unknown command" {
	prog code.sh <<<'exit 42'
	ended "$J" 42 exited
	prog code.sh <<<$'set -e\nfalse\necho no'
	ended "$J" 1 exited
	prog code.sh <<<'nope-nope'
	ended "$J" 127 exited
	run cat "$MNT/$J/stderr"
	assert_output --partial nope-nope
}

# bats test_tags=smoke
@test "a program with #! runs by awk, sed, sh, python and env" {
	prog code <<<$'#!/usr/bin/awk -f\nBEGIN { print "awk" }'
	ok awk
	job_made code <<<$'#!/bin/sed -f\ns/a/b/'
	echo aaa >"$MNT/$J/stdin"
	go
	ok baa
	prog code <<<$'#!/bin/sh\necho "sh $0"; exit 3'
	ended "$J" 3 exited
	prog code <<<$'#!/usr/bin/env python3\nprint("py")'
	ok py
	prog code <<<$'#!/usr/bin/env python\nprint("py")'
	ok py
	prog code < <(printf '#!/bin/sh\necho no newline')
	ok 'no newline'
	prog code <<<'#!/bin/sh'
	ok ''
}

@test "a missing interpreter is no success, and says which" {
	prog code <<<$'#!/no/such/interpreter\nx'
	[ "$(cat "$MNT/$J/exit_code")" != 0 ]
	run cat "$MNT/$J/stderr" "$MNT/$J/error"
	assert_output --partial 'its interpreter "/no/such/interpreter": No such file'
	prog code < <(printf '#!  /bin/sh\r\necho hi\r\n')
	ended "$J" 127 exited
	assert_equal "$(cat "$MNT/$J/stderr")" \
		'/home/user/code: cannot run: its interpreter "/bin/sh\r": No such file or directory'
	prog code <<<'#!/tmp -x'
	ended "$J" 126 exited
	assert_equal "$(cat "$MNT/$J/stderr")" \
		'/home/user/code: cannot run: its interpreter "/tmp": Permission denied'
}

@test "mode command runs a command without a program" {
	# shellcheck disable=SC2034 # the name of the next job
	N=1 J=t$BATS_TEST_NUMBER.1
	mkdir "$MNT/$J"
	echo content >"$MNT/$J/f"
	go '{"mode": "command", "command": ["sh", "-c", "cat f; echo \"$1\"", "x", "two words"]}'
	ok $'content\ntwo words'
}

@test "a program that is a comment only ends with 0 and no output" {
	prog code.py <<<'# nothing'
	ok ''
	prog code.js <<<'// nothing'
	ok ''
	prog code.sh <<<'# nothing'
	ok ''
}

@test "a Node program ends with the code that it names, whatever type that has" {
	local end
	for end in 'process.exit("3")' 'process.exitCode = "3"' \
		'process.exit(3)' 'process.on("exit", () => { process.exitCode = 3 })'; do
		prog code.js <<<"$end"
		assert_equal "$end $(cat "$MNT/$J/exit_code")" "$end 3"
	done
	prog code.js <<<'process.exit(true)'
	ended "$J" 1 exited
}

@test "an exception that a Node program handles is not its end" {
	prog code.js <<<$'process.on("uncaughtException", (e) => console.log(e.message));
setTimeout(() => console.log("goes on"), 10); throw new Error("one")'
	ok $'one\ngoes on'
	result_is "$J" .error null
	prog code.js '{"mode": "call"}' <<<$'process.on("uncaughtException", () => {});
exports.main = () => new Promise((done) => { setTimeout(() => { throw new Error("x") }, 1); setTimeout(() => done(7), 20) })'
	result_is "$J" .value 7
	result_is "$J" .error null
}

@test "JavaScript: an error after a called function has returned leaves its value" {
	prog code.js '{"mode": "call"}' <<<'exports.main = () => { setTimeout(() => { throw new Error("late") }, 20); return 7; }'
	ended "$J" 1 exited
	result_is "$J" .value 7
	result_is "$J" .error null
	grep -q 'Error: late' "$MNT/$J/stderr"
}

@test "JavaScript: clocks begin with the program, and no listener or handle is the runner's" {
	local file
	for file in code.js code.mjs code.ts; do
		prog $file <<'JS'
const from = [process.uptime() * 1000, performance.now(), performance.mark('a').startTime, performance.measure('b', 'a').duration,
	performance.nodeTiming.duration, new Event('a').timeStamp];
console.log(from.every((ms) => ms >= 0 && ms < 10000 && Math.abs(ms - from[0]) < 2000) || from, process.execArgv);
console.log(process.listeners('exit').length, process.listenerCount('uncaughtExceptionMonitor'), process._getActiveHandles().length);
console.log(process.eventNames().filter((name) => !/Listener$|warning|exit/.test(name)), process.eventNames().length < 5);
JS
		ok $'true []\n'"$([ $file = code.mjs ] && echo 1 || echo 0)"$' 0 0\n[] true'
	done
}

@test "in Node it is today by each of its clocks" {
	prog code.js <<'JS'
const isToday = 'console.log(Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 1000)';
eval(isToday);
new (require('worker_threads').Worker)(isToday, { eval: true });
JS
	ok $'true\ntrue'
	for _ in 1 2; do
		prog code.js '{"session": "clocks"}' <<<'console.log(Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 1000)'
		ok true
	done
	rmdir "$MNT/.fsd/sessions/clocks"
}

@test "a Python function may close its standard output" {
	prog code.py '{"mode": "call"}' <<<$'import sys\ndef main():\n sys.stdout.close()\n return 5'
	ended "$J" 0 exited
	result_is "$J" .value 5
}

@test "TypeScript: a module that is imported twice at once is one module" {
	job_made code.mts <<'TS'
const [a, b]: any[] = await Promise.all([import('./lib.ts'), import('./lib.ts')]);
console.log(a === b, a.n as number);
const late = await Promise.allSettled([import('./bad.ts'), import('./bad.ts')]);
console.log(late.map((one: any) => one.reason.message).join());
const [x, y] = await Promise.all([import('./x.ts'), import('./y.ts')]);
console.log(x.sum(), y.name);
TS
	printf '%s\n' 'console.log("once"); await new Promise((f) => setTimeout(f, 20));' \
		'export let n: number = 1; n++;' >"$MNT/$J/lib.ts"
	echo 'await null; throw new Error("no");' >"$MNT/$J/bad.ts"
	printf '%s\n' 'import { name } from "./y.ts";' \
		'export const sum = () => name + 1;' >"$MNT/$J/x.ts"
	printf '%s\n' 'import { sum } from "./x.ts";' 'export const name = "y";' \
		'export const again = () => sum();' >"$MNT/$J/y.ts"
	go
	ok $'once\ntrue 2\nno,no\ny1 y'
}

@test "JavaScript: each exit listener runs once, in its order, with the code" {
	prog code.js <<'JS'
process.on('exit', (code) => console.log('second', code, process.exitCode));
process.prependListener('exit', (code) => console.log('first', code));
process.prependOnceListener('exit', () => console.log('before all'));
process.once('exit', () => { console.log('last'); process.exitCode = 4; });
JS
	ended "$J" 4 exited
	stdout_is "$J" $'before all\nfirst 0\nsecond 0 undefined\nlast'
	prog code.js <<'JS'
process.prependListener('exit', (code) => console.log('first', code));
process.on('exit', () => console.log('second'));
process.emit('exit', 1);
console.log('still here');
process.exit(3);
JS
	ended "$J" 3 exited
	stdout_is "$J" $'first 1\nsecond\nstill here\nfirst 3\nsecond'
}

@test "JavaScript: what a library puts in the place of process.emit sees the end" {
	prog code.js <<'JS'
const { emit } = process;
process.emit = function (name, ...rest) {
	const heard = emit.call(this, name, ...rest);
	if (name === 'exit')
		console.log('behind all listeners', ...rest);
	return heard;
};
process.on('exit', () => console.log('a listener'));
JS
	ok $'a listener\nbehind all listeners 0'
}

@test "JavaScript: a promise at the top that never settles ends with 13 and a warning" {
	local never='await new Promise(() => {})' one
	for one in "code.mts:{}:$never as number" \
		"code.js:{\"mode\":\"call\"}:exports.main = async () => { $never }" \
		"code.mjs:{\"mode\":\"call\"}:export async function main() { $never }" \
		"code.mjs:{\"mode\":\"call\"}:$never; export function main() {}" \
		"code.ts:{\"mode\":\"call\"}:export async function main(): Promise<void> { $never }"; do
		prog "${one%%:*}" "$(cut -d: -f2- <<<"$one" | sed 's/}:.*/}/')" \
			<<<"${one#*\}:}"
		ended "$J" 13 exited
		assert_equal "$one $(out)" "$one "
		run cat "$MNT/$J/stderr"
		assert_output --partial 'Warning: Detected unsettled top-level await'
		result_is "$J" .value null
	done
	prog code.mjs <<<"$never" # Node 18 itself has no warning
	ended "$J" 13 exited
}

@test "JavaScript: an end by process.exit is no unsettled promise" {
	prog code.mts <<<'setTimeout(() => process.exit(), 1); await new Promise(() => {})'
	ended "$J" 0 exited
	prog code.js '{"mode": "call"}' <<<'exports.main = () => { process.exit(); }'
	ended "$J" 0 exited
	prog code.mts <<<'process.exitCode = 5; await new Promise(() => {})'
	ended "$J" 5 exited
}
