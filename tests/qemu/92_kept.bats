#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The process that serves dies, and the machines of its jobs go on.

load ../lib/qemu
load ../lib/kept

export LOG_EXPECTED='zygote|the jailer has ended'

# A server's first machines are not what is tried here: each costs seconds.
setup_file() { file_setup --fork no --pool 0; }
teardown_file() { file_teardown; }
setup() { server_now; }
teardown() {
	jobs_done
	[ -z "${OWN:-}" ] || mount_done
}

@test "a program runs on while the servers of its mount are killed" {
	local i
	counts
	for i in 1 2 3 4 5; do
		kill_server
		state_is "$J" running
		# it answers before it has come to each of its jobs
		await becomes 20 sh -c '[ "$(grep -c "another server goes on with it" "$1")" = "$2" ]' \
			- "$MNT/$J/log" "$i"
	done
	job_wait "$J" $JOB_SECONDS >/dev/null
	counted
	# As long as its program ran, by the guest's clock and by ours.
	run result "$J" '.usage.wall_ms >= 4000 and .timing.run_ms >= 4000'
	assert_output true
}

@test "a program runs on while the disk refuses records, and its end is stored" {
	local meta
	own_mount
	expect_log 'refuses (the record of a job|records of jobs)'
	mount_start
	counts
	mkdir "$MNT/other"
	meta=$(grep -l '^name other' "$STATE"/jobs/*/meta)
	chattr +i "$meta" || need 'files can be made immutable'
	fails EROFS chmod 700 "$MNT/other"
	health_becomes 'refuses records of jobs'
	state_is "$J" running
	job_wait "$J" $JOB_SECONDS >/dev/null
	counted
	chattr -i "$meta"
	bounded 20 "$FSD" upgrade --now "$MNT"
	counted
	chmod 700 "$MNT/other"
}

# idle_mount COUNT — one of the test's own, with so many machines asleep.
idle_mount() {
	own_mount
	MOUNT_OPTIONS=${MOUNT_OPTIONS/--pool 0/} mount_start --pool "$1" --heat quick
}

# asleep — a machine is there, to be woken, and none is being made.
asleep() {
	await becomes 60 awk '{ is[$1] = $2 }
		END { exit !(is["fsd_machines_warm"] >= 1 &&
			is["fsd_machines_starting"] == 0) }' "$MNT/.fsd/stats"
}

@test "a job goes on whose server dies as soon as it runs" {
	local i
	idle_mount 1
	for i in 1 2 3 4 5; do
		job_made code.py <<<'print("up")'
		asleep
		server_now
		job_put "$J" config.json '{}'
		until [ "$(job_state "$J")" != queued ]; do :; done
		kill_server
		job_wait "$J" $JOB_SECONDS >/dev/null
		ended "$J" 0 exited
		stdout_is "$J" up
	done
}

@test "who waits for a job that goes on is answered at its end" {
	counts
	cat "$MNT/$J/wait" >"$BATS_TEST_TMPDIR/wait" &
	local waiter=$!
	cat "$MNT/$J/stdout.follow" >"$BATS_TEST_TMPDIR/follow" &
	local follower=$!
	await reader "$waiter" "$MNT" 20
	kill_server
	await exit "$waiter" 60
	await exit "$follower" 60
	assert_equal "$(cat "$BATS_TEST_TMPDIR/wait")" 5
	assert_equal "$(cat "$BATS_TEST_TMPDIR/follow")" "$(seq 0 39)"
	counted
}

@test "several jobs go on at the same time" {
	local first=${N:-0} i
	for i in 1 2 3; do
		counts
	done
	kill_server
	kill_server
	for i in 1 2 3; do
		J=t$BATS_TEST_NUMBER.$((first + i))
		job_wait "$J" $JOB_SECONDS >/dev/null
		counted
	done
}

@test "twenty megabytes of output are whole, whenever their server is killed" {
	local i
	job_made code.py <<<'
import sys
for i in range(400):
    sys.stdout.write(("%d " % i * 60000)[:50000] + "\n")
    sys.stdout.flush()'
	job_put "$J" config.json '{"timeout": 300}'
	for i in $(seq 12); do
		[ ! -e "$MNT/$J/exit_code" ] || break
		kill_server
	done
	echo "# killed $i times" >&3
	job_wait "$J" $JOB_SECONDS >/dev/null
	ended "$J" 0 exited
	assert_equal "$(sha256sum <"$MNT/$J/stdout")" "$(python3 -c '
for i in range(400):
    print(("%d " % i * 60000)[:50000])' | sha256sum)"
}

@test "what a function returned is there, though its server died meanwhile" {
	job_made code.py <<<'
import time
def main(a):
    print("up", flush=True)
    time.sleep(2)
    return {"twice": a * 2, "long": "x" * 300000}'
	job_put "$J" config.json '{"mode": "call", "input": {"a": 21}}'
	job_follow "$J" up
	kill_server
	job_wait "$J" $JOB_SECONDS >/dev/null
	ended "$J" 0 exited
	result_is "$J" .value.twice 42
	result_is "$J" '.value.long | length' 300000
}

@test "its time runs on, and ends it" {
	job_made code.py <<<$'print("up", flush=True)\nimport time\ntime.sleep(600)'
	job_put "$J" config.json '{"timeout": '"$(patient 3000)"'}'
	job_follow "$J" up
	kill_server
	kill_server
	job_wait "$J" 30 >/dev/null
	ended "$J" 124 timeout
	stdout_is "$J" up
	run result "$J" '.usage.wall_ms >= 3000 and .usage.wall_ms < 60000'
	assert_output true
}

@test "a program that is given grace has the rest of it" {
	job_made code.py <<<'
import signal, time, sys
def on_term(*_):
    print("asked", flush=True)
    time.sleep(2)
    print("tidied", flush=True)
    sys.exit(9)
signal.signal(signal.SIGTERM, on_term)
print("up", flush=True)
time.sleep(600)'
	job_put "$J" config.json '{"timeout": '"$(patient 2000)"', "grace": 60}'
	job_follow "$J" up
	await becomes 30 grep -q asked "$MNT/$J/stdout"
	kill_server
	job_wait "$J" 60 >/dev/null
	ended "$J" 124 timeout
	stdout_is "$J" $'up\nasked\ntidied'
	result_is "$J" .program_exit_code 9
}

@test "it is cancelled and signalled as before" {
	counts
	kill_server
	echo kill >"$MNT/$J/ctl"
	job_wait "$J" 30 >/dev/null
	ended "$J" 137 cancelled
	counts
	kill_server
	echo 'signal USR1' >"$MNT/$J/ctl"
	job_wait "$J" 30 >/dev/null
	ended "$J" 138 signaled
	counts
	kill_server
	rm -r "${MNT:?}/$J"
	absent . "$J"
}

@test "a program whose standard input has all been sent goes on" {
	job_made code.py <<<'
import sys, time
print("up", flush=True)
time.sleep(2)
print(len(sys.stdin.buffer.read()))'
	head -c 50000 /dev/zero >"$MNT/$J/stdin"
	job_put "$J" config.json '{}'
	job_follow "$J" up
	kill_server
	job_wait "$J" $JOB_SECONDS >/dev/null
	ended "$J" 0 exited
	stdout_is "$J" $'up\n50000'
}

@test "a job whose inputs are still on their way runs, whenever its server is killed" {
	local i size=32000000
	for i in 0 0.02 0.05 0.1 0.15 0.2 0.3 0.4; do
		job_made code.py <<<'
import os
print(os.path.getsize("data"), open("data", "rb").read(1))'
		head -c $size /dev/zero >"$MNT/$J/data"
		job_put "$J" config.json '{"memory_mb": 512}'
		await becomes 30 grep -qx 'running\|done' "$MNT/$J/state"
		# anywhere in what is under way; the end does not depend on it
		sleep $i
		kill_server
		job_wait "$J" $JOB_SECONDS >/dev/null
		ended "$J" 0 exited
		stdout_is "$J" "$size b'\\x00'"
		result_is "$J" '.attempts' '[]'
		rm -r "$MNT/${J:?}"
	done
}

@test "a job beside which three servers die before it begins is interrupted" {
	local i
	job_made code.py <<<'print("never")'
	head -c 100000000 /dev/zero >"$MNT/$J/data"
	job_put "$J" config.json '{"memory_mb": 640}'
	for i in 1 2 3; do
		await becomes 60 grep -qx running "$MNT/$J/state"
		kill_server
	done
	job_wait "$J" 30 >/dev/null
	ended "$J" 125 interrupted
	stdout_is "$J" ''
	rm -r "$MNT/${J:?}"
}

@test "one that was not sent all of it is interrupted" {
	job_made code.py <<<$'print("up", flush=True)\nimport time\ntime.sleep(600)'
	job_put "$J" config.json '{"stdin_open": true}'
	job_follow "$J" up
	local jailer
	jailer=$(jailer)
	kill_server
	job_wait "$J" 30 >/dev/null
	ended "$J" 125 interrupted
	stdout_is "$J" up
	await exit "$jailer" 2
}

@test "beside one that goes on it dies as well" {
	local jailer first
	counts
	first=$J
	job_made code.py <<<$'print("up", flush=True)\nimport time\ntime.sleep(600)'
	job_put "$J" config.json '{"stdin_open": true}'
	job_follow "$J" up
	jailer=$(jailer)
	kill_server
	await becomes 1 bash -c \
		'[ "$(pgrep -c -r D,R,S,T -P "$0" "qemu|zygote")" = 1 ]' "$jailer"
	ended "$J" 125 interrupted
	J=$first
	job_wait "$J" $JOB_SECONDS >/dev/null
	counted
	await exit "$jailer" 2
}

@test "a program that was being killed for its time has been, though its server died of it" {
	local i
	for i in 1 2 3 4; do
		job_made code.py <<<$'print("up", flush=True)\nimport time\ntime.sleep(600)'
		job_put "$J" config.json '{"timeout": '"$(patient 1000)"'}'
		await becomes 30 grep -q 'timeout: SIGKILL' "$MNT/$J/log"
		kill_server
		job_wait "$J" 30 >/dev/null
		ended "$J" 124 timeout
	done
}

@test "jobs begin at once when the jailer dies beside a program that goes on" {
	local first
	job_made code.py <<<$'print("up", flush=True)\nimport time\ntime.sleep(30)'
	job_put "$J" config.json '{"timeout": 300}'
	first=$J
	job_follow "$J" up
	kill_server
	kill -KILL "$(jailer)"
	prog code.py <<<'print(1)'
	ok 1
	state_is "$first" running
	server_now
	echo kill >"$MNT/$first/ctl"
	job_wait "$first" 30 >/dev/null
	ended "$first" 137 cancelled
}

@test "a cell without a session runs on, and gives the value of its last expression" {
	job_made code.py <<<$'import time\nprint("up", flush=True)\ntime.sleep(2)\n6 * 7'
	job_put "$J" config.json '{"mode": "cell"}'
	job_follow "$J" up
	kill_server
	job_wait "$J" $JOB_SECONDS >/dev/null
	ended "$J" 0 exited
	stdout_is "$J" up
	result_is "$J" .text 42
}

@test "a job that may be run again is not, for it runs on" {
	counts '{"retry": 2}'
	kill_server
	job_wait "$J" $JOB_SECONDS >/dev/null
	counted
	result_is "$J" .attempt 1
}

@test "if its machine dies after all it is interrupted, or run again" {
	local jailer
	counts
	jailer=$(jailer)
	kill_server
	pkill -KILL -P "$jailer" qemu
	job_wait "$J" 30 >/dev/null
	ended "$J" 125 interrupted
	run result "$J" .message
	assert_output --partial 'outcome is unknown: QEMU was killed from outside'
	counts '{"retry": 1}'
	jailer=$(jailer)
	kill_server
	pkill -KILL -P "$jailer" qemu
	job_wait "$J" $JOB_SECONDS >/dev/null
	ended "$J" 5 exited
	stdout_is "$J" "$(seq 0 39)"
	result_is "$J" '.attempts[].status' interrupted
	result_is "$J" .attempt 2
}

@test "the machines that nobody goes on with are gone in a second, and a dead server's jailer with its last" {
	local jailer machines pid
	idle_mount 2
	at_rest
	prog code.py <<<'print(1)'
	ok 1
	counts
	jailer=$(jailer)
	machines=$(pgrep -P "$jailer")
	kill_server
	await becomes 1 bash -c \
		'[ "$(pgrep -c -r D,R,S,T -P "$0" "qemu|zygote")" = 1 ]' "$jailer"
	job_wait "$J" $JOB_SECONDS >/dev/null
	for pid in $machines "$jailer"; do
		await exit "$pid" 2
	done
	counted
}

@test "upgrade --now lets programs run on" {
	counts
	run -0 bounded 60 "$FSD" upgrade --now "$MNT"
	job_wait "$J" $JOB_SECONDS >/dev/null
	counted
}

@test "umount after a kill waits for what runs on, and --now ends it" {
	own_mount
	mount_start
	counts
	kill_server
	run -0 bounded 60 "$FSD" umount "$MNT"
	mount_ended
	mount_start
	counted
	counts
	kill_server
	run -0 bounded 60 "$FSD" umount --now "$MNT"
	mount_ended
	mount_start
	ended "$J" 125 interrupted
}

@test "whatever else dies with the server, no machine stays" {
	local jailer
	own_mount
	mount_start
	counts
	jailer=$(jailer)
	local session=$DAEMON
	kill -STOP "$jailer"
	kill_server
	kill -CONT "$jailer"
	mount_crash
	await exit "$jailer" 5
	await unused "$session" "$STATE"
	mount_start
	ended "$J" 125 interrupted
}

@test "jobs whose jailer is killed before their programs begin run in other machines" {
	local job
	own_mount
	MOUNT_OPTIONS="--image $IMAGE --accel ${FSD_ACCEL:-auto}" \
		mount_start --pool 0 --fork no --max-machines 4
	health_is_ok
	server_now
	for job in a b c d; do
		mkdir "$MNT/$job"
		job_put "$job" code.py 'print("up")'
	done
	for job in a b c d; do
		job_put "$job" config.json '{}'
	done
	kill -KILL "$(jailer)"
	for job in a b c d; do
		job_wait "$job" $JOB_SECONDS >/dev/null
		ended "$job" 0 exited
		stdout_is "$job" up
	done
	health_is_ok
}

@test "a jailer that is stopped is told, and what waited for it runs when it goes on" {
	local job jailer
	own_mount
	MOUNT_OPTIONS="--image $IMAGE --accel ${FSD_ACCEL:-auto}" \
		mount_start --pool 0 --fork no --max-machines 2
	health_is_ok
	server_now
	jailer=$(jailer)
	kill -STOP "$jailer"
	for job in a b c; do
		mkdir "$MNT/$job"
		job_put "$job" code.py 'print("up")'
		job_put "$job" config.json '{}'
	done
	health_becomes 'a machine has not started within 10 s: QEMU or the jailer was stopped'
	for job in a b c; do
		state_is "$job" queued
	done
	kill -CONT "$jailer"
	for job in a b c; do
		job_wait "$job" $JOB_SECONDS >/dev/null
		ended "$job" 0 exited
		stdout_is "$job" up
	done
	health_is_ok
}

@test "events goes on for its reader while servers are killed, and is the same for all" {
	local i line
	job_made code.py <<<'
import sys, time
for i in range(60):
    print(i, flush=True)
    print(-i, file=sys.stderr, flush=True)
    time.sleep(0.04)'
	cat "$MNT/$J/events" >"$BATS_TEST_TMPDIR/events" &
	local reader=$!
	job_put "$J" config.json '{}'
	job_follow "$J" 0
	for i in 1 2 3 4; do
		kill_server
	done
	await exit "$reader" 60
	ended "$J" 0 exited
	cmp "$BATS_TEST_TMPDIR/events" "$MNT/$J/events"
	while read -r line; do
		jq -e . <<<"$line" >/dev/null
	done <"$BATS_TEST_TMPDIR/events"
	run jq -r 'select(.event == "state").state' "$BATS_TEST_TMPDIR/events"
	assert_output $'queued\nrunning\ndone'
	assert_equal "$(jq -j 'select(.event == "stdout").data' "$BATS_TEST_TMPDIR/events")" "$(seq 0 59)"
	# It is told when it happens, not at the end.
	run jq -s '[.[] | select(.event == "stdout")] | length > 20' "$BATS_TEST_TMPDIR/events"
	assert_output true
}
