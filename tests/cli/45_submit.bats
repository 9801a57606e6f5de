#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# fsd submit: a directory or a program becomes a job, whole or not at all.

load ../lib/common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	mount_start
	export FSD_MOUNT=$MNT
	mkdir -p project/lib/deep
	echo $'show lib/deep/data\nout end' >project/code.sh
	printf 'a\0b' >project/lib/deep/data
}
teardown() { mount_done; }

fsd() { bounded 30 "$FSD" "$@"; }

# only NAME... — that is in the mount, and nothing else.
only() {
	assert_equal "$(names "$MNT")" ".fsd${*:+ $*}"
}

# bats test_tags=smoke
@test "a directory becomes a job with all that is in it, and its path is printed" {
	chmod 750 project/lib
	chmod 640 project/lib/deep/data
	touch -d '2020-02-03 04:05:06.5' project/lib/deep/data
	run fsd submit project
	assert_success
	assert_output "$MNT/project"
	assert_equal "$(job_wait project)" 0
	exit_is project 0
	(cd project && find lib -printf '%p %m %TY %s\n' | LC_ALL=C sort) >want
	(cd "$MNT/project" && find lib -printf '%p %m %TY %s\n' | LC_ALL=C sort) >got
	# the size of a directory is its own matter
	diff <(grep -v '^lib[a-z/]* 75[05]' want) <(grep -v '^lib[a-z/]* 75[05]' got)
	assert_equal "$(stat -c %a "$MNT/project/lib")" 750
	assert_equal "$(stat -c %.1Y "$MNT/project/lib/deep/data")" \
		"$(stat -c %.1Y project/lib/deep/data)"
	cmp project/lib/deep/data "$MNT/project/lib/deep/data"
	only project
}

# bats test_tags=smoke
@test "a program becomes a job of its name, with an empty config.json" {
	echo 'out x' >hello.sh
	run fsd submit hello.sh
	assert_success
	assert_output "$MNT/hello"
	assert_equal "$(job_wait hello)" 0
	assert_equal "$(cat "$MNT/hello/config.json")" '{}'
	stdout_is hello x
}

@test "a NAME that is taken is told; without a NAME the job gets a number" {
	fsd submit project a
	run fsd submit project a
	assert_failure 1
	assert_output "fsd submit: there is a job a in $MNT already; give another NAME, or remove it first"
	assert_equal "$(fsd submit project)" "$MNT/project"
	assert_equal "$(fsd submit project)" "$MNT/project-2"
	assert_equal "$(cd project && fsd submit .)" "$MNT/project-3"
	only a project project-2 project-3
}

@test "a draft of the same name is left alone" {
	mkdir "$MNT/.project"
	assert_equal "$(fsd submit project)" "$MNT/project"
	only .project project
}

@test "names that no job can have are refused before anything is made" {
	local name
	for name in .x .fsd $'a\nb' "$(printf 'x%.0s' {1..201})" ''; do
		run fsd submit project "$name"
		assert_failure 2
		refute_output ''
	done
	only
}

@test "a job that is refused is told with its reason, and nothing of it stays" {
	echo '{"timeout": -3}' >project/config.json
	run fsd submit project
	assert_failure 1
	assert_output 'fsd submit: config.json: "timeout" is -3; it must be a number of seconds from 0.1 to 3600'
	only
	run fsd submit --keep project
	assert_failure 1
	assert_line --index 1 "fsd submit: $MNT/.project is kept, to be mended and renamed"
	echo '{}' >"$MNT/.project/config.json"
	mv "$MNT/.project" "$MNT/project"
	assert_equal "$(job_wait project)" 0
}

@test "a job that the full queue does not take is told and leaves no draft" {
	mount_stop
	mount_start --max-machines 1 --max-queued 1
	job_start a $'out up\nsleep 600000'
	job_follow a up
	job_start b 'out x'
	run fsd submit project
	assert_failure 1
	assert_output --partial 'Resource temporarily unavailable'
	only a b
}

@test "a directory without a program is told with what is nearest; --main takes it" {
	mv project/code.sh project/main.sh
	run fsd submit project
	assert_failure 1
	assert_output --partial 'there is main.sh: --main main.sh makes it the program'
	only
	assert_equal "$(fsd submit --main main.sh project)" "$MNT/project"
	assert_equal "$(job_wait project)" 0
	exists project main.sh
	run fsd submit --main missing.sh project
	assert_failure 1
	assert_output --partial 'project/missing.sh: No such file or directory'
	only project
}

@test "a job that waits for more says so and stays" {
	echo '{"inputs": ["late"]}' >project/config.json
	run --separate-stderr fsd submit project
	assert_success
	assert_equal "$output" "$MNT/project"
	# shellcheck disable=SC2154 # run sets it
	[[ $stderr == *'it is a draft'* ]] || fail "$stderr"
	echo x >"$MNT/project/late"
	assert_equal "$(job_wait project)" 0
}

@test "pipes, sockets and links that a job cannot have are named" {
	mkfifo project/pipe
	run fsd submit project
	assert_failure 1
	assert_output --partial 'project/pipe: it is a named pipe; only files, directories and links are copied: leave it out'
	rm project/pipe
	ln -s /etc/passwd project/link
	run fsd submit project
	assert_failure 1
	assert_output --partial 'project/link: a symbolic link that a job does not take; one must be relative and stay inside the job; -L copies what it leads to'
	only
	run fsd submit -L project
	assert_success
	cmp /etc/passwd "$MNT/project/link"
}

