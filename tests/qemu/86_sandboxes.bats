#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Sandboxes: interpreters and programs side by side in one real machine.

load ../lib/qemu

setup_file() {
	# a test kills all machines, of which one may be starting
	expect_log 'jobs cannot run: machines do not start: QEMU was killed'
	file_setup --shared 0
}
teardown_file() { file_teardown; }
setup() {
	S=$MNT/.fsd/sandboxes/s$BATS_TEST_NUMBER
	mkdir "$S"
}
teardown() {
	[ ! -d "$S" ] || rmdir "$S"
	jobs_done
}

# begin FILE [MORE] <PROGRAM — it runs; its job is $J.
begin() {
	job_made "$1"
	job_put "$J" config.json "{\"sandbox\": \"${S##*/}\"${2:+, $2}}"
	await becomes 60 grep -q running "$MNT/$J/state"
}

@test "sessions and programs of a sandbox share the home, and nothing else" {
	in_sandbox code.py '"session": "a"' <<<$'x = 1\nopen("shared.txt", "w").write("from a")'
	ok ''
	in_sandbox code.py '"session": "b"' <<<'print(open("shared.txt").read(), "x" in globals())'
	ok 'from a False'
	in_sandbox code.sh '"session": "c"' <<<'y=2; echo more >>shared.txt'
	ok ''
	in_sandbox code.js <<<'console.log(require("fs").readFileSync("shared.txt", "utf8"))'
	ok 'from amore'
	in_sandbox code.py '"session": "a"' <<<'print(x)'
	ok 1
	in_sandbox code.sh '"session": "c"' <<<'echo $y'
	ok 2
	assert_equal "$(ls "$S/sessions")" $'a\nb\nc'
	assert_equal "$(cat "$S/files/shared.txt")" 'from amore'
	assert_equal "$(ls "$MNT/$J/output")" ''
}

@test "programs run at the same time, are told apart, and leave processes" {
	begin code.sh <<<'until [ -e go ]; do sleep 0.1; done; echo went'
	local first=$J
	in_sandbox code.sh <<<'sleep 1000 >/dev/null 2>&1 & echo left'
	ok left
	run cat "$S/processes"
	assert_output --regexp "(^|"$'\n'")[0-9]+ $first "
	assert_output --regexp '(^|'$'\n'')[0-9]+ - sleep 1000'
	: >"$S/files/go"
	job_wait "$first" 60 >/dev/null
	stdout_is "$first" went
	in_sandbox code.sh <<<'pkill -x sleep && echo ended'
	ok ended
}

@test "a program that takes too much memory is ended alone" {
	echo '{"memory_mb": 256}' >"$S/config.json"
	in_sandbox code.py '"session": "a"' <<<'x = 1'
	ok ''
	in_sandbox code.py <<<$'a = bytearray(600 << 20)\nfor i in range(0, len(a), 4096):\n    a[i] = 1'
	status_is "$J" out_of_memory
	in_sandbox code.py '"session": "a"' <<<'print(x)'
	ok 1
	assert_equal "$(cat "$S/state")" idle
}

@test "its root can be looked at, and changed where its user may" {
	in_sandbox code.sh <<<'echo here >/tmp/made; id -u'
	ok 1000
	assert_equal "$(cat "$S/root/tmp/made")" here
	assert_equal "$(ls "$S/root/home/user")" ''
	[ -x "$S/root/usr/bin/env" ]
	fails EROFS touch "$S/root/usr/made"
	echo there >"$S/root/tmp/other"
	in_sandbox code.sh <<<'cat /tmp/other'
	ok there
	absent "$S/root/proc/self"
}

@test "/workspace and /code are the user's as the home is, and have its room with it" {
	echo '{"memory_mb": 128}' >"$S/config.json"
	mkdir -p "$S/root/workspace/project/src"
	echo 'print(6 * 7)' >"$S/root/workspace/project/src/main.py"
	in_sandbox code.sh '"cwd": "/workspace/project"' <<-'END'
		pwd; python3 src/main.py
		stat -c '%U %a %n' /workspace /code /home/user
		cp /usr/bin/true /code/true && /code/true && echo ran
		head -c 100M /dev/zero >/workspace/large || true
		head -c 100K /dev/zero >/home/user/small || echo full
		rm /workspace/large
		touch /run/x 2>&1 || true
	END
	run cat "$MNT/$J/stdout"
	assert_output "/workspace/project
42
user 755 /workspace
user 755 /code
user 755 /home/user
ran
full
touch: cannot touch '/run/x': Permission denied"
	assert_equal "$(ls "$S/root/code")" true
	assert_equal "$(ls "$S/files")" small
	fails ENOTEMPTY rmdir "$S/root/workspace/project"
	# They are empty again in each job, and no output of it.
	prog code.sh <<<'ls -A /workspace /code; echo x >/workspace/x; echo y >/code/y; echo z >z'
	stdout_is "$J" $'/code:\n\n/workspace:'
	assert_equal "$(ls "$MNT/$J/output")" z
	prog code.sh <<<'ls -A /workspace /code'
	stdout_is "$J" $'/code:\n\n/workspace:'
}

