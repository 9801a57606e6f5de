#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Programs that take what they can get, and those who run beside them. What was
# measured is printed; `make bench` has it as a table.

load ../lib/qemu

export NEIGHBOUR_JOBS=3

setup_file() { file_setup --shared; }
teardown_file() { file_teardown; }
teardown() { jobs_done; }

# beside ATTACK... — others' jobs go on at their pace meanwhile.
beside() {
	run bounded 240 "$TESTS/hostile/neighbour.py" "$MNT" "$@"
	sed 's/^/# /' <<<"$output" >&3
	assert_success
}

@test "others run at their pace beside fork and thread bombs" {
	beside fork-bomb thread-bomb
}

@test "others run at their pace beside a program that takes all memory and processor" {
	beside memory spin
}

@test "others run at their pace beside full and crowded file systems" {
	beside tmp-full inodes
}

@test "others run at their pace beside floods of output" {
	beside flood flood-of-lines
}

@test "others run at their pace beside trees that are hard to collect" {
	beside many-files deep-tree sparse-file
}
