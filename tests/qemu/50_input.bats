#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# stdin, arguments, environment, working directory.

load ../lib/qemu

setup_file() { file_setup --shared; }
teardown_file() { file_teardown; }
teardown() { jobs_done; }

@test "without stdin every way to read sees the end at once" {
	prog code.py <<'PY'
import os, sys
try: input()
except EOFError: print("EOFError")
print(repr(sys.stdin.read()), repr(sys.stdin.readline()), list(sys.stdin), sys.stdin.buffer.read())
print(os.read(0, 10), sys.stdin.fileno(), sys.stdin.isatty(), open("/dev/stdin", "rb").read())
try: sys.stdin.write("x")
except Exception as e: print(type(e).__name__)
PY
	ok "$(printf '%s\n' EOFError "'' '' [] b''" "b'' 0 False b''" UnsupportedOperation)"
	prog code.sh <<<$'read -r x; echo "$? [$x]"; cat; echo end'
	ok $'1 []\nend'
	prog code.js <<<'console.log(JSON.stringify(require("fs").readFileSync(0, "utf8")))'
	ok '""'
}

@test "stdin as a file arrives byte for byte in every language" {
	head -c 300000 /dev/urandom >"$BATS_TEST_TMPDIR/in"
	local one
	for one in 'code.py:import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())' \
		'code.sh:cat' \
		'code.js:process.stdin.pipe(process.stdout)'; do
		job_made "${one%%:*}" <<<"${one#*:}"
		cp "$BATS_TEST_TMPDIR/in" "$MNT/$J/stdin"
		go
		ok
		cmp "$BATS_TEST_TMPDIR/in" "$MNT/$J/stdout"
	done
}

@test "stdin is a regular file: its size, a mapping, two passes, /dev/stdin, in every way to run" {
	local how
	for how in 'code.py {}' 'code.py {"env":{"PYTHONHASHSEED":"1"}}' 'code.py {"session":"s"}'; do
		job_made "${how%% *}" <<'PY'
import mmap, os, stat, sys
print(stat.S_ISREG(os.fstat(0).st_mode), os.fstat(0).st_size, mmap.mmap(0, 0, access=mmap.ACCESS_READ)[:3])
print(sys.stdin.readline().strip(), sys.stdin.seek(0), len(sys.stdin.read()), len(open("/dev/stdin").read()))
PY
		printf 'a,b\n1,2\n3,4\n' >"$MNT/$J/stdin"
		go "${how#* }"
		ok $'True 12 b\'a,b\'\na,b 0 12 12'
	done
	rmdir "$MNT/.fsd/sessions/s"
	job_made code.sh <<<$'read -r a; echo "got $a"; while read -r x; do echo "x $x"; done; wc -c </dev/stdin'
	go '{"stdin": "1\n2\n3\n"}'
	ok $'got 1\nx 2\nx 3\n6'
	job_made code.ts <<<'import fs from "fs"; console.log(fs.fstatSync(0).size, fs.readFileSync(0, "utf8"), fs.readFileSync("/dev/stdin", "utf8"))'
	go '{"stdin": "ab"}'
	ok '2 ab ab'
}

@test "more than 256 MiB of stdin come through a pipe" {
	job_made code.sh <<<$'stat -Lc %F /dev/stdin; head -c 200000 | wc -c'
	truncate -s 257M "$MNT/$J/stdin"
	go '{"timeout": 110}'
	ok $'fifo\n200000'
}

@test "an input is as old in the machine as in the job, and is no output for that" {
	job_made code.py <<<'import os; print(os.path.getmtime("old"), os.path.getmtime("d/old"))'
	mkdir "$MNT/$J/d"
	touch -d '2020-01-02 03:04:05.5 UTC' "$MNT/$J/old" "$MNT/$J/d/old"
	go
	ok '1577934245.5 1577934245.5'
	assert_equal "$(ls -A "$MNT/$J/output")" ''
}

