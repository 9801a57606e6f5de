#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# "retry": what the appliance failed is run again, and only that.

load ../lib/common

setup() { mount_start; }
teardown() { mount_done; }

# runs_again JOB — its second attempt does, says "up", and goes on.
runs_again() {
	await becomes 20 sh -c '[ "$(grep -c " running$" "$1")" = 2 ]' - \
		"$MNT/$1/log"
	job_follow "$1" up
	goes_on "$1"
}

# bats test_tags=smoke
@test "a machine that dies under a job is followed by another one, as often as retry says" {
	job_run a $'out once\ncrash' '{"retry": 2}'
	ended a 125 failed
	stdout_is a once
	result_is a .attempt 3
	result_is a '.attempts | length' 2
	result_is a '[.attempts[].status] | unique | .[]' failed
	run result a '.attempts[0].message'
	assert_output --partial 'outcome is unknown'
	# each began after the one before it had ended
	run result a '[.attempts[] | .started, .ended] + [.started, .ended] | . == sort'
	assert_output true
	assert_equal "$(figure fsd_runs_retried_total)" 2
}

@test "the log says of each attempt how it failed" {
	job_run a $'out once\ncrash' '{"retry": 1}'
	run cat "$MNT/a/log"
	assert_output --partial 'attempt 1 of 2: failed: the program'
	assert_equal "$(grep -c ' queued$' "$MNT/a/log")" 2
	assert_equal "$(grep -c ' running$' "$MNT/a/log")" 2
	assert_equal "$(grep -c ' done$' "$MNT/a/log")" 1
}

@test "events tell which attempt it is, and nothing of those before" {
	job_run a $'out once\ncrash' '{"retry": 2}'
	run jq -c 'select(.event == "state") | [.state, .attempt]' "$MNT/a/events"
	assert_output $'["queued",3]\n["running",null]\n["done",null]'
	job_run b 'out x' '{"retry": 2}'
	run jq -c 'select(.state == "queued") | has("attempt")' "$MNT/b/events"
	assert_output false
}

@test "without retry nothing is run twice" {
	job_run a $'out once\ncrash'
	ended a 125 failed
	result_is a .attempt 1
	result_is a '.attempts == []' true
	assert_equal "$(figure fsd_runs_retried_total)" 0
}

@test "a program's own end, a timeout, a kill and no memory are not tried again" {
	job_run code 'exit 3' '{"retry": 5}'
	job_run signal 'signal 11' '{"retry": 5}'
	job_run timeout 'sleep 600000' '{"retry": 5, "timeout": 0.2}'
	job_run oom 'oom' '{"retry": 5}'
	job_start kill $'out up\nsleep 600000' '{"retry": 5}'
	job_follow kill up
	echo kill >"$MNT/kill/ctl"
	job_wait kill
	local job
	for job in code signal timeout oom kill; do
		result_is "$job" .attempt 1
	done
	status_is code exited
	status_is signal signaled
	status_is timeout timeout
	status_is oom out_of_memory
	status_is kill cancelled
}

@test "who follows the output of a failed attempt comes to its end" {
	job_start a $'out up\nsleep 300\ncrash' '{"retry": 1}'
	job_follow a up
	# opened in one run, read to the end of that run
	assert_equal "$(bounded 20 cat "$MNT/a/stdout.follow")" up
	job_wait a
	stdout_is a up
	result_is a .stdout.bytes 3
}

@test "who waits for the job waits for the last attempt" {
	job_start a $'sleep 200\ncrash' '{"retry": 2}'
	assert_equal "$(job_wait a)" 125
	result_is a .attempt 3
}

@test "what a failed attempt has left is no part of the next one's results" {
	job_run a $'write left 1\nout one\nerr two\ncrash' '{"retry": 1}'
	assert_equal "$(ls "$STATE"/jobs/*/ -d | wc -l)" 1
	assert_equal "$(cd "$STATE"/jobs/* && echo r*)" r2
	assert_equal "$(cat "$MNT/a/stdout" "$MNT/a/stderr")" $'one\ntwo'
}

@test "a job that ran when the daemon was killed runs again" {
	job_start a $'out up\nsleep 1500\nout end\nexit 4' '{"retry": 1}'
	job_follow a up
	mount_crash
	mount_start
	job_wait a
	ended a 4 exited
	stdout_is a $'up\nend'
	result_is a .attempt 2
	result_is a '.attempts[].status' interrupted
	run cat "$MNT/a/log"
	assert_output --partial 'attempt 1 of 2: interrupted: fsd or its host ended while the program ran'
}

