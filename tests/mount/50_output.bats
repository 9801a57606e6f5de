#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Standard output and error: exact bytes, true sizes, limits.

load ../lib/common

setup() { mount_start; }
teardown() { mount_done; }

# What the fake machine's `bytes N` writes.
pattern() {
	/usr/bin/python3 -c 'import sys
n = int(sys.argv[1]); block = bytes(97 + i % 26 for i in range(65536))
while n > 0:
    sys.stdout.buffer.write(block[:n]); n -= len(block)' "$1"
}

# bats test_tags=smoke
@test "the bytes are exact at every size around a buffer's end" {
	local size
	for size in 0 1 4095 4096 4097 65535 65536 65537 131072 999999 5000000; do
		job_run "s$size" "bytes $size"
		assert_equal "$(stat -c %s "$MNT/s$size/stdout")" "$size"
		result_is "s$size" .stdout.bytes "$size"
		result_is "s$size" .stdout.dropped 0
		pattern "$size" | cmp - "$MNT/s$size/stdout"
		rm -r "$MNT/s$size"
	done
}

@test "no newline is added or lost" {
	job_run a 'outn no newline'
	assert_equal "$(od -An -c "$MNT/a/stdout" | tr -d ' ')" nonewline
	job_run b $'out \nout '
	assert_equal "$(od -An -c "$MNT/b/stdout" | tr -d ' ')" '\n\n'
}

@test "CR, CRLF, tabs, escapes, broken and combining UTF-8 pass unchanged" {
	mkdir "$MNT/a"
	printf 'out a\rb\r\nout \033[31mred\033[0m\tx\nout \xff\xfe\xc3(\nout e\xcc\x81 \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x9a\x80 \xe6\x97\xa5\n' >"$MNT/a/code.sh"
	job_put a config.json '{}'
	job_wait a
	printf 'a\rb\r\n\033[31mred\033[0m\tx\n\xff\xfe\xc3(\ne\xcc\x81 \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x9a\x80 \xe6\x97\xa5\n' | cmp - "$MNT/a/stdout"
}

@test "stdout and stderr are apart and each in order" {
	local program= i
	for i in {1..200}; do
		program+="out o$i"$'\n'"err e$i"$'\n'
	done
	job_run a "$program"
	cmp "$MNT/a/stdout" <(printf 'o%s\n' {1..200})
	cmp "$MNT/a/stderr" <(printf 'e%s\n' {1..200})
}

@test "only one stream used: the other exists and is empty" {
	job_run a 'out x'
	[ -e "$MNT/a/stderr" ] && [ ! -s "$MNT/a/stderr" ]
	job_run b 'err x'
	[ -e "$MNT/b/stdout" ] && [ ! -s "$MNT/b/stdout" ]
	job_run c 'exit 0'
	[ -e "$MNT/c/stdout" ] && [ ! -s "$MNT/c/stdout" ]
}

@test "what a full disk did not take of output is not known, and no number is made up" {
	small_disk 3m
	job_run a 'bytes 5000000'
	ended a 125 failed
	result_is a .stdout.dropped null
}

@test "past its limit output is dropped and counted, and the program runs on" {
	job_run a $'bytes 1200000\nerr still here\nexit 5' '{"stdout_limit": 1000000}'
	ended a 5 exited
	assert_equal "$(stat -c %s "$MNT/a/stdout")" 1000000
	result_is a .stdout.bytes 1000000
	result_is a .stdout.dropped 200000
	stderr_is a 'still here'
	pattern 1000000 | cmp - "$MNT/a/stdout"
	result_is a .message 'stdout: 200000 bytes over stdout_limit were dropped'
	grep -q ' stdout: 200000 bytes over stdout_limit were dropped$' "$MNT/a/log"
}

@test "what is left out of output/ is named, with its size and the reason" {
	mkdir "$MNT/a"
	printf 'out 123456789\nwrite big 123456789\nwrite sm\xe9ll x\nlink l%%\t\n' \
		>"$MNT/a/code.sh"
	job_put a config.json '{"output_limit": 5, "stdout_limit": 4}'
	job_wait a
	ended a 0 exited
	result_is a .output_dropped 2
	assert_equal "$(result a '[.output_left_out[] | .path, .bytes, .reason] | map(tostring) | join("|")')" \
		$'big|10|over output_limit|l%\t|0|a link that leads outside of the job'
	result_is a .message 'stdout: 6 bytes over stdout_limit were dropped; output: 2 entries were left out (output_left_out)'
	grep -q ' output/big was left out: over output_limit$' "$MNT/a/log"
	grep -q ' output/l%25%09 was left out: a link that leads' "$MNT/a/log"
	job_run b "$(printf 'write f%d 12345678\n' {1..150})" '{"output_limit": 5}'
	result_is b .output_dropped 150
	result_is b '.output_left_out | length' 100
	assert_equal "$(grep -c 'was left out' "$MNT/b/log")" 32
	job_run c 'write ok x'
	result_is c '[.message, .output_left_out] | tostring' '[null,[]]'
}

