#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# fsd run: what goes in, what comes out, what is said.

load ../lib/common
load ../lib/run

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	mount_start
}
teardown() { mount_done; }

# said CODE TEXT COMMAND... — it ends with that code and says exactly this.
said() {
	local code=$1 text=$2
	shift 2
	run -"$code" --separate-stderr "$@"
	# shellcheck disable=SC2154
	assert_equal "$stderr" "${text:+fsd run: $text}"
}

# nothing_left — neither in the mount nor beside the tests' files.
nothing_left() {
	assert_equal "$(ls -A "$MNT")" .fsd
	assert_equal "$(find . -maxdepth 1 -name '.*.fsd-??????')" ''
}

# bats test_tags=smoke
@test "-c runs a text as Python, or in the language of -l" {
	# tracebacks name what python3 -c and node -e name
	run fsd_run -c 'args' x
	assert_output $'/home/user/<string>\nx'
	run fsd_run -l javascript -c 'args'
	assert_output '/home/user/[eval]'
	# types are erased by the name
	run fsd_run -l typescript -c 'args'
	assert_output /home/user/code.ts
	echo args >prog
	run fsd_run -l typescript prog
	assert_output /home/user/code.ts
	# not in place of a file of that name
	echo x >'<string>'
	run fsd_run -i '<string>' -c 'args'
	assert_output /home/user/code.py
	run fsd_run --code 'out y' --language bash
	assert_output y
	run fsd_run -c 'out x' -C .
	assert_failure 2
	assert_output --partial 'one is allowed'
	nothing_left
}

@test "--port is a number in \"ports\", repeatable, and a wrong one is told before there is a job" {
	local port
	for port in 80 65536 8x -1 ''; do
		said 2 "--port is \"$port\"; it must be a number from 1024 to 65535" \
			"$FSD" run --mount "$MNT" --port "$port" -c 'out x'
	done
	# shellcheck disable=SC2046 # words
	said 2 'too many --port; at most 10 are allowed' "$FSD" run --mount "$MNT" \
		$(printf -- '--port %s ' $(seq 8080 8090)) -c 'out x'
	nothing_left
	# where the operator lets nobody have ports, the refused draft shows the config
	mount_stop
	echo '{"ports": false}' >policy.json
	mount_start --network "$PWD/policy.json"
	run "$FSD" submit --mount "$MNT" --keep --name served --port 8080 --port 9090 -c 'out x'
	assert_failure 1
	assert_line --partial '--port: the operator lets no other program connect to programs here'
	assert_equal "$(jq -c .ports "$MNT/.served/config.json")" '[8080,9090]'
	run "$FSD" sandbox new --mount "$MNT" --port 8080 box
	assert_failure 2
	assert_output --partial '"ports": the operator lets no other program connect'
}

# bats test_tags=smoke
@test "-i gives files and directories to the program, under their last names" {
	mkdir -p in/data/deep
	echo one >in/one.txt
	echo two >in/data/deep/two
	ln -s one.txt in/link
	chmod 755 in/one.txt
	touch -d 2001-02-03T04:05:06Z in/one.txt
	program $'files\nshow data/deep/two\nshow link'
	run fsd_run -i in/one.txt --input in/data/ -i in/link code.sh
	assert_success
	assert_line --partial one.txt
	assert_line two
	assert_line one
	nothing_left
}

@test "-i refuses what no job can have, by its name, before there is a job" {
	program 'out x'
	mkdir -p a b
	touch a/x b/x a/stdin a/log a/code.py
	mkfifo a/pipe
	said 2 '-i a/x and -i b/x have the same last name' fsd_run -i a/x -i b/x code.sh
	said 2 '-i a/stdin: the name stdin is taken by the job itself; rename the input' fsd_run -i a/stdin code.sh
	said 2 '-i a/log: the name log is taken by the job itself; rename the input' fsd_run -i a/log code.sh
	said 2 '-i a/code.py: the name code.py is taken by the job itself; rename the input' fsd_run -i a/code.py code.sh
	said 2 '-i a/pipe is neither a file nor a directory' fsd_run -i a/pipe code.sh
	said 2 '-i missing: No such file or directory' fsd_run -i missing code.sh
	said 2 '-i / has no last name; give a path that ends in one' fsd_run -i / code.sh
	rm a/stdin a/log a/code.py
	said 2 '-i a/pipe: it is a named pipe; only files, directories and links are copied: leave it out' fsd_run -i a code.sh
	assert_equal "$(figure fsd_runs_accepted_total)" 0
	nothing_left
}

