#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# fsd batch: one program, many inputs. tests/fault/batch.py kills it.

load ../lib/common

setup_file() { file_mount; }
teardown_file() { file_mount_done; }
setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export FSD_MOUNT=$MNT
}
teardown() { file_mount_left; }

program() {
	printf '%s\n' "$1" >prog.sh
}

# inputs N — files in/1 to in/N, each with its number.
inputs() {
	local n
	mkdir -p in
	for n in $(seq "$1"); do
		echo "$n" >"in/$n"
	done
}

batch() {
	bounded 30 "$FSD" batch "$@" </dev/null
}

# said CODE TEXT COMMAND... — it ends with that code and says exactly this.
said() {
	local code=$1 text=$2
	shift 2
	run -"$code" --separate-stderr "$@"
	# shellcheck disable=SC2154
	assert_equal "$stderr" "${text:+fsd batch: $text}"
}

# ends_with CODE TEXT COMMAND... — the last words, without the time and the rate.
ends_with() {
	local code=$1 text=$2
	shift 2
	run -"$code" --separate-stderr "$@"
	# shellcheck disable=SC2154
	assert_equal "$(tail -n 1 <<<"$stderr" | sed 's/; [^;]*$//')" "fsd batch: $text"
}

# accepted — the runs that the mount has accepted since `accepted_begin`.
accepted_begin() {
	ACCEPTED=$(figure fsd_runs_accepted_total)
}
accepted() {
	echo $(($(figure fsd_runs_accepted_total) - ACCEPTED))
}

# journal FILTER — of the lines of OUT's journal.
journal() {
	jq -r "$1" OUT/journal
}

# bats test_tags=smoke
@test "each input is a job whose results appear below r/, and a line of the journal" {
	inputs 3
	program $'args\nfiles\nerr e\nwrite made/x y'
	ends_with 0 '3 of 3 done' batch -o OUT prog.sh in/*
	assert_equal "$(sort OUT/r/in/2/stdout)" $'/bin/bash\n/home/user/code.sh\n2\n2 2 644\ncode.sh 32 644'
	assert_equal "$(names OUT/r/in/2)" 'exit_code output result.json stderr stdout'
	assert_equal "$(cat OUT/r/in/2/output/made/x OUT/r/in/2/exit_code)" $'y\n0'
	assert_equal "$(journal .input | sort | xargs)" 'in/1 in/2 in/3'
	assert_equal "$(journal '[.try, .final, .status, .exit_code] | join(" ")' | sort -u)" '1 true exited 0'
	assert_equal "$(cut -f 1-4 OUT/results.tsv | tail -n +2)" $'in/1\t1\texited\t0\nin/2\t1\texited\t0\nin/3\t1\texited\t0'
	assert_equal "$(ls -A "$MNT")" .fsd
	assert_equal "$(find OUT/r -name '.new-*')" ''
}

# bats test_tags=smoke
@test "the same command continues: an input with a result is not run again, whatever its exit code" {
	inputs 4
	program $'show input.json\nshow x\nexit 3'
	accepted_begin
	ends_with 1 '2 of 2 done, 2 failed (OUT/failed.txt)' batch -o OUT prog.sh in/1 in/2
	ends_with 1 '4 of 4 done, 4 failed (OUT/failed.txt)' batch -o OUT prog.sh in/4 in/3 in/2 in/1
	ends_with 1 '4 of 4 done, 4 failed (OUT/failed.txt)' batch -o OUT prog.sh in/*
	assert_equal "$(accepted)" 4
	assert_equal "$(cat OUT/failed.txt)" "$(printf 'in/%s\n' 1 2 3 4)"
	# a result that was removed by hand is made anew
	rm -r OUT/r/in/3
	ends_with 1 '4 of 4 done, 4 failed (OUT/failed.txt)' batch -o OUT prog.sh in/*
	assert_equal "$(accepted)" 5
	[ -e OUT/r/in/3/exit_code ]
}

@test "streams and output/ that are empty are no files" {
	inputs 1
	program 'exit 0'
	ends_with 0 '1 of 1 done' batch -o OUT prog.sh in/1
	assert_equal "$(names OUT/r/in/1)" 'exit_code result.json'
}
