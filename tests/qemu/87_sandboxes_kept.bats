#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The process that serves dies, and sandboxes go on: their machines, their sessions,
# and what runs in them.

load ../lib/qemu
load ../lib/kept

export LOG_EXPECTED='zygote|the jailer has ended'

setup_file() { file_setup --fork no --pool 0; }
teardown_file() { file_teardown; }
setup() {
	server_now
	S=$MNT/.fsd/sandboxes/s$BATS_TEST_NUMBER
	mkdir "$S"
}
teardown() {
	[ ! -d "$S" ] || rmdir "$S"
	jobs_done
}

# begin FILE MORE <PROGRAM — until it has said "up"; its job is $J.
begin() {
	job_made "$1"
	job_put "$J" config.json "{\"sandbox\": \"${S##*/}\"${2:+, $2}}"
	job_follow "$J" up
}

@test "a sandbox has its files, its sessions and its config behind a killed server" {
	local i
	echo '{"env": {"WHO": "box"}, "life": 3600, "meta": [1]}' >"$S/config.json"
	in_sandbox code.py '"session": "a"' <<<'x = 1'
	in_sandbox code.sh '"session": "b"' <<<'y=$WHO'
	echo data >"$S/files/made"
	local until
	until=$(<"$S/until")
	for i in 1 2 3; do
		kill_server
		assert_equal "$(cat "$S/state")" idle
		assert_equal "$(cat "$S/until")" "$until"
		assert_equal "$(jq -c .meta "$S/config.json")" '[1]'
		assert_equal "$(ls "$S/sessions")" $'a\nb'
		assert_equal "$(cat "$S/sessions/a/steps")" "$i"
		in_sandbox code.py '"session": "a"' <<<$'print(x, open("made").read().strip())\nx += 1'
		ok "$i data"
		in_sandbox code.sh '"session": "b"' <<<'echo $y'
		ok box
	done
	echo more >>"$S/files/made"
	assert_equal "$(cat "$S/files/made")" $'data\nmore'
}

@test "programs and steps of a sandbox run on while servers are killed" {
	local first i
	begin code.sh '"timeout": 0' <<<'echo up; for i in $(seq 40); do echo $i; sleep 0.1; done; exit 7'
	first=$J
	begin code.py '"session": "a"' <<<$'import time\nprint("up", flush=True)\nfor i in range(40):\n    print(i, flush=True)\n    time.sleep(0.1)\nx = 5'
	for i in 1 2 3 4; do
		kill_server
		assert_equal "$(cat "$S/state")" busy
	done
	job_wait "$first" $JOB_SECONDS >/dev/null
	ended "$first" 7 exited
	stdout_is "$first" "up"$'\n'"$(seq 40)"
	job_wait "$J" $JOB_SECONDS >/dev/null
	ended "$J" 0 exited
	stdout_is "$J" "up"$'\n'"$(seq 0 39)"
	in_sandbox code.py '"session": "a"' <<<'print(x)'
	ok 5
}

@test "what a cell shows is told once, between what it prints, although the server dies within it" {
	local i
	job_made code.py <<-'END'
		import os, time
		for i in range(1, 9):
		    print(i)
		    display({"text/html": "x" * (200000 if i == 1 else i)}, raw=True)
		    if i == 4:
		        open("ready", "w").close()
		        while not os.path.exists("go"):
		            time.sleep(0.01)
	END
	# The first piece of a display is in the store and settled; the next ones are
	# in the store only, and the number 2 behind them is nowhere.
	gate 'hold:write:jobs/*/r1/shown' 'hold:write:jobs/*/r1/stdout'
	job_put "$J" config.json "{\"sandbox\": \"${S##*/}\", \"session\": \"a\", \"mode\": \"cell\"}"
	cat "$MNT/$J/events" >"$BATS_TEST_TMPDIR/events" &
	gate_held
	await becomes 20 test -e "$S/files/ready"
	gate_open
	gate_held
	server_kill "$SERVER"
	gate_end
	server_now
	: >"$S/files/go"
	job_wait "$J" $JOB_SECONDS >/dev/null
	ended "$J" 0 exited
	wait %%
	cmp "$BATS_TEST_TMPDIR/events" "$MNT/$J/events"
	assert_equal "$(jq -r 'if .event == "stdout" then .data | rtrimstr("\n")
		elif .event == "shown" then "\(.shown.bundle) \(.shown.results[0].data | length)"
		else empty end' "$MNT/$J/events" | paste -sd,)" \
		'1,1 200000,2,2 2,3,3 3,4,4 4,5,5 5,6,6 6,7,7 7,8,8 8'
	assert_equal "$(wc -l <"$STATE/jobs/$(result "$J" .id)/r1/shown")" 8
	assert_equal "$(result "$J" '.results | length')" 8
}

