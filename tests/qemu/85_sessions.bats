#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Living sessions and cells in real interpreters.

load ../lib/qemu

setup_file() { file_setup --shared 0; }
teardown_file() { file_teardown; }
teardown() {
	local s
	for s in "$MNT"/.fsd/sessions/*/; do
		[ -d "$s" ] && rmdir "$s"
	done
	jobs_done
}

# step SESSION FILE [MORE] <PROGRAM — one step to its end; its job is $J.
step() {
	prog "$2" "{\"session\": \"$1\"${3:+, $3}}"
}

@test "Python keeps variables, imports, functions, classes, files and the directory" {
	step p code.py <<'PY'
import json, os
x = 41
def f(n): return n + x
class C:
    at = 7
open("made.txt", "w").write("by the first")
os.makedirs("sub", exist_ok=True)
os.chdir("sub")
os.environ["MARK"] = "set"
PY
	ok
	step p code.py <<'PY'
print(json.dumps([x, f(1), C.at, os.path.basename(os.getcwd()), os.environ["MARK"], open("../made.txt").read()]))
print(__name__, os.path.basename(__file__))
PY
	ok $'[41, 42, 7, "sub", "set", "by the first"]\n__main__ code.py'
	assert_equal "$(cat "$MNT/.fsd/sessions/p/steps")" 2
	assert_equal "$(ls "$MNT/$J/output")" ''
}

@test "JavaScript keeps const, let, functions, classes, requires and promises" {
	step j code.js <<'JS'
const path = require('path');
let n = 1;
function up() { return ++n; }
class Box { constructor(v) { this.v = v; } }
const box = new Box(3);
globalThis.later = new Promise((done) => setTimeout(() => done('late'), 50));
console.log(path.basename(__filename));
JS
	ok code.js
	step j code.js <<'JS'
console.log(up(), box.v, new Box(4).v, path.sep, typeof require);
later.then((text) => console.log(text));
JS
	ok $'2 3 4 / function\nlate'
}

@test "bash keeps variables, functions, arrays, options and the directory" {
	step b code.sh <<'SH'
a=1; list=(x 'y z'); declare -A map=([k]=v); f() { echo "f $1 $a"; }; export E=exported
mkdir -p d; cd d; shopt -s extglob
SH
	ok
	step b code.sh <<'SH'
f arg; echo "${#list[@]} ${list[1]} ${map[k]} $E ${PWD##*/}"; shopt -q extglob && echo extglob
SH
	ok $'f arg 1\n2 y z v exported d\nextglob'
}

@test "an exception and an exit keep the session and have their code" {
	step p code.py <<<$'x = 1\nraise ValueError("no")'
	ended "$J" 1 exited
	result_is "$J" .session_state kept
	result_is "$J" .error.name ValueError
	run cat "$MNT/$J/stderr"
	assert_line --index 0 'Traceback (most recent call last):'
	assert_output --partial 'code.py", line 2'
	step p code.py <<<$'import sys\nx += 1\nsys.exit(7)'
	ended "$J" 7 exited
	result_is "$J" .session_state kept
	step p code.py <<<'print(x)'
	ok 2
	step b code.sh <<<$'a=1\nf() { exit 4; }\nf\necho not here'
	ended "$J" 4 exited
	stdout_is "$J" ''
	step b code.sh <<<$'echo $a\nexit 5'
	ended "$J" 5 exited
	step b code.sh <<<'echo $a'
	ok 1
	step j code.js <<<$'let a = 1\nthrow new TypeError("no")'
	ended "$J" 1 exited
	result_is "$J" .error.name TypeError
	step j code.js <<<$'a++\nprocess.exit(6)'
	ended "$J" 6 exited
	step j code.js <<<'console.log(a)'
	ok 2
}