@test "a job that ran when its server was killed runs again, and who waits gets the end" {
	job_start a $'out up\nsleep 700\nexit 4' '{"retry": 1}'
	job_follow a up
	cat "$MNT/a/wait" >"$BATS_TEST_TMPDIR/code" &
	local waiter=$!
	server_kill
	wait "$waiter"
	assert_equal "$(cat "$BATS_TEST_TMPDIR/code")" 4
	ended a 4 exited
	result_is a .attempt 2
}

@test "a job that ran when the daemon was told to end runs again" {
	job_start a $'out up\nsleep 1500\nexit 4' '{"retry": 1}'
	job_follow a up
	mount_stop
	mount_start
	job_wait a
	ended a 4 exited
	result_is a .attempt 2
}

@test "attempts are counted over any number of daemons" {
	job_start a $'out up\nsleep 600000' '{"retry": 3}'
	for _ in 1 2 3; do
		job_follow a up
		mount_crash
		mount_start
	done
	job_follow a up
	mount_crash
	mount_start
	ended a 125 interrupted
	result_is a .attempt 4
	result_is a '[.attempts[].status] | join(" ")' 'interrupted interrupted interrupted'
	stdout_is a up
}

@test "a new submission begins with its first attempt" {
	job_run a $'out once\ncrash' '{"retry": 1}'
	result_is a .attempt 2
	job_put a code.sh 'exit 0'
	job_put a config.json '{"retry": 1}'
	job_wait a
	ended a 0 exited
	result_is a .attempt 1
	result_is a '.attempts == []' true
	[ ! -e "$(echo "$STATE"/jobs/*)/attempts" ] || fail 'their record is left'
}

@test "a record of attempts that is damaged costs no job" {
	job_start a $'out up\nsleep 600000' '{"retry": 3}'
	job_follow a up
	mount_crash
	mount_start
	job_follow a up
	mount_crash
	printf 'garbage \xff\n9 failed 1 1 x\n1 fai' >"$(echo "$STATE"/jobs/*)/attempts"
	mount_start
	job_follow a up
	echo kill >"$MNT/a/ctl"
	job_wait a
	result_is a '[.attempts[].status | tostring] | join(" ")' 'null interrupted'
}

@test "a daemon that ends after its jobs knows how many run, whatever was tried again" {
	job_run a crash '{"retry": 2}'
	job_start b $'out up\nsleep 300\nexit 3'
	job_follow b up
	mount_stop USR1
	mount_start
	ended b 3 exited
}

# ends_between — the daemon ends, and another one takes up what it has left.
ends_between() {
	mount_stop
	mount_start
	job_wait a >/dev/null
	ended a 125 interrupted
	result_is a .attempt 1
	result_is a '.attempts == []' true
}

@test "a job that was to be killed is not run again when the daemon ends first" {
	job_start a $'deaf\nout up\nsleep 600000' '{"retry": 1}'
	job_follow a up
	echo kill >"$MNT/a/ctl"
	ends_between
}

@test "nor is one whose time was over" {
	job_start a $'ignoreterm\nout up\nsleep 600000' \
		'{"retry": 1, "timeout": 0.2, "grace": 60}'
	await becomes 20 grep -q SIGTERM "$MNT/a/log"
	ends_between
}

