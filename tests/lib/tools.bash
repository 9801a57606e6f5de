# SPDX-License-Identifier: Apache-2.0
#
# Of the tests with other people's programs. Each test stands in a directory of
# its own, beside the mount.

load ../lib/common

setup_file() { file_mount; }
teardown_file() { file_mount_done; }
setup() { cd "$BATS_TEST_TMPDIR" || return; }
teardown() {
	cd /
	file_mount_left
}

# --- writing ------------------------------------------------------------------

# once JOB TEXT — it ran a single time, well, and printed that.
once() {
	assert_equal "$(job_wait "$1")" 0
	ended "$1" 0 exited
	stdout_is "$1" "$2"
	assert_equal "$(grep -c ' queued$' "$MNT/$1/log")" 1
	assert_equal "$(cat "$MNT/$1/error")" ''
}

# idle JOB — nothing has started it; a later request's answer tells.
idle() {
	stat "$MNT/$1" >/dev/null
	state_is "$1" draft
	assert_equal "$(grep -c ' queued$' "$MNT/$1/log")" 0
}

# source_tree — a job in a plain directory, src, with a file two levels down.
# Its config names what it needs, so that the order of copying is free.
source_tree() {
	mkdir -p src/lib/deep
	printf 'show lib/deep/data\n' >src/code.sh
	printf 'payload\n' >src/lib/deep/data
	printf '{"inputs": ["lib/deep/data"]}\n' >src/config.json
}

# last_error_says TEXT
last_error_says() {
	run cat "$MNT/.fsd/last_error"
	assert_output --partial "$1"
}

# queued_count JOB
queued_count() {
	grep -c ' queued$' "$MNT/$1/log"
}

# --- reading ------------------------------------------------------------------

python() {
	bounded 30 /usr/bin/python3 - "$@"
}

# running JOB — it has printed its line "up" and goes on until it is killed.
running() {
	job_start "$1" $'out up\nsleep 600000'
	job_follow "$1" up
}

# killed JOB
killed() {
	echo kill >"$MNT/$1/ctl"
	job_wait "$1" >/dev/null
}

# sample — a finished job with a tree of outputs, called a.
sample() {
	job_run a $'out hello\nerr oops\nwrite f one\nwrite d/e/g two\nbytes 100000\nexit 3'
}

# modified FILE — its time of change in nanoseconds.
modified() {
	local t
	t=$(stat -c %.9Y "$MNT/$1")
	echo "${t/./}"
}

# later FILE — until what is written now is newer than it: a disk's clock may
# tick as seldom as each 10 ms.
later() {
	until [ clock -nt "$MNT/$1" ]; do
		: >clock
	done
}
