#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The state directory is the truth: an end, a crash and a new start.

# bats file_tags=release

load ../lib/common

setup() { mount_start; }
teardown() { mount_done; }

@test "finished jobs are there again with every byte" {
	job_run a $'bytes 100000\nerr e\nwrite d/f 1\nexit 3'
	local sum
	sum=$(cd "$MNT/a" && sha256sum stdout stderr output/d/f exit_code result.json config.json code.sh log)
	mount_stop
	mount_start
	ended a 3 exited
	assert_equal "$(cd "$MNT/a" && sha256sum stdout stderr output/d/f exit_code result.json config.json code.sh log)" "$sum"
	assert_equal "$(cat "$MNT/a/wait")" 3
	assert_equal "$(bounded 5 cat "$MNT/a/stdout.follow" | wc -c)" 100000
}

@test "a start shows results that were removed, and no copy of any in a draft" {
	job_run a $'out x\nwrite f 1'
	cp -r "$MNT/a" "$MNT/.b"
	exists .b output/f
	rm -r "$MNT/a/stdout"
	mount_stop
	mount_start
	stdout_is a x
	absent .b output
	mv "$MNT/.b" "$MNT/b"
	job_wait b
	exists b output/f
}

# accounts — what is counted for each user is what lies in the state directory.
accounts() {
	/usr/bin/python3 -I -S "$TESTS/lib/people.py" accounts "$MNT" "$STATE"
}

@test "output that was being collected, and is thrown away, counts for nobody" {
	local run
	mount_stop
	mount_start --quota-bytes 10M
	job_start a $'out up\nsleep 600000'
	job_start b $'out up\nsleep 600000' '{"retry": 1}'
	job_follow a up
	job_follow b up
	mount_crash
	for run in "$STATE"/jobs/*/r1; do
		mkdir -p "$run/output/d"
		head -c 190000 /dev/zero >"$run/output/d/half"
	done
	mount_start --quota-bytes 10M
	ended a 125 interrupted
	job_follow b up
	accounts
	job_put a code.sh $'out again\nwrite f text'
	job_put a config.json '{}'
	job_wait a
	rm -r "$MNT/b"
	accounts
}

@test "drafts are there again and can be finished" {
	mkdir -p "$MNT/a/sub"
	echo payload >"$MNT/a/sub/data"
	chmod 750 "$MNT/a/sub/data"
	touch -d '2001-02-03 04:05:06 UTC' "$MNT/a/sub/data"
	job_put a code.sh 'show sub/data'
	mount_stop
	mount_start
	state_is a draft
	assert_equal "$(stat -c '%a %Y' "$MNT/a/sub/data")" '750 981173106'
	job_put a config.json '{}'
	job_wait a
	stdout_is a payload
}

@test "refused jobs are refused again with the same sentence" {
	job_start a 'out x' '{"nope": 1}' || true
	local sentence
	sentence=$(cat "$MNT/a/error")
	mount_stop
	mount_start
	state_is a refused
	assert_equal "$(cat "$MNT/a/error")" "$sentence"
	job_put a config.json '{}'
	job_wait a
}

@test "a job that was running when the daemon ended is interrupted, its output kept" {
	job_start a $'out up\nsleep 600000'
	job_follow a up
	mount_stop
	mount_start
	ended a 125 interrupted
	stdout_is a up
	run result a .message
	refute_output null
	echo start >"$MNT/a/ctl"
	job_follow a up
	echo kill >"$MNT/a/ctl"
	job_wait a
}

@test "a job that was running when the daemon was killed is interrupted" {
	local running
	mount_stop
	mount_start --max-machines 1
	job_start first 'sleep 300'
	job_start a $'out up\nsleep 600000'
	job_follow a up
	running=$(jq -r 'select(.state == "running").time' < <(timeout 5 head -n 2 "$MNT/a/events"))
	mount_crash
	mount_start
	ended a 125 interrupted
	# with the times that are on record
	result_is a .started "$running"
	result_is a '.timing | .queued_ms >= 100, .run_ms' $'true\nnull'
	stdout_is a up
	assert_equal "$(cat "$MNT/a/wait")" 125
}

@test "a result that was published when the daemon was killed stays the result" {
	job_start a $'out up\nsleep 600000'
	job_follow a up
	mount_crash
	# what the last write before the death has left
	local run
	run=$(dirname "$STATE"/jobs/*/r1/stdout)
	echo '{"exit_code": 7}' >"$run/result.json"
	sed -i 's/^state running/state done/; s/^exit_code .*/exit_code 7/' \
		"$STATE"/jobs/*/meta
	mount_start
	state_is a 'done'
	assert_equal "$(cat "$MNT/a/wait")" 7
	assert_equal "$(cat "$MNT/a/result.json")" '{"exit_code": 7}'
	stdout_is a up
}

@test "a result that was not published when the daemon was killed is none" {
	job_start a $'out up\nsleep 600000'
	job_follow a up
	mount_crash
	local run
	run=$(dirname "$STATE"/jobs/*/r1/stdout)
	printf '{"exit' >"$run/result.json"
	mount_start
	ended a 125 interrupted
	stdout_is a up
}

