#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Machines that are dead, frozen or never come up, and what their jobs see of it.

load ../lib/common

teardown() { mount_done; }

becomes() {
	await becomes 30 sh -c "[ \"\$(awk -v n='$2' '\$1 == n { print \$2 }' \
		'$MNT/.fsd/stats')\" = '$1' ]"
}

# bats test_tags=smoke
@test "a frozen idle machine is not given out: its job has another one and does not notice" {
	FSD_FAKE_FREEZE=2 mount_start --pool 2 --max-machines 4
	becomes 2 fsd_machines_warm
	JOB_SECONDS=10 job_run a $'show data\nexit 3' '{"inputs": ["data"]}' &
	await becomes 10 test -d "$MNT/a"
	echo given >"$MNT/a/data"
	wait $!
	ended a 3 exited
	stdout_is a given
	result_is a .message null
	assert_equal "$(cat "$MNT/a/error")" ''
	[ "$(grep -c running "$MNT/a/log")" = 1 ]
	grep -q 'did not take its job.*another one has it' "$LOG"
	# The other one was asked, and was frozen as well.
	becomes 2 fsd_machines_failed_total
	job_run b 'out well'
	ended b 0 exited
	becomes 2 fsd_machines_failed_total
}

@test "a machine that does not come up in time is told, until it does" {
	FSD_FAKE_START_MS=12000 mount_start --pool 0 --max-machines 1
	health_is_ok
	job_start a 'out x'
	health_becomes 'a machine has not started within 10 s: QEMU or the jailer was stopped'
	grep -q 'waits until machines can be had again: a machine has not started' "$MNT/a/log"
	state_is a queued
	assert_equal "$(job_wait a)" 0
	health_is_ok
}

@test "a job that waits for another machine can be killed and removed" {
	FSD_FAKE_FREEZE=1 FSD_FAKE_START_MS=2000 mount_start --pool 1 --max-machines 1
	becomes 1 fsd_machines_warm
	job_start a 'out x'
	await becomes 10 grep -q 'another one has it' "$LOG"
	echo kill >"$MNT/a/ctl"
	job_wait a
	ended a 137 cancelled
	job_run b 'out x'
	ended b 0 exited
}

@test "a session's first step has another machine, too" {
	FSD_FAKE_FREEZE=1 mount_start --pool 1
	becomes 1 fsd_machines_warm
	job_run a 'remember x' '{"session": "s"}'
	job_run b 'recall' '{"session": "s"}'
	ended a 0 exited
	stdout_is b x
}

@test "a machine that takes its job and then dies is not replaced: nobody knows what it did" {
	mount_start --pool 2
	job_run a $'out begun\nwrite f x\ncrash'
	ended a 125 failed
	stdout_is a begun
	run result a .message
	assert_output --partial 'outcome is unknown: the machine crashed'
	assert_equal "$(cat "$MNT/.fsd/health")" ok
}

@test "a guest that is silent from the beginning fails its job in bounded time" {
	# Said if the machine of the pool is not there yet when this one fails.
	export LOG_EXPECTED='jobs cannot run: machines do not start: the machine was silent'
	mount_start --pool 1
	JOB_SECONDS=30 job_run a $'nostart\nmute' '{"timeout": 1}'
	ended a 125 failed
	run result a .message
	assert_output --partial 'the machine was silent for 3 s while starting the program'
}

@test "a machine that rests is heated once more, but not the only one that is warm" {
	mount_start --pool 3
	becomes 1 fsd_machines_unheated # the others are for other languages
	becomes 0 fsd_machines_unheated
	becomes 3 fsd_machines_warm
	mount_stop
	mount_start --pool 1
	becomes 1 fsd_machines_unheated
	# it would be over by then
	SLOW=1 run await becomes 3 grep -q "^fsd_machines_unheated 0" "$MNT/.fsd/stats"
	assert_failure
	job_run a 'out x'
	ended a 0 exited
	becomes 1 fsd_machines_unheated
}

