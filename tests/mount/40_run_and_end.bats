#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# How a run ends: exit codes, statuses, verbs, and what never may be half.

load ../lib/common

setup() { mount_start; }
teardown() { mount_done; }

# bats test_tags=smoke
@test "the program's own code is the exit code, 0 to 255" {
	local code
	for code in 0 1 2 42 124 125 126 127 128 137 255; do
		job_run "j$code" $'out partial\nexit '"$code"
		ended "j$code" $code exited
		assert_equal "$(cat "$MNT/j$code/wait")" $code
		result_is "j$code" .signal null
		result_is "j$code" .program_exit_code $code
		stdout_is "j$code" partial
	done
}

@test "exit_code holds the number and a newline, and so does wait" {
	job_run a 'exit 7'
	assert_equal "$(od -An -c "$MNT/a/exit_code" | tr -d ' ')" '7\n'
	assert_equal "$(od -An -c "$MNT/a/wait" | tr -d ' ')" '7\n'
}

@test "a signal that ends the program is 128 + N and has its name" {
	local n name
	for n in 1:SIGHUP 6:SIGABRT 9:SIGKILL 11:SIGSEGV 13:SIGPIPE 15:SIGTERM; do
		name=${n#*:} n=${n%:*}
		job_run "s$n" $'out before\nsignal '"$n"
		ended "s$n" $((128 + n)) signaled
		result_is "s$n" .signal "$name"
		stdout_is "s$n" before
	done
}

# bats test_tags=smoke
@test "over its timeout: 124, and what was written is kept" {
	JOB_SECONDS=10 job_run a $'out before\nsleep 600000' '{"timeout": 0.2}'
	ended a 124 timeout
	stdout_is a before
	run result a .usage.wall_ms
	[ "$output" -ge 190 ] && [ "$output" -lt $((5000 * SLOW)) ]
	run cat "$MNT/a/log"
	assert_output --partial timeout
}

@test "the timeout counts from the program's start, not from the queue" {
	mount_stop
	local timeout
	timeout=$(patient 500)
	FSD_FAKE_START_MS=$((10#${timeout/./} + 200)) mount_start --pool 0
	job_run a 'out done' "{\"timeout\": $timeout}"
	ended a 0 exited
}

@test "in the grace SIGTERM comes first, and a handler's code is kept apart" {
	job_run a $'out up\nsleep 600000' '{"timeout": 0.2, "grace": 60}'
	ended a 124 timeout
	run result a .usage.wall_ms
	[ "$output" -lt $((4000 * SLOW)) ]
	job_start b $'ignoreterm\nawait\nexit 9' '{"timeout": 0.2, "grace": 60}'
	await becomes 20 grep -q SIGTERM "$MNT/b/log"
	goes_on b
	job_wait b
	ended b 124 timeout
	result_is b .program_exit_code 9
}

@test "after the grace SIGKILL ends what ignores SIGTERM" {
	job_run a $'ignoreterm\nout up\nsleep 600000' '{"timeout": 0.2, "grace": 0.3}'
	ended a 124 timeout
	stdout_is a up
	run result a .usage.wall_ms
	[ "$output" -ge 480 ] && [ "$output" -lt $((5000 * SLOW)) ]
}

@test "log says how many processes a program has left, and none says nothing" {
	job_run a $'out up\nleave 3'
	ended a 0 exited
	run cat "$MNT/a/log"
	assert_output --partial '3 processes of the program still ran after its end and were killed; "linger" is 1 s'
	job_run b 'leave 1' '{"linger": 0.25}'
	run cat "$MNT/b/log"
	assert_output --partial '1 process of the program still ran after its end and was killed; "linger" is 0.25 s'
	job_run c 'out up'
	run cat "$MNT/c/log"
	refute_output --partial linger
}

@test "ctl interrupt is a SIGINT, and log says so" {
	job_start a $'out up\nsleep 600000'
	job_follow a up
	echo interrupt >"$MNT/a/ctl"
	job_wait a
	ended a 130 signaled
	run cat "$MNT/a/log"
	assert_output --partial 'interrupted by ctl'
	fails ESRCH bash -c 'echo interrupt >"$1/a/ctl"' bash "$MNT"
}

@test "without a grace SIGKILL comes at the timeout" {
	job_run a $'ignoreterm\nsleep 600000' '{"timeout": 0.2}'
	ended a 124 timeout
	result_is a .message 'over its 0.2 s (timeout)'
	grep -q 'timeout, exit code 124: over its 0.2 s (timeout)$' "$MNT/a/log"
}

@test "over its memory: 137 and out_of_memory" {
	job_run a $'out before\noom'
	ended a 137 out_of_memory
	stdout_is a before
	result_is a .message 'needed more than 256 MiB (memory_mb)'
	grep -q 'needed more than 256 MiB (memory_mb)$' "$MNT/a/log"
}

@test "ctl kill ends a running job: 137, cancelled" {
	job_start a $'out up\nsleep 600000'
	job_follow a up
	echo kill >"$MNT/a/ctl"
	job_wait a
	ended a 137 cancelled
	stdout_is a up
}

@test "ctl kill ends a job that ignores everything but SIGKILL" {
	job_start a $'ignoreterm\nout up\nsleep 600000'
	job_follow a up
	echo kill >"$MNT/a/ctl"
	job_wait a
	ended a 137 cancelled
}

@test "ctl kill ends a queued job, which then never runs" {
	mount_stop
	mount_start --max-machines 1 --pool 1
	job_start a $'out up\nsleep 600000'
	job_follow a up
	job_start b 'out never'
	state_is b queued
	echo kill >"$MNT/b/ctl"
	job_wait b
	ended b 137 cancelled
	assert_equal "$(cat "$MNT/b/stdout")" ''
	echo kill >"$MNT/a/ctl"
	job_wait a
}

@test "ctl signal reaches the program" {
	job_start a $'out up\nsleep 600000'
	job_follow a up
	echo 'signal USR1' >"$MNT/a/ctl"
	job_wait a
	ended a 138 signaled
	result_is a .signal SIGUSR1
}

@test "ctl kill on a job that never ran or has ended changes nothing" {
	mkdir "$MNT/a"
	echo kill >"$MNT/a/ctl" || true
	state_is a draft
	job_run b 'exit 3'
	echo kill >"$MNT/b/ctl" || true
	ended b 3 exited
}

@test "a machine that crashes is failed, 125, with a message; output is kept" {
	job_run a $'out before\nsleep 1\ncrash'
	ended a 125 failed
	stdout_is a before
	run result a .message
	assert_output --partial machine
	run cat "$MNT/a/error"
	refute_output ''
}

@test "a machine that talks nonsense is failed, and the next job is fine" {
	job_run a $'out before\ngarbage\nsleep 600000'
	ended a 125 failed
	job_run b 'out fine'
	ended b 0 exited
}

@test "a machine that goes silent is failed with a named reason" {
	job_run a $'out before\nhang' '{"timeout": 0.2}'
	local code
	code=$(cat "$MNT/a/exit_code")
	[ "$code" = 124 ] || [ "$code" = 125 ] || fail "exit code $code"
	run result a '.status + " " + (.message // "")'
	assert_output --regexp '^(timeout|failed) .+'
	stdout_is a before
}

@test "ctl kill ends a job whose machine is silent" {
	job_start a $'out up\nhang'
	job_follow a up
	echo kill >"$MNT/a/ctl"
	job_wait a
	ended a 137 cancelled
}

@test "a guest that says why it could not run is failed with that sentence" {
	job_run a 'failed the interpreter is not here'
	ended a 125 failed
	run result a .message
	assert_output --partial 'the interpreter is not here'
}

@test "a machine that dies before it is up costs a retry, not the job" {
	mount_stop
	expect_log 'machines do not start'
	FSD_FAKE_FAIL_STARTS=2 mount_start --pool 0
	job_run a 'out x'
	ended a 0 exited
}

@test "an output path that leaves its directory is dropped, said and touches nothing" {
	local path n=0
	for path in ../escape /tmp/fsd-escape a/../../escape . .. a//b a/./b ''; do
		n=$((n + 1))
		job_run "j$n" "badfile $path"
		ended "j$n" 0 exited
		run result "j$n" .message
		assert_output --partial incomplete
		run find "$MNT/j$n/output" -mindepth 1
		assert_output ''
	done
	[ ! -e /tmp/fsd-escape ]
	run find "$STATE" "$BATS_TEST_TMPDIR" -name '*escape*'
	assert_output ''
}

@test "result.json has every key of schema 1, absent ones as null" {
	job_run a $'out x\nwrite f 1'
	assert_equal "$(jq -r 'keys_unsorted | sort | join(" ")' "$MNT/a/result.json")" \
		"attempt attempts created ended environment error exit_code id job kept_until language machine message network output output_dropped output_left_out ports program_exit_code results schema session session_state signal started status stderr stdin stdout step text timing usage value"
	result_is a .schema 1
	result_is a .job a
	result_is a .language bash
	result_is a '.usage | keys | join(" ")' 'peak_memory_bytes peak_processes system_ms user_ms wall_ms'
	result_is a '.timing | keys | join(" ")' 'collect_ms machine_ms queued_ms run_ms total_ms'
	result_is a '.machine | keys | join(" ")' 'accel missing_walls source template'
	result_is a .value null
	result_is a .results null
	result_is a .error null
	result_is a .message null
	local time
	for time in created started ended; do
		run result a ".$time"
		assert_output --regexp '^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$'
	done
	assert_equal "$(result a '.created <= .started and .started <= .ended')" true
}

@test "what never ran has null figures, not made-up zeros" {
	mount_stop
	mount_start --max-machines 1 --pool 1
	job_start a $'out up\nsleep 600000'
	job_follow a up
	job_start b 'out never'
	echo kill >"$MNT/b/ctl"
	job_wait b
	result_is b .program_exit_code null
	result_is b .started null
	result_is b .usage.wall_ms null
	result_is b .usage.peak_memory_bytes null
	echo kill >"$MNT/a/ctl"
	job_wait a
}

@test "the value travels apart from stdout, and JSON in stdout is only text" {
	mkdir "$MNT/a"
	job_put a code.py $'out {"value": "forged"}\nresult {"value": {"n": 42}}'
	job_put a config.json '{"mode": "call"}'
	job_wait a
	ended a 0 exited
	result_is a .value.n 42
	stdout_is a '{"value": "forged"}'
}

@test "a value that is no JSON does not break result.json" {
	mkdir "$MNT/a"
	job_put a code.py $'out x\nresult {"value": nonsense'
	job_put a config.json '{"mode": "call"}'
	job_wait a
	run jq -e . "$MNT/a/result.json"
	assert_success
}

@test "exit_code appears last: when it is there all else is final" {
	check exit-code-last "$MNT" 100
}

@test "the log tells the job's life with times" {
	job_run a 'exit 3'
	run cat "$MNT/a/log"
	assert_line --index 0 --regexp '^20[0-9-]+T[0-9:.]+Z queued$'
	assert_output --partial running
	assert_output --partial 'exit code 3'
	assert_line --index $((${#lines[@]} - 1)) --regexp 'done$'
}

@test "the log's last line is there at the end, also for who has it open" {
	local line last
	mkdir "$MNT/a"
	job_put a code.sh 'exit 3'
	exec 9<"$MNT/a/log"
	job_put a config.json '{}'
	job_wait a >/dev/null
	while IFS= read -r line <&9; do last=$line; done
	exec 9<&-
	[[ $last == *done ]] || fail "the last line is: $last"
}

@test "the log outlives a daemon that is stopped right after a job's end" {
	job_run a 'exit 3'
	local before
	before=$(cat "$MNT/a/log")
	job_run b 'exit 4'
	mount_stop
	mount_start
	assert_equal "$(cat "$MNT/a/log")" "$before"
	run cat "$MNT/b/log"
	assert_output --partial 'exit code 4'
}

@test "a run that left no files has an empty output/ like any directory" {
	job_run a 'exit 0'
	[ -d "$MNT/a/output" ]
	assert_equal "$(ls -A "$MNT/a/output")" ''
	(cd "$MNT/a/output" && [ "$(pwd)" = "$MNT/a/output" ])
	fails EPERM touch "$MNT/a/output/mine"
	fails EPERM mkdir "$MNT/a/output/mine"
	result_is a '.output | length' 0
	mount_stop
	mount_start
	[ -d "$MNT/a/output" ]
	assert_equal "$(ls -A "$MNT/a/output")" ''
	rmdir "$MNT/a/output"
	[ ! -e "$MNT/a/output" ]
}

@test "sizes of results are those of the newest run at once" {
	job_run a $'out short\nexit 3'
	assert_equal "$(stat -c %s "$MNT/a/exit_code" "$MNT/a/stdout" | xargs)" '2 6'
	cat "$MNT/a/exit_code" "$MNT/a/stdout" >/dev/null
	job_put a code.sh $'out much longer than that\nexit 137'
	job_put a config.json '{}'
	job_wait a >/dev/null
	assert_equal "$(stat -c %s "$MNT/a/exit_code" "$MNT/a/stdout" | xargs)" '4 22'
	assert_equal "$(cat "$MNT/a/exit_code")" 137
	stdout_is a 'much longer than that'
	wc -c <"$MNT/a/result.json" >/dev/null
}

@test "output/ has what the program made, with bytes, mode and type" {
	job_run a $'write one.txt hello\nwrite sub/deep/two.json {"a":1}'
	assert_equal "$(cat "$MNT/a/output/one.txt")" hello
	assert_equal "$(cat "$MNT/a/output/sub/deep/two.json")" '{"a":1}'
	result_is a '[.output[].path] | sort | join(" ")' 'one.txt sub/deep/two.json'
	result_is a '.output[] | select(.path == "one.txt") | .bytes' 6
	result_is a '.output[] | select(.path == "one.txt") | .mime' text/plain
	result_is a '.output[] | select(.path | endswith("json")) | .mime' application/json
	result_is a .output_dropped 0
}

@test "a program that made nothing has an empty output/" {
	job_run a 'out x'
	assert_equal "$(ls -A "$MNT/a/output")" ''
	result_is a '.output | length' 0
}

@test "what did not fit into output_limit is counted as dropped" {
	job_run a $'write a 12345678\nwrite b 12345678\nlink c' '{"output_limit": 10}'
	assert_equal "$(ls "$MNT/a/output")" a
	result_is a .output_dropped 2
}

@test "output/ cannot be changed, and can be copied away" {
	job_run a 'write d/f 1'
	fails EPERM dd status=none if=/dev/null of="$MNT/a/output/d/f"
	fails EPERM touch "$MNT/a/output/new"
	fails EPERM mkdir "$MNT/a/output/d/new"
	fails EPERM truncate -s 0 "$MNT/a/output/d/f"
	cp -r "$MNT/a/output" "$BATS_TEST_TMPDIR/out"
	assert_equal "$(cat "$BATS_TEST_TMPDIR/out/d/f")" 1
	run mv "$MNT/a/output/d/f" "$MNT/a/mine"
	assert_equal "$(cat "$MNT/a/output/d/f" "$MNT/a/mine" 2>/dev/null | head -c1)" 1
}

@test "jobs beyond the number of machines wait their turn, first come first" {
	mount_stop
	mount_start --max-machines 1 --pool 1
	job_start a $'out up\nsleep 600000'
	job_follow a up
	local i
	for i in 1 2 3 4 5; do
		job_start "q$i" "out $i"
		state_is "q$i" queued
	done
	echo kill >"$MNT/a/ctl"
	for i in 1 2 3 4 5; do
		job_wait "q$i"
	done
	assert_equal "$(for i in 1 2 3 4 5; do result "q$i" '.started + " " + .job'; done | sort -s -k1,1 | cut -d' ' -f2 | tr '\n' ' ')" 'q1 q2 q3 q4 q5 '
}

@test "many writers in parallel: each job is its own" {
	local i pids=()
	for i in {1..20}; do
		job_run "p$i" $"out $i"$'\nexit '"$i" 3>&- &
		pids+=($!)
	done
	wait "${pids[@]}"
	for i in {1..20}; do
		exit_is "p$i" "$i"
		stdout_is "p$i" "$i"
	done
}

@test "a result that the disk refuses is said, and is no name that cannot be opened" {
	local server
	server=$(getfattr -n user.fsd.pid --only-values "$MNT")
	job_start a $'out up\nsleep 600000'
	job_follow a up
	prlimit --pid "$server" --fsize=600: # of a state, not of a result
	echo kill >"$MNT/a/ctl"
	job_wait a
	prlimit --pid "$server" --fsize=unlimited:
	state_is a 'done'
	assert_equal "$(cat "$MNT/a/exit_code")" 125
	assert_equal "$(cat "$MNT/a/error")" \
		'the result cannot be stored: File too large'
	absent a result.json
	refute_regex " $(names "$MNT/a") " ' result.json '
	cp -r "$MNT/a" "$BATS_TEST_TMPDIR/copy"
	job_run b 'exit 7'
	ended b 7 exited
}
