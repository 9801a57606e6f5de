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

# client_ends STATUS PID
client_ends() {
	local status=0
	wait "$2" || status=$?
	assert_equal "$status" "$1"
}

# some_fail OPTION... — of in/1, in/2 and in/3 the last two take too long.
some_fail() {
	program $'cat\nsleep 300'
	batch "$@" -t 10 prog.sh in/1
	batch "$@" -t 0.1 prog.sh in/1 in/2 in/3
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

@test "--failed, --changed and --again run again what they name, and nothing else" {
	inputs 3
	run -1 some_fail -o OUT
	accepted_begin
	ends_with 1 '3 of 3 done, 2 failed (OUT/failed.txt)' batch -o OUT -t 10 prog.sh in/*
	assert_equal "$(accepted)" 0
	ends_with 0 '3 of 3 done' batch -o OUT -t 10 --failed prog.sh in/*
	assert_equal "$(accepted)" 2
	assert_equal "$(journal 'select(.input == "in/2") | "\(.try) \(.status)"' | xargs)" '1 timeout 1 again 2 exited'
	echo changed >in/1
	accepted_begin
	ends_with 0 '3 of 3 done' batch -o OUT -t 10 --changed prog.sh in/*
	assert_equal "$(accepted)" 1
	ends_with 0 '3 of 3 done' batch -o OUT -t 10 --changed prog.sh in/*
	assert_equal "$(accepted)" 1
	ends_with 0 '3 of 3 done' batch -o OUT -t 10 --again prog.sh in/*
	assert_equal "$(accepted)" 4
}

@test "another program, other options, and another line of the same first file are refused" {
	inputs 2
	program 'args'
	batch -o OUT prog.sh in/*
	program 'out x'
	said 2 'prog.sh is not the program that OUT began with; use another --out, or --again' batch -o OUT prog.sh in/*
	program 'args'
	run -2 batch -o OUT -e A=1 prog.sh in/*
	assert_output --partial 'the options and ARGs are not those that OUT began with'
	run -2 batch -o OUT prog.sh x -- in/*
	assert_output --partial 'the options and ARGs are not those that OUT began with'
	# resources may change
	ends_with 0 '2 of 2 done' batch -o OUT -t 20 -m 300 --cpus 1 prog.sh in/*
	printf 'in/1\tin/2\n' >list
	run -2 batch -o OUT prog.sh --from list
	assert_output --partial 'OUT/r/in/1 has the result of another line than'
	program 'out x'
	ends_with 0 '2 of 2 done' batch -o OUT --again prog.sh in/*
	assert_equal "$(cat OUT/r/in/1/stdout)" x
	ends_with 0 '2 of 2 done' batch -o OUT prog.sh in/*
	mkdir other && touch other/file
	said 2 'other has files and no batch.json; give a new directory, or that of the batch' batch -o other prog.sh in/*
}

@test "inputs that would collide, or that no job can have, are refused before a job starts" {
	inputs 2
	mkdir in/d a b
	touch in/d/x a/x b/x stdin log
	program 'args'
	accepted_begin
	said 2 'in/d/x is in in/d, so its results would be in those of in/d; give one of them, or make two batches' batch -o OUT prog.sh in/d in/d/x
	said 2 'in/1 is in the list twice' batch -o OUT prog.sh in/1 in/1
	said 2 'in/1 and ./in//1 would have the same results, r/in/1' batch -o OUT prog.sh in/1 ./in//1
	said 2 'stdin: the name stdin is taken by the job itself; rename the input' batch -o OUT prog.sh stdin
	said 2 '/ has no last name; give a path that ends in one' batch -o OUT prog.sh /
	printf 'a/x\tb/x\n' >list
	said 2 'a/x and b/x are of one job, which would have both as x' batch -o OUT prog.sh --from list
	ends_with 0 '1 of 1 done' batch -o OUT -R prog.sh --from list
	assert_equal "$(accepted)" 1
	run -2 batch -o OUT prog.sh
	run -2 batch prog.sh in/1
	assert_output --partial '-o OUT is missing'
}

@test "arguments, files of one job, standard input and names with TAB and newline arrive as they are" {
	inputs 2
	program 'args'
	printf '6\t7\n\nx y\n' >list
	ends_with 0 '3 of 3 done' batch -o A prog.sh --args list
	assert_equal "$(tail -n +3 A/r/1/stdout | xargs) $(tail -n +3 A/r/2/stdout)/$(tail -n +3 A/r/3/stdout)" '6 7 /x y'
	ends_with 0 '2 of 2 done' batch -o B prog.sh a-{}-{} -v {} -- in/1 in/2
	assert_equal "$(tail -n +3 B/r/in/2/stdout | xargs)" 'a-2-2 -v 2'
	printf 'in/1\tin/2\n' >list
	ends_with 0 '1 of 1 done' batch -o C -R --from list prog.sh -x
	assert_equal "$(tail -n +3 C/r/in/1/stdout | xargs)" '-x in/1 in/2'
	program $'cat\nfiles\nargs'
	ends_with 0 '2 of 2 done' batch -o D --stdin prog.sh in/*
	assert_equal "$(head -n 1 D/r/in/2/stdout) $(tail -n 1 D/r/in/2/stdout)" '2 /home/user/code.sh'
	program 'args'
	touch $'tab\tin' $'line\nbreak' ./-dash
	ends_with 0 '3 of 3 done' batch -o E prog.sh ./-dash $'tab\tin' $'line\nbreak'
	assert_equal "$(tail -n +3 E/r/$'line\nbreak'/stdout)" $'line\nbreak'
	assert_equal "$(cut -f 1 E/results.tsv | tail -n +2)" $'./-dash\ntab\\tin\nline\\nbreak'
	ends_with 0 '3 of 3 done' batch -o F -0 prog.sh --from <(printf '%s\0' ./-dash $'tab\tin' $'line\nbreak')
	diff <(cut -f 1-4 E/results.tsv) <(cut -f 1-4 F/results.tsv)
}

@test "after out_of_memory an input runs with the next size, within one try" {
	inputs 2
	cat >prog.sh <<-'END'
		oom
	END
	ends_with 1 '2 of 2 done, 2 failed (OUT/failed.txt)' batch -o OUT -m 64,128,256 prog.sh in/*
	assert_equal "$(journal 'select(.input == "in/1") | "\(.try) \(.final) \(.memory_mb) \(.status)"' | xargs)" \
		'1 false 64 out_of_memory 2 false 128 out_of_memory 3 true 256 out_of_memory'
	assert_equal "$(journal .placed | sort | uniq -c | xargs)" '4 false 2 true'
	ends_with 1 '2 of 2 done, 2 failed (OUT/failed.txt)' batch -o OUT -m 64,128,256,512 --failed prog.sh in/*
	said 2 '-m is "300,200"; it must be one or more numbers of MB, each larger than the one before it, such as 256,1024' batch -o OUT -m 300,200 prog.sh in/*
}

@test "--tries runs a failure again, --halt starts no more after so many" {
	inputs 9
	program 'exit 3'
	ends_with 1 '2 of 2 done, 2 failed (A/failed.txt)' batch -o A --tries 3 prog.sh in/1 in/2
	assert_equal "$(jq -r '"\(.try) \(.final)"' A/journal | sort | uniq -c | xargs)" '2 1 false 2 2 false 2 3 true'
	ends_with 3 '2 of 9 done, 2 failed (B/failed.txt)' batch -o B -j 1 --halt 2 prog.sh in/*
	program $'args\nexit 3'
	run -3 --separate-stderr batch -o C -j 1 --halt 1 prog.sh in/*
	[[ $stderr == *'fsd batch: halted after 1 failures'*'fsd batch: in/1: exit code 3'* ]]
	# the rest follows
	ends_with 1 '9 of 9 done, 9 failed (C/failed.txt)' batch -o C prog.sh in/*
}

@test "--keep says whose results get a directory, and the journal is enough to go on" {
	inputs 3
	run -1 some_fail -o OUT --keep failed
	assert_equal "$(names OUT/r/in)" '2 3'
	run -1 some_fail -o N --keep none
	assert_equal "$(ls N/r)" ''
	accepted_begin
	ends_with 1 '3 of 3 done, 2 failed (N/failed.txt)' batch -o N --keep none prog.sh in/*
	ends_with 1 '3 of 3 done, 2 failed (OUT/failed.txt)' batch -o OUT --keep failed prog.sh in/*
	assert_equal "$(accepted)" 0
}

@test "-n says how many would run and makes nothing; --status, --table and --cat tell what is there" {
	inputs 3
	program $'cat\nsleep 300'
	run -0 batch -o OUT -n prog.sh in/*
	assert_output '3 inputs: 0 have a result, 3 would run (3 without a result)'
	[ ! -e OUT ]
	run -1 some_fail -o OUT --stdin
	run -0 batch -o OUT -n --stdin --failed prog.sh in/* new
	assert_output '4 inputs: 1 have a result, 3 would run (1 without a result, 2 failed)'
	run -1 batch --status OUT
	assert_output '3 of 3 done, 2 failed'
	run -1 batch --status OUT --json
	assert_equal "$(jq -c . <<<"$output")" '{"total":3,"done":3,"failed":2,"unreadable":0,"running":false}'
	rm OUT/results.tsv
	run -0 batch --table OUT
	assert_equal "$output" "$(cat OUT/results.tsv)"
	run -0 batch --cat OUT
	assert_output $'1\n2\n3'
	run -2 batch --status nowhere
}

@test "-n says the memory of a private mount, which a batch system must be asked for" {
	inputs 3
	program args
	run -0 batch -o OUT -n --private -j 2 -m 300,1000 prog.sh in/*
	assert_line -n 0 '3 inputs: 0 have a result, 3 would run (3 without a result)'
	assert_line -n 1 --regexp '^a private mount: 2 machines at a time, for 2 x 1128 \+ 256 = 2512 MiB of memory; this process may use [0-9]+ MiB'
	run -0 batch -o OUT -n --private prog.sh in/1
	assert_line -n 1 --partial '1 machine at a time, for 1 x 384 + 256 = 640 MiB'
	run -0 batch -o OUT -n --private -m 100000000 prog.sh in/1
	assert_line -n 1 --regexp ', too little for one$'
	# all is done, or there is a mount
	batch -o OUT prog.sh in/1
	run -0 batch -o OUT -n --private prog.sh in/1
	assert_output '1 inputs: 1 have a result, 0 would run'
	run -0 batch -o OUT -n prog.sh in/*
	assert_output '3 inputs: 1 have a result, 2 would run (2 without a result)'
}

@test "an input that cannot be read is a failure of that input, and the next start tries it again" {
	inputs 2
	program 'args'
	ends_with 1 '2 of 3 done, 1 failed (OUT/failed.txt)' batch -o OUT prog.sh in/1 in/none in/2
	assert_equal "$(cat OUT/failed.txt)" in/none
	assert_equal "$(journal 'select(.input == "in/none") | .status')" unreadable
	touch in/none
	ends_with 0 '3 of 3 done' batch -o OUT prog.sh in/1 in/none in/2
	assert_equal "$(wc -c <OUT/failed.txt)" 0
}

@test "a job that the mount refuses ends the batch with its sentence, once" {
	inputs 5
	program 'args'
	said 2 '-t is 0; it must be a number of seconds from 0.1 to 3600' batch -o OUT --progress none -t 0 prog.sh in/* 2>&1 || true
	run -2 --separate-stderr batch -o OUT -t 0 prog.sh in/*
	assert_equal "$(grep -c -- '-t' <<<"$stderr")" 1
	assert_equal "$(ls -A "$MNT")" .fsd
}

@test "a second batch on the same directory is refused, and parts work beside each other" {
	inputs 6
	program $'out up\nawait'
	"$FSD" batch -o OUT --progress none prog.sh in/1 </dev/null 2>/dev/null &
	local client=$!
	until [ -n "$(ls "$MNT")" ]; do :; done
	run -2 batch -o OUT prog.sh in/1
	assert_output --partial 'OUT is in use by another `fsd batch`: process'
	goes_on "$(ls "$MNT")"
	wait $client
	program 'args'
	"$FSD" batch -o P --part 1/2 prog.sh in/* </dev/null &
	client=$!
	ends_with 0 '3 of 3 done' batch -o P --part 2/2 prog.sh in/*
	wait $client
	assert_equal "$(names P/r/in)" '1 2 3 4 5 6'
	run -0 batch --status P
	assert_output '6 of 6 done, 0 failed'
	ends_with 0 '6 of 6 done' batch -o P prog.sh in/*
}

@test "a batch of another host works on the same directory, and each result is there once" {
	[ "$(id -u)" = 0 ] || need 'root, for another name of the host'
	inputs 6
	program $'sleep 700\nout up'
	"$FSD" batch -o OUT -j 1 --progress none prog.sh in/* </dev/null &
	local client=$!
	until [ -n "$(ls "$MNT")" ]; do :; done
	# shellcheck disable=SC2016 # for the other shell
	run -0 bounded 60 unshare --uts sh -c 'hostname elsewhere && exec "$@"' x "$FSD" batch \
		--private -o OUT -j 1 --progress none prog.sh in/* </dev/null
	assert_output --regexp 'OUT: process [0-9]+ on .* works on it, too'
	assert_output --partial '6 of 6 done'
	wait $client
	assert_equal "$(batch --table OUT | tail -n +2 | cut -f1 | sort)" \
		"$(printf 'in/%s\n' 1 2 3 4 5 6)"
}

@test "SIGTERM starts no more and lets those under way end; the next start takes over" {
	inputs 4
	program $'out up\nawait'
	"$FSD" batch -o OUT -j 2 --progress none prog.sh in/* </dev/null 2>err &
	local client=$! name
	until [ "$(ls "$MNT" | wc -l)" = 2 ]; do :; done
	kill -TERM $client
	for name in "$MNT"/batch-*; do
		job_follow "${name##*/}" up
		goes_on "${name##*/}"
	done
	client_ends 143 $client
	assert_equal "$(names OUT/r/in)" '1 2'
	until [ -z "$(ls "$MNT")" ]; do :; done
	accepted_begin
	"$FSD" batch -o OUT -j 2 --progress none prog.sh in/* </dev/null 2>err &
	client=$!
	until [ "$(ls "$MNT" | wc -l)" = 2 ]; do :; done
	kill -INT $client
	kill -TERM $client # two of one kind may be one
	client_ends 130 $client
	assert_equal "$(ls "$MNT" | wc -l)" 2
	for name in "$MNT"/batch-*; do
		job_follow "${name##*/}" up
		goes_on "${name##*/}"
	done
	ends_with 0 '4 of 4 done' batch -o OUT prog.sh in/*
	assert_equal "$(accepted)" 2
}

@test "a full disk below OUT is waited for, and nothing is lost" {
	inputs 3
	program 'bytes 300000'
	mkdir small
	mount -t tmpfs -o size=700k tmpfs small || need 'a tmpfs can be mounted'
	"$FSD" batch -o small/OUT --progress none prog.sh in/* </dev/null 2>err &
	local client=$!
	until grep -q 'No space left on device; nothing starts' err; do :; done
	mount -o remount,size=20m small
	wait $client
	assert_equal "$(stat -c %s small/OUT/r/in/*/stdout | xargs)" '300000 300000 300000'
	assert_equal "$(jq -r .try small/OUT/journal | xargs)" '1 1 1'
	umount small
}

@test "a private mount runs a batch and leaves nothing" {
	inputs 3
	program 'args'
	export XDG_STATE_HOME=$BATS_TEST_TMPDIR
	ends_with 0 '3 of 3 done' batch --private -o OUT prog.sh in/*
	ends_with 0 '3 of 3 done' batch --private -o OUT prog.sh in/*
}

@test "two parts of a batch on sshfs have each result once" {
	inputs 6
	program 'args'
	mkdir remote other
	# shellcheck disable=SC2016 # for the other shell
	bounded 60 /usr/bin/python3 "$TESTS/lib/sshfs.py" remote other bash -c '
		"$FSD" batch -o other/OUT --part 1/2 prog.sh in/* &
		"$FSD" batch -o other/OUT --part 2/2 prog.sh in/* && wait $!' </dev/null
	assert_equal "$(names remote/OUT/r/in)" '1 2 3 4 5 6'
	run -0 batch --status remote/OUT
	assert_output '6 of 6 done, 0 failed'
	assert_equal "$(find remote/OUT/r -name '.new-*')" ''
}