@test "idle machines that die are replaced ever more slowly; health says so until one has served" {
	local began=$EPOCHSECONDS made
	FSD_FAKE_IDLE_DEATHS=6 mount_start --pool 1
	health_becomes 'idle machines die (5 so far): it died while it was idle (fake) (since 20'
	[ $((EPOCHSECONDS - began)) -ge 2 ] || fail 'they were replaced at once'
	made=$(figure fsd_machines_made_total)
	[ "$made" -le 6 ] || fail "$made machines were made"
	becomes 1 fsd_machines_warm
	job_run a 'out x'
	ended a 0 exited
	assert_equal "$(cat "$MNT/.fsd/health")" ok
}

@test "while machines do not start one job tries, the others wait, and all is well by itself" {
	expect_log 'machines do not start'
	FSD_FAKE_FAIL_STARTS=5 mount_start --pool 0 --max-machines 4
	job_start a 'out a'
	health_becomes 'machines do not start: the machine failed to start (fake) (since 20'
	job_start b 'out b'
	run cat "$MNT/b/log"
	assert_output --partial 'waits until machines can be had again: '
	assert_equal "$(job_wait a)" 0
	assert_equal "$(job_wait b)" 0
	assert_equal "$(cat "$MNT/.fsd/health")" ok
}

@test "machines that are killed from outside as they start do not make the template suspect" {
	expect_log 'machines do not start'
	FSD_FAKE_TAKEN_STARTS=5 mount_start --pool 0
	job_start a 'out a'
	health_becomes 'machines do not start: the machine was killed from outside (fake) (since 20'
	assert_equal "$(job_wait a)" 0
	assert_equal "$(figure fsd_templates_made_total)" 1
	assert_equal "$(cat "$MNT/.fsd/health")" ok
}

@test "machines that never start fail the job that tries, with the reason" {
	expect_log 'machines do not start'
	FSD_FAKE_FAIL_STARTS=1000 mount_start --pool 0
	job_start a 'out a'
	job_wait a 30
	ended a 125 failed
	run result a .message
	assert_output --partial 'the program never ran: machines do not start: the machine failed to start (fake)'
	[ "$(figure fsd_machines_failed_total)" -le 12 ]
}

@test "jobs that a start finds queued wait for a template that cannot be had yet" {
	local i
	expect_log 'no template|jobs cannot run'
	mount_start --max-machines 2
	job_start block1 'sleep 60000'
	job_start block2 'sleep 60000'
	for i in 1 2 3 4 5; do
		job_start "j$i" "out $i"
	done
	mount_crash
	FSD_FAKE_FAIL_TEMPLATES=1 mount_start --max-machines 2
	health_becomes 'the guest did not boot (fake) (since 20'
	await becomes 10 grep -q 'waits until machines can be had again: the guest did not boot' \
		"$MNT/j1/log" # it has a place, and waits for its machine
	for i in 1 2 3 4 5; do
		job_wait "j$i" >/dev/null
		ended "j$i" 0 exited
		stdout_is "j$i" "$i"
	done
}

@test "when machines do not start one job after the other fails, not all that wait" {
	expect_log 'machines do not start'
	FSD_FAKE_FAIL_STARTS=1000 mount_start --pool 0 --max-machines 4
	job_start a 'out a'
	job_start b 'out b'
	job_start c 'out c'
	job_wait a 30
	ended a 125 failed
	grep -q 'waits until machines can be had again: machines do not start' "$MNT/a/log"
	state_is b queued # the next one is tried after some seconds
	state_is c queued
}

# jailer_ready — a mount whose jailer jailer_dies() ends.
jailer_ready() {
	mkfifo "$BATS_TEST_TMPDIR/jailer"
	export FSD_FAKE_JAILER=$BATS_TEST_TMPDIR/jailer
	expect_log 'jailer|machines cannot be started|killed before its program'
}
jailer_dies() {
	bounded 5 bash -c 'echo -n x >"$1"' _ "$FSD_FAKE_JAILER"
}

@test "a job whose machine dies with the jailer before it heard of it runs once, in another" {
	jailer_ready
	export FSD_FAKE_WITNESS=$BATS_TEST_TMPDIR/witness
	FSD_FAKE_FREEZE=1 mount_start --pool 1 --max-machines 4
	becomes 1 fsd_machines_warm
	job_start a $'witness\nout x'
	await becomes 10 grep -qx running "$MNT/a/state"
	jailer_dies
	assert_equal "$(job_wait a)" 0
	ended a 0 exited
	assert_equal "$(wc -l <"$FSD_FAKE_WITNESS")" 1
	health_is_ok
}

