#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The state directory's file system says no under a daemon that runs: it has
# become read-only, or its quota is used up. A subvolume of btrfs does both at
# a word, whatever is open in it.

load ../lib/common

setup() {
	DISK=$BATS_TEST_TMPDIR/disk
	command -v mkfs.btrfs >/dev/null || need 'mkfs.btrfs (btrfs-progs)'
	truncate -s 128M "$DISK.img"
	mkfs.btrfs -q "$DISK.img"
	mkdir "$DISK"
	mount -o loop "$DISK.img" "$DISK" || need 'btrfs can be mounted'
	btrfs -q subvolume create "$DISK/s"
	export STATE=$DISK/s/state
	mount_start
}

teardown() {
	local failed=0
	mount_done || failed=1
	umount "$DISK" 2>/dev/null || ! mountpoint -q "$DISK" || failed=1
	return $failed
}

people() {
	/usr/bin/python3 -I -S "$TESTS/lib/people.py" "$@"
}

read_only() {
	btrfs property set -f "$DISK/s" ro "$1"
}

@test "while its disk is read-only the mount answers and says so, and then goes on by itself" {
	job_run a 'out kept'
	mkdir "$MNT/draft"
	job_put draft code.sh 'out later'
	read_only true
	run env LC_ALL=C mkdir "$MNT/b"
	assert_failure
	assert_output --partial 'Read-only file system'
	run cat "$MNT/.fsd/last_error"
	assert_output --partial 'b: the job cannot be made'
	run job_put draft config.json '{}'
	assert_failure
	state_is draft draft
	stdout_is a kept
	ended a 0 exited
	read_only false
	job_put draft config.json '{}'
	assert_equal "$(job_wait draft)" 0
	stdout_is draft later
	job_run b 'out new'
	ended b 0 exited
	assert_equal "$(cat "$MNT/.fsd/health")" ok
}

@test "a job that ends while its disk is read-only says that its result is not stored, and is told ended ever after" {
	expect_log 'its end cannot be written: Read-only file system'
	job_start a $'out up\nawait\nout more\nexit 3'
	job_follow a up
	read_only true
	goes_on a
	assert_equal "$(job_wait a)" 125
	state_is a 'done'
	run cat "$MNT/a/error"
	assert_output --partial 'the disk did not take it'
	job_start b 'out x' && fail 'a job was accepted'
	read_only false
	job_run c 'out new'
	ended c 0 exited
	mount_stop
	mount_start
	state_is a 'done'
	assert_equal "$(cat "$MNT/a/exit_code")" 125
	run cat "$MNT/a/error"
	assert_output --partial 'the disk did not take it'
	stdout_is c new
	rm -r "$MNT/a"
}

@test "such an end has a result.json, which a restart does not change" {
	local before
	expect_log 'its end cannot be written: Read-only file system'
	job_start a $'out up\nwrite file x\nawait\nout more\nexit 3'
	job_start b $'out up\nawait\nexit 3'
	job_follow a up
	job_follow b up
	read_only true
	goes_on a
	goes_on b
	assert_equal "$(job_wait a)" 125
	assert_equal "$(job_wait b)" 125
	ended a 125 interrupted
	assert_equal "$(result a .stdout.bytes)" "$(stat -c %s "$MNT/a/stdout")"
	assert_equal "$(result a '.output | length')" 0
	assert_equal "$(ls "$MNT/a/output")" ''
	assert_equal "$(stat -c %s "$MNT/a/result.json")" "$(wc -c <"$MNT/a/result.json")"
	before=$(cat "$MNT/a/result.json" "$MNT/b/result.json")
	mount_crash
	read_only false
	mount_start
	assert_equal "$(job_wait a)$(job_wait b)" 125125
	assert_equal "$(cat "$MNT/a/result.json" "$MNT/b/result.json")" "$before"
}

@test "such a result is stored when the disk takes it" {
	local before
	expect_log 'its end cannot be written: Read-only file system'
	job_start a $'out up\nwrite file x\nawait\nout more\nexit 3'
	job_follow a up
	read_only true
	goes_on a
	assert_equal "$(job_wait a)" 125
	before=$(cat "$MNT/a/result.json")
	read_only false
	await becomes 20 sh -c 'grep -q "^state done" "$1"/jobs/*/meta' - "$STATE"
	assert_equal "$(cat "$MNT/a/result.json")" "$before"
	assert_equal "$(cat "$STATE"/jobs/*/r1/result.json)" "$before"
	[ ! -e "$(echo "$STATE"/jobs/*/r1)/output" ]
	mount_crash
	mount_start
	ended a 125 interrupted
	assert_equal "$(cat "$MNT/a/result.json")" "$before"
}