@test "files that are called as the job's own are left out and named" {
	echo mine >project/log
	run --separate-stderr fsd submit project
	assert_success
	assert_equal "$stderr" 'fsd submit: project/log is left out: each job has a log of its own'
	job_wait project
	# a copy of a job leaves the results of the first one behind
	run --separate-stderr fsd submit "$MNT/project" again
	assert_success
	assert_equal "$stderr" ''
	assert_equal "$(job_wait again)" 0
}

@test "a signal while it copies removes the draft" {
	local pid status signal
	mkfifo gate
	truncate -s 4G project/large # sparse: it takes long enough
	for signal in INT TERM HUP; do
		env --default-signal="$signal" "$FSD" submit project 3>&- &
		pid=$!
		status=0
		bounded 20 bash -c "until [ -s '$MNT/.project/large' ]; do :; done"
		kill -"$signal" $pid
		wait $pid || status=$?
		assert_equal "$status" $((128 + $(kill -l $signal)))
		only
	done
}

@test "without a mount it is told how to give one" {
	run fsd submit --mount /etc project
	assert_failure 1
	assert_output 'fsd submit: /etc is not a mount of fsd'
	run fsd submit missing
	assert_failure 2
	assert_output 'fsd submit: missing: No such file or directory'
}
# bats test_tags=smoke
@test "a program is submitted with the options and the arguments of run" {
	echo data >in
	printf '%s\n' args 'show in' env 'write made x' >job.sh
	run fsd submit -t 77 -m 128 -e A=b --grace 2 --linger 3 --processes 9 --retain 5000 --output-limit 4K -i in job.sh one --two 'th ree'
	assert_success
	assert_output "$MNT/job"
	assert_equal "$(job_wait job)" 0
	run cat "$MNT/job/stdout"
	assert_line one
	assert_line -- --two
	assert_line 'th ree'
	assert_line data
	assert_line A=b
	assert_equal "$(jq -cS 'del(.args)' "$MNT/job/config.json")" \
		'{"env":{"A":"b"},"grace":2,"linger":3,"memory_mb":128,"output_limit":4096,"processes":9,"retain":5000,"timeout":77}'
	# the same program again, by other ways to name it
	assert_equal "$(fsd submit --name other job.sh)" "$MNT/other"
	assert_equal "$(fsd submit -l bash -c 'out text')" "$MNT/code"
	assert_equal "$(echo 'out piped' | fsd submit -l bash -)" "$MNT/code-2"
	job_wait code
	job_wait code-2
	stdout_is code text
	stdout_is code-2 piped
}

@test "a file on standard input is the program's, anything else is left alone" {
	printf 'cat\n' >job.sh
	echo text >in
	run "$FSD" submit --mount "$MNT" job.sh <in
	assert_output "$MNT/job"
	job_wait job
	stdout_is job text
	# in a loop that reads names, each turn is made
	printf '1\n2\n' | while read -r name; do fsd submit --name "n$name" job.sh; done
	assert_equal "$(job_wait n1)$(job_wait n2)" 00
	stdout_is n1 ''
}

@test "options win over the keys of a directory's config.json, and the rest of it stays" {
	echo '{"timeout": 9, "env": {"A": "file", "B": "file"}, "args": ["old"], "input": 1e999}' >project/config.json
	assert_equal "$(fsd submit -t 8 -e A=new project named)" "$MNT/named"
	assert_equal "$(job_wait named)" 0
	assert_equal "$(cat "$MNT/named/config.json")" \
		'{"timeout":8,"env":{"A":"new","B":"file"},"args":["old"],"input": 1e999}'
	# without an option it is copied byte for byte
	fsd submit project same
	cmp project/config.json "$MNT/same/config.json"
	# -C takes arguments, where a directory's second word is its name
	assert_equal "$(fsd submit -C project new)" "$MNT/project"
	assert_equal "$(jq -c .args "$MNT/project/config.json")" '["new"]'
	# what is wrong with the file is told as ever
	echo '{"timeout": 9,}' >project/config.json
	run fsd submit -t 8 project
	assert_failure 1
	assert_output --partial 'config.json: '
	# a byte order mark is no mistake
	printf '\xef\xbb\xbf{"timeout": 9}' >project/config.json
	fsd submit -m 99 project mark
	assert_equal "$(jq -c . "$MNT/mark/config.json")" '{"timeout":9,"memory_mb":99}'
}

@test "what is wrong with an option or a program is told as the user named it" {
	echo text >notes.txt
	run fsd submit notes.txt
	assert_failure 2
	assert_output --regexp '^fsd submit: notes.txt: which language is it\? .*; -l says it: python, '
	run fsd submit -t -3 project
	assert_failure 1
	assert_output 'fsd submit: -t is -3; it must be a number of seconds from 0.1 to 3600'
	# also what is known at the start alone
	run fsd submit --packages nosuch==1.0 project
	assert_failure 1
	assert_output --regexp '^fsd submit: --packages [^.]*nosuch==1.0'
	run fsd submit --environment nosuch project
	assert_failure 1
	assert_output --regexp '^fsd submit: --environment is "nosuch"; '
	run fsd submit --session $'caf\xe9' project
	assert_failure 2
	assert_output --partial 'it must be valid UTF-8'
	run fsd submit -z project
	assert_failure 2
	assert_line --index 0 "fsd submit: invalid option -- 'z'"
	only
}