@test "a step that had the machine of a jailer that dies is told, and the service goes on" {
	jailer_ready
	FSD_FAKE_FREEZE=1 mount_start --pool 1 --max-machines 4
	becomes 1 fsd_machines_warm
	job_start a 'out x' '{"session": "s"}'
	await becomes 10 grep -qx running "$MNT/a/state"
	jailer_dies
	job_wait a >/dev/null
	ended a 125 failed
	grep -q 'the program never ran: the jailer has ended' "$MNT/a/error"
	job_run b 'out y' '{"session": "s"}'
	stdout_is b y
}

@test "a later step whose record is being written when the jailer dies holds up nobody" {
	local start
	jailer_ready
	mount_start --pool 0 --max-machines 4
	job_run s1 'remember x' '{"session": "s"}'
	mkdir "$MNT/s2"
	job_put s2 code.sh recall
	job_put s2 config.json '{"session": "s", "start": "manual"}'
	gate 'hold:pwrite64:jobs/*/meta'
	bash -c 'echo start >"$1"' _ "$MNT/s2/ctl" 3>&- &
	start=$!
	gate_held
	jailer_dies
	await becomes 10 grep -q 'machines cannot be started any more' "$LOG"
	gate_open
	gate_end
	await exit "$start" 20 || true # what it said is the job's to tell
	job_run b 'out y'
	stdout_is b y
	job_wait s2 >/dev/null
	# Its step may have run before the machine's end was seen, or it waited for the
	# next server, which has begun the session anew.
	if [ "$(cat "$MNT/s2/exit_code")" != 0 ]; then
		ended s2 125 failed
	elif grep -q 'session s: begun anew' "$MNT/s2/log"; then
		stdout_is s2 ''
	else
		stdout_is s2 x
	fi
}

@test "a step that waits for its first machine when the jailer dies runs in another" {
	jailer_ready
	FSD_FAKE_START_MS=1500 mount_start --pool 0 --max-machines 4
	health_is_ok
	job_start a 'out x' '{"session": "s"}'
	job_start b 'out y'
	jailer_dies
	assert_equal "$(job_wait a)" 0
	assert_equal "$(job_wait b)" 0
	stdout_is a x
}

@test "a job that waits for a template of its size when the jailer dies is begun by the next server" {
	local id
	jailer_ready
	FSD_FAKE_START_MS=1000 mount_start --pool 0 --max-machines 4
	health_is_ok
	job_start a $'out up\nsleep 60000'
	job_follow a up
	id=$(basename "$(echo "$STATE"/jobs/*)")
	job_start b 'out y' '{"cpus": 2}'
	await becomes 10 grep -q 'waits for the template' "$MNT/b/log"
	gate "hold:pwrite64:jobs/$id/meta"
	jailer_dies
	gate_held # a, which ran, has not ended yet
	await becomes 10 grep -qx queued "$MNT/b/state"
	gate_open
	gate_end
	assert_equal "$(job_wait b)" 0
	ended b 0 exited
	ended a 125 failed
}

@test "a job that is stranded while the service stops is told, not lost" {
	jailer_ready
	FSD_FAKE_FREEZE=1 mount_start --pool 1 --max-machines 4
	becomes 1 fsd_machines_warm
	job_start a 'out x'
	await becomes 10 grep -qx running "$MNT/a/state"
	kill -USR1 "$DAEMON"
	await becomes 10 grep -q 'stopping when 1 running job' "$LOG"
	jailer_dies
	mount_ended USR1
	mount_start
	job_wait a >/dev/null
	ended a 125 failed
	grep -q 'the program never ran: the jailer has ended' "$MNT/a/error"
}

@test "without a template jobs wait, and run when it can be had again" {
	expect_log 'no template|jobs cannot run'
	FSD_FAKE_FAIL_TEMPLATES=1 mount_start --pool 1
	health_becomes 'the guest did not boot (fake) (since 20'
	job_start a 'out a'
	state_is a queued
	run cat "$MNT/a/log"
	assert_output --partial 'waits until machines can be had again: the guest did not boot'
	assert_equal "$(job_wait a)" 0
	assert_equal "$(cat "$MNT/.fsd/health")" ok
}