@test "a sandbox whose machine is killed is lost, and its jobs say so" {
	local all
	begin code.sh '"session": "a"' <<<'echo begun; sleep 1000'
	await becomes 30 grep -q begun "$MNT/$J/stdout"
	expect_log 'sandbox .*: its machine is lost: '
	mapfile -t all < <(machines)
	kill -KILL "${all[@]}"
	job_wait "$J" 60 >/dev/null
	status_is "$J" failed
	run cat "$MNT/$J/error"
	assert_output --partial 'its sandbox is lost: QEMU was killed from outside'
	assert_equal "$(cat "$S/state")" lost
}

@test "the first Python step of a sandbox has the interpreter that waited" {
	in_sandbox code.py '"session": "a"' <<<'print(1)'
	ok 1
	result_is "$J" .environment.warm true
	in_sandbox code.py '"session": "b"' <<<'print(2)'
	ok 2
}

@test "a server that a job has left answers other jobs, and may go on printing" {
	in_sandbox code.py '"linger": 0' <<'PY'
import http.server, os, sys
class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        print("a line\n" * 50000, flush=True)  # more than a pipe holds
        super().do_GET()
server = http.server.HTTPServer(("127.0.0.1", 8000), Handler)
if os.fork():
    print("left")
    sys.exit()
server.serve_forever()
PY
	ok left
	in_sandbox code.py <<'PY'
import urllib.request
for _ in range(2):
    print(urllib.request.urlopen("http://127.0.0.1:8000/").status)
PY
	ok $'200\n200'
	[ "$(grep -c '^[0-9]* - ' "$S/processes")" = 1 ]
	# one that holds its job's output, and says nothing more, stays behind "linger"
	in_sandbox code.sh <<<'sleep 600 & echo left'
	ok left
	[ "$(grep -c '^[0-9]* - ' "$S/processes")" = 2 ]
}

@test "a job of a sandbox starts in the directory that it names" {
	in_sandbox code.sh '"cwd": "/tmp"' <<<pwd
	ok /tmp
	mkdir "$S/files/d"
	in_sandbox code.py '"cwd": "d"' <<<'import os; print(os.getcwd())'
	ok /home/user/d
	in_sandbox code.py '"session": "a", "cwd": "d"' <<<'import os; print(os.getcwd())'
	ok /home/user/d
	in_sandbox code.sh '"cwd": "none"' <<<'pwd'
	status_is "$J" failed
	grep -q 'cannot start in the directory /home/user/none: No such file' "$MNT/$J/error"
}

@test "a job of a sandbox that is killed leaves the others alone" {
	begin code.sh <<<'sleep 1000 & sleep 1000'
	local first=$J
	begin code.sh <<<'until [ -e go ]; do sleep 0.1; done; echo went'
	echo kill >"$MNT/$first/ctl"
	job_wait "$first" 60 >/dev/null
	run grep -c 'sleep 1000' "$S/processes"
	assert_output 0
	: >"$S/files/go"
	job_wait "$J" 60 >/dev/null
	stdout_is "$J" went
}

@test "an interrupt ends a step of each language, and what was there before stays" {
	local s file begin loop show
	for s in py js sh; do
		file=code.$s
		case $s in
		py) begin='x = 7' show='print(x)'
			loop=$'print("up", flush=True)\nwhile True: pass' ;;
		js) begin='let x = 7' show='console.log(x)'
			loop=$'console.log("up"); for (;;);' ;;
		sh) begin='x=7' show='echo $x'
			loop=$'echo up; sleep 1000; echo no' ;;
		esac
		in_sandbox "$file" "\"session\": \"$s\"" <<<"$begin"
		begin "$file" "\"session\": \"$s\"" <<<"$loop"
		job_follow "$J" up
		echo interrupt >"$MNT/$J/ctl"
		job_wait "$J" "$JOB_SECONDS" >/dev/null
		ended "$J" 130 exited
		in_sandbox "$file" "\"session\": \"$s\"" <<<"$show"
		ok 7
	done
}

@test "a machine that was paused has the host's time when it goes on" {
	local off
	in_sandbox code.py '"session": "a"' <<<'import time'
	echo pause >"$S/ctl"
	sleep 3 # the pause is what is tested
	echo resume >"$S/ctl"
	in_sandbox code.py '"session": "a"' <<<'print(time.time())'
	off=$(jq -n "now - $(cat "$MNT/$J/stdout") | fabs | floor")
	[ "$off" -lt 2 ] || fail "it is $off s behind"
	: >"$S/files/new"
	off=$(($(date +%s) - $(stat -c %Y "$S/files/new")))
	[ "${off#-}" -lt 2 ] || fail "a new file is $off s old"
}
