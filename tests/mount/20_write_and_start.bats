#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Writing a job with any tool, and the moment at which it starts.

load ../lib/common

setup_file() { file_mount; }
teardown_file() { file_mount_done; }
teardown() { file_mount_left; }

# Not started: its state cannot tell by itself, since a start is asynchronous;
# the answer of a later request is.
not_started() {
	stat "$MNT/$1" >/dev/null
	state_is "$1" draft
	absent "$1" exit_code
}

# bats test_tags=smoke
@test "config.json last: its close starts the job" {
	mkdir "$MNT/a"
	job_put a code.sh 'out x'
	not_started a
	job_put a config.json '{}'
	job_wait a
	ended a 0 exited
}

@test "config.json first: the program's close starts the job" {
	mkdir "$MNT/a"
	job_put a config.json '{}'
	not_started a
	job_put a code.sh 'out x'
	job_wait a
	stdout_is a x
}

@test "main names the program's file, which may have any name" {
	mkdir "$MNT/a"
	job_put a config.json '{"main": "hello.sh"}'
	not_started a
	job_put a hello.py 'out no'
	not_started a
	job_put a hello.sh 'args'
	job_wait a
	assert_equal "$(head -n 1 "$MNT/a/stdout")" /bin/bash
	assert_equal "$(sed -n 2p "$MNT/a/stdout")" /home/user/hello.sh
}

@test "main refuses what can be no program" {
	local config sentence
	mkdir "$MNT/a" "$MNT/a/dir"
	job_put a code.sh 'out x'
	while IFS='|' read -r config sentence; do
		run job_put a config.json "$config"
		refused a "$sentence"
	done <<-'END'
		{"main": "a/b.py"}|config.json: "main" is "a/b.py"; it must be the name of a file in the job's directory
		{"main": "x.py"}|config.json: "main" is "x.py", and there is code.sh as well; only one of them is allowed
		{"main": "x.py", "code": "1", "language": "python"}|config.json: "main" is there, and "code" is the program: one of the two must go
		{"main": "x.py", "mode": "command", "command": ["true"]}|config.json: "main" is there, and "mode" is "command", which has no program of its own: one of the two must go
	END
	rm "$MNT/a/code.sh"
	run job_put a config.json '{"main": "dir"}'
	refused a 'config.json: "main" is "dir", which is a directory; it must be a file'
}

@test "an empty config.json counts as an empty object at its last close" {
	mkdir "$MNT/a" "$MNT/b" "$MNT/c"
	job_put a code.sh 'out x'
	job_put b code.sh 'out x'
	exec 9>"$MNT/a/config.json"
	bash -c : 9>&9 # closes duplicates
	not_started a
	printf '{"args": ["1"]' >&9
	not_started a
	printf '}' >&9
	exec 9>&-
	job_wait a
	assert_equal "$(cat "$MNT/a/config.json")" '{"args": ["1"]}'
	touch "$MNT/b/config.json"
	job_wait b
	ended b 0 exited
	echo >"$MNT/c/config.json"
	state_is c draft
	job_put c code.sh 'out x'
	job_wait c
}