@test "nor one whose program had ended, though not all of its output was there" {
	local end
	end=$(/usr/bin/python3 -I -S -c "import sys; sys.path.insert(0, '$TESTS/lib')
import lies; print(lies.raw(lies.ended()))")
	job_start a $'ignoreterm\nmute\nout up\n'"$end"$'\nsleep 600000' \
		'{"retry": 1}'
	job_follow a up
	# no signal reaches it any more
	await becomes 20 sh -c '! echo signal CONT >"$1"' - \
		"$MNT/a/ctl"
	ends_between
}

# waits_again — a's first attempt has failed, and b has the only machine.
waits_again() {
	mount_stop
	FSD_FAKE_WITNESS=$BATS_TEST_TMPDIR/witness mount_start \
		--max-machines 1 --pool 1
	job_start a $'out up\nwitness a\nawait\ncrash' '{"retry": 1}'
	job_follow a up
	job_start b $'out up\nsleep 600000'
	goes_on a
	job_follow b up
	await becomes 20 grep -qx queued "$MNT/a/state"
}

# ran_once — b makes room, and a is not there to take it.
ran_once() {
	echo kill >"$MNT/b/ctl"
	job_wait b >/dev/null
	job_run c 'witness c'
	run cut -d ' ' -f 1 "$BATS_TEST_TMPDIR/witness"
	assert_output $'a\nc'
}

@test "a job that is removed between two attempts is not run again" {
	waits_again
	rm -r "$MNT/a"
	ran_once
}

@test "what was listed of a job is removed, though its attempt has failed since" {
	waits_again
	absent . a/stdout
	rm "$MNT/a/stdout" "$MNT/a/stderr"
	run ! rm "$MNT/a/exit_code"
	run ! cat "$MNT/a/stdout"
	assert_output --partial 'No such file'
	echo kill >"$MNT/b/ctl"
	runs_again a
	job_wait a >/dev/null
	grep -qx up "$MNT/a/stdout"
}

@test "a job that is killed between two attempts is not run again" {
	waits_again
	echo kill >"$MNT/a/ctl"
	job_wait a >/dev/null
	status_is a cancelled
	result_is a '[.attempts[].status] | join(" ")' failed
	ran_once
}

@test "a job of which a file was removed while it ran has it when it is run again" {
	mkdir "$MNT/a"
	echo x >"$MNT/a/x"
	job_put a code.sh $'out up\nawait\ncrash'
	job_put a config.json '{"retry": 1}'
	job_follow a up
	rm "$MNT/a/x"
	goes_on a
	runs_again a
	job_wait a
	ended a 125 failed
	result_is a .attempt 2
	job_put a code.sh $'files\ncrash' # the next submission is without it
	job_put a config.json '{"retry": 1}'
	job_wait a
	result_is a .attempt 2
	run cat "$MNT/a/stdout"
	refute_line --partial 'x 2 '
}

@test "and when the server was killed under it" {
	mkdir -p "$MNT/a/d/e"
	echo x | tee "$MNT/a/x" "$MNT/a/d/e/y" >"$MNT/a/d/z"
	job_put a code.sh $'out up\nfiles\nawait'
	job_put a config.json '{"retry": 1}'
	job_follow a up
	sort "$MNT/a/stdout" >"$BATS_TEST_TMPDIR/files"
	rm -r "$MNT/a/x" "$MNT/a/d/e" "$MNT/a/code.sh"
	server_kill
	await becomes 20 grep -q 'it is run again' "$MNT/a/log"
	job_follow a up
	goes_on a
	job_wait a
	ended a 0 exited
	result_is a .attempt 2
	cmp <(sort "$MNT/a/stdout") "$BATS_TEST_TMPDIR/files"
}

# fails_once — the output of a's first attempt cannot be stored, and that another
# one follows is being recorded, which takes as long as the test wants.
fails_once() {
	gate fail:ENOSPC:write:jobs/*/r1/stdout hold:pwrite64:jobs/*/meta
	job_start a $'out up\nsleep 600000' '{"retry": 1}'
	gate_held
}

# meanwhile COMMAND... — comes in between, whether it has to wait or not.
meanwhile() {
	"$@" &
	check settles $! "$MNT"
	gate_open
	wait $!
	gate_end
	assert_equal "$(server_pid)" "$SERVER"
}

@test "a job that is removed while its next attempt is recorded is gone, and others run" {
	fails_once
	meanwhile rm -r "$MNT/a"
	absent . a
	job_run b 'out b'
	stdout_is b b
	assert_equal "$(find "$STATE/jobs" -mindepth 1 -maxdepth 1 | wc -l)" 1
}

@test "a job that is killed while its next attempt is recorded is cancelled, and others run" {
	fails_once
	meanwhile bash -c 'echo kill >"$1"' - "$MNT/a/ctl"
	job_wait a
	ended a 137 cancelled
	result_is a '[.attempts[].status] | join(" ")' failed
	job_run b 'out b'
	stdout_is b b
}

@test "a job whose machine dies while its output is being opened is run again" {
	job_start a $'err up\nuntil '"$STATE/go"$'\ncrash' '{"retry": 1}'
	IFS= read -r -t $((20 * SLOW)) _ <"$MNT/a/stderr.follow"
	gate hold:openat:jobs/*/r1/stdout
	cat "$MNT/a/stdout" &
	gate_held
	: >"$STATE/go"
	await becomes 20 grep -q 'fsd_machines_failed_total [1-9]' "$MNT/.fsd/stats"
	gate_open
	wait $!
	gate_end
	job_wait a
	ended a 125 failed
	result_is a .attempt 2
	assert_equal "$(server_pid)" "$SERVER"
}

@test "a config that is removed meanwhile keeps no job from being run again" {
	job_start a $'out up\nargs\nawait\ncrash' \
		'{"retry": 1, "args": ["given"]}'
	job_follow a up
	rm "$MNT/a/config.json"
	goes_on a
	runs_again a
	job_wait a
	ended a 125 failed
	result_is a .attempt 2
	grep -qx given "$MNT/a/stdout"
}
