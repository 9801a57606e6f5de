#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A job from any language, with nothing but its own calls for files. Each
# program of submit/ takes a job's path and a config, and keeps the same
# contract: see submit/submit.py.

load ../lib/tools

SUBMIT=$TESTS/submit

# submits COMMAND... — the program makes a job, waits for its end and reads what
# it left, once with a config that is good and once with one that is wrong.
submits() {
	run bounded 20 "$@" "$MNT/good" '{"args": ["ü"]}'
	assert_success
	assert_output $'7\nhello\nmade'
	ended good 7 exited
	stderr_is good oops
	assert_equal "$(grep -c ' queued$' "$MNT/good/log")" 1

	run bounded 20 "$@" "$MNT/wrong" '{"timeout": -3}'
	assert_failure
	refused wrong '"timeout" is -3'
	rm -r "$MNT/good" "$MNT/wrong"
}

@test "sh submits a job" {
	submits sh "$SUBMIT/submit.sh"
}

@test "bash submits a job" {
	submits bash "$SUBMIT/submit.bash"
}

@test "C submits a job" {
	gcc -Wall -o submit "$SUBMIT/submit.c"
	submits ./submit
}

@test "Python submits a job" {
	submits /usr/bin/python3 "$SUBMIT/submit.py"
}

@test "Perl submits a job" {
	submits perl "$SUBMIT/submit.pl"
}

@test "Ruby submits a job" {
	submits ruby "$SUBMIT/submit.rb"
}

@test "PHP submits a job" {
	submits php "$SUBMIT/submit.php"
}

@test "Lua submits a job" {
	submits lua5.4 "$SUBMIT/submit.lua"
}

@test "Tcl submits a job" {
	submits tclsh "$SUBMIT/submit.tcl"
}

@test "awk submits a job" {
	submits mawk -f "$SUBMIT/submit.awk"
}

@test "other shells submit a job: zsh, mksh, yash and busybox" {
	local shell yash=yash
	[ "$(. /etc/os-release && echo "$VERSION_ID")" = 12 ] || yash=mksh # has none
	for shell in zsh mksh "$yash" 'busybox sh'; do
		# shellcheck disable=SC2086
		submits $shell "$SUBMIT/submit.sh"
	done
}

@test "gawk submits a job" {
	submits gawk -f "$SUBMIT/submit.awk"
}

@test "Node submits a job" {
	submits node "$SUBMIT/submit.js"
}

@test "Guile submits a job" {
	GUILE_AUTO_COMPILE=0 submits guile "$SUBMIT/submit.scm"
}

@test "Go submits a job" {
	GOCACHE=$PWD/cache GOFLAGS=-mod=mod GO111MODULE=off \
		bounded 120 go build -o submit-go "$SUBMIT/submit.go"
	submits ./submit-go
}

@test "Rust submits a job" {
	bounded 120 rustc -o submit-rs "$SUBMIT/submit.rs"
	submits ./submit-rs
}

@test "Java submits a job" {
	bounded 120 javac -d . "$SUBMIT/Submit.java"
	submits java -cp . Submit
}
