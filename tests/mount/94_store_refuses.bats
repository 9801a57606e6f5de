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

# refuses_records — three servers have ended, and the mount says so.
refuses_records() {
	expect_log 'refuses (the record of a job|records of jobs)'
	health_becomes 'the disk of the state directory refuses records of jobs'
}

# repaired — the disk is, and the operator says so.
repaired() {
	read_only false
	bounded 20 "$FSD" upgrade --now "$MNT"
	health_is_ok
}

@test "a job that ends while its disk is read-only is told interrupted, which no restart changes" {
	local before
	expect_log 'its end cannot be written: Read-only file system'
	expect_log 'may not outlive the host'
	job_start a $'out up\nwrite file x\nawait\nout more\nexit 3'
	job_follow a up
	read_only true
	goes_on a
	assert_equal "$(job_wait a)" 125
	refuses_records
	state_is a 'done'
	run cat "$MNT/a/error"
	assert_output --partial 'the disk did not take it'
	absent a result.json
	assert_equal "$(ls "$MNT/a/output")" ''
	before=$(cat "$MNT/a/exit_code" "$MNT/a/error" "$MNT/a/stdout")
	repaired
	ended a 125 interrupted
	assert_equal "$(cat "$MNT/a/exit_code" "$MNT/a/error" "$MNT/a/stdout")" "$before"
	mount_crash
	mount_start
	ended a 125 interrupted
	assert_equal "$(cat "$MNT/a/exit_code" "$MNT/a/error" "$MNT/a/stdout")" "$before"
}

@test "a mount whose disk refuses records is read-only: all is read, nothing written, and why is told" {
	local fd
	expect_log 'cannot be written|may not outlive the host|cannot be (stored|removed)'
	job_run kept $'out kept\nwrite file x'
	job_start a $'out up\nawait'
	job_follow a up
	mkdir "$MNT/draft"
	job_put draft code.sh 'out later'
	exec {fd}>"$MNT/draft/config.json"
	read_only true
	goes_on a
	refuses_records
	grep -q 'fsd upgrade --now' "$MNT/.fsd/health"
	ended kept 0 exited
	stdout_is kept kept
	assert_equal "$(cat "$MNT/kept/output/file")" x
	fails EROFS mkdir "$MNT/c"
	grep -q 'refuses records of jobs' "$MNT/.fsd/last_error"
	fails EROFS rm "$MNT/draft/code.sh"
	fails EROFS mv "$MNT/draft" "$MNT/other"
	fails EROFS chmod 700 "$MNT/draft"
	fails EROFS bash -c 'echo x >>"$1"' - "$MNT/draft/code.sh"
	fails EROFS bash -c 'echo "{}" >&"$1"' - "$fd"
	fails EROFS bash -c 'echo start >"$1"' - "$MNT/draft/ctl"
	repaired
	echo '{}' >&"$fd" # it is open still
	exec {fd}>&-
	assert_equal "$(job_wait draft)" 0
	stdout_is draft later
	rm -r "$MNT/a"
}

@test "a mount that is made on such a disk is read-only, too" {
	expect_log 'cannot be written|cannot be stored|may not outlive the host'
	job_run kept 'out kept'
	job_start a $'out up\nsleep 60000'
	job_follow a up
	mount_crash
	read_only true
	mount_start
	refuses_records
	stdout_is kept kept
	assert_equal "$(job_wait a)" 125
	fails EROFS mkdir "$MNT/c"
	repaired
	ended a 125 interrupted
	job_run c 'out new'
	ended c 0 exited
}

@test "a job that is queued when its disk refuses records stays so, cannot be cancelled, and runs later" {
	expect_log 'cannot be stored in the state directory|cannot be written'
	mount_stop
	FSD_FAKE_START_MS=500 mount_start --pool 0
	job_start a 'out ran'
	state_is a queued
	read_only true
	refuses_records
	state_is a queued
	fails EROFS bash -c 'echo kill >"$1"' - "$MNT/a/ctl"
	grep -q 'refuses records of jobs' "$MNT/.fsd/last_error"
	server_kill # the next one is no better
	refuses_records
	state_is a queued
	repaired
	assert_equal "$(job_wait a)" 0
	stdout_is a ran
}

@test "output that is thrown away because no end is on record counts for nobody" {
	local meta
	expect_log 'its end cannot be written: Operation not permitted'
	expect_log 'may not outlive the host'
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
	refuses_records
	chattr -i "$meta"
	repaired
	ended a 125 interrupted
	assert_equal "$(ls "$MNT/a/output")" ''
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
	expect_log 'cannot be (removed|written|stored)|may not outlive the host'
	job_start a $'out up\nsleep 60000'
	job_follow a up
	rm "$MNT/a/code.sh" "$MNT/a/config.json"
	read_only true
	fails EROFS rmdir "$MNT/a"
	refuses_records
	assert_equal "$(job_wait a)" 125
	run cat "$MNT/a/error"
	assert_output --partial 'the disk did not take it'
	repaired
	ended a 125 interrupted
	rm -r "$MNT/a"
	[ ! -e "$MNT/a" ]
}
