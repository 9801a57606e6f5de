#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# config.json: what is allowed, what is refused, and with which sentence.

load ../lib/common

setup_file() { file_mount; }
teardown_file() { file_mount_done; }
teardown() { file_mount_left; }

# wrong CONFIG TEXT... — the close fails with EINVAL, the state is refused, and
# the sentence has every TEXT in it.
wrong() {
	local config=$1 text
	shift
	rm -rf "$MNT/w"
	mkdir "$MNT/w"
	job_put w code.sh 'out x'
	printf '%s' "$config" >"$BATS_TEST_TMPDIR/config"
	run env LC_ALL=C cp "$BATS_TEST_TMPDIR/config" "$MNT/w/config.json"
	[ "$status" != 0 ] || fail "accepted: ${config:0:200}"
	assert_output --partial 'Invalid argument'
	for text in "$@"; do
		refused w "$text"
	done
	run cat "$MNT/.fsd/last_error"
	assert_output --regexp '^w: config\.json: '
}

# right CONFIG — it runs and exits 0.
right() {
	rm -rf "$MNT/r"
	job_run r $'out x\nargs\nenv' "$1" || fail "does not end: ${1:0:200}"
	[ "$(cat "$MNT/r/error")" = '' ] || fail "${1:0:200}: $(cat "$MNT/r/error")"
	exit_is r 0
}

# bats test_tags=smoke
@test "the contract's own example of a sentence" {
	wrong '{"timeout": -3}' \
		'config.json: "timeout" is -3; it must be a number of seconds from 0.1 to 3600'
}

@test "what is no JSON object is refused" {
	wrong '[]' object
	wrong '"text"'
	wrong '1'
	wrong 'null'
	wrong '{} {}'
	wrong '{} x'
	wrong "{'args': []}"
	wrong '{"args": [],}'
	wrong '{"timeout": NaN}'
	wrong $'{"args": ["\xff"]}'
	wrong $'{"args": ["a\nb"]}'
	wrong '// comment
{}'
}

@test "what people write in place of JSON has a sentence with its place" {
	wrong '{"timeout": 3,}' 'line 1, column 15: the comma before } is one too many'
	wrong $'{\n  \'timeout\': 3}' 'line 2, column 3: keys and strings stand in double quotes'
	wrong $'{}\n# done' 'line 2, column 1: JSON has no comments'
	wrong '{"input": None}' "column 11: None is Python's; JSON has null"
	wrong '{timeout: 3}' 'column 2: the key timeout is to stand in double quotes'
	wrong '{"timeout": 3 "grace": 1}' 'column 15: a comma is missing before'
	wrong '{} {}' 'column 4: a second object begins here'
	wrong $'\xff\xfe{' 'UTF-16'
	wrong '[1' 'it begins with [; it must be an object, such as {}'
}

@test "a text that ends too early is refused when it is closed for good" {
	# A close in between may not fail: each of two commands closes the file.
	job_start a 'out x' '{"args": ['
	refused a 'ends too early'
	(/bin/echo '{"args": ['; /bin/echo '"1"]}') >"$MNT/a/config.json"
	job_wait a
	ended a 0 exited
}

@test "who closes a text that ends too early is told so" {
	check close-error "$MNT/a" '{"args": [' EINVAL
	mkdir "$MNT/b"
	job_put b code.sh 'out x'
	fails EINVAL /bin/sh -c 'exec cat >"$1"' - "$MNT/b/config.json" \
		< <(printf '{"args": ["')
	refused b 'ends too early'
	# The first of two commands is not: the shell has the file open.
	{ /bin/echo '{"args": [' && /bin/echo '"1"]}'; } >"$MNT/b/config.json"
	job_wait b
	ended b 0 exited
	# Nor is who leaves an empty file, which counts as {}.
	mkdir "$MNT/c"
	touch "$MNT/c/config.json"
	cp /dev/null "$MNT/c/config.json"
	state_is c draft
}

@test "an unknown key is refused by its name" {
	wrong '{"tiemout": 3}' tiemout
	wrong '{"": 3}'
	wrong '{"Timeout": 3}' Timeout
	wrong '{"args": [], "x\u0000y": 1}'
}