@test "every way to write config.json starts the job once" {
	local way n=0
	cp /dev/null "$BATS_TEST_TMPDIR/c"
	echo '{}' >"$BATS_TEST_TMPDIR/c"
	for way in \
		'cat c > J/config.json' \
		'cp c J/config.json' \
		'cp -a c J/config.json' \
		'dd status=none if=c of=J/config.json' \
		'dd status=none bs=1 if=c of=J/config.json' \
		'tee J/config.json < c > /dev/null' \
		'install -m 600 c J/config.json' \
		'mv -f c2 J/config.json' \
		'rsync c J/config.json' \
		'rsync --inplace c J/config.json' \
		'cp c J/t && mv J/t J/config.json' \
		'printf "{" > J/config.json; sleep 0; exec 8>>J/config.json; printf "}" >&8; exec 8>&-' \
		'sed -n "w J/config.json" c' \
		'truncate -s 100 J/config.json 2>/dev/null || :; cat c > J/config.json' \
		'/usr/bin/python3 -c "open(\"J/config.json\",\"w\").write(\"{}\")"' \
		'perl -e "open(F,q(>),q(J/config.json)); print F q({}); close F"' \
		'node -e "require(\"fs\").writeFileSync(\"J/config.json\",\"{}\")"'
	do
		case $way in
		node*) command -v node >/dev/null || continue ;;
		perl*) command -v perl >/dev/null || continue ;;
		esac
		n=$((n + 1))
		mkdir "$MNT/j$n"
		job_put j$n code.sh "out $n"
		cp "$BATS_TEST_TMPDIR/c" "$BATS_TEST_TMPDIR/c2"
		(cd "$BATS_TEST_TMPDIR" && ln -sfn "$MNT/j$n" J && eval "$way")
		assert_equal "$(job_wait j$n) $way" "0 $way"
		stdout_is j$n "$n"
		assert_equal "$(grep -c ' queued$' "$MNT/j$n/log")" 1
	done
}

@test "cp -r, cp -a, rsync and tar each bring a whole job" {
	local src=$BATS_TEST_TMPDIR/src
	mkdir -p "$src/lib/deep"
	echo 'show lib/deep/data' >"$src/code.sh"
	echo payload >"$src/lib/deep/data"
	echo '{"inputs": ["lib/deep/data"]}' >"$src/config.json"
	cp -r "$src" "$MNT/a"
	cp -a "$src" "$MNT/b"
	rsync -r "$src/" "$MNT/c/"
	rsync -a "$src/" "$MNT/d/"
	mkdir "$MNT/e"
	tar c -C "$src" . | tar x -C "$MNT/e"
	mkdir "$MNT/f"
	(cd "$src" && find . -depth | cpio -pdm --quiet "$MNT/f")
	local j
	for j in a b c d e f; do
		assert_equal "$(job_wait $j)" 0
		stdout_is $j payload
	done
}

@test "git and an editor's backup and swap files do not matter" {
	mkdir "$MNT/a"
	job_put a .code.sh.swp swap
	job_put a 4913 probe
	rm "$MNT/a/4913"
	job_put a code.sh 'out old'
	mv "$MNT/a/code.sh" "$MNT/a/code.sh~"
	job_put a code.sh 'out new'
	rm "$MNT/a/.code.sh.swp" "$MNT/a/code.sh~"
	job_put a config.json '{}'
	job_wait a
	stdout_is a new
}

@test "a half-written config.json starts and refuses nothing while it is open" {
	mkdir "$MNT/a"
	job_put a code.sh 'out x'
	exec 9>"$MNT/a/config.json"
	printf '{"args": [' >&9
	not_started a
	assert_equal "$(cat "$MNT/a/error")" ''
	printf '"1"]}' >&9
	not_started a
	exec 9>&-
	job_wait a
	ended a 0 exited
}

@test "a second writer of config.json holds the start back" {
	mkdir "$MNT/a"
	job_put a code.sh 'out x'
	exec 8>"$MNT/a/config.json" 9>"$MNT/a/config.json"
	echo '{}' >&8
	exec 8>&-
	not_started a
	exec 9>&-
	job_wait a
	ended a 0 exited
}

@test "a program that is still open for writing holds the start back" {
	mkdir "$MNT/a"
	exec 9>"$MNT/a/code.sh"
	echo 'out one' >&9
	job_put a config.json '{}'
	not_started a
	echo 'out two' >&9
	exec 9>&-
	job_wait a
	stdout_is a $'one\ntwo'
}

@test "a reader of config.json or of the program does not hold the start back" {
	mkdir "$MNT/a"
	job_put a code.sh 'out x'
	exec 9<"$MNT/a/code.sh"
	job_put a config.json '{}'
	job_wait a
	exec 9<&-
	ended a 0 exited
}