@test "what is written to a program's input comes once, in order, whichever server dies" {
	local i
	begin code.py '"stdin_open": true' <<<$'import sys\nprint("up", flush=True)\nfor line in sys.stdin:\n    print(line, end="", flush=True)'
	for i in 1 2 3 4 5; do
		seq $((i * 1000)) $((i * 1000 + 999)) >"$MNT/$J/stdin.feed"
		kill_server
	done
	echo eof >"$MNT/$J/ctl"
	job_wait "$J" $JOB_SECONDS >/dev/null
	ended "$J" 0 exited
	stdout_is "$J" "up"$'\n'"$(seq 1000 5999)"
	result_is "$J" .stdin.read 25000
}

@test "a program can be killed and a step interrupted behind a killed server" {
	local first
	begin code.sh '"timeout": 0' <<<'echo up; sleep 1000'
	first=$J
	begin code.py '"session": "a"' <<<$'import time\nx = 3\nprint("up", flush=True)\ntime.sleep(1000)'
	kill_server
	echo kill >"$MNT/$first/ctl"
	job_wait "$first" $JOB_SECONDS >/dev/null
	status_is "$first" cancelled
	echo interrupt >"$MNT/$J/ctl"
	job_wait "$J" $JOB_SECONDS >/dev/null
	in_sandbox code.py '"session": "a"' <<<'print(x)'
	ok 3
}

@test "files of a sandbox stay open, and a call that was under way is done once" {
	local i
	in_sandbox code.sh <<<'mkdir -p d; seq 100000 >d/long; touch d/a d/b'
	exec 5<"$S/files/d/long" 6>"$S/files/d/made"
	head -c 10 <&5 >/dev/null
	echo one >&6
	kill_server
	assert_equal "$({ head -c 10; cat; } <&5 | tail -n 1)" 100000
	echo two >&6
	exec 5<&- 6>&-
	assert_equal "$(cat "$S/files/d/made")" $'one\ntwo'
	assert_equal "$(ls "$S/files/d")" $'a\nb\nlong\nmade'
	# one after the other, while servers die
	(for i in $(seq 300); do
		mkdir "$S/files/m$i" && echo "$i" >"$S/files/m$i/f" &&
			mv "$S/files/m$i/f" "$S/files/m$i/g" &&
			rm "$S/files/m$i/g" && rmdir "$S/files/m$i" || exit 1
	done) &
	local user=$!
	for i in 1 2 3 4 5 6; do
		kill_server
	done
	wait "$user"
	assert_equal "$(ls "$S/files")" d
}

@test "a value that a cell gives behind a killed server is whole" {
	begin code.py '"session": "a", "mode": "cell"' <<<$'import time\nprint("up", flush=True)\ntime.sleep(1)\n"v" * 300000'
	kill_server
	job_wait "$J" $JOB_SECONDS >/dev/null
	ended "$J" 0 exited
	run jq '.text | length' "$MNT/$J/result.json"
	assert_output 300002
}

@test "a paused sandbox stays paused, and goes on when it is told to" {
	in_sandbox code.py '"session": "a"' <<<'x = 1'
	echo pause >"$S/ctl"
	kill_server
	assert_equal "$(cat "$S/state")" paused
	echo resume >"$S/ctl"
	in_sandbox code.py '"session": "a"' <<<'print(x)'
	ok 1
}

@test "a machine that dies behind a killed server takes its sandbox along, which says so" {
	local all
	begin code.sh '"session": "a", "timeout": 0' <<<'echo up; sleep 1000'
	mapfile -t all < <(machines)
	expect_log 'sandbox .*: its machine is lost: '
	kill_server
	state_is "$J" running
	kill -KILL "${all[@]}"
	job_wait "$J" $JOB_SECONDS >/dev/null
	run cat "$MNT/$J/error"
	assert_output --partial 'its sandbox is lost: QEMU was killed from outside'
	assert_equal "$(cat "$S/state")" lost
}

@test "an upgrade keeps sandboxes, and what runs in them" {
	begin code.sh '"timeout": 0' <<<'echo up; sleep 1000'
	local first=$J
	in_sandbox code.py '"session": "a"' <<<'x = 1'
	"$FSD" upgrade --now "$MNT"
	server_now
	in_sandbox code.py '"session": "a"' <<<'print(x)'
	ok 1
	echo kill >"$MNT/$first/ctl"
	job_wait "$first" $JOB_SECONDS >/dev/null
	status_is "$first" cancelled
}

@test "a sandbox that has ended leaves no machine behind a killed server" {
	in_sandbox code.py '"session": "a"' <<<'x = 1'
	kill_server
	rmdir "$S"
	await becomes 30 awk '$1 == "fsd_machines_in_use" { exit $2 != 0 }' "$MNT/.fsd/stats"
}