# bats test_tags=smoke
@test "-R: an input stays at its path, and two may have one last name" {
	mkdir -p a/deep b $'of \n kinds/\xff'
	echo one >a/x
	echo two >b/x
	echo three >a/deep/y
	echo four >$'of \n kinds/\xff/-n'
	echo five >z
	ln -s a link
	program $'show a/x\nshow b/x\nshow link/deep/y\nshow z\nfiles'
	run fsd_run -R -i a/x -i ./b//x -i link/deep/ -i z -i $'of \n kinds/\xff/-n' code.sh
	assert_success
	assert_equal "${lines[*]:0:4}" 'one two three five'
	assert_line --partial $'kinds/\xff/-n'
	# a directory that an input and -C have
	mkdir -p project/a
	printf 'show a/x\nshow a/own\n' >project/code.sh
	echo own >project/a/own
	run fsd_run --relative -i a/x -C project
	assert_output $'one\nown'
	# all that is here
	cd a || return
	program $'show deep/y\nshow x'
	run fsd_run -R -i . code.sh
	assert_output $'three\none'
	# a submitted job has the same
	cd .. || return
	program $'show a/x\nshow b/x'
	"$FSD" submit -M "$MNT" -R -i a/x -i b/x --name job code.sh
	"$FSD" wait -M "$MNT" job
	assert_equal "$(cat "$MNT/job/stdout")" $'one\ntwo'
	rm -r "$MNT/job"
	nothing_left
}

@test "-R refuses a path that is absolute or has \"..\", and inputs in one place, before there is a job" {
	local path
	program 'out x'
	mkdir -p a/b code.py
	touch a/x a/b/y code.py/x
	for path in "$PWD/a" a/../a .. a/..; do
		said 2 "-i $path: with -R a path must be relative, without \"..\" and of at most 4095 bytes" \
			fsd_run -R -i "$path" code.sh
	done
	said 2 '-i a/x and -i ./a//x have the same path' fsd_run -R -i a/x -i ./a//x code.sh
	said 2 '-i a/b/y is in -i a, which brings it; give one of them' fsd_run -R -i a/b/y -i a code.sh
	said 2 '-i a/b is in -i a, which brings it; give one of them' fsd_run -R -i a -i a/b code.sh
	said 2 '-i code.py/x: the name code.py is taken by the job itself; rename the input' \
		fsd_run -R -i code.py/x code.sh
	run fsd_run -R -i a/x -i a/b code.sh # beside each other
	assert_output x
	# a place that the project has for a file
	mkdir project
	touch project/a
	cp code.sh project
	run -2 fsd_run -R -i a/x -C project
	assert_output 'fsd run: -i a/x: the job cannot have a directory a: Not a directory'
	assert_equal "$(figure fsd_runs_accepted_total)" 1
	nothing_left
}

# bats test_tags=smoke
@test "-o makes a directory with all results, whatever the exit code" {
	program $'out hello\nerr oops\nwrite deep/er/file text\nexit 3'
	run -3 --separate-stderr fsd_run -o results code.sh
	assert_equal "$output $stderr" 'hello oops'
	assert_equal "$(names results)" 'exit_code output result.json stderr stdout'
	assert_equal "$(cat results/stdout results/stderr results/exit_code)" $'hello\noops\n3'
	assert_equal "$(jq -r .status results/result.json)" exited
	assert_equal "$(cat results/output/deep/er/file)" text
	# as any file that the user makes: a colleague can read them
	assert_equal "$(stat -c %a results results/output | xargs)" \
		"$(printf '%o %o' $((0777 & ~$(umask))) $((0777 & ~$(umask))))"
	assert_equal "$(cd results && stat -c %a exit_code result.json stderr stdout | sort -u)" \
		"$(printf '%o' $((0666 & ~$(umask))))"
	(umask 077 && run -3 fsd_run -o mine code.sh)
	assert_equal "$(stat -c %a mine mine/output mine/stdout | xargs)" '700 700 600'
	nothing_left
}

@test "-o refuses a directory that is there, or cannot be made, before there is a job" {
	program 'out x'
	mkdir there
	ln -s nowhere dangling
	said 2 '-o there is there already; it must be a new directory, or --replace replaces the results in it' fsd_run -o there code.sh
	said 2 '-o dangling is there already; it must be a new directory, or --replace replaces the results in it' fsd_run -o dangling code.sh
	said 2 '-o no/where: no: No such file or directory' fsd_run -o no/where code.sh
	said 2 '-o code.sh/x: Not a directory' fsd_run -o code.sh/x code.sh
	run -2 fsd_run -o results -l cobol code.sh
	[ ! -e results ]
	assert_equal "$(ls -A there)" ''
	assert_equal "$(figure fsd_runs_accepted_total)" 0
	nothing_left
}