@test "writes at offsets, append, truncation and rename make the same bytes" {
	check write-orders "$MNT"
}

@test "bash's echo, whose first FLUSH is empty, gives no error and one start" {
	mkdir "$MNT/a"
	job_put a code.sh 'out x'
	run bash -c "echo '{}' > '$MNT/a/config.json'"
	assert_success
	assert_output ''
	job_wait a
	assert_equal "$(grep -c queued "$MNT/a/log")" 1
}

@test "start manual waits for ctl" {
	mkdir "$MNT/a"
	job_put a code.sh 'out x'
	job_put a config.json '{"start": "manual"}'
	not_started a
	echo start >"$MNT/a/ctl"
	job_wait a
	ended a 0 exited
}

@test "ctl start without a config uses all defaults" {
	mkdir "$MNT/a"
	job_put a code.sh $'out x\nargs'
	echo start >"$MNT/a/ctl"
	job_wait a
	ended a 0 exited
}

@test "ctl start without a program is EINVAL with a sentence" {
	mkdir "$MNT/a"
	run bash -c "echo start | LC_ALL=C dd status=none of='$MNT/a/ctl'"
	assert_failure
	assert_output --partial 'Invalid argument'
	run cat "$MNT/.fsd/last_error"
	assert_output --partial code
	state_is a draft
}

@test "an unknown verb is EINVAL and says which there are" {
	mkdir "$MNT/a"
	local verb
	for verb in stop '' 'start now' 'signal' 'signal NOPE' 'signal 0' 'signal 65' START; do
		run bash -c "printf '%s\n' '$verb' | LC_ALL=C dd status=none of='$MNT/a/ctl'"
		assert_failure
		assert_output --partial 'Invalid argument'
	done
	echo nonsense | run dd status=none of="$MNT/a/ctl"
	run cat "$MNT/.fsd/last_error"
	assert_output --partial start
}

@test "verbs that only work on a running program are ESRCH before and after" {
	mkdir "$MNT/a"
	run bash -c "echo signal TERM | LC_ALL=C dd status=none of='$MNT/a/ctl'"
	assert_output --partial 'No such process'
	job_put a code.sh 'out x'
	job_put a config.json '{}'
	job_wait a
	run bash -c "echo signal TERM | LC_ALL=C dd status=none of='$MNT/a/ctl'"
	assert_output --partial 'No such process'
}

@test "inputs that are named hold the start back until they are complete" {
	mkdir "$MNT/a"
	job_put a code.sh 'show sub/data.csv'
	job_put a config.json '{"inputs": ["sub/data.csv"]}'
	not_started a
	mkdir "$MNT/a/sub"
	not_started a
	exec 9>"$MNT/a/sub/data.csv"
	echo 1 >&9
	not_started a
	echo 2 >&9
	exec 9>&-
	job_wait a
	stdout_is a $'1\n2'
}

@test "every other file is an input, to any depth, with its mode" {
	mkdir -p "$MNT/a/d1/d2/d3/d4/empty"
	echo deep >"$MNT/a/d1/d2/d3/d4/f"
	echo tool >"$MNT/a/tool"
	chmod 755 "$MNT/a/tool"
	printf 'nul\0byte' >"$MNT/a/bin"
	job_put a code.sh $'files\nshow bin'
	job_put a config.json '{}'
	job_wait a
	run cat "$MNT/a/stdout"
	assert_output --partial 'd1/d2/d3/d4/f 5 644'
	assert_output --partial 'd1/d2/d3/d4/empty/'
	assert_output --partial 'tool 5 755'
	[ "$(tail -c 8 "$MNT/a/stdout" | od -An -c | tr -d ' ')" = 'nul\0byte' ]
	refute_output --partial config.json
}

@test "two programs in one job are refused until one is gone" {
	mkdir "$MNT/a"
	job_put a code.sh 'out sh'
	job_put a code.py 'out py'
	job_put a config.json '{}'
	refused a code.sh
	refused a code.py
	rm "$MNT/a/code.py"
	job_wait a
	stdout_is a sh
}