@test "TMPDIR in env is where temporary files go" {
	job_made code.py <<<$'import os, tempfile\nos.mkdir(os.environ["TMPDIR"])\nprint(tempfile.NamedTemporaryFile().name.startswith("/home/user/scratch/"))'
	go '{"env": {"TMPDIR": "/home/user/scratch"}}'
	ok True
}

@test "five megabytes of stdin, and a program that stops reading" {
	head -c 5000000 /dev/urandom >"$BATS_TEST_TMPDIR/in"
	job_made code.py <<<'import sys, hashlib; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())'
	cp "$BATS_TEST_TMPDIR/in" "$MNT/$J/stdin"
	go
	ok "$(sha256sum <"$BATS_TEST_TMPDIR/in" | cut -d' ' -f1)"
	job_made code.sh <<<$'head -c 5 >/dev/null\necho enough'
	cp "$BATS_TEST_TMPDIR/in" "$MNT/$J/stdin"
	go
	ok enough
}

@test "stdin and output are whole in JavaScript, whichever way they are used" {
	local how
	head -c 3000000 /dev/zero | tr '\0' x >"$BATS_TEST_TMPDIR/in"
	for how in 'const t = fs.readFileSync(0); fs.writeFileSync(1, t);' \
		'const t = fs.readFileSync(0); for (let n = 0; n < t.length;) n += fs.writeSync(1, t, n);' \
		'process.stdin.pipe(process.stdout);' \
		'process.stdin.on("data", (t) => process.stdout.write(t));' \
		'console.log(fs.readFileSync(0, "utf8").slice(1));'; do
		job_made code.js <<<"const fs = require('fs'); $how"
		cp "$BATS_TEST_TMPDIR/in" "$MNT/$J/stdin"
		go
		ended "$J" 0 exited
		assert_equal "$how $(wc -c <"$MNT/$J/stdout")" "$how 3000000"
	done
	prog code.js <<<'console.log(require("fs").writeSync(1, "x".repeat(1000000)))'
	assert_equal "$(tail -n1 "$MNT/$J/stdout" | tail -c 8)" 1000000
}

@test "what a program leaves unread of a pipe stays there, to the byte" {
	cd "$BATS_TEST_TMPDIR"
	# bash reads a line byte by byte, Python a block, and a third nothing
	run bash -c "printf 'one\ntwo\nthree\n' | {
		'$FSD' run --mount '$MNT' -l bash -c 'read -r x; echo \"bash \$x\"'
		'$FSD' run --mount '$MNT' -c 'print(\"none\")'
		'$FSD' run --mount '$MNT' -c 'import os; print(os.read(0, 4))'
		cat; }"
	assert_output $'bash one\nnone\nb\'two\\n\'\nthree'
	# the script is a pipe that bash reads; more than a page is read in part
	run bash -c "{ seq 1000 9999; } | { '$FSD' run --mount '$MNT' -l bash -c 'head -c 20000 | tail -c 5'; head -n 1; }"
	assert_output $'4999\n5000'
	run bash -c "seq 1000000 | { '$FSD' run --mount '$MNT' -c 'print(7)'; wc -c; }"
	assert_output $'7\n6888896'
	# what is streamed is whole
	run bash -c "seq 1000000 | '$FSD' run --mount '$MNT' -l bash -c 'sha256sum'"
	assert_output "$(seq 1000000 | sha256sum)"
}

@test "input() reads lines of stdin from the config" {
	prog code.py '{"stdin": "one\nzwei ü\n"}' <<<$'print([input(), input()])\ntry: input()\nexcept EOFError: print("end")'
	ok $'[\'one\', \'zwei ü\']\nend'
}

