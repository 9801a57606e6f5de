#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The process that serves dies, and sessions outside of a sandbox go on: between two
# steps, within one, and while its files are used.

load ../lib/qemu
load ../lib/kept

export LOG_EXPECTED='zygote|the jailer has ended'

setup_file() { file_setup --fork no --pool 0; }
teardown_file() { file_teardown; }
setup() {
	server_now
	NAME=s$BATS_TEST_NUMBER
	S=$MNT/.fsd/sessions/$NAME
}
teardown() {
	[ ! -d "$S" ] || rmdir "$S"
	jobs_done
}

# step FILE [MORE] <PROGRAM — one step to its end; its job is $J.
step() {
	prog "$1" "{\"session\": \"$NAME\"${2:+, $2}}"
}

# begin FILE [MORE] <PROGRAM — until it has said "up"; its job is $J.
begin() {
	job_made "$1"
	job_put "$J" config.json "{\"session\": \"$NAME\"${2:+, $2}}"
	job_follow "$J" up
}

@test "a session has its variables, its files and its steps behind each killed server" {
	local i
	step code.py <<<$'x = 0\nopen("made", "w").write("data")'
	ok
	for i in 1 2 3; do
		kill_server
		assert_equal "$(cat "$S/state" "$S/language" "$S/steps" "$S/files/made")" \
			$'idle\npython\n'"$i"$'\ndata'
		step code.py <<<$'x += 1\nprint(x)'
		ok "$i"
		result_is "$J" .step $((i + 1))
		result_is "$J" .session_state kept
	done
}

@test "a session of bash goes on when two servers die before its next step" {
	step code.sh <<<'x=5'
	ok
	kill_server
	kill_server
	step code.sh <<<'echo $x'
	ok 5
}

@test "a step runs on while servers are killed, and the next one finds what it made" {
	local i
	step code.py <<<'x = 1'
	begin code.py <<<$'import time\nprint("up", flush=True)\nfor i in range(40):\n    print(i, flush=True)\n    time.sleep(0.1)\nx += 1'
	for i in 1 2 3; do
		kill_server
		assert_equal "$(cat "$S/state")" busy
	done
	job_wait "$J" $JOB_SECONDS >/dev/null
	ended "$J" 0 exited
	stdout_is "$J" "up"$'\n'"$(seq 0 39)"
	result_is "$J" .step 2
	result_is "$J" .session_state kept
	kill_server
	step code.py <<<'print(x)'
	ok 2
}

@test "a step can be interrupted, timed out and cancelled behind a killed server" {
	step code.py <<<'x = 3'
	begin code.py <<<$'import time\nprint("up", flush=True)\ntime.sleep(1000)'
	kill_server
	echo interrupt >"$MNT/$J/ctl"
	job_wait "$J" $JOB_SECONDS >/dev/null
	ended "$J" 130 exited
	begin code.py '"timeout": '"$(patient 2000)"', "grace": 60' \
		<<<$'import time\nprint("up", flush=True)\ntime.sleep(1000)'
	kill_server
	job_wait "$J" $JOB_SECONDS >/dev/null
	status_is "$J" timeout
	result_is "$J" .session_state kept
	step code.py <<<'print(x)'
	ok 3
	begin code.py <<<$'import time\nprint("up", flush=True)\ntime.sleep(1000)'
	kill_server
	echo kill >"$MNT/$J/ctl"
	job_wait "$J" $JOB_SECONDS >/dev/null
	status_is "$J" cancelled
	step code.py <<<'print("x" in globals())'
	ok False
}

@test "steps that wait for a step keep their order behind a killed server" {
	local i jobs=()
	begin code.py <<<$'import time\nprint("up", flush=True)\nseen = ["first"]\ntime.sleep(3)'
	for i in 1 2 3 4 5; do
		job_made code.py <<<"seen.append($i)"
		job_put "$J" config.json "{\"session\": \"$NAME\"}"
		jobs+=("$J")
	done
	kill_server
	step code.py <<<'print(*seen)'
	ok 'first 1 2 3 4 5'
	for i in "${jobs[@]}"; do
		ended "$i" 0 exited
	done
}

@test "fsd upgrade keeps a session, and --now its step as well" {
	step code.py <<<'x = 1'
	bounded 60 "$FSD" upgrade "$MNT"
	server_now
	step code.py <<<$'print(x)\nx += 1'
	ok 1
	begin code.py <<<$'import time\nprint("up", flush=True)\ntime.sleep(3)\nx += 1'
	bounded 60 "$FSD" upgrade --now "$MNT"
	server_now
	job_wait "$J" $JOB_SECONDS >/dev/null
	ended "$J" 0 exited
	step code.py <<<'print(x)'
	ok 3
}

@test "files of a session stay open behind a killed server, between two steps and within one" {
	step code.sh <<<'seq 100000 >long'
	exec 5<"$S/files/long" 6>"$S/files/made"
	head -c 10 <&5 >/dev/null
	echo one >&6
	kill_server
	assert_equal "$({ head -c 10; cat; } <&5 | tail -n 1)" 100000
	echo two >&6
	begin code.sh <<<'echo up; until [ -e go ]; do sleep 0.1; done; cat made'
	kill_server
	echo three >&6
	exec 5<&- 6>&-
	: >"$S/files/go"
	job_wait "$J" $JOB_SECONDS >/dev/null
	stdout_is "$J" $'up\none\ntwo\nthree'
}

@test "servers may die between writes to files of an idle session, and while these are read" {
	local i
	step code.sh <<<'x=7'
	head -c 3000000 /dev/urandom >"$BATS_TEST_TMPDIR/data"
	for i in 1 2 3; do
		cp "$BATS_TEST_TMPDIR/data" "$S/files/$i"
		kill_server
		cmp "$BATS_TEST_TMPDIR/data" "$S/files/$i" &
		kill_server
		wait %%
	done
	step code.sh <<<'echo $x'
	ok 7
}

@test "a step whose machine's words are not kept whole is interrupted, and the session says why" {
	step code.py <<<'x = 1'
	begin code.py '"stdin_open": true' <<<$'import time\nprint("up", flush=True)\ntime.sleep(1000)'
	kill_server
	job_wait "$J" $JOB_SECONDS >/dev/null
	status_is "$J" interrupted
	step code.py <<<'print("x" in globals())'
	ok False
	grep -q "session $NAME: begun anew, for its machine has died, with its server" "$MNT/$J/log"
}

@test "the directory of a session that ends behind a killed server is gone, and its machine" {
	step code.py <<<'x = 1'
	kill_server
	rmdir "$S"
	step code.py <<<'print("x" in globals())'
	ok False
	result_is "$J" .step 1
	kill_server
	assert_equal "$(cat "$S/steps")" 1
}