@test "-o and -g work inside a draft of a mount, and are refused where a directory is a job" {
	program $'write a x\nout one'
	local where="is a mount of fsd, where each directory is a job: name a place outside of it"
	said 2 "-o $MNT/results: $MNT $where" fsd_run -o "$MNT/results" code.sh
	cp code.sh "$BATS_TEST_TMPDIR/own.sh"
	cd "$MNT" || return
	said 2 "-o results: . $where" fsd_run -o results "$BATS_TEST_TMPDIR/own.sh"
	said 2 "-g a: . $where" fsd_run -g a "$BATS_TEST_TMPDIR/own.sh"
	cd "$BATS_TEST_TMPDIR" || return
	said 2 "-o $MNT/.fsd/sandboxes/results: $MNT/.fsd/sandboxes: nothing can be put there: Invalid argument" \
		fsd_run -o "$MNT/.fsd/sandboxes/results" code.sh
	assert_equal "$(figure fsd_runs_accepted_total)" 0
	nothing_left
	# files are there to be written
	mkdir "$MNT/draft"
	fsd_run -o "$MNT/draft/results" code.sh
	assert_equal "$(cat "$MNT/draft/results/output/a")" x
	(cd "$MNT/draft" && said 0 '' fsd_run -g a "$BATS_TEST_TMPDIR/own.sh")
	assert_equal "$(cat "$MNT/draft/a") $(find "$MNT/draft" -name '.*' | wc -l)" 'x 0'
	rm -r "$MNT/draft"
	nothing_left
}

@test "-o --replace replaces the results of a run before, and nothing else" {
	program $'write a x\nout one'
	fsd_run -f -o results code.sh # there was none
	program $'write b x\nout two'
	said 0 '' fsd_run --replace -o results code.sh
	assert_equal "$(cat results/stdout) $(ls results/output)" 'two b'
	# a program that fails has results as well; one that is refused has none
	program 'exit 3'
	said 3 '' fsd_run --force -o results code.sh
	assert_equal "$(cat results/exit_code)" 3
	run -2 fsd_run --force -o results -t 0 code.sh
	assert_equal "$(cat results/exit_code)" 3
	touch results/notes
	said 2 '-o results: notes is in it, which no run has made; --replace replaces the results of a run alone' \
		fsd_run --force -o results code.sh
	rm results/notes results/result.json
	said 2 '-o results: no result.json and exit_code are in it; --replace replaces the results of a run alone' \
		fsd_run --force -o results code.sh
	mkdir empty
	said 3 '' fsd_run --replace -o empty code.sh
	echo text >file
	ln -s results link
	said 2 '-o file: --replace replaces a directory of results, and this is none: Not a directory' \
		fsd_run --force -o file code.sh
	run -2 fsd_run --force -o link code.sh
	assert_equal "$(cat file)" text
	nothing_left
}

@test "files that a program has made, and that nobody takes, are told" {
	program $'write a x\nwrite b x'
	said 0 'the program has left 2 files, which go with the job; -o DIR keeps them' fsd_run code.sh
	program $'write a x\nexit 3'
	said 3 'the program has left 1 file, which goes with the job; -o DIR keeps it' fsd_run code.sh
	said 3 '' fsd_run -o results code.sh
	said 3 '' fsd_run --json code.sh
	said 3 '' fsd_run --session s code.sh
	rmdir "$MNT/.fsd/sessions/s"
	nothing_left
}

@test "-o: a directory that appears meanwhile is left alone, and that is a failure" {
	program $'out up\nawait'
	fsd_run -o results code.sh >out 2>err 3>&- &
	bounded 20 tail -F --pid=$! out 2>/dev/null 3>&- | grep -q -m1 up
	mkdir results
	echo 'signal USR1' >"$(echo "$MNT"/run-*/ctl)"
	local status=0
	wait $! || status=$?
	assert_equal "$status $(cat err)" '1 fsd run: -o results: File exists'
	assert_equal "$(ls -A results)" ''
	nothing_left
}

# left_by_dead NAME — a directory as a killed `fsd run -o` leaves one.
left_by_dead() {
	mkdir -p "$1/results/output"
	echo "fsd made $1 and removes it when the process that made it has ended." \
		>"$1/.made-by-fsd"
}

@test "-o removes what a dead client has left, and nothing else of that name" {
	program $'out x'
	left_by_dead .results.fsd-aaaaaa
	left_by_dead .results.fsd-locked
	cp -a .results.fsd-aaaaaa .results.fsd-backup
	mkdir -p .results.abcdef .results.fsd-abcdef/output .results.fsd-abcdefg \
		.results.fsd-empty0
	bounded 30 flock .results.fsd-locked \
		"$FSD" run --mount "$MNT" -o results code.sh </dev/null
	assert_equal "$(names . | grep -o '[^ ]*results[^ ]*' | xargs)" \
		".results.abcdef .results.fsd-abcdef .results.fsd-abcdefg \
.results.fsd-backup .results.fsd-empty0 .results.fsd-locked results"
}