@test "what kills the interpreter loses the session, and says so" {
	local how
	for how in 'import os; os._exit(3)' 'import os; os.kill(os.getpid(), 9)' \
		'import ctypes; ctypes.string_at(0)'; do
		step p code.py <<<'x = 1'
		ok
		step p code.py <<<"$how"
		result_is "$J" .session_state lost
		step p code.py <<<'print("x" in globals())'
		ok False
	done
}

@test "a timeout ends a step and its session, and the next begins anew" {
	step p code.py <<<'x = 1'
	step p code.py '"timeout": '"$(patient 500)"'' <<<$'print(x, flush=True)\nwhile True: pass'
	ended "$J" 124 timeout
	stdout_is "$J" 1
	result_is "$J" .session_state lost
	step p code.py <<<'print("x" in globals())'
	ok False
}

# interrupted SESSION FILE <PROGRAM — a step that is interrupted when it says "up".
interrupted() {
	job_made "$2"
	job_put "$J" config.json "{\"session\": \"$1\"}"
	job_follow "$J" up
	echo interrupt >"$MNT/$J/ctl"
	job_wait "$J" "$JOB_SECONDS" >/dev/null
}

@test "an interrupt ends a step that loops or sleeps, and the next one finds all" {
	local row language file begin loop show
	for row in 'p code.py' 'j code.js' 'b code.sh'; do
		read -r language file <<<"$row"
		case $language in
		p) begin='x = 7' show='print(x)'
			loop=$'print("up", flush=True)\nwhile True: pass' ;;
		j) begin='let x = 7' show='console.log(x)'
			loop=$'console.log("up"); for (;;);' ;;
		b) begin='x=7' show='echo $x'
			loop=$'echo up; sleep 1000; echo no' ;;
		esac
		step "$language" "$file" <<<"$begin"
		ok
		interrupted "$language" "$file" <<<"$loop"
		ended "$J" 130 exited
		result_is "$J" .session_state kept
		stdout_is "$J" up
		step "$language" "$file" <<<"$show"
		ok 7
	done
}

@test "a timeout interrupts a step first, and a step that ends of it keeps its session" {
	step p code.py <<<'x = 1'
	step p code.py '"timeout": '"$(patient 500)"', "grace": 60' \
		<<<$'import time\nprint(x, flush=True)\ntime.sleep(1000)'
	ended "$J" 124 timeout
	result_is "$J" .program_exit_code 130
	result_is "$J" .error.name KeyboardInterrupt
	result_is "$J" .session_state kept
	step p code.py <<<'print(x)'
	ok 1
}

@test "a step's variables are its own, whatever their names" {
	step p code.py '"env": {"PATH": "/x", "PYTHONPATH": "/y", "NEW": "1", "HOME": "/h"}' <<'PY'
import os, sys
print(os.environ["PATH"], os.environ["NEW"], os.environ["HOME"], "/y" in sys.path)
PY
	ok '/x 1 /h False'
	step p code.py <<<'print(os.environ["PATH"][:10], os.environ.get("NEW"), os.environ["HOME"])'
	ok '/usr/local None /home/user'
	step j code.js '"env": {"NODE_OPTIONS": "--bad", "NEW": "1"}' \
		<<<'console.log(process.env.NODE_OPTIONS, process.env.NEW)'
	ok '--bad 1'
	step j code.js <<<'console.log(process.env.NODE_OPTIONS, process.env.NEW)'
	ok 'undefined undefined'
	step b code.sh '"env": {"BASH_ENV": "x", "NEW": "1"}' <<<'echo $BASH_ENV $NEW'
	ok 'x 1'
	step b code.sh <<<'echo ${BASH_ENV-none} ${NEW-none}'
	ok 'none none'
}

@test "output never comes under another step's name" {
	local i
	for i in 1 2 3 4 5 6; do
		step p code.py <<<"import sys; print('step $i'); print('err $i', file=sys.stderr); sys.stdout.write('no newline $i')"
		stdout_is "$J" "step $i
no newline $i"
		stderr_is "$J" "err $i"
	done
	step p code.py <<<'import subprocess; subprocess.Popen(["sh", "-c", "sleep 1; echo from a child"]); print("parent")'
	ok parent
	step p code.py <<<'import time; time.sleep(1.5); print("next")'
	ok next
}

