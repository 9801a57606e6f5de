#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What bash completes of a command line of fsd, and what help tells.

load ../lib/common

setup() {
	mkdir "$BATS_TEST_TMPDIR/bin" "$BATS_TEST_TMPDIR/here"
	cd "$BATS_TEST_TMPDIR/here" || return
	ln -s "$(realpath "$FSD")" ../bin/fsd
	TOLD=fsd
}
teardown() { mount_done; }

# completed WORD... — the candidates for the last of the words behind TOLD, on one line.
completed() {
	PATH=${SEARCHED-$BATS_TEST_TMPDIR/bin}:$PATH TOLD=$TOLD \
	bounded 20 bash -c '
		source "$TESTS/../fsd/share/completion.bash"
		compopt() { :; } # there is no line that is edited
		COMP_WORDS=("$TOLD" "${@}")
		COMP_CWORD=$#
		_fsd
		printf "%s\n" "${COMPREPLY[@]}" | LC_ALL=C sort | xargs' _ "$@"
}

# bats test_tags=smoke
@test "commands are completed, but none that people do not call" {
	assert_equal "$(completed st)" status
	assert_equal "$(completed u)" 'umount upgrade'
	run completed ''
	assert_output --regexp '(^| )run( |$)'
	local hidden
	for hidden in complete private notify serve; do
		refute_output --regexp "(^| )$hidden( |\$)"
	done
	assert_equal "$(completed help st)" status
}

@test "the fsd of PATH is asked, and no program of the directory" {
	printf '#!/bin/sh\necho evil; touch "%s/ran"\n' "$PWD" >fsd
	chmod +x fsd
	for TOLD in ./fsd "$PWD/fsd" ../here/fsd; do
		assert_equal "$(completed st)" status
	done
	TOLD=fsd
	SEARCHED=. completed st
	SEARCHED=: completed st
	[ ! -e ran ] || fail 'it has run a program of the directory'
}

@test "options are completed, and the words that their values may be" {
	assert_equal "$(completed wait --)" '--help --json --mount --timeout'
	assert_equal "$(completed mount --quota-b)" --quota-bytes
	# what fsd-gateway alone knows
	assert_equal "$(completed gateway --run-)" '--run-listen --run-memory --run-timeout'
	assert_equal "$(completed mcp --std)" --stdio
	assert_equal "$(completed sandbox new --li)" --life
	assert_equal "$(completed submit --na)" --name
	assert_equal "$(completed mount --accel '')" 'auto kvm tcg'
	assert_equal "$(completed mount --policy s)" strict
	# bash gives the "=" as a word
	assert_equal "$(completed mount --accel = t)" tcg
	assert_equal "$(completed mount --cac)" ''
	assert_equal "$(completed image v)" verify
}

@test "names of jobs are completed, of --mount or \$FSD_MOUNT" {
	mount_start
	mkdir "$MNT/alpha" "$MNT/albert" "$MNT/beta" "$MNT/.alone"
	assert_equal "$(FSD_MOUNT=$MNT completed logs al)" 'albert alpha'
	assert_equal "$(completed logs --mount "$MNT" b)" beta
	assert_equal "$(completed logs --mount = "$MNT" b)" beta
	assert_equal "$(completed kill -M "$MNT" alpha b)" beta
	mkdir "$MNT/with blank"
	assert_equal "$(completed kill -M "$MNT" wi)" 'with blank'
}

@test "files and directories are completed where they may stand" {
	mkdir dir1 dir2
	touch dir-file code.py
	assert_equal "$(completed run co)" code.py
	assert_equal "$(completed mount di)" 'dir1 dir2'
	assert_equal "$(completed mount --state di)" 'dir1 dir2'
}

@test "a mount that does not answer completes nothing, and does not hang" {
	assert_equal "$(FSD_MOUNT=$PWD/missing completed logs x)" ''
}

@test "help lists each command in a group, and tells of one what its table has" {
	local command
	run "$FSD" help
	assert_success
	assert_line 'Jobs:'
	assert_line 'Mounts:'
	run "$FSD" help gateway
	assert_line --regexp '^  --listen ADDR:PORT +repeated'
	for command in run submit top ls status wait logs kill rm sandbox mount umount upgrade template image \
		qemu doctor version gateway mcp; do
		run "$FSD" help
		assert_line --regexp "^  fsd $command +[a-z]"
		run "$FSD" help "$command"
		assert_success
		assert_line --index 0 --regexp "^usage: fsd $command"
		assert_equal "$output" "$("$FSD" "$command" --help)"
	done
	run "$FSD" help wait
	assert_line --regexp '^  -t, --timeout SECONDS +wait no longer'
	assert_equal "$("$FSD" wait -j --help)" "$output"
	run "$FSD" help nonsense
	assert_failure 2
}

@test "no line of help is wider than a terminal" {
	local command
	for command in '' template run submit top ls status wait logs kill rm sandbox mount umount upgrade image \
		qemu doctor version help gateway mcp; do
		# shellcheck disable=SC2086
		run "$FSD" help $command
		assert_equal "$(awk 'length > 79' <<<"$output")" ''
	done
}