@test "a mount that cannot have machines is waited for so long, then the run ends with 125" {
	expect_log 'no template|jobs cannot run'
	mount_stop
	FSD_FAKE_FAIL_TEMPLATES=1000 mount_start --pool 1
	program $'out x'
	FSD_PATIENCE=1 run -125 --separate-stderr bounded 30 \
		"$FSD" run --mount "$MNT" code.sh </dev/null
	assert_equal "$output" ''
	assert_regex "$stderr" 'fsd run: the guest did not boot \(fake\) \(since 20'
	assert_regex "$stderr" 'the job has not run: for 1 s .* could have no machine; .*FSD_PATIENCE'
	nothing_left
}

@test "-C runs a whole directory, whose program is code.* or --main" {
	mkdir -p project/src
	printf 'out own\nargs\nfiles\n' >project/code.sh
	printf 'out main\nshow data\n' >project/main.sh
	echo 'some data' >project/data
	run fsd_run -C project a b
	assert_success
	assert_line own
	assert_line b
	assert_line --partial data
	said 2 'project has a program code.sh already; with --main it may have none' fsd_run -C project --main main.sh
	rm project/code.sh
	said 2 'project has no program code.*; --main FILE says which of its files is the program' fsd_run -C project
	run fsd_run --project project --main ./main.sh
	assert_output $'main\nsome data'
	said 2 '--main is ../code.sh; it must be a path in the directory project' fsd_run -C project --main ../code.sh
	said 2 '--main is a file of the directory of -C, which is not given' fsd_run --main main.sh
	touch project/log
	said 2 '-C project: the name log is taken by the job itself, and the program would not have it; rename it' fsd_run -C project --main main.sh
	nothing_left
}

@test "-C takes the options of a job directory from its config.json, and those of the command line win" {
	mkdir project
	printf '%s\n' args env >project/code.sh
	echo '{"args": ["from config"], "timeout": 5, "env": {"A": "1", "B": "1"}}' >project/config.json
	run fsd_run -C project
	assert_line 'from config'
	run fsd_run -C project -t 3 -e A=2
	assert_success
	assert_line 'from config'
	assert_line A=2
	assert_line B=1
	run fsd_run -C project new
	assert_line new
	refute_line 'from config'
	fsd_run --keep -C project -t 3 >/dev/null
	assert_equal "$(jq .timeout "$MNT"/run-*/config.json)" 3
	rm -r "$MNT"/run-*
	# whose key it is, is told
	said 2 '-t is -3; it must be a number of seconds from 0.1 to 3600' fsd_run -C project -t -3
	echo '{"timeout": -3}' >project/config.json
	said 2 'config.json: "timeout" is -3; it must be a number of seconds from 0.1 to 3600' fsd_run -C project -m 64
	nothing_left
}

@test "an argument, a value of -e and a program that are no UTF-8 arrive as the bytes that they are" {
	printf '%s\n' args env >code.sh
	run fsd_run -e A=$'\xe9t\xe9' code.sh $'caf\xe9.txt' 'a b' '' $'new\nline' 'ü' $'\xff'
	assert_success
	assert_line $'caf\xe9.txt'
	assert_line $'\xff'
	assert_line 'ü'
	assert_line $'A=\xe9t\xe9'
	mkdir -p project/lib
	echo '#!/bin/sh' >$'project/lib/caf\xe9'
	fsd_run --keep -C project --main $'lib/caf\xe9' x >/dev/null || true
	assert_equal "$(jq -c .command "$MNT"/run-*/config.json)" '[[108,105,98,47,99,97,102,233]]'
	rm -r "$MNT"/run-*
	# keys that are text alone say which one it is
	said 2 $'--session is "caf\xe9"; it must be valid UTF-8' fsd_run --session $'caf\xe9' code.sh
	nothing_left
}

@test "-i of . and .. is all that is in the directory, and the program has its place" {
	mkdir -p work/sub
	printf '%s\n' args files 'show data' >work/main.py
	echo text >work/data
	cd work || return
	run fsd_run -i . main.py
	assert_success
	assert_line /home/user/main.py # as tracebacks name it
	assert_line --partial sub
	assert_line text
	cd sub || return
	run fsd_run -i .. ../main.py
	assert_success
	assert_line text
	touch ../log
	said 2 '-i ..: the name log is taken by the job itself; rename the input, or run the directory by -C' \
		fsd_run -i .. ../main.py
	cd ../.. || return
	nothing_left
}

@test "standard input that cannot be read is empty" {
	program $'cat\nout end'
	run bounded 30 "$FSD" run --mount "$MNT" code.sh <.
	assert_success
	assert_output end
	run bounded 30 "$FSD" run --mount "$MNT" code.sh 0>made
	assert_success
	assert_output end
}