@test "each step has its own stdin and arguments" {
	step p code.py '"stdin": "one\n", "args": ["a", "b c"]' <<<'import sys; print(input(), sys.argv[1:], repr(sys.stdin.read()))'
	ok "one ['a', 'b c'] ''"
	step p code.py '"stdin": "two\n"' <<<'import sys; print(input(), sys.argv[1:])'
	ok 'two []'
	step p code.py <<<$'try: input()\nexcept EOFError: print("end")'
	ok end
	step b code.sh '"stdin": "three\n", "args": ["x"]' <<<'read -r l; echo "$l $1 $#"'
	ok 'three x 1'
	step j code.js '"stdin": "four", "args": ["y"]' <<<'console.log(require("fs").readFileSync(0, "utf8"), process.argv.slice(2))'
	ok "four [ 'y' ]"
}

@test "output/ has what this step made or changed, and no more" {
	step p code.py <<<'open("a", "w").write("1"); open("b", "w").write("1")'
	assert_equal "$(names "$MNT/$J/output")" 'a b'
	step p code.py <<<'open("b", "w").write("22"); open("c", "w").write("3")'
	assert_equal "$(names "$MNT/$J/output")" 'b c'
	assert_equal "$(cat "$MNT/$J/output/b")" 22
	job_made code.py <<<'print(open("data").read())'
	echo given >"$MNT/$J/data"
	go '{"session": "p"}'
	ok given
}

@test "a step that changes a file through a mapping has it in its output" {
	step p code.py <<'PY'
import mmap
open("a", "w").write("abc"); open("b", "w").write("abc"); open("c", "w").write("abc")
def mapped(name):
    with open(name, "r+b") as file:
        found = mmap.mmap(file.fileno(), 0)
    found[0]
    return found
PY
	step p code.py <<<'m = mapped("a"); n = mapped("b"); n[0] = 65; n.close(); k = open("c", "r+b")'
	ok
	step p code.py <<<'print(m[0])'
	ok 97
	assert_equal "$(names "$MNT/$J/output")" ''
	step p code.py <<<'m[0] = 65'
	ok
	assert_equal "$(names "$MNT/$J/output")" a
	step p code.py <<<'m.close()'
	ok
}

@test "a cell gives the value of its last expression" {
	prog code.py '{"mode": "cell"}' <<<$'x = 20\nx * 2 + 2'
	ok ''
	result_is "$J" .text 42
	step p code.py '"mode": "cell"' <<<$'x = 5\nx'
	result_is "$J" .text 5
	step p code.py '"mode": "cell"' <<'PY'
class Rich:
    def _repr_html_(self): return "<b>%d</b>" % x
    def _repr_png_(self): return b"\x89PNG fake"
Rich()
PY
	result_is "$J" '.results[] | select(.mime == "text/html") | .data' '<b>5</b>'
	result_is "$J" '.results[] | select(.mime == "image/png") | .base64 | @base64d | .[1:4]' PNG
	step p code.py '"mode": "cell"' <<<'y = 1'
	result_is "$J" .text null
	step p code.py '"mode": "cell"' <<<'1 / 0'
	ended "$J" 1 exited
	result_is "$J" .error.name ZeroDivisionError
	step j code.js '"mode": "cell"' <<<$'const o = { a: 1 }\no'
	result_is "$J" .text '{ a: 1 }'
}