@test "a name that begins with a dot never starts; mv submits it" {
	mkdir "$MNT/.next"
	job_put .next code.sh 'out x'
	job_put .next config.json '{}'
	not_started .next
	run bash -c "echo start | LC_ALL=C dd status=none of='$MNT/.next/ctl'"
	assert_output --partial 'Invalid argument'
	mv "$MNT/.next" "$MNT/next"
	assert_equal "$(job_wait next)" 0
	ended next 0 exited
	absent .next state
}

@test "a job may be renamed while it is a draft, and starts under its new name" {
	mkdir "$MNT/a"
	job_put a config.json '{}'
	mv "$MNT/a" "$MNT/b"
	job_put b code.sh 'out x'
	job_wait b
	assert_equal "$(result b .job)" b
}

@test "while a job runs its inputs are frozen" {
	job_start a $'out up\nsleep 600000' '{"env": {"A": "1"}}'
	job_follow a up
	fails EBUSY dd status=none if=/dev/null of="$MNT/a/code.sh"
	fails EBUSY dd status=none if=/dev/null of="$MNT/a/new"
	fails EBUSY mkdir "$MNT/a/dir"
	fails EBUSY mv "$MNT/a/config.json" "$MNT/a/config.old"
	fails EBUSY truncate -s 0 "$MNT/a/config.json"
	fails EBUSY mv "$MNT/a" "$MNT/b"
	run cat "$MNT/.fsd/last_error"
	assert_output --partial running
	assert_equal "$(cat "$MNT/a/config.json")" '{"env": {"A": "1"}}'
	echo kill >"$MNT/a/ctl"
	job_wait a
}

@test "a file that was open for writing at the start cannot be written while it runs" {
	mkdir "$MNT/a"
	exec 9>"$MNT/a/data"
	echo one >&9
	job_put a code.sh $'out up\nsleep 600000'
	job_put a config.json '{}'
	job_follow a up
	run bash -c 'LC_ALL=C; echo two >&9'
	assert_failure
	assert_output --partial 'Device or resource busy'
	exec 9>&-
	echo kill >"$MNT/a/ctl"
	job_wait a
	assert_equal "$(cat "$MNT/a/data")" one
}

@test "after the end a new config.json runs it again, and the old results vanish first" {
	job_run a $'out first\nwrite f 1\nexit 3'
	exit_is a 3
	job_put a code.sh $'out second\nsleep 600000'
	exit_is a 3
	job_put a config.json '{}'
	job_follow a second
	absent a exit_code
	absent a result.json
	absent a output
	stdout_is a second
	echo kill >"$MNT/a/ctl"
	job_wait a
	ended a 137 cancelled
	absent a output/f
}

@test "after the end a new config.json may come before what it needs" {
	job_start a $'show late\nexit 3' '{"inputs": ["late"]}'
	job_put a late one
	job_wait a
	stdout_is a one
	rm "$MNT/a/late"
	job_put a config.json '{"inputs": ["late"]}'
	state_is a draft
	exit_is a 3 # as long as no new run has begun
	job_put a late two
	job_wait a
	ended a 3 exited
	stdout_is a two
}

@test "after the end a new config.json starts it when its program is closed" {
	job_run a 'out one'
	exec 9>"$MNT/a/code.sh"
	echo 'out two' >&9
	job_put a config.json '{}'
	state_is a draft
	exec 9>&-
	job_wait a
	stdout_is a two
}

@test "a job that was asked for again, and is not complete, is a draft after a crash" {
	alone
	mount_start
	job_run a 'show late'
	rm -f "$MNT/a/late"
	job_put a config.json '{"inputs": ["late"]}'
	state_is a draft
	mount_crash
	mount_start
	state_is a draft
	exit_is a 0
	job_put a late two
	job_wait a
	stdout_is a two
}