@test "output that is thrown away because no end is on record counts for nobody" {
	local meta
	expect_log 'its end cannot be written: Operation not permitted'
	mount_stop
	mount_start --quota-bytes 10M
	job_start a "out up
await
write file $(printf %2000s '')"
	job_follow a up
	meta=$(echo "$STATE"/jobs/*/meta)
	chattr +i "$meta" || need 'files can be made immutable'
	goes_on a
	assert_equal "$(job_wait a)" 125
	ended a 125 interrupted
	assert_equal "$(ls "$MNT/a/output")" ''
	await becomes 20 /usr/bin/python3 -I -S \
		"$TESTS/lib/people.py" accounts "$MNT" "$STATE"
	chattr -i "$meta"
	await becomes 20 grep -q '^state done' "$meta"
	[ ! -e "${meta%meta}r1/output" ]
	await becomes 20 /usr/bin/python3 -I -S \
		"$TESTS/lib/people.py" accounts "$MNT" "$STATE"
	rm -r "$MNT/a"
	people nothing-used "$MNT"
}

@test "a quota that is used up is told to the writer, and room that is made is used" {
	btrfs quota enable "$DISK"
	btrfs qgroup limit 4M "$DISK/s"
	mkdir "$MNT/a"
	fails EDQUOT dd if=/dev/urandom of="$MNT/a/big" bs=100k count=100
	run cat "$MNT/.fsd/last_error"
	assert_output --partial 'Disk quota exceeded'
	health_is_ok
	rm -r "$MNT/a"
	sync -f "$DISK"
	job_run b 'out fits'
	ended b 0 exited
	stdout_is b fits
}

@test "a job that is removed while a quota is used up is gone for good" {
	job_run a 'out old'
	mkdir "$MNT/b"
	btrfs quota enable "$DISK"
	btrfs qgroup limit 4M "$DISK/s"
	fails EDQUOT dd if=/dev/urandom of="$MNT/b/big" bs=100k count=100
	while dd if=/dev/urandom of="$MNT/b/small$((i++))" bs=4k count=1 \
		status=none 2>/dev/null; do :; done
	rm -r "$MNT/a"
	assert_equal "$(find "$STATE/jobs" -mindepth 1 -maxdepth 1 | wc -l)" 1
	mount_stop
	btrfs qgroup limit none "$DISK/s"
	mount_start
	run ls "$MNT"
	assert_output b
}

@test "who cancels a job that waits for its disk is told whether it is, and it never runs" {
	expect_log 'cannot be stored in the state directory'
	mount_stop
	FSD_FAKE_START_MS=500 mount_start --pool 0
	job_start a 'out ran'
	state_is a queued
	read_only true
	await becomes 20 grep -q 'disk' "$MNT/a/error"
	state_is a queued
	fails EROFS bash -c 'echo kill >"$1"' - "$MNT/a/ctl"
	grep -q 'does not take that the job is cancelled' "$MNT/.fsd/last_error"
	state_is a queued
	read_only false
	assert_equal "$(job_wait a)" 137
	ended a 137 cancelled
	stdout_is a ''
	mount_stop
	mount_start
	ended a 137 cancelled
}

@test "a job is not removed by a disk that cannot say so" {
	expect_log 'cannot be removed'
	job_run a 'out kept'
	rm "$MNT/a/code.sh" "$MNT/a/config.json"
	read_only true
	fails EROFS rmdir "$MNT/a"
	grep -q 'a: the job cannot be removed' "$MNT/.fsd/last_error"
	stdout_is a kept
	read_only false
	ended a 0 exited
	rm -r "$MNT/a"
	mount_stop
	mount_start
	assert_equal "$(ls "$MNT")" ''
}

@test "a job that runs and cannot be removed has ended" {
	expect_log 'cannot be (removed|written|stored)'
	job_start a $'out up\nsleep 60000'
	job_follow a up
	rm "$MNT/a/code.sh" "$MNT/a/config.json"
	read_only true
	fails EROFS rmdir "$MNT/a"
	assert_equal "$(job_wait a)" 125
	run cat "$MNT/a/error"
	assert_output --partial 'the disk did not take it'
	read_only false
	rm -r "$MNT/a"
	[ ! -e "$MNT/a" ]
}