@test "--keep lets the job stay and says where; --session and --keep refuse a private mount" {
	program 'out x'
	run --separate-stderr fsd_run --keep code.sh
	assert_success
	assert_equal "$output" x
	assert_equal "$stderr" "fsd run: the job stays: $MNT/$(cd "$MNT" && echo run-*)"
	assert_equal "$(cat "$MNT"/run-*/exit_code)" 0
	said 2 '--keep needs a mount that stays, and a private one goes with `fsd run`: give --mount MNT or FSD_MOUNT' \
		"$FSD" run --private --keep code.sh
	said 2 '--session needs a mount that stays, and a private one goes with `fsd run`: give --mount MNT or FSD_MOUNT' \
		"$FSD" run --private --session s code.sh
}

@test "a client that is killed leaves no job behind, with --keep it does" {
	local option
	program $'out up\nsleep 600000'
	for option in '' --keep; do
		# shellcheck disable=SC2086
		"$FSD" run --mount "$MNT" $option code.sh </dev/null >out 2>/dev/null 3>&- &
		bounded 20 tail -F --pid=$! out 2>/dev/null 3>&- | grep -q -m1 up
		kill -KILL $!
		wait $! || true
		rm out
		[ -n "$option" ] || await becomes 20 \
			sh -c '[ "$(ls -A "$1")" = .fsd ]' - "$MNT"
	done
	assert_equal "$(cat "$MNT"/run-*/state)" running
}

@test "each option of the program reaches its config.json" {
	program 'out x'
	run fsd_run --keep -l bash --timeout 7.5 --memory 64 --cpus 1 --priority -3 \
		--retry 2 --stdout-limit 2K --stderr-limit 3 --output-limit 1M --processes 7 \
		--grace 1 --linger 2.5 --retain 3600 --env A=b code.sh arg
	assert_success
	assert_equal "$(jq -cS . "$MNT"/run-*/config.json)" \
		'{"args":["arg"],"cpus":1,"env":{"A":"b"},"grace":1,"language":"bash","linger":2.5,"memory_mb":64,"output_limit":1048576,"priority":-3,"processes":7,"retain":3600,"retry":2,"stderr_limit":3,"stdout_limit":2048,"timeout":7.5}'
	run -2 fsd_run --packages nosuch==1.0 --packages other==2 code.sh
	assert_output --regexp '^fsd run: --packages .*nosuch==1.0'
	run -2 fsd_run --packages 'two words' code.sh
	assert_output --regexp '^fsd run: --packages has "two words"; '
}

@test "a wrong value names the option, what was given and what is allowed" {
	program 'out x'
	local line
	while IFS='|' read -r args line; do
		# shellcheck disable=SC2086
		said 2 "$line" fsd_run $args code.sh
	done <<-'END'
		-t soon|-t is "soon"; it must be a number
		-t 1e3|-t is "1e3"; it must be a number
		--cpus two|--cpus is "two"; it must be a number
		--stdout-limit 3T|--stdout-limit is "3T"; it must be a number of bytes, or one with K, M or G
		-e novalue|-e is "novalue"; it must be NAME=VALUE
		--priority 101|--priority is 101; it must be an integer from -100 to 100
	END
	nothing_left
}

@test "a program of no known language is told as what the user named it" {
	printf 'root:x:0\n' >passwd
	run -2 fsd_run passwd
	assert_output --partial 'fsd run: passwd: which language is it? Its name ends in none of .py, '
	assert_output --partial '-l says it: python, '
	run -2 bash -c "'$FSD' run --mount '$MNT' - <passwd"
	assert_output --partial 'fsd run: standard input: which language is it?'
	: >empty.py
	said 2 'empty.py: the program is empty' fsd_run empty.py
	truncate -s 2M large.py
	said 2 'large.py has 2097152 bytes; a program may have 1 MiB, -i takes other files' fsd_run large.py
	nothing_left
}

@test "what a limit cuts is told, and is no success" {
	program $'bytes 3000'
	said 125 'stdout: 2000 bytes over stdout_limit were dropped; --stdout-limit changes it' fsd_run --stdout-limit 1000 code.sh
	program $'bytes 3000\nexit 4'
	said 4 'stdout: 2000 bytes over stdout_limit were dropped; --stdout-limit changes it' fsd_run --stdout-limit 1000 code.sh
	run -4 --separate-stderr fsd_run --json --stdout-limit 0 code.sh
	assert_equal "$(jq -r .stdout.dropped <<<"$output")" 3000
}

@test "files that are left out are told with -o, and are no success" {
	program $'write a 12345\nlink l\nout x'
	said 0 'the program has left 1 file, which goes with the job; -o DIR keeps it' fsd_run code.sh
	said 125 $'results/output: 1 entry was left out:\nfsd run:   l (0 bytes): a link that leads outside of the job' \
		fsd_run -o results code.sh
	assert_equal "$(cat results/exit_code) $(cat results/output/a)" '0 12345'
	program 'write a 12345'
	said 125 $'small/output: 1 entry was left out:\nfsd run:   a (6 bytes): over output_limit\nfsd run:   --output-limit changes output_limit' \
		fsd_run --output-limit 4 -o small code.sh
}