@test "cells have commands, magics and what IPython.display has" {
	step p code.py '"mode": "cell"' <<'PY'
	%%time
	from IPython.display import HTML, display
	n = 3
	!echo from bash {n}
	where = !pwd
	display(HTML("<b>%d</b>" % n))
	{"where": where[0]}
PY
	ended "$J" 0 exited
	assert_equal "$(head -n 1 "$MNT/$J/stdout")" 'from bash 3'
	result_is "$J" '[.results[] | "\(.bundle) \(.mime) \(.main)"] | join("; ")' \
		'1 text/html false; 1 text/plain false; 2 application/json true; 2 text/plain true'
	result_is "$J" '.results[2].data.where' /home/user
	step p code.py '"mode": "cell"' <<<$'%%bash\necho $((6 * 7)) $0; exit 3'
	ended "$J" 1 exited
	result_is "$J" .error.name CalledProcessError
	result_is "$J" '.error.traceback | contains("frozen")' false
	result_is "$J" .step 2
}

@test "TypeScript and JavaScript share a session, and lines are the source's" {
	step j code.ts '"mode": "cell"' <<'TS'
interface Point {
	x: number;
}
import { sep } from 'path';
const at: Point = { x: 5 as number };
enum Color { Red, Green }
function fail(why: string): never {

	throw new TypeError(why);
}
Promise.resolve([at.x, Color.Green, sep] as unknown[])
TS
	result_is "$J" '.results[0].data | join(" ")' '5 1 /'
	step j code.js '"mode": "cell"' <<<$'at.x++;\nfail("here")'
	ended "$J" 1 exited
	result_is "$J" '.error.traceback | split("\n")[1] | endswith("code.ts:9:7)")' true
	step j code.ts <<<'const wrong: number = ;'
	ended "$J" 1 exited
	run cat "$MNT/$J/stderr"
	assert_line --index 1 'const wrong: number = ;'
	assert_output --partial 'SyntaxError: Unexpected ";"'
	step j code.ts <<<'console.log(at.x satisfies number, typeof require)'
	ok '6 function'
	prog code.ts '{"mode": "cell"}' <<<'({ a: 1 } as { a: number })'
	result_is "$J" .text '{ a: 1 }'
}

@test "a large rich result is a file under output/, and the others are told" {
	step p code.py '"mode": "cell"' <<'PY'
class Big:
    def _repr_html_(self): return "<i>" + "x" * 100000 + "</i>"
    def _repr_png_(self): return b"\x89PNG" + b"y" * 200000
    def __repr__(self): return "small"
Big()
PY
	result_is "$J" '[.results[] | select(.path) | .mime] | sort | join(" ")' 'image/png text/html'
	local at
	at=$(result "$J" '.results[] | select(.mime == "image/png") | .path')
	assert_equal "$(stat -c %s "$MNT/$J/output/$at")" 200004
	at=$(result "$J" '.results[] | select(.mime == "text/html") | .path')
	assert_equal "$(wc -c <"$MNT/$J/output/$at")" 100007
	result_is "$J" .text small
	step j code.js '"mode": "cell"' <<<"const z = { a: 'z'.repeat(100000) }; z"
	at=$(result "$J" '.results[] | select(.mime == "application/json") | .path')
	assert_equal "$(jq -r '.a | length' "$MNT/$J/output/$at")" 100000
}

@test "a session's files are read and written from outside" {
	local f=$MNT/.fsd/sessions/p/files n
	step p code.py <<<'open("made.txt", "w").write("inside")'
	assert_equal "$(cat "$f/made.txt")" inside
	echo outside >"$f/data.txt"
	echo more >>"$f/data.txt"
	step p code.py <<<'import os; print(open("data.txt").read(), end=""); print(os.stat("data.txt").st_uid, oct(os.stat("data.txt").st_mode)); open("data.txt", "a").write("mine")'
	ok $'outside\nmore\n1000 0o100644'
	assert_equal "$(cat "$f/data.txt")" $'outside\nmore\nmine'
	assert_equal "$(names "$MNT/$J/output")" data.txt
	for n in 0 1 65536 1048576 5242880; do
		head -c "$n" /dev/urandom >"$BATS_TEST_TMPDIR/f"
		bounded 60 cp "$BATS_TEST_TMPDIR/f" "$f/f$n"
		bounded 60 cmp "$BATS_TEST_TMPDIR/f" "$f/f$n"
	done
	step p code.py <<<'import hashlib; print(hashlib.sha256(open("f5242880", "rb").read()).hexdigest())'
	ok "$(sha256sum <"$BATS_TEST_TMPDIR/f" | cut -d' ' -f1)"
	truncate -s 3 "$f/data.txt"
	assert_equal "$(cat "$f/data.txt")" out
}

