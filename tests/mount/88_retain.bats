#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# How long results stay: what goes by itself, when, and what never does.

load ../lib/common

setup() { mount_start; }
teardown() { mount_done; }

# gone JOB... — within a bound, seen by a watcher or by asking
gone() {
	local job
	for job in "$@"; do
		await becomes 20 test ! -e "$MNT/$job" ||
			fail "$job is still there"
	done
}

remount() {
	mount_stop
	mount_start "$@"
}

# bats test_tags=smoke
@test "a job removes itself so long after its end, and leaves nothing" {
	job_run a $'out x\nwrite d/f x' '{"retain": 1}'
	job_run b 'out y'
	run cat "$MNT/a/log"
	assert_output --partial 'kept until 20'
	assert_equal "$(result a '[.ended, .kept_until] |
		map(sub("[.][0-9]+Z"; "Z") | fromdate) | .[1] - .[0]')" 1
	assert_equal "$(result b '.kept_until')" null
	gone a
	stdout_is b y
	grep -q 'job a of user .*: removed, its time ("retain") is over' "$LOG"
	assert_equal "$(ls "$MNT")" b
	mount_stop
	assert_equal "$(ls "$STATE/jobs" | wc -l)" 1
	assert_equal "$(names "$STATE/trash")" ''
}

@test "a name whose job has removed itself is free at once" {
	job_run a 'out old' '{"retain": 1}'
	gone a
	mkdir "$MNT/a"
	assert_equal "$(cat "$MNT/a/state")" draft
	job_put a code.sh 'out new'
	job_put a config.json '{}'
	job_wait a
	stdout_is a new
}

@test "a watcher of the mount sees a job go, one of the job sees its end" {
	job_run a 'out x' '{"retain": 2}'
	bounded 30 inotifywait -q -t 20 -e delete --format '%e %f' "$MNT" \
		>"$BATS_TEST_TMPDIR/root" &
	local root=$!
	bounded 30 inotifywait -q -t 20 -e delete_self --format '%e' "$MNT/a" \
		>"$BATS_TEST_TMPDIR/job"
	wait "$root"
	assert_equal "$(cat "$BATS_TEST_TMPDIR/root")" 'DELETE,ISDIR a'
	assert_equal "$(cat "$BATS_TEST_TMPDIR/job")" DELETE_SELF
}

@test "a watcher sees it where the helper is another user, too" {
	mount_public
	assert_equal "$(stat -c %a "$MNT")" 1777
	job_run a 'out x' '{"retain": 2}'
	run bounded 30 inotifywait -q -t 20 -e delete --format '%e %f' "$MNT"
	assert_output 'DELETE,ISDIR a'
	gone a
	assert_equal "$(stat -c %a "$MNT")" 1777
}

@test "--retain-seconds holds for all, and the shorter time counts" {
	remount --retain-seconds 2
	job_run long 'out x' '{"retain": 3600}'
	job_run short 'out x' '{"retain": 1}'
	job_run none 'out x'
	mkdir "$MNT/draft"
	job_start refused 'out x' '{"nope": 1}' || true
	job_start running $'out up\nsleep 600000'
	job_follow running up
	gone short long none
	state_is draft draft
	state_is refused refused
	state_is running running
	grep -q 'its time (--retain-seconds) is over' "$LOG"
	grep -q 'its time ("retain") is over' "$LOG"
}

@test "the time goes on while no daemon runs" {
	job_run a 'out x' '{"retain": 1}'
	job_run b 'out x' '{"retain": 3600}'
	mount_stop
	# years ago
	sed -i 's/^ended 1[0-9]/ended 16/' "$STATE"/jobs/*/meta
	mount_start
	gone a b
}

@test "what somebody has open stays under the next server, too, until they are done" {
	remount --retain-count 1
	job_run a 'out kept'
	exec 9<"$MNT/a/stdout"
	job_run b 'out x'
	server_kill
	stdout_is a kept
	assert_equal "$(cat <&9)" kept
	exec 9<&-
	gone a
	stdout_is b x
}

@test "--retain-count keeps each user's newest, whatever they are called" {
	remount --retain-count 2
	local i
	for i in 5 3 4 1 2; do
		job_run "j$i" "out $i"
		mkdir "$MNT/draft$i"
	done
	gone j5 j3 j4
	stdout_is j1 1
	stdout_is j2 2
	assert_equal "$(ls -d "$MNT"/draft* | wc -l)" 5
	grep -q 'job j5 of user .*: removed, for a newer one (--retain-count)' "$LOG"
	# over a restart, too, where one is the newest that was run again
	job_put j1 config.json '{}'
	job_wait j1
	remount --retain-count 1
	gone j2
	stdout_is j1 1
}

@test "--retain-bytes makes room, the oldest first, and keeps the newest" {
	remount --retain-bytes 100K
	job_run a 'bytes 40000'
	job_run b 'bytes 40000'
	exists a stdout
	job_run c 'bytes 40000'
	gone a
	exists b stdout
	job_run d 'bytes 300000'
	gone b c
	assert_equal "$(stat -c %s "$MNT/d/stdout")" 300000
	remount --retain-bytes 100K
	assert_equal "$(stat -c %s "$MNT/d/stdout")" 300000
	job_run e 'out x'
	gone d
	stdout_is e x
}

@test "what somebody has open stays until they are done" {
	remount --retain-count 1
	job_run a 'out kept'
	exec 9<"$MNT/a/stdout"
	job_run b 'out x'
	job_run c 'out x'
	gone b
	stdout_is a kept
	assert_equal "$(cat <&9)" kept
	exec 9<&-
	gone a
	stdout_is c x
}

@test "a job that is run again in time is kept" {
	remount --retain-count 1
	job_run a 'out one'
	exec 9<"$MNT/a/stdout"
	job_run b 'out x'
	job_put a code.sh $'out up\nsleep 300\nout two'
	job_put a config.json '{}'
	job_follow a up
	exec 9<&-
	# nobody holds it now, not even by waiting for it
	# shellcheck disable=SC2016
	bounded 20 bash -c 'until [ "$(cat "$1")" = done ]; do :; done' - \
		"$MNT/a/state"
	gone b
	stdout_is a $'up\ntwo'
}

@test "a job goes also when the helper was killed" {
	remount --retain-count 1
	local helper
	helper=$(/usr/bin/python3 -I -S "$TESTS/lib/watch.py" helper "$SERVER")
	kill -KILL "$helper"
	job_run a 'out x'
	job_run b 'out x'
	job_run c 'out x'
	gone a b
	stdout_is c x
}

@test "without the options everything stays, and wrong ones are refused" {
	local i
	for i in 1 2 3; do
		job_run "j$i" 'out x'
	done
	run cat "$MNT/j1/log"
	refute_output --partial 'kept until'
	assert_equal "$(ls "$MNT" | wc -l)" 3
	run bounded 60 "$FSD" mount --retain-seconds x "$MNT"
	assert_equal "$status" 2
	assert_output --partial '--retain-seconds is "x"; it must be a number'
	run bounded 60 "$FSD" mount --retain-bytes 1X "$MNT"
	assert_equal "$status" 2
	assert_output --partial '--retain-bytes is "1X"'
}