@test "arguments arrive exactly" {
	local config='{"args": ["", " ", "a b", "*", "$HOME", "ü", "-c", "--", "\n", "\"", "'\''"]}'
	prog code.py "$config" <<<'import sys, json; print(json.dumps(sys.argv[1:], ensure_ascii=False))'
	assert_equal "$(out)" "$(jq -c .args <<<"$config" | sed 's/,/, /g')"
	prog code.js "$config" <<<'console.log(JSON.stringify(process.argv.slice(2)))'
	assert_equal "$(out)" "$(jq -c .args <<<"$config")"
	prog code.sh '{"args": ["a b", "", "*"]}' <<<'printf "[%s]" "$@"'
	ok '[a b][][*]'
}

@test "the environment is what the config says and the base, no more" {
	prog code.sh '{"env": {"A": "1", "EMPTY": "", "U": "ü b"}}' <<<'env | sort | grep -vE "^(_|SHLVL|OLDPWD)="'
	ended "$J" 0 exited
	assert_equal "$(cut -d= -f1 "$MNT/$J/stdout" | tr '\n' ' ')" \
		'A EMPTY HOME LANG LOGNAME PATH PWD SHELL U USER '
	grep -qx 'U=ü b' "$MNT/$J/stdout"
	prog code.py '{"env": {"A": "1"}}' <<<'import os; print(os.environ["A"], os.environ["HOME"], sorted(k for k in os.environ if "FSD" in k))'
	ok '1 /home/user []'
	prog code.js '{"env": {"A": "1"}}' <<<'console.log(process.env.A, process.env.HOME)'
	ok '1 /home/user'
	prog code.py <<<'import os; print(os.environ.get("A"))'
	ok None
}

@test "the environment of a warm interpreter is the job's: TZ, LANG, PYTHONHASHSEED" {
	prog code.py '{"env": {"TZ": "Asia/Tokyo"}}' <<<'import time; print(time.strftime("%H", time.localtime(0)), time.tzname[0])'
	ok '09 JST'
	prog code.py '{"mode": "call", "env": {"TZ": "Asia/Tokyo"}}' <<<$'import time\ndef main(): return time.strftime("%H", time.localtime(0))'
	result_is "$J" .value 09
	prog code.py '{"session": "tz", "env": {"TZ": "Asia/Tokyo"}}' <<<'import time; print(time.strftime("%H", time.localtime(0)), time.tzname[0])'
	ok '09 JST'
	rmdir "$MNT/.fsd/sessions/tz"
	prog code.py '{"env": {"PYTHONHASHSEED": "0"}}' <<<'print(hash("x") == -3583185366796564109 or hash("x"))'
	prog code.py '{"env": {"PYTHONHASHSEED": "0"}}' <<<'print(hash("x"))'
	local first
	first=$(out)
	prog code.py '{"env": {"PYTHONHASHSEED": "0"}}' <<<'print(hash("x"))'
	ok "$first"
}

@test "home, cwd, user and umask are an ordinary user's" {
	prog code.sh <<<'pwd; cd ~ && pwd; whoami; id -u; id -g; getent passwd user | cut -d: -f6; umask; touch here && ls here; echo ~'
	ok "$(printf '%s\n' /home/user /home/user user 1000 1000 /home/user 0022 here /home/user)"
	prog code.py <<<'import os, pwd, pathlib, tempfile; print(os.path.expanduser("~"), pwd.getpwuid(os.getuid()).pw_name, pathlib.Path.home()); print(tempfile.mkdtemp()[:5])'
	ok $'/home/user user /home/user\n/tmp/'
	prog code.py '{"env": {"HOME": "/tmp"}}' <<<'import os; print(os.path.expanduser("~"))'
	ok /tmp
}

