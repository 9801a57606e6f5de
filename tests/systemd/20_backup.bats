#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# BACKUP of fsd-operate(7): a snapshot of the state while the service runs.

load ../lib/common
load ../lib/systemd

setup_file() {
	command -v mkfs.btrfs >/dev/null || need 'mkfs.btrfs (btrfs-progs)'
	# shellcheck disable=SC2016 # for the other shell
	export SYSTEM_SETUP='
		truncate -s 1G "$DIR/disk"
		mkfs.btrfs -q "$DIR/disk"
		mkdir -p "$ROOT/backup" "$ROOT/var/lib/fsd"
		mount -o loop "$DIR/disk" "$ROOT/backup"
		btrfs -q subvolume create "$ROOT/backup/state"
		mount --bind "$ROOT/backup/state" "$ROOT/var/lib/fsd"'
	system_start
}

setup() {
	system_start
}

teardown() {
	system_left
}

teardown_file() {
	system_end
	rm -f "$SYSTEM/disk"
}

# as_page LINE... — runs these commands of fsd-operate(7), which has them in this form.
as_page() {
	local line
	for line; do
		man -P cat "$TESTS/../fsd/fsd-operate.7" | col -b | grep -qF "       $line"
		there sh -c "$line"
	done
}

@test "a snapshot of a service that runs has all that had ended; what ran ends as interrupted" {
	options '--max-machines 1'
	there systemctl start fsd
	job kept 'out kept'
	assert_equal "$(there cat /run/fsd/jobs/kept/wait)" 0
	job ran $'out begun\nsleep 600000'
	there sh -c 'until grep -q begun /run/fsd/jobs/ran/stdout; do :; done'
	job waited 'out waited'
	as_page 'btrfs subvolume snapshot -r /var/lib/fsd /backup/fsd'
	job later 'out later'
	there rm -r /run/fsd/jobs/ran
	as_page 'systemctl stop fsd' \
		'find /var/lib/fsd -mindepth 1 -delete' \
		'cp -a /backup/fsd/. /var/lib/fsd'
	# On fake machines it has no image.
	run as_page 'fsd doctor --state /var/lib/fsd'
	assert_line --regexp '^format +ok +format [0-9]+, 3 jobs'
	assert_line --regexp '^lost +ok'
	as_page 'systemctl start fsd'
	assert_equal "$(there cat /run/fsd/jobs/kept/stdout)" kept
	assert_equal "$(there cat /run/fsd/jobs/ran/wait)" 125
	assert_equal "$(there jq -r .status /run/fsd/jobs/ran/result.json)" interrupted
	assert_equal "$(there cat /run/fsd/jobs/waited/wait)" 0
	assert_equal "$(there cat /run/fsd/jobs/waited/stdout)" waited
	run ! there test -e /run/fsd/jobs/later
}