@test "after the end a new config.json that waits for ctl leaves the results" {
	job_run a 'out x'
	job_put a config.json '{"start": "manual"}'
	ended a 0 exited
	stdout_is a x
	echo start >"$MNT/a/ctl"
	job_wait a
	ended a 0 exited
}

@test "after the end ctl start runs it again" {
	job_run a 'out x'
	echo start >"$MNT/a/ctl"
	job_wait a
	assert_equal "$(grep -c ' queued$' "$MNT/a/log")" 2
	ended a 0 exited
}

@test "writing other files after the end does not run it again" {
	job_run a 'show data'
	job_put a data 1
	job_put a code.sh 'out x'
	rm "$MNT/a/data"
	state_is a 'done'
	assert_equal "$(grep -c ' queued$' "$MNT/a/log")" 1
}

@test "a wrong config after the end refuses and keeps the results; mending it runs it" {
	job_run a 'out x'
	job_put a config.json '{"timeout": -3}' || true
	refused a timeout
	stdout_is a x
	job_put a config.json '{}'
	job_wait a
	ended a 0 exited
	assert_equal "$(cat "$MNT/a/error")" ''
}

@test "a shorter file over a longer one leaves nothing of the longer" {
	mkdir "$MNT/a"
	job_put a data 'a much longer line of text'
	job_put a data x
	job_put a code.sh 'show data'
	job_put a config.json '{}'
	job_wait a
	stdout_is a x
}

@test "all 256 bytes and every newline arrive as they were written" {
	/usr/bin/python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 300)' >"$BATS_TEST_TMPDIR/b"
	mkdir "$MNT/a"
	cp "$BATS_TEST_TMPDIR/b" "$MNT/a/data"
	cmp "$BATS_TEST_TMPDIR/b" "$MNT/a/data"
	job_put a code.sh 'show data'
	job_put a config.json '{}'
	job_wait a
	cmp "$BATS_TEST_TMPDIR/b" "$MNT/a/stdout"
}

@test "names of files: unicode is fine, dots and url escapes are literal" {
	mkdir "$MNT/a"
	local name
	for name in '..%2f' '%2e%2e' 'a\b' '...' '-' '🙂' ' ' 'x y'; do
		echo x >"$MNT/a/$name"
	done
	job_put a code.sh files
	job_put a config.json '{}'
	job_wait a
	for name in '..%2f' '%2e%2e' 'a\b' '...' '-' '🙂' ' ' 'x y'; do
		run grep -cFx -e "$name 2 644" "$MNT/a/stdout"
		assert_output 1
	done
}

@test "a byte order mark before the program is stripped" {
	mkdir "$MNT/a"
	printf '\xef\xbb\xbfout x\n' >"$MNT/a/code.sh"
	job_put a config.json '{}'
	job_wait a
	stdout_is a x
}

@test "a program of blanks only is refused" {
	job_start a $' \n\t\n '
	refused a empty
}

@test "a program of 1 MiB runs and one byte more is refused" {
	mkdir "$MNT/a" "$MNT/b"
	head -c $((1 << 20)) /dev/zero | tr '\0' '\n' >"$MNT/a/code.sh"
	printf 'out x\n' | dd status=none conv=notrunc of="$MNT/a/code.sh"
	job_put a config.json '{}'
	job_wait a
	stdout_is a x
	head -c $(((1 << 20) + 1)) /dev/zero | tr '\0' '#' >"$BATS_TEST_TMPDIR/big"
	fails EFBIG cp "$BATS_TEST_TMPDIR/big" "$MNT/b/code.sh"
	job_put b config.json '{}'
	refused b '1 MiB'
}

@test "an ending that is no language's is refused with those that are" {
	mkdir "$MNT/a"
	job_put a code.rb 'puts 1'
	job_put a config.json '{}'
	refused a code.rb
	refused a .py
	mv "$MNT/a/code.rb" "$MNT/a/code.py"
	job_wait a
}