@test "inputs are there with bytes and modes, and the program may change them" {
	job_made code.sh <<<$'sha256sum data | cut -c1-64; ./tool; echo more >> data; mkdir sub/new; touch sub/new/f; rm gone; test -x plain || echo "not executable"; stat -c %U data'
	head -c 200000 /dev/urandom >"$BATS_TEST_TMPDIR/data"
	cp "$BATS_TEST_TMPDIR/data" "$MNT/$J/data"
	printf '#!/bin/sh\necho tool\n' >"$MNT/$J/tool"
	chmod 755 "$MNT/$J/tool"
	mkdir "$MNT/$J/sub"
	echo x >"$MNT/$J/gone"
	echo x >"$MNT/$J/plain"
	echo x >"$MNT/$J/unchanged"
	go
	ok "$(printf '%s\n' "$(sha256sum <"$BATS_TEST_TMPDIR/data" | cut -c1-64)" tool 'not executable' user)"
	assert_equal "$(cd "$MNT/$J/output" && find . -type f | sort | tr '\n' ' ')" './data ./sub/new/f '
	cmp <(cat "$BATS_TEST_TMPDIR/data" <(echo more)) "$MNT/$J/output/data"
	cmp "$BATS_TEST_TMPDIR/data" "$MNT/$J/data"
}

@test "input.json is what the config gave" {
	prog code.py '{"input": {"n": [1, 2.5, "ü", null]}}' <<<'import json; print(json.load(open("input.json"))["n"])'
	ok "[1, 2.5, 'ü', None]"
}

# What is only mapped changes without its times: mapped NAME, then a change.
MAPPED='
import mmap, time
def mapped(name):
    with open(name, "r+b") as file:
        found = mmap.mmap(file.fileno(), 0)
    found[0], found[-1]
    return found
'

@test "an input that is changed through a mapping after it was read is in output/" {
	local how
	for how in 'm = mapped("data"); m[0] = 65' \
		'm = mapped("data"); m[0] = 65; m.close()' \
		'm = mapped("data"); m[0] = 65; time.sleep(0.3)' \
		'm = mapped("data"); m[0] = 65; m.close(); time.sleep(0.3)'; do
		job_made code.py <<<"$MAPPED$how"
		printf 'abc' >"$MNT/$J/data"
		head -c 300000 /dev/zero >"$MNT/$J/other"
		go
		ok
		assert_equal "$how: $(names "$MNT/$J/output")" "$how: data"
		assert_equal "$(cat "$MNT/$J/output/data")" Abc
	done
}

@test "a large input that is changed in its last byte alone is in output/" {
	head -c 3000001 /dev/urandom >"$BATS_TEST_TMPDIR/data"
	printf x >>"$BATS_TEST_TMPDIR/data"
	job_made code.py <<<"${MAPPED}m = mapped('data'); m[-1] = 65"
	cp "$BATS_TEST_TMPDIR/data" "$MNT/$J/data"
	go
	ok
	cmp "$MNT/$J/output/data" \
		<(head -c 3000001 "$BATS_TEST_TMPDIR/data"; printf A)
}

@test "a program that changes itself through a mapping is in output/" {
	prog code.py <<<"#$MAPPED"'m = mapped("code.py"); m[0] = 32'
	ok
	assert_equal "$(names "$MNT/$J/output")" code.py
	assert_equal "$(head -c 1 "$MNT/$J/output/code.py")" ' '
}

@test "an input that is opened for writing and not changed is not in output/" {
	python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as c: c.execute("create table t as select 5 as n")' \
		"$BATS_TEST_TMPDIR/db"
	job_made code.py <<PY
import sqlite3
$MAPPED
kept = sqlite3.connect("db")
print(kept.execute("select n from t").fetchone())
closed = open("closed", "r+b")
closed.close()
opened = open("opened", "r+b")
m = mapped("mapped")
PY
	cp "$BATS_TEST_TMPDIR/db" "$MNT/$J/db"
	printf a >"$MNT/$J/closed"
	printf a >"$MNT/$J/opened"
	printf a >"$MNT/$J/mapped"
	go
	ok '(5,)'
	assert_equal "$(names "$MNT/$J/output")" ''
}