@test "a program that takes too long, or too much memory, ends with a sentence that says what changes it" {
	program 'sleep 600000'
	said 124 "over its 0.3 s; -t changes it" fsd_run -t 0.3 code.sh
	program 'oom'
	said 137 'needed more than 256 MiB; -m changes it' fsd_run code.sh
}

# bats test_tags=smoke
@test "standard input of a pipe is streamed while the program runs" {
	program $'out up\ncat\nout end'
	mkfifo in
	"$FSD" run --mount "$MNT" code.sh <in >out 3>&- &
	exec 9>in
	await becomes 20 grep -q up out
	echo one >&9
	await becomes 20 grep -q one out
	echo two >&9
	exec 9>&-
	wait $!
	assert_equal "$(cat out)" $'up\none\ntwo\nend'
	run bash -c "head -c 1000000 /dev/zero | timeout 30 '$FSD' run --mount '$MNT' --json code.sh"
	assert_equal "$(jq .stdout.bytes <<<"$output")" 1000007
	nothing_left
}

@test "input without an end does not keep a program from its own" {
	program $'out end\nexit 3'
	run bash -c "yes | timeout 30 '$FSD' run --mount '$MNT' code.sh; echo \$?"
	assert_output $'end\n3'
	run bash -c "tail -f /dev/null | timeout 30 '$FSD' run --mount '$MNT' code.sh; echo \$?; kill \$(jobs -p) 2>/dev/null; exit 0" 3>&-
	assert_line end
	program $'closein\nsleep 300\nout closed'
	run bash -c "yes | timeout 30 '$FSD' run --mount '$MNT' code.sh"
	assert_output closed
	nothing_left
}

@test "a regular file is given whole: the program may start with all of it" {
	printf 'some text' >input
	program $'cat\nout end'
	run bash -c "timeout 30 '$FSD' run --keep --mount '$MNT' code.sh <input 2>/dev/null"
	assert_output 'some textend'
	assert_equal "$(cat "$MNT"/run-*/stdin)" 'some text'
	assert_equal "$(jq 'has("stdin_open")' "$MNT"/run-*/config.json)" false
}

@test "a file on standard input stays where it is, for a loop that reads names from it" {
	printf '%s\n' ann bob cyd >names
	program 'args'
	run bounded 30 bash -c "while read -r name; do '$FSD' run --mount '$MNT' code.sh \$name || exit; done <names"
	assert_success
	assert_equal "$(grep -xE '[a-z]{3}' <<<"$output" | xargs)" 'ann bob cyd'
}

# loop PRODUCER — a loop that reads names from the producer's pipe runs code.sh for each.
loop() {
	bounded 30 bash -c "$1 | while read -r name; do
		'$FSD' run --mount '$MNT' code.sh \$name || exit; done"
}

@test "what a program does not read of a pipe stays there, for a loop that reads names from it" {
	program $'args\nsleep 200'
	run loop "printf '%s\n' ann bob cyd"
	assert_success
	assert_equal "$(grep -xE '[a-z]{3}' <<<"$output" | xargs)" 'ann bob cyd'
	# more than a pipe holds
	run bounded 60 bash -c "(seq 100 102; yes | head -c 300000) | {
		for i in 1 2 3; do read -r name; '$FSD' run --mount '$MNT' code.sh \$name || exit; done; wc -c; }"
	assert_success
	assert_equal "$(grep -xE '[0-9]+' <<<"$output" | xargs)" '100 101 102 300000'
	# a script that a shell reads by a pipe
	run bounded 30 bash -s <<-end
		'$FSD' run --mount '$MNT' code.sh one
		'$FSD' run --mount '$MNT' code.sh two
		echo last
	end
	assert_success
	assert_equal "$(grep -xE 'one|two|last' <<<"$output" | xargs)" 'one two last'
}

@test "what a program reads of a pipe is gone from there, and it has the end" {
	program 'cat'
	run bounded 30 bash -c "printf 'a\nb\n' | { '$FSD' run --mount '$MNT' code.sh; wc -c; }"
	assert_output $'a\nb\n0'
	# from a socket as well
	run bounded 30 python3 - "$FSD" run --mount "$MNT" code.sh <<-'end'
		import socket, subprocess, sys
		ours, its = socket.socketpair()
		ours.sendall(b"some text")
		ours.shutdown(socket.SHUT_WR)
		open("code.sh", "w").write("closein\nout x")
		print(subprocess.run(sys.argv[1:], stdin=its, capture_output=True).stdout,
		      its.recv(100, socket.MSG_PEEK))
		open("code.sh", "w").write("cat")
		print(subprocess.run(sys.argv[1:], stdin=its, capture_output=True).stdout,
		      its.recv(100))
	end
	assert_output "b'x\\n' b'some text'
b'some text' b''"
	nothing_left
}