@test "a session's tree is made, copied, moved and removed from outside" {
	local f=$MNT/.fsd/sessions/p/files t=$BATS_TEST_TMPDIR/tree
	step p code.py <<<'pass'
	mkdir -p "$t/with blank/ünï" "$t/empty"
	echo x >"$t/with blank/ünï/日本 語.txt"
	cp -r "$t" "$f/in"
	diff -r "$t" "$f/in"
	tar -C "$t" -cf - . | (mkdir "$f/tar" && tar -C "$f/tar" -xpf -)
	diff -r "$t" "$f/tar"
	touch -d @1000000000 "$f/tar/with blank"
	assert_equal "$(stat -c %Y "$f/tar/with blank")" 1000000000
	mv "$f/in" "$f/moved"
	chmod 700 "$f/moved"
	step p code.py <<<$'import os\nprint(oct(os.stat("moved").st_mode), os.listdir("moved/with blank/ünï"))'
	ok "0o40700 ['日本 語.txt']"
	rm -r "$f/moved" "$f/tar"
	assert_equal "$(ls "$f")" code.py
	chmod 400 "$t/with blank/ünï/日本 語.txt"
	cp "$t/with blank/ünï/日本 語.txt" "$f/only read"
	assert_equal "$(cat "$f/only read")" x
	[ "$(stat -c %a "$f/only read")" = 400 ]
	chmod 000 "$f/only read"
	assert_equal "$(cat "$f/only read")" x
	rm -f "$f/only read"
	fails ENOTDIR mkdir "$f/code.py/x"
}

@test "links, fifos and sockets of a session are not there outside" {
	local f=$MNT/.fsd/sessions/p/files
	step p code.py <<'PY'
import os, socket
os.symlink("/etc/passwd", "link")
os.symlink("/etc", "dir")
os.symlink("real", "near")
os.mkfifo("fifo")
socket.socket(socket.AF_UNIX).bind("socket")
os.mkdir("real"); open("real/file", "w").write("x")
PY
	ok
	assert_equal "$(names "$f")" 'code.py real'
	fails ENOENT cat "$f/link"
	fails ENOENT cat "$f/dir/passwd"
	fails ENOENT ls "$f/near"
	fails ENOENT timeout 10 cat "$f/fifo"
	run bounded 10 sh -c 'echo x >"$1"' - "$f/link"
	assert_failure
	cd "$f/real"
	step p code.py <<<'import os; os.rename("real", "was"); os.symlink("/etc", "real")'
	run cat passwd
	assert_failure
	run cat file
	assert_failure
	cd /
	assert_equal "$(names "$f")" 'code.py was'
}

@test "five thousand files of a session are listed" {
	local f=$MNT/.fsd/sessions/p/files
	step p code.py <<<$'import os\nos.mkdir("many")\nfor i in range(5000): open(f"many/file number {i}", "w")'
	ok
	assert_equal "$(bounded 60 ls "$f/many" | sort -u | wc -l)" 5000
	bounded 120 rm -r "$f/many"
	step p code.py <<<'import os; print(os.path.exists("many"))'
	ok False
}