@test "a key that is given twice is refused" {
	wrong '{"timeout": 1, "timeout": 2}' timeout
	wrong '{"env": {"A": "1", "A": "2"}}'
}

@test "deeper than 32 levels is refused, 32 are allowed" {
	wrong "{\"input\": $(printf '[%.0s' {1..32})$(printf ']%.0s' {1..32})}" 32
	right "{\"input\": $(printf '[%.0s' {1..31})$(printf ']%.0s' {1..31})}"
	wrong "$(printf '[%.0s' {1..100000})"
}

@test "more than 1 MiB is refused, 1 MiB is allowed" {
	local fill
	fill=$(head -c $(((1 << 20) - 3)) /dev/zero | tr '\0' ' ')
	right "{$fill}"
	mkdir "$MNT/a"
	job_put a code.sh 'out x'
	printf '{%s  }' "$fill" >"$BATS_TEST_TMPDIR/big"
	run env LC_ALL=C cp "$BATS_TEST_TMPDIR/big" "$MNT/a/config.json"
	assert_failure
	refused a '1 MiB'
}

@test "a wrong type names the key and what it must be" {
	wrong '{"args": "x"}' args
	wrong '{"args": [1]}' args
	wrong '{"args": null}' args
	wrong '{"env": []}' env
	wrong '{"env": {"A": 1}}' A
	wrong '{"stdin": 1}' stdin
	wrong '{"timeout": "3"}' timeout
	wrong '{"timeout": true}' timeout
	wrong '{"memory_mb": 64.5}' memory_mb
	wrong '{"memory_mb": "64"}' memory_mb
	wrong '{"cpus": 0.5}' cpus
	wrong '{"start": true}' start
	wrong '{"inputs": "data.csv"}' inputs
	wrong '{"mode": 1}' mode
	wrong '{"language": []}' language
}

@test "timeout: 0.1 to 3600 seconds" {
	right '{"timeout": 0.1}'
	right '{"timeout": 3600}'
	right '{"timeout": 1e1}'
	wrong '{"timeout": 0}' 0.1
	wrong '{"timeout": 0.09}' 0.1
	wrong '{"timeout": 3600.1}' 3600
	wrong '{"timeout": 1e308}' 3600
	wrong '{"timeout": -0.0}'
	wrong '{"timeout": 99999999999999999999999}'
}

@test "linger: 0 to 60 seconds" {
	right '{"linger": 0}'
	right '{"linger": 60}'
	wrong '{"linger": 60.5}' 60
	wrong '{"linger": -1}' linger
}

@test "grace: 0 to 60 seconds" {
	right '{"grace": 0}'
	right '{"grace": 60}'
	wrong '{"grace": 60.5}' 60
	wrong '{"grace": -1}' grace
}

@test "memory_mb, cpus and processes keep to their ranges" {
	right '{"memory_mb": 32}'
	wrong '{"memory_mb": 31}' 32
	wrong '{"memory_mb": 99999999999}' memory_mb
	wrong '{"memory_mb": -1}' memory_mb
	right '{"cpus": 1}'
	wrong '{"cpus": 0}' cpus
	wrong '{"cpus": 100000}' cpus
	right '{"processes": 1}'
	right '{"processes": 4096}'
	wrong '{"processes": 0}' processes
	wrong '{"processes": 4097}' 4096
}

@test "limits of output: 0 to 4 GiB" {
	right '{"stdout_limit": 0, "stderr_limit": 0, "output_limit": 0}'
	right '{"stdout_limit": 4294967296}'
	wrong '{"stdout_limit": 4294967297}' stdout_limit
	wrong '{"stderr_limit": -1}' stderr_limit
	wrong '{"output_limit": 1.5}' output_limit
}

@test "args: at most 1024, together at most 128 KiB, no NUL" {
	right "{\"args\": $(jq -nc '[range(1024) | "x"]')}"
	wrong "{\"args\": $(jq -nc '[range(1025) | "x"]')}" 1024
	wrong "{\"args\": $(jq -nc '[range(3) | "x" * 50000]')}" 131072
	wrong '{"args": ["a\u0000b"]}' args
}