@test "-n leaves a pipe on standard input to others, and the program's is empty" {
	program $'cat\nargs'
	run bounded 30 bash -c "printf '%s\n' ann bob cyd | while read -r name; do
		'$FSD' run -n --mount '$MNT' code.sh \$name || exit; done"
	assert_success
	assert_equal "$(grep -xE '[a-z]{3}' <<<"$output" | xargs)" 'ann bob cyd'
	run bounded 30 "$FSD" run --no-stdin --mount "$MNT" code.sh x <code.sh
	assert_success
	refute_output --partial cat
}

@test "after two seconds in the queue it is told what the job waits for, once" {
	mount_stop
	mount_start --max-machines 1
	job_start busy $'out up\nawait'
	job_follow busy up
	program $'out x'
	"$FSD" run --mount "$MNT" code.sh </dev/null >out 2>err 3>&- &
	local pid=$!
	await becomes 20 test -s err
	assert_equal "$(cat err)" 'fsd run: the job waits for a machine: all 1 are in use (--max-machines)'
	echo 'signal USR1' >"$MNT/busy/ctl"
	wait $pid
	assert_equal "$(cat out) $(wc -l <err)" 'x 1'
}

@test "what a cell or a call gives is printed behind what it has printed" {
	program $'out shown\nresult {"text": "42", "results": []}'
	run fsd_run --mode cell code.sh
	assert_output $'shown\n42'
	printf 'result {"value": {"a":  [1, 12345678901234567890123]}}\n' >call.py
	run fsd_run --mode call call.py
	assert_output '{"a":[1,12345678901234567890123]}'
	printf 'out shown\nresult {"value": null}\n' >call.py
	run fsd_run --mode call call.py
	assert_output shown
	program $'result {"text": null, "results": []}'
	run fsd_run --mode cell code.sh
	assert_output ''
	printf 'result {"value": 5}\n' >call.py
	run fsd_run --json --mode call call.py
	assert_equal "$(jq -c .value <<<"$output")" 5
}

@test "the error that ends a cell is printed on standard error, and that of a program once" {
	program $'out shown\nresult {"error": {"name": "E", "value": "v", "traceback": "Trace\\nE: v\\n"}}\nexit 1'
	run -1 --separate-stderr fsd_run --mode cell code.sh
	assert_equal "$output|$stderr" $'shown|Trace\nE: v'
	run -1 --separate-stderr fsd_run --json --mode cell code.sh
	assert_equal "$stderr" ''
	run -1 --separate-stderr fsd_run code.sh
	assert_equal "$stderr" ''
	program $'result {"error": {"name": "number", "value": "5", "traceback": ""}}\nexit 1'
	run -1 --separate-stderr fsd_run --mode cell code.sh
	assert_equal "$stderr" 'number: 5'
}

@test "a session that is lost is told" {
	program $'remember one'
	run -0 --separate-stderr fsd_run --session nb code.sh
	assert_equal "$stderr" ''
	program $'sleep 600000'
	run -124 --separate-stderr fsd_run --session nb -t 0.2 code.sh
	assert_equal "$(tail -n 1 <<<"$stderr")" 'fsd run: the session nb is lost, with all that its steps have made; the next step begins it anew'
}

@test "a loop of a shell ends at the Ctrl-C that ends the command" {
	program $'out up\nsleep 600000'
	cat >loop.sh <<-END
		for i in 1 2 3; do
			"$FSD" run --mount "$MNT" code.sh </dev/null
		done
		echo 'went on'
	END
	run bounded 60 /usr/bin/python3 - <<-'END'
		import os, signal, subprocess
		def start(stdout):
		    return subprocess.Popen(["bash", "loop.sh"], stdout=stdout,
		        start_new_session=True, preexec_fn=lambda: signal.signal(
		            signal.SIGINT, signal.SIG_DFL))
		with start(subprocess.PIPE) as shell:
		    print(shell.stdout.readline())
		    os.killpg(shell.pid, signal.SIGINT) # as a terminal does
		    print(shell.communicate()[0])
		    print(shell.wait())
	END
	assert_output $'b\'up\\n\'\nb\'\'\n-2'
	assert_equal "$(ls -A "$MNT")" .fsd
}