@test "a file in output/ has the time at which the program changed it" {
	job_run j $'write old.txt x\ntouch old.txt 1000000001\nwrite new.txt x\nwrite a x\ntouch a -315619200\nwrite b x\ntouch b 10000000000'
	assert_equal "$(stat -c %Y "$MNT/j/output/old.txt")" 1000000001
	[ "$(stat -c %Y "$MNT/j/output/new.txt")" -gt 1700000000 ]
	assert_equal "$(stat -c %Y "$MNT/j/output/a" "$MNT/j/output/b" | paste -sd ' ')" '-315619200 10000000000'
}

@test "a limit of 0 keeps nothing and counts all" {
	job_run a $'out twelve bytes\nerr four' '{"stdout_limit": 0, "stderr_limit": 0}'
	ended a 0 exited
	assert_equal "$(cat "$MNT/a/stdout" "$MNT/a/stderr")" ''
	result_is a .stdout.dropped 13
	result_is a .stderr.dropped 5
}

@test "a limit that is met exactly drops nothing" {
	job_run a 'bytes 65536' '{"stdout_limit": 65536}'
	result_is a .stdout.dropped 0
	assert_equal "$(stat -c %s "$MNT/a/stdout")" 65536
}

@test "result.json's figures are those of the files" {
	job_run a $'bytes 12345\nerr sixbyte'
	result_is a .stdout.bytes 12345
	result_is a .stderr.bytes 8
}

@test "while it runs stdout has its true size and cat ends at its present end" {
	job_start a $'out one\nsleep 600000'
	job_follow a one
	assert_equal "$(stat -c %s "$MNT/a/stdout")" 4
	assert_equal "$(bounded 5 cat "$MNT/a/stdout")" one
	echo kill >"$MNT/a/ctl"
	job_wait a
}

@test "sizes and times are true while the daemon has no descriptor left" {
	local want
	mount_public # where the kernel remembers none
	job_run a $'out hello\nerr more'
	cat "$MNT/a/log" >/dev/null
	want=$(stat -c '%n %s %Y' "$MNT"/a/{stdout,stderr,result.json,exit_code,log})
	daemon_starve
	assert_equal "$(stat -c '%n %s %Y' "$MNT"/a/{stdout,stderr,result.json,exit_code,log})" "$want"
	daemon_feed
}

@test "an open file sees what was written after it was opened" {
	job_start a $'out one\nsleep 600000'
	job_follow a one
	exec 9<"$MNT/a/stdout"
	local line
	IFS= read -r line <&9
	assert_equal "$line" one
	run read -r line <&9
	assert_failure
	exec 9<&-
	echo kill >"$MNT/a/ctl"
	job_wait a
}

@test "stdout can be sought, read at offsets and mapped" {
	job_run a 'bytes 200000'
	check stream-reads "$MNT/a/stdout" 200000
}

@test "grep, tail, head, dd, wc and sha256sum see an ordinary file" {
	job_run a $'out one\nout two\nout three'
	assert_equal "$(grep -n two "$MNT/a/stdout")" 2:two
	assert_equal "$(tail -n 1 "$MNT/a/stdout")" three
	assert_equal "$(tail -c 4 "$MNT/a/stdout")" ree
	assert_equal "$(head -n 1 "$MNT/a/stdout")" one
	assert_equal "$(dd status=none bs=1 skip=4 count=3 if="$MNT/a/stdout")" two
	assert_equal "$(wc -l <"$MNT/a/stdout")" 3
	assert_equal "$(sha256sum <"$MNT/a/stdout")" "$(printf 'one\ntwo\nthree\n' | sha256sum)"
}

@test "after a second run a reader gets the second run's bytes" {
	job_run a 'bytes 100000'
	pattern 100000 | cmp - "$MNT/a/stdout"
	job_put a code.sh 'out short'
	echo start >"$MNT/a/ctl"
	job_wait a
	stdout_is a short
	assert_equal "$(stat -c %s "$MNT/a/stdout")" 6
}

@test "output of one job never shows in another" {
	job_run a 'out aaaa'
	job_run b 'out bbbb'
	stdout_is a aaaa
	stdout_is b bbbb
}

@test "what looks like a result in the output changes nothing" {
	job_run a $'out {"exit_code": 99, "status": "failed"}\nout exit_code: 99\nerr FSD RESULT EXIT 99\nexit 4'
	ended a 4 exited
	stdout_is a $'{"exit_code": 99, "status": "failed"}\nexit_code: 99'
}

@test "output that was written just before a crash is kept" {
	job_run a $'bytes 300000\nsleep 1\ncrash'
	ended a 125 failed
	assert_equal "$(stat -c %s "$MNT/a/stdout")" 300000
	result_is a .stdout.bytes 300000
}