@test "env: names, their number and their size" {
	right '{"env": {"A": "1", "_x9": "", "HOME": "/tmp"}}'
	right "{\"env\": $(jq -nc '[range(256) | {("N" + tostring): "v"}] | add')}"
	wrong "{\"env\": $(jq -nc '[range(257) | {("N" + tostring): "v"}] | add')}" 256
	local name
	for name in '' 1A A-B 'A B' 'A=B' é 'A.B' 'A\u0000' 'A\nB'; do
		wrong "{\"env\": {\"$name\": \"1\"}}" 'config.json: '
	done
	wrong "{\"env\": $(jq -nc '{A: ("x" * 140000)}')}" 131072
	wrong '{"env": {"A": "a\u0000b"}}' A
}

@test "env: what would hijack a loader or an interpreter is refused by name" {
	local name
	for name in LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT ld_preload PYTHONSTARTUP \
		NODE_OPTIONS BASH_ENV GLIBC_TUNABLES; do
		wrong "{\"env\": {\"$name\": \"1\"}}" "$name"
	done
}

@test "language: those of .fsd/templates, case-sensitive" {
	local name
	for name in "$MNT"/.fsd/templates/*/extensions; do
		name=$(basename "${name%/*}")
		right "{\"language\": \"$name\"}"
	done
	wrong '{"language": "Python"}' python
	wrong '{"language": "cobol"}' cobol
	wrong '{"language": ""}'
	wrong '{"language": "../python"}'
}

@test "inputs: paths inside the job only" {
	local path
	for path in '' /etc/passwd ../x a/../../x a/./b a//b . 'a\u0000b' x/; do
		wrong "{\"inputs\": [\"$path\"]}" inputs
	done
}

@test "mode: command wants a command and no program, call a language that has it" {
	wrong '{"mode": "shell"}' mode
	wrong '{"mode": "command"}' command
	wrong '{"command": ["ls"]}' command
	wrong '{"mode": "command", "command": []}' command
	wrong '{"mode": "command", "command": "ls"}' command
	wrong '{"call": "f"}' call
	job_start a 'out x' '{"mode": "command", "command": ["ls"]}'
	refused a command
	job_start b 'out x' '{"mode": "call"}'
	refused b call
}

@test "a mount without a policy refuses network, and tells a mistake in it first" {
	wrong '{"network": true}' '"network": this mount gives programs no network; its operator can (fsd mount --network FILE)'
	wrong '{"network": ["https://example.org/"]}' 'leave "https://" and the path out: "example.org"'
	wrong '{"ports": [80]}' '"ports" has 80; programs cannot listen below 1024'
	wrong '{"retry_network": 1}' '"retry_network" must be true or false'
	wrong '{"network": [], "retry": 1}' '"retry_network": true says that this is fine'
}

@test "a refused job loses nothing and starts when it is mended" {
	mkdir "$MNT/a"
	job_put a data payload
	job_put a code.sh 'show data'
	job_put a config.json '{"timeout": "soon"}' || true
	refused a soon
	assert_equal "$(cat "$MNT/a/config.json")" '{"timeout": "soon"}'
	assert_equal "$(cat "$MNT/a/data")" payload
	job_put a config.json '{"timeout": 3}'
	assert_equal "$(job_wait a)" 0
	stdout_is a payload
	assert_equal "$(cat "$MNT/a/error")" ''
}

@test "wait on a refused job does not block for ever" {
	job_start a 'out x' '{"nope": 1}' || true
	state_is a refused
	run bounded 5 cat "$MNT/a/wait"
	assert_failure
	[ "$status" != 124 ] || fail "cat wait blocks on a refused job"
}

# bats test_tags=smoke
@test "a write that makes it wrong for good fails itself, so that every shell is told" {
	local shell
	for shell in bash dash mksh zsh "busybox sh"; do
		rm -rf "$MNT/a"
		mkdir "$MNT/a"
		job_put a code.sh 'out x'
		fails EINVAL python3 -c 'import os, sys
os.write(os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY), b"{\"timeout\": -3}")
' "$MNT/a/config.json"
		# shellcheck disable=SC2086
		run bounded 20 $shell -c 'echo "{\"timeout\": -3}" >"$1"' - "$MNT/a/config.json"
		assert_failure
		refused a '"timeout" is -3'
		assert_equal "$(cat "$MNT/a/config.json")" '{"timeout": -3}'
		job_put a config.json '{}'
		job_wait a
	done
	run php -r 'exit(file_put_contents($argv[1], "{,") === false ? 3 : 0);' "$MNT/a/config.json"
	assert_equal "$status" 3
	refused a 'this comma is one too many'
}

@test "what is written in pieces fails with the piece that makes it wrong" {
	mkdir "$MNT/a" "$MNT/b"
	job_put a code.sh 'out x'
	exec 9>"$MNT/a/config.json"
	printf '{"args": [' >&9
	printf '"1"' >&9
	state_is a draft
	assert_equal "$(cat "$MNT/a/error")" ''
	run bash -c 'LC_ALL=C printf "]]" >&9'
	assert_output --partial 'Invalid argument'
	refused a '] stands where } closes'
	assert_equal "$(cat "$MNT/a/config.json")" '{"args": ["1"]]'
	state_is a refused
	truncate -s 0 "$MNT/a/config.json"
	exec 9>&-
	job_put b code.sh 'out x'
	exec 9>"$MNT/b/config.json"
	run bash -c 'LC_ALL=C printf "[1" >&9'
	assert_failure
	refused b 'it begins with [; it must be an object'
	run bash -c 'LC_ALL=C printf "{]" >&9'
	assert_failure
	printf '{}' >&9 # from the same place
	exec 9>&-
	job_wait b
	ended b 0 exited
}

@test "what is not written from the start and in order is judged at its close" {
	mkdir "$MNT/a" "$MNT/b"
	job_put a code.sh 'out x'
	python3 - "$MNT/a/config.json" <<-'EOF'
		import os, sys
		f = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
		os.pwrite(f, b" 30}", 11)
		os.pwrite(f, b'{"timeout":', 0)
		os.close(f)
	EOF
	assert_equal "$(job_wait a)" 0
	job_put b code.sh 'out x'
	python3 - "$MNT/b/config.json" <<-'EOF'
		import errno, os, sys
		f = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
		os.pwrite(f, b" -3}", 11)
		os.pwrite(f, b'{"timeout":', 0)
		try:
		    os.close(f)
		    sys.exit("the close went well")
		except OSError as e:
		    assert e.errno == errno.EINVAL, e
	EOF
	refused b '"timeout" is -3'
}

@test "a large config is refused by the write that makes it wrong, byte for byte too" {
	mkdir "$MNT/a" "$MNT/b"
	job_put a code.sh 'out x'
	python3 -c 'print("{\"args\": [" + ", ".join(["\"" + "x" * 90 + "\""] * 1000) + "], }")' >"$BATS_TEST_TMPDIR/c"
	fails EINVAL cp "$BATS_TEST_TMPDIR/c" "$MNT/a/config.json"
	refused a 'the comma before } is one too many'
	head -c $(((1 << 20) + 1)) /dev/zero | tr '\0' ' ' >"$BATS_TEST_TMPDIR/c"
	fails EFBIG dd status=none bs=64k if="$BATS_TEST_TMPDIR/c" of="$MNT/b/config.json"
	refused b '1 MiB'
}

@test "cp, dd and tee are told that it is wrong" {
	mkdir "$MNT/c"
	echo '[]' >"$BATS_TEST_TMPDIR/c"
	fails EINVAL cp "$BATS_TEST_TMPDIR/c" "$MNT/c/config.json"
	fails EINVAL dd status=none if="$BATS_TEST_TMPDIR/c" of="$MNT/c/config.json"
	fails EINVAL tee "$MNT/c/config.json" <"$BATS_TEST_TMPDIR/c"
}

@test "a wrong config that is renamed into place is refused" {
	mkdir "$MNT/a"
	job_put a code.sh 'out x'
	job_put a tmp '{"nope": 1}'
	mv "$MNT/a/tmp" "$MNT/a/config.json"
	refused a nope
}

@test "input, stdin text and the file of the same name exclude each other" {
	mkdir "$MNT/a"
	job_put a code.sh 'cat'
	job_put a stdin file
	job_put a config.json '{"stdin": "text"}'
	refused a stdin
	rm "$MNT/a/stdin"
	job_wait a
	stdout_is a text
}

@test "the program finds input as the file input.json" {
	job_run a 'show input.json' '{"input": {"n": [1, 2.5, "ü", null, true], "big": 12345678901234567890}}' || true
	run cat "$MNT/a/error"
	if [ "$output" = '' ]; then
		assert_equal "$(jq -c .n "$MNT/a/stdout")" '[1,2.5,"ü",null,true]'
	fi
	job_run b 'show input.json' '{"input": {"n": [1, 2.5, "ü", null, true]}}'
	assert_equal "$(jq -cS . "$MNT/b/stdout")" '{"n":[1,2.5,"ü",null,true]}'
	job_run c 'show input.json' '{"input": null}'
	assert_equal "$(jq -c . "$MNT/c/stdout")" null
}

@test "the same refusal is counted and logged, not repeated for ever" {
	job_start a 'out x' '{"nope": 1}' || true
	refused a nope
	job_put a other file
	job_put a other2 file
	refused a nope
	assert_equal "$(wc -l <"$MNT/a/error")" 1
}

@test "a config with a byte order mark, CRLF and blanks is fine" {
	right $' \r\n\t{ "timeout" :\r\n 5 } \n\n'
}

@test "a sentence of error stays one plain line whatever the config holds" {
	mkdir "$MNT/a"
	job_put a code.sh 'out x'
	printf '{"args\\n\\u001b[31m": 1}' >"$MNT/a/config.json" || true
	state_is a refused
	assert_equal "$(wc -l <"$MNT/a/error")" 1
	run grep -cP '[\x00-\x08\x0b-\x1f\x7f]' "$MNT/a/error"
	assert_output 0
}

@test "priority is an integer from -100 to 100" {
	local n
	for n in -100 0 100; do
		right "{\"priority\": $n}"
	done
	for n in -101 101 1.5 '"high"' true null; do
		wrong "{\"priority\": $n}" "\"priority\" is $n; it must be an integer from -100 to 100"
	done
}

@test "retry and retain have bounds, and retry is not for sessions" {
	right '{"retry": 10, "retain": 31536000}'
	right '{"retry": 0}'
	wrong '{"retry": 11}' '"retry" is 11; it must be an integer from 0 to 10'
	wrong '{"retry": 1.5}' 'an integer from 0 to 10'
	wrong '{"retain": 0}' '"retain" is 0; it must be an integer of seconds'
	wrong '{"retry": 1, "session": "s"}' 'one of the two must go'
}

@test "a job is one directory and one file: code in config.json" {
	mkdir "$MNT/one"
	echo '{"language": "bash", "code": "out of one\nargs", "args": ["x"], "note": {"tag": [1]}}' \
		>"$MNT/one/config.json"
	job_wait one
	stdout_is one $'of one\n/bin/bash\n/home/user/code.sh\nx'
	result_is one .language bash
	# It is run again by a new config.json, as any job.
	echo '{"language": "bash", "code": "out again"}' >"$MNT/one/config.json"
	job_wait one
	stdout_is one again
	# And what ctl starts has it as well.
	echo start >"$MNT/one/ctl"
	job_wait one
	stdout_is one again
}

@test "code in config.json beside a program's file is refused" {
	job_start both 'out y' '{"language": "bash", "code": "out x"}'
	refused both 'config.json: "code" is given and there is code.sh as well; only one of them is allowed'
	rm "$MNT/both/code.sh" # mended, it starts
	job_wait both
	stdout_is both x
	mkdir "$MNT/late"
	echo '{"language": "bash", "code": "out x", "start": "manual"}' >"$MNT/late/config.json"
	job_put late code.foo 'out y'
	run -1 sh -c 'echo start >"$1"' - "$MNT/late/ctl"
	refused late 'there is code.foo as well'
}