@test "what an interpreter obeys only at its start is obeyed in calls and sessions, too" {
	local env='"env": {"PYTHONHASHSEED": "7", "PYTHONOPTIMIZE": "1", "PYTHONIOENCODING": "latin-1", "PYTHONUNBUFFERED": "1", "PYTHONSAFEPATH": "1", "LC_ALL": "C.UTF-8"}'
	local program='import os, sys
print(hash("x"), sys.flags.optimize, sys.flags.safe_path, sys.stdout.encoding, sys.stdout.write_through)
print("/home/user" in sys.path, sorted(n for n in os.environ if n not in "OLDPWD SHLVL _"), "\xfc")
def main(): return hash("x") % 1000000'
	prog code.py "{$env}" <<<"$program"
	ended "$J" 0 exited
	cp "$MNT/$J/stdout" "$BATS_TEST_TMPDIR/script"
	grep -aq ' 1 True iso8859-1 True' "$BATS_TEST_TMPDIR/script"
	prog code.py "{$env, \"mode\": \"call\"}" <<<"$program"
	ended "$J" 0 exited
	cmp "$BATS_TEST_TMPDIR/script" "$MNT/$J/stdout"
	result_is "$J" .value "$(($(cut -d' ' -f1 "$BATS_TEST_TMPDIR/script" | head -n1) % 1000000))"
	prog code.py "{$env, \"session\": \"start\"}" <<<"$program"
	ended "$J" 0 exited
	cmp "$BATS_TEST_TMPDIR/script" "$MNT/$J/stdout"
	rmdir "$MNT/.fsd/sessions/start"
	env='"env": {"NODE_NO_WARNINGS": "1", "LC_ALL": "de_DE.UTF-8"}'
	program='process.emitWarning("no"); console.log(Intl.NumberFormat().resolvedOptions().locale, process.env.HOME)'
	prog code.js "{$env}" <<<"$program"
	ended "$J" 0 exited
	cp "$MNT/$J/stdout" "$BATS_TEST_TMPDIR/script"
	prog code.js "{$env, \"session\": \"start\"}" <<<"$program"
	ended "$J" 0 exited
	cmp "$BATS_TEST_TMPDIR/script" "$MNT/$J/stdout"
	assert_equal "$(cat "$MNT/$J/stderr")" ''
	rmdir "$MNT/.fsd/sessions/start"
}

@test "a program that asks gets each answer while it runs, in Python, Node and bash" {
	cd "$BATS_TEST_TMPDIR" || return
	cat >ask.py <<-'END'
		for i in range(3):
		    print("got", input("ask\n"), flush=True)
	END
	cat >ask.js <<-'END'
		let n = 0;
		console.log('ask');
		require('readline').createInterface({input: process.stdin})
			.on('line', (line) => {
				console.log('got ' + line);
				if (++n < 3) console.log('ask');
			});
	END
	cat >ask.sh <<-'END'
		for i in 1 2 3; do echo ask; read -r line; echo "got $line"; done
	END
	cat >talk.py <<-'END'
		import os, subprocess, sys
		p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE,
		                     stdout=subprocess.PIPE, text=True, bufsize=1)
		for word in "one", "two", "three":
		    assert p.stdout.readline() == "ask\n"
		    print(word, file=p.stdin, flush=True)
		    assert p.stdout.readline() == "got %s\n" % word
		p.stdin.close()
		print(p.wait(), repr(p.stdout.read()))
	END
	local program
	for program in ask.py ask.js ask.sh; do
		run bounded 60 /usr/bin/python3 talk.py "$FSD" run --mount "$MNT" "$program"
		assert_output "0 ''"
	done
}

@test "input without an end ends with the program that closes it" {
	cd "$BATS_TEST_TMPDIR" || return
	printf 'exec 0<&-\necho closed\nsleep 0.3\necho end\n' >close.sh
	run bash -c "yes | timeout $((60 * SLOW)) '$FSD' run --mount '$MNT' close.sh"
	assert_output $'closed\nend'
	run bash -c "yes word | timeout $((60 * SLOW)) '$FSD' run --mount '$MNT' -l bash -c 'head -n 2'"
	assert_output $'word\nword'
}