@test "a session's files are used while a step runs and while it is killed" {
	local f=$MNT/.fsd/sessions/p/files i
	job_made code.py <<<$'import os, time\nprint("up", flush=True)\nwhile not os.path.exists("go"): time.sleep(0.01)\nopen("seen", "w").write(open("go").read())\nprint("seen", flush=True)\nwhile True: os.rename("seen", "seen2"); os.rename("seen2", "seen")'
	job_put "$J" config.json '{"session": "p", "timeout": 600}'
	job_follow "$J" up
	assert_equal "$(ls "$f")" code.py
	echo outside >"$f/.go" && mv "$f/.go" "$f/go"
	bounded 60 grep -qm1 seen "$MNT/$J/stdout.follow"
	for i in $(seq 50); do
		ls "$f" >/dev/null && cat "$f/seen" 2>/dev/null || true
	done
	(while bounded 10 cat "$f/go" 2>/dev/null; do :; done) >/dev/null &
	i=$!
	echo kill >"$MNT/$J/ctl"
	job_wait "$J" >/dev/null
	wait "$i" || true
	assert_equal "$(ls "$f")" ''
}

@test "a program that swaps a directory and a link gains nothing by it" {
	local f=$MNT/.fsd/sessions/p/files text
	job_made code.py <<'PY'
import ctypes, os
os.mkdir("a"); open("a/shadow", "w").write("mine")
os.symlink("/etc", "b")
swap = ctypes.CDLL(None).syscall
print("up", flush=True)
while True: swap(316, -100, b"a", -100, b"b", 2)
PY
	job_put "$J" config.json '{"session": "p", "timeout": 600}'
	job_follow "$J" up
	for _ in $(seq 300); do
		text=$(bounded 10 cat "$f/a/shadow" 2>/dev/null) || continue
		assert_equal "$text" mine
	done
	for _ in $(seq 100); do
		bounded 10 sh -c 'echo outside >"$1"' - "$f/b/made" 2>/dev/null || true
	done
	echo kill >"$MNT/$J/ctl"
	job_wait "$J" >/dev/null
	ended "$J" 137 cancelled
}

@test "a child that writes without a pause holds up neither its step nor the next" {
	step b code.sh <<<'yes & echo $!'
	ended "$J" 0 exited
	result_is "$J" .session_state kept
	step b code.sh <<<'kill %1; echo next'
	ok next
	step p code.py <<<'import subprocess; subprocess.Popen(["yes"]); print("up")'
	ended "$J" 0 exited
	step p code.py <<<'print("next")'
	ok next
}

@test "an input goes behind no link that the session has made" {
	step p code.py <<<$'import os\nos.mkdir("real"); os.symlink("/run/step", "in"); open("kept", "w").write("x")'
	ok
	job_made code.py <<<'print(1)'
	mkdir "$MNT/$J/in" && echo x >"$MNT/$J/in/args"
	go '{"session": "p"}'
	ended "$J" 125 failed
	run cat "$MNT/$J/error"
	assert_output --partial 'cannot make the input in'
}

@test "a step that changes an input at once has it in its output" {
	local i
	step p code.py <<<$'import os\nos.symlink("/x", "link"); os.mkfifo("fifo")'
	result_is "$J" .output_dropped 2
	for i in 1 2 3 4 5 6 7 8; do
		job_made code.py <<<'f = open("data", "r+"); f.write("b"); f.close()'
		printf a >"$MNT/$J/data"
		go '{"session": "p"}'
		ok
		assert_equal "$(names "$MNT/$J/output")" data
		result_is "$J" .output_dropped 0
	done
}

@test "an interpreter that is stopped between two steps ends with a sentence" {
	local files=$MNT/.fsd/sessions/p/files
	step p code.py <<<'import subprocess; subprocess.Popen("until [ -e go ]; do sleep 0.05; done; kill -STOP $PPID; : >stopped", shell=True)'
	ok
	: >"$files/go"
	await becomes 30 test -e "$files/stopped"
	step p code.py <<<'print(1)'
	ended "$J" 125 failed
	result_is "$J" .session_state lost
	step p code.py <<<'print("anew")'
	ok anew
}