@test "code without an ending needs a shebang or a language" {
	mkdir "$MNT/a"
	job_put a code 'out x'
	job_put a config.json '{}'
	refused a '#!'
	job_put a config.json '{"language": "bash"}'
	job_wait a
	stdout_is a x
	mkdir "$MNT/b"
	job_put b code $'#!/usr/bin/awk -f\nout y'
	job_put b config.json '{}'
	job_wait b
	stdout_is b y
}

@test "a leading blank is no shebang" {
	mkdir "$MNT/a"
	job_put a code $' #!/bin/sh\nout y'
	job_put a config.json '{}'
	refused a '#!'
}

@test "stdin and input.json are not taken for programs, nor a directory code.d" {
	mkdir "$MNT/a" "$MNT/a/code.py"
	job_put a code.sh 'out x'
	job_put a config.json '{}'
	job_wait a
	stdout_is a x
}

@test "a job whose directory was never finished costs nothing and can be removed" {
	mkdir "$MNT/a"
	job_put a config.json '{"inputs": ["never"]}'
	job_put a code.sh 'out x'
	not_started a
	rm -r "$MNT/a"
	absent . a
}

@test "config.json as a directory starts nothing" {
	mkdir -p "$MNT/a/config.json"
	job_put a code.sh 'out x'
	not_started a
	rmdir "$MNT/a/config.json"
	job_put a config.json '{}'
	job_wait a
}

@test "removing config.json or the program before the start takes the job back" {
	mkdir "$MNT/a"
	job_put a config.json '{}'
	rm "$MNT/a/config.json"
	job_put a code.sh 'out x'
	not_started a
	rm "$MNT/a/code.sh"
	job_put a config.json '{}'
	not_started a
	job_put a code.sh 'out x'
	job_wait a
}

@test "a close that starts the job is seen by a wait that is opened right after" {
	local i
	for i in {1..50}; do
		job_start "j$i" "out $i"
		assert_equal "$(job_wait "j$i")" 0
		stdout_is "j$i" "$i"
	done
}

@test "what drain has refused resume does not start, a word does" {
	alone
	mount_start
	echo drain >"$MNT/.fsd/ctl"
	run cat "$MNT/.fsd/health"
	assert_output --partial draining
	mkdir "$MNT/b"
	job_put b code.sh 'out b'
	run job_start a 'out x'
	refused a 'fsd is draining: this was not accepted'
	fails ESHUTDOWN bash -c 'echo start >"$1"' - "$MNT/b/ctl"
	echo resume >"$MNT/.fsd/ctl"
	assert_equal "$(cat "$MNT/.fsd/health")" ok
	job_start z 'out z' # comes later, and is done
	job_wait z
	state_is a refused
	state_is b draft
	server_kill
	job_run y 'out y'
	state_is a refused
	echo start >"$MNT/a/ctl"
	job_wait a
	ended a 0 exited
	job_put b config.json '{}'
	job_wait b
}

@test "a file that is moved to another job while it is open counts there" {
	mkdir "$MNT/a" "$MNT/b"
	job_put b code.sh 'out b'
	exec 9>"$MNT/a/config.json"
	echo '{}' >&9
	mv "$MNT/a/config.json" "$MNT/b/config.json"
	not_started b
	exec 9>&-
	job_wait b
	stdout_is b b
	state_is a draft
}

@test "a config.json in a subdirectory is an input like any other" {
	mkdir "$MNT/a" "$MNT/a/sub"
	job_put a code.sh 'show sub/config.json'
	job_put a sub/config.json 'no JSON at all'
	not_started a
	job_put a config.json '{}'
	job_wait a
	stdout_is a 'no JSON at all'
	job_put a sub/config.json '{}'
	truncate -s 0 "$MNT/a/sub/config.json"
	state_is a 'done'
	assert_equal "$(grep -c ' queued$' "$MNT/a/log")" 1
}
