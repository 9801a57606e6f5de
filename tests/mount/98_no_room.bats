#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A run that finds no room on the disk just when its program is to begin.

load ../lib/common

setup() { expect_log 'No space left|is full'; }
teardown() { mount_done; }

# one_waits PROGRAM [MS CONFIG] — job b, with a reader of its events, waits for the
# machine that job a, with that config, has so long. ID is b's directory.
one_waits() {
	mount_start --max-machines 1
	job_start a $'out up\nsleep '"${2:-1500}" "${3:-}"
	job_follow a up
	mkdir "$MNT/b"
	job_put b code.sh "$1"
	cat "$MNT/b/events" >"$BATS_TEST_TMPDIR/events" 3>&- &
	READER=$!
	await reader "$READER" "$MNT" 20
	job_put b config.json '{}'
	await becomes 10 grep -q queued "$BATS_TEST_TMPDIR/events"
	ID=$(basename "$(dirname "$(grep -l '^name b' "$STATE"/jobs/*/meta)")")
}

# read_well — the reader got what everybody gets.
read_well() {
	await exit "$READER" 20
	cmp "$BATS_TEST_TMPDIR/events" "$MNT/b/events"
	run cat "$MNT/b/events"
	refute_output --partial '"time": "1970'
}

b_waits() {
	await becomes 10 grep -q 'waits: the disk of the state directory is full' "$MNT/b/log"
}

@test "a reader of a job that was put back has the same events as all others" {
	one_waits $'out b\nerr c'
	gate "fail:ENOSPC:mkdirat:jobs/$ID/r1"
	assert_equal "$(job_wait b)" 0
	b_waits
	read_well
}

@test "nor is anything of them lost if only the record found no room" {
	one_waits $'out b\nerr c'
	gate "fail:ENOSPC:fdatasync:jobs/$ID/meta"
	assert_equal "$(job_wait b)" 0
	b_waits
	read_well
}

@test "a job that was put back is queued for the next server, too, and runs once" {
	export FSD_FAKE_WITNESS=$BATS_TEST_TMPDIR/witness
	one_waits $'witness\nout b'
	gate "fail:ENOSPC:fdatasync:jobs/$ID/meta" "hold:fallocate:reserve"
	gate_held
	b_waits
	state_is b queued
	grep -q '^state queued' "$STATE/jobs/$ID/meta"
	kill -KILL "$SERVER"
	gate_end
	assert_equal "$(job_wait b)" 0
	ended b 0 exited
	assert_equal "$(wc -l <"$FSD_FAKE_WITNESS")" 1
	read_well
}

@test "nor is it told twice if that one finds it cannot run" {
	one_waits 'show in'
	gate "fail:ENOSPC:fdatasync:jobs/$ID/meta" "hold:fallocate:reserve"
	gate_held
	b_waits
	rm "$STATE/jobs/$ID/files/code.sh" # by another hand
	kill -KILL "$SERVER"
	gate_end
	job_wait b >/dev/null
	ended b 125 failed
	read_well
	assert_equal "$(jq -r 'select(.event == "state").state' "$MNT/b/events" | xargs)" \
		'queued done'
}

@test "a service that is to end does not wait for who was put back" {
	# who is traced cannot look for leaks
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 one_waits 'out b'
	gate "hold:mkdirat:jobs/$ID/r1"
	gate_held
	kill -USR1 "$DAEMON"
	await becomes 10 grep -q 'stopping when 1 running job' "$LOG"
	gate_open ENOSPC
	mount_ended USR1
	wait "$READER" || true
	mount_start
	assert_equal "$(job_wait b)" 0
	ended b 0 exited
}

@test "a job whose machine was dead, and that then finds no room, waits once" {
	export FSD_FAKE_FREEZE=1
	mount_start
	small_disk 2m --pool 1 --max-machines 2
	await becomes 30 grep -q '^fsd_machines_warm 1' "$MNT/.fsd/stats"
	mkdir "$MNT/.b"
	job_put .b code.sh 'out b'
	job_put .b config.json '{}'
	dd if=/dev/zero of="$SMALL/filler" bs=4k 2>/dev/null || true
	mv "$MNT/.b" "$MNT/b" # it is queued, for there is no room
	gate 'hold:mkdirat:jobs/*/r1' 'fail:ENOSPC:mkdirat:jobs/*/r1'
	rm "$SMALL/filler"
	gate_held
	await becomes 10 grep -q 'another one has it' "$LOG"
	gate_open ENOSPC
	assert_equal "$(job_wait b)" 0
	job_run c 'out c'
	stdout_is c c
	grep -q '^fsd_runs_waiting 0' "$MNT/.fsd/stats"
	refute grep -q 'was killed' "$LOG"
}

@test "the reserve is kept again when there is room, though nobody waits for it" {
	mount_start
	small_disk 2m
	job_start a $'out up\nawait\nexit 3'
	job_start b $'out up\nsleep 60000'
	job_follow a up
	job_follow b up
	dd if=/dev/zero of="$SMALL/filler" bs=4k 2>/dev/null || true
	goes_on a
	assert_equal "$(job_wait a)" 3
	assert_equal "$(stat -c %b "$STATE/reserve")" 0
	rm "$SMALL/filler"
	await becomes 10 sh -c '[ "$(stat -c %b "$1")" -gt 0 ]' - "$STATE/reserve"
}

@test "a job that never finds room although the disk says so fails, and says why" {
	local rules
	expect_log 'cannot be stored'
	one_waits 'out b'
	readarray -t rules < <(for _ in {1..21}; do echo "fail:ENOSPC:mkdirat:jobs/$ID/r1"; done)
	gate "${rules[@]}"
	job_wait b 60 >/dev/null
	ended b 125 failed
	grep -q 'No space left on device' "$MNT/b/error"
}

@test "a queued job that the next server fails has the same events for its reader" {
	one_waits 'show in'
	mkdir "$MNT/d"
	job_put d in x
	job_put d code.sh 'show in'
	cat "$MNT/d/events" >"$BATS_TEST_TMPDIR/d.events" 3>&- &
	local reader=$!
	await reader "$reader" "$MNT" 20
	job_put d config.json '{"inputs": ["in"]}'
	await becomes 10 grep -q queued "$BATS_TEST_TMPDIR/d.events"
	rm "$(dirname "$(grep -l '^name d' "$STATE"/jobs/*/meta)")/files/in"
	server_kill
	job_wait d >/dev/null
	ended d 125 failed
	await exit "$reader" 20
	cmp "$BATS_TEST_TMPDIR/d.events" "$MNT/d/events"
	await exit "$READER" 20
}

@test "events stay whole if a server was killed when it had made the place for a run" {
	one_waits 'out b' 60000 '{"retry": 1}'
	mkdir -m 700 "$STATE/jobs/$ID/r1"
	server_kill
	# The next one has a run again first, and writes to that place meanwhile.
	await becomes 10 test -s "$STATE/jobs/$ID/r1/order"
	echo kill >"$MNT/a/ctl"
	assert_equal "$(job_wait b)" 0
	read_well
	assert_equal "$(jq -r 'select(.event == "state").state' "$MNT/b/events" | xargs)" \
		'queued running done'
}
