#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# fsd run: how files of a program come to the user's directory, whole or not at all.

load ../lib/common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	mount_start
}
teardown() { mount_done; }

program() {
	printf '%s\n' "$1" >code.sh
}

fsd_run() {
	bounded 30 "$FSD" run --mount "$MNT" "$@" </dev/null
}

# killed HOW ARGUMENT... — as lib/killed_run.py says.
killed() {
	bounded 240 /usr/bin/python3 "$TESTS/lib/killed_run.py" "$1" "$FSD" --mount "$MNT" "${@:2}"
}

# on_sshfs COMMAND... — in a directory of sshfs.
on_sshfs() {
	mkdir -p remote other
	# shellcheck disable=SC2016 # for the other shell
	bounded 240 /usr/bin/python3 "$TESTS/lib/sshfs.py" remote other \
		bash -c 'cd other && exec "$@"' _ "$@"
}

@test "-o is never half there, wherever the client is killed" {
	program $'write a text\nwrite b/c text\nout x'
	run killed fresh -o results code.sh
	assert_output $'none\nwhole'
}

@test "-o --replace leaves the old or the new, wherever the client is killed" {
	program $'write b/c new\nout new'
	run killed replaced -o results --replace code.sh
	assert_output $'new\nold'
}

@test "-o makes results on sshfs, and replaces them, as on a disk" {
	program $'write b/c text\nout one'
	on_sshfs "$FSD" run -M "$MNT" -o results ../code.sh </dev/null
	assert_equal "$(names remote) $(cat remote/results/stdout)" 'results one'
	run -2 on_sshfs "$FSD" run -M "$MNT" -o results ../code.sh </dev/null
	assert_output --partial '-o results is there already'
	program 'out two'
	on_sshfs "$FSD" run -M "$MNT" -o results --replace ../code.sh </dev/null
	assert_equal "$(names remote) $(cat remote/results/stdout)" 'results two'
	mkdir remote/mine
	touch remote/mine/file
	run -2 on_sshfs "$FSD" run -M "$MNT" -o mine --replace ../code.sh </dev/null
	assert_output --partial 'file is in it, which no run has made'
	assert_equal "$(names remote)" 'mine results'
}

@test "-o on sshfs is never half there, wherever the client is killed" {
	program $'write a text\nwrite b/c text\nout x'
	run on_sshfs /usr/bin/python3 "$TESTS/lib/killed_run.py" fresh "$FSD" -M "$MNT" -o results ../code.sh
	assert_output $'none\nwhole'
	program $'write b/c new\nout new'
	run on_sshfs /usr/bin/python3 "$TESTS/lib/killed_run.py" replaced "$FSD" -M "$MNT" \
		-o results --replace ../code.sh
	# between two renames the old results are away
	assert_output $'away, then back\nnew\nold'
}