@test "files that a killed daemon was taking from a program are not kept by half" {
	job_start a $'out up\nsleep 600000'
	job_follow a up
	mount_crash
	local run
	run=$(dirname "$STATE"/jobs/*/r1/stdout)
	mkdir "$run/output"
	printf 'the first ha' >"$run/output/half"
	mount_start
	ended a 125 interrupted
	stdout_is a up
	absent a output/half
	result_is a '.output | length' 0
}

@test "a job that was being made when the daemon was killed leaves nothing" {
	mount_crash
	mkdir -p "$STATE/jobs/000000000000a1/files" "$STATE/jobs/000000000000a2"
	: >"$STATE/jobs/000000000000a1/meta"
	: >"$STATE/jobs/000000000000a2/meta"
	mount_start
	assert_equal "$(ls -A "$MNT")" .fsd
	job_run b 'exit 0'
	assert_equal "$(ls "$STATE/jobs" | wc -l)" 1
}

@test "a stream that is empty can be opened, followed and read at every time" {
	job_start a $'sleep 300\nout late'
	bounded 20 cat "$MNT/a/stderr.follow"
	exec 9<"$MNT/a/stdout"
	job_wait a
	assert_equal "$(cat <&9)" late
	exec 9<&-
	assert_equal "$(cat "$MNT/a/stderr")" ''
	assert_equal "$(stat -c %s "$MNT/a/stderr")" 0
	mount_stop
	mount_start
	assert_equal "$(cat "$MNT/a/stderr")" ''
	stdout_is a late
	cp -r "$MNT/a" "$BATS_TEST_TMPDIR/copy"
	[ -e "$BATS_TEST_TMPDIR/copy/stderr" ]
}

@test "a job that was queued when the daemon was killed runs" {
	mount_stop
	mount_start --max-machines 1 --pool 1
	job_start a $'out up\nsleep 600000'
	job_follow a up
	job_start b 'out later'
	state_is b queued
	mount_crash
	mount_start
	job_wait b
	ended b 0 exited
	stdout_is b later
}

@test "a dead daemon's mount is taken over, not stacked upon" {
	mkdir "$MNT/a"
	mount_crash
	run stat "$MNT"
	assert_failure
	mount_start
	exists . a
	assert_equal "$(grep -c " $MNT " /proc/self/mounts)" 1
}

@test "the end of one fsd leaves another one's dead mount, which has its device number now" {
	local first=$DAEMON state=$STATE

	kill -STOP "$DAEMON"
	kill -TERM "$SERVER" # it takes the mount away; $DAEMON has yet to look
	await exit "$SERVER" 20
	unset MNT STATE LOG
	MOUNT_DIR=$BATS_TEST_TMPDIR/other mount_start
	mount_crash
	kill -CONT "$first"
	await ended "$first" 20 "$BATS_TEST_TMPDIR/mnt" "$state"
	fails ENOTCONN stat "$MNT"
	umount "$MNT"
}

@test "umount of a dead daemon's mount says what to do" {
	mount_crash
	run bounded 10 "$FSD" umount "$MNT"
	assert_failure
	refute_output ''
	umount "$MNT"
}

@test "after a crash nothing of a removed job comes back" {
	job_run a 'out x'
	job_run b 'out y'
	rm -r "$MNT/a"
	mount_crash
	mount_start
	absent . a
	stdout_is b y
	rm -r "$MNT/b"
	mount_stop
	run find "$STATE/jobs" "$STATE/trash" -mindepth 1
	assert_output ''
}

@test "a rename outlives a crash" {
	job_run a $'out x\nexit 3'
	mv "$MNT/a" "$MNT/b"
	mount_crash
	mount_start
	absent . a
	exit_is b 3
}

@test "twenty crashes in the middle of work lose and invent nothing" {
	local i code
	job_run kept $'out kept\nexit 3'
	for i in {1..20}; do
		job_start "j$i" $'out one\nwrite f 1\nsleep 20\nout two\nexit 9'
		# The close is told by the by; the next answer comes after it.
		[ "$(job_state "j$i")" != draft ]
		mount_crash
		mount_start
		exit_is kept 3
		bounded 20 cat "$MNT/j$i/wait" >/dev/null
		state_is "j$i" 'done'
		code=$(cat "$MNT/j$i/exit_code")
		[ "$code" = 9 ] || [ "$code" = 125 ] || fail "exit code $code"
		result_is "j$i" .exit_code "$code"
	done
	assert_equal "$(ls "$MNT" | wc -l)" 21
}

@test "a state that was tampered with is set aside, said, and the rest works" {
	job_run a 'out a'
	job_run b 'out b'
	mount_stop
	local id
	expect_log 'set aside'
	id=$(find "$STATE/jobs" -mindepth 1 -maxdepth 1 | sort | head -n 1)
	echo garbage >"$id/meta"
	mkdir "$STATE/jobs/not-an-id"
	ln -s /etc "$STATE/jobs/0123456789abcd"
	mount_start
	local left
	left=$(ls "$MNT")
	[ "$left" = a ] || [ "$left" = b ] || fail "left: $left"
	stdout_is "$left" "$left"
}

@test "ids are never used twice" {
	local first
	job_run a 'out x'
	first=$(result a .id)
	rm -r "$MNT/a"
	mount_stop
	mount_start
	job_run a 'out x'
	[ "$(result a .id)" != "$first" ]
}

@test "the state directory is nobody else's to read" {
	job_run a 'out secret'
	assert_equal "$(stat -c %a "$STATE")" 700
}

@test "a service ends while somebody is in the middle of a listing" {
	local name
	name=$(printf 'x%.0s' {1..150})
	seq -f "$MNT/$name%g" 500 | xargs mkdir
	coproc LISTER {
		exec python3 -c 'import os, sys
entries = os.scandir(sys.argv[1])
next(entries)
print("begun", flush=True)
sys.stdin.read()' "$MNT"
	}
	IFS= read -r -t $((20 * SLOW)) -u "${LISTER[0]}" _
	mount_stop
	kill "$LISTER_PID"
}