@test "a terminal is read while the program runs, and Ctrl-D ends its input" {
	program $'out up\ncat\nout end'
	run bounded 30 /usr/bin/python3 - "$FSD" "$MNT" <<-'END'
		import os, pty, subprocess, sys
		fsd, mnt = sys.argv[1:]
		pid, fd = pty.fork()
		if pid == 0:
		    os.execv(fsd, [fsd, "run", "--mount", mnt, "code.sh"])
		got = b""
		def until(what):
		    global got
		    while what not in got:
		        got += os.read(fd, 4096)
		until(b"up")
		os.write(fd, b"typed\n")
		until(b"typed\r\ntyped")
		os.write(fd, b"\x04")
		until(b"end")
		print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	END
	assert_output 0
	nothing_left
}

@test "help lists each option with its long form" {
	local name
	run "$FSD" run --help
	assert_success
	for name in code language input relative output get replace project main timeout memory cpus env \
		mode session priority retry stdout-limit stderr-limit no-stdin keep json \
		mount private; do
		assert_output --partial " --$name"
	done
}

# --- a second day: the commands in other people's programs ---------------------------

@test "a Makefile makes results by run -o, again when an input changes, and stops at a failure" {
	mkdir bin
	ln -s "$(realpath "$FSD")" bin/fsd
	local PATH=$PWD/bin:$PATH
	export FSD_MOUNT=$MNT
	printf '%s\n' 'show data' 'write sum text' >sum.sh
	printf '%s\n' 'out other' >other.sh
	echo one >data
	# a directory that a failure leaves would count as made
	cat >Makefile <<-'END'
		.RECIPEPREFIX = >
		report: results other
		> cat results/stdout other/stdout results/output/sum > $@
		results: sum.sh data
		> fsd run -f -o $@ -i data sum.sh > told || { rm -r $@; exit 1; }
		other: other.sh
		> fsd run -f -o $@ other.sh > /dev/null
	END
	bounded 60 make -s -j2 report
	assert_equal "$(paste -sd ' ' report)" 'one other text'
	assert_equal "$(cat told)" one
	run make report
	assert_output --partial 'up to date'
	touch -d '1 hour ago' results other report sum.sh other.sh
	echo two >data
	bounded 60 make -s report
	assert_equal "$(paste -sd ' ' report)" 'two other text'
	assert_equal "$(figure fsd_runs_accepted_total)" 3
	printf 'exit 3\n' >sum.sh
	touch -d '1 hour ago' results
	run bounded 60 make -s report
	assert_failure 2
	[ ! -e results ]
	nothing_left
}

@test "a job of cron's, without a terminal, a locale and most variables, runs as anywhere" {
	printf '%s\n' 'out done' 'write made text' >job.sh
	cat >cron.sh <<-END
		"$(realpath "$FSD")" run --mount "$MNT" -o results job.sh &&
		"$(realpath "$FSD")" submit --mount "$MNT" --name nightly -t 20 job.sh a &&
		"$(realpath "$FSD")" wait -M "$MNT" -t 60 nightly &&
		"$(realpath "$FSD")" logs -M "$MNT" nightly &&
		"$(realpath "$FSD")" run --private job.sh &&
		"$(realpath "$FSD")" rm -M "$MNT" nightly
	END
	(umask 077 && bounded 60 setsid -w env -i SHELL=/bin/sh PATH=/usr/bin:/bin HOME="$PWD" \
		LOGNAME="$(id -un)" FSD_IMAGE="${FSD_IMAGE:-}" /bin/sh ./cron.sh </dev/null >told 2>mail)
	assert_equal "$(cat told)" "done
$MNT/nightly
done
done"
	assert_equal "$(cat mail)" 'fsd run: the program has left 1 file, which goes with the job; -o DIR keeps it'
	assert_equal "$(cat results/output/made)" text
	nothing_left
}

@test "a script with set -e stops at the job that fails, and cleans up" {
	mkdir bin
	ln -s "$(realpath "$FSD")" bin/fsd
	printf '%s\n' 'out good' >good.sh
	printf '%s\n' 'err broken' 'exit 4' >bad.sh
	cat >ci.sh <<-'END'
		set -euo pipefail
		trap 'fsd rm $jobs' EXIT
		jobs='unit lint'
		fsd submit --name unit good.sh unit >/dev/null
		fsd submit --name lint -m 64 good.sh lint >/dev/null
		fsd wait $jobs
		fsd logs -n 1 unit
		fsd run -n good.sh | sed 's/^/run: /'
		fsd run -f -o results "$1"
		echo published
	END
	export FSD_MOUNT=$MNT
	PATH=$PWD/bin:$PATH run --separate-stderr bounded 60 bash ci.sh good.sh
	assert_success
	assert_equal "$output" $'good\nrun: good\ngood\npublished'
	assert_equal "$stderr" ''
	PATH=$PWD/bin:$PATH run --separate-stderr bounded 60 bash ci.sh bad.sh
	assert_failure 4
	assert_equal "$output" $'good\nrun: good'
	assert_equal "$stderr" broken
	assert_equal "$(cat results/exit_code results/stderr)" $'4\nbroken'
	nothing_left
}
