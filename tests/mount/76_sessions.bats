#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Living sessions, as far as the host has a part in them: the order of steps,
# whose machine it is, what is told, and how a session ends.

load ../lib/common

setup() { mount_start; }
teardown() { mount_done; }

# step JOB PROGRAM [SESSION [MORE]] — one step, started.
step() {
	job_start "$1" "$2" "{\"session\": \"${3:-s}\"${4:+, $4}}"
}

session() {
	cat "$MNT/.fsd/sessions/$1/$2"
}

# bats test_tags=smoke
@test "what one step left is there in the next" {
	step a 'remember one'
	job_wait a
	step b $'remember two\nrecall'
	job_wait b
	stdout_is b $'one\ntwo'
	result_is a .session s
	result_is a .session_state kept
	result_is b .session_state kept
	result_is a .step 1
	result_is b .step 2
	job_run c 'recall'
	stdout_is c ''
	result_is c .session null
	result_is c .session_state null
	result_is c .step null
}

# What a guest answers to a step whose interpreter is no more: FAILED, ended, "gone".
GONE=080000000ff52b0104000000676f6e65

@test "a step whose interpreter had ended is sent to a new one, and ends with that" {
	step a 'out one'
	job_wait a
	step b 'out two' s "\"env\": {\"FAKE_AT_JOB\": \"$GONE\"}"
	job_wait b
	run cat "$MNT/b/log"
	assert_output --partial "its interpreter had ended; begun anew"
	result_is b .status failed # the new one has ended, too
	result_is b .message "the program never ran: gone"
	step c 'out three'
	job_wait c
	stdout_is c three
}

@test "each step is a job with its own output, code and files" {
	step a $'out of a\nerr of a\nwrite a.txt a\nexit 3'
	job_wait a
	step b $'out of b\nwrite b.txt b\nexit 4'
	job_wait b
	ended a 3 exited
	ended b 4 exited
	stdout_is a 'of a'
	stderr_is a 'of a'
	stdout_is b 'of b'
	stderr_is b ''
	assert_equal "$(ls "$MNT/a/output")" a.txt
	assert_equal "$(ls "$MNT/b/output")" b.txt
}

@test "steps run one after the other in the order of their start" {
	local i
	step first $'out up\nawait\nremember 0'
	job_follow first up
	for i in 1 2 3 4 5 6 7 8; do
		step "s$i" $'recall\nremember '"$i"
	done
	state_is s8 queued
	goes_on first
	for i in 1 2 3 4 5 6 7 8; do
		job_wait "s$i" >/dev/null
		assert_equal "$(tail -n 1 "$MNT/s$i/stdout")" $((i - 1))
	done
	assert_equal "$(session s steps)" 9
}

@test "a step with many files is not passed by the one behind it" {
	step first 'remember 0'
	job_wait first
	mkdir "$MNT/.a" "$MNT/.b"
	/usr/bin/python3 -I -S - "$MNT/.a" <<-'END'
		import sys
		for i in range(12000):
		    open("%s/%d" % (sys.argv[1], i), "x").close()
	END
	job_put .a code.sh $'recall\nremember a'
	job_put .a config.json '{"session": "s"}'
	job_put .b code.sh $'recall\nremember b'
	job_put .b config.json '{"session": "s"}'
	/usr/bin/python3 -I -S - "$MNT" <<-'END'
		import os, sys
		for job in "ab":
		    os.rename("%s/.%s" % (sys.argv[1], job), "%s/%s" % (sys.argv[1], job))
	END
	job_wait a 60
	job_wait b
	stdout_is a 0
	stdout_is b $'0\na'
}

@test "sessions of other names know nothing of each other and run at once" {
	step a $'remember of-a\nout up\nsleep 60000' one
	job_follow a up
	step b $'remember of-b\nrecall' two
	job_wait b
	stdout_is b of-b
	assert_equal "$(ls "$MNT/.fsd/sessions" | sort | xargs)" 'one two'
	assert_equal "$(session one state)" busy
	assert_equal "$(session two state)" idle
	assert_equal "$(session two language)" bash
	echo kill >"$MNT/a/ctl"
	job_wait a
}

@test "a step that loses the interpreter says so, and the next begins anew" {
	local n=0 program
	for program in 'signal 9' 'signal 11' 'crash'; do
		n=$((n + 1))
		step "x$n" $'remember kept\nexit 0' "s$n"
		job_wait "x$n"
		step "y$n" $'out before\n'"$program" "s$n"
		job_wait "y$n"
		result_is "y$n" .session_state lost
		stdout_is "y$n" before
		step "z$n" $'recall\nout fresh' "s$n"
		job_wait "z$n"
		stdout_is "z$n" fresh
		result_is "z$n" .session_state kept
	done
}

@test "a timeout and a kill lose the session, an exit code does not" {
	step a $'remember it\nexit 9'
	job_wait a
	result_is a .session_state kept
	step b $'recall\nsleep 60000' s '"timeout": 0.3'
	job_wait b
	ended b 124 timeout
	stdout_is b it
	result_is b .session_state lost
	step c $'out up\nsleep 60000'
	job_follow c up
	echo kill >"$MNT/c/ctl"
	job_wait c
	ended c 137 cancelled
	result_is c .session_state lost
	step d 'recall'
	job_wait d
	stdout_is d ''
}

@test "an interrupt ends a step with 130, and the session stays" {
	step a 'remember it'
	job_wait a
	step b $'out up\nsleep 60000'
	job_follow b up
	echo interrupt >"$MNT/b/ctl"
	job_wait b
	ended b 130 exited
	result_is b .session_state kept
	step c 'recall'
	job_wait c
	stdout_is c it
	job_start d $'out up\nsleep 60000'
	job_follow d up
	echo interrupt >"$MNT/d/ctl"
	job_wait d
	ended d 130 signaled
}

@test "a timeout interrupts a step first, and its session stays if it ends within grace" {
	step a 'remember it'
	job_wait a
	step b $'out up\nsleep 60000' s '"timeout": 0.3, "grace": 60'
	job_wait b
	ended b 124 timeout
	result_is b .program_exit_code 130
	result_is b .session_state kept
	step c $'recall\nignoreterm\nsleep 60000' s '"timeout": 0.3, "grace": 0.2'
	job_wait c
	ended c 124 timeout
	stdout_is c it
	result_is c .session_state lost
}

@test "a step may set variables that no other job may" {
	step a env s '"env": {"PATH": "/x", "BASH_ENV": "f"}'
	job_wait a
	stdout_is a $'PATH=/x\nBASH_ENV=f'
}

@test "a step that waits can be removed, and the others go on" {
	step a $'out up\nawait\nremember a'
	job_follow a up
	step b 'remember b'
	step c 'recall'
	rm -r "$MNT/b"
	goes_on a
	job_wait c
	stdout_is c a
	assert_equal "$(session s steps)" 2
}

@test "removing the step that runs loses the session" {
	step a $'remember a\nout up\nsleep 60000'
	job_follow a up
	step b 'recall'
	rm -r "$MNT/a"
	job_wait b
	stdout_is b ''
}

@test "rmdir ends a session: its steps are cancelled and its name is free" {
	step a $'remember a\nout up\nsleep 60000'
	job_follow a up
	step b 'recall'
	rmdir "$MNT/.fsd/sessions/s"
	[ ! -e "$MNT/.fsd/sessions/s" ]
	job_wait a
	job_wait b
	status_is a cancelled
	status_is b cancelled
	step c $'recall\nout new'
	job_wait c
	stdout_is c new
	assert_equal "$(session s steps)" 1
}

# accepting JOB PROGRAM — a step of session s is being accepted, which takes as
# long as the test wants; then: accepted [ERRNO].
accepting() {
	mkdir "$MNT/$1"
	job_put "$1" code.sh "$2"
	job_put "$1" config.json '{"session": "s", "start": "manual"}'
	gate hold:pwrite64:jobs/*/meta
	env LC_ALL=C bash -c 'echo start >"$1"' - "$MNT/$1/ctl" 2>"$BATS_TEST_TMPDIR/said" &
	ACCEPTS=$!
	gate_held
}

accepted() {
	gate_open "$@"
	gate_end
	wait "$ACCEPTS"
}

@test "rmdir of a session cancels the step that it is given just then" {
	local n=0
	# on a busy host its files are listed too late, and it is given nothing yet
	until [ "$(session s state || true)" = busy ]; do
		[ "$((n += 1))" -lt 10 ] || fail 'it is never given the step'
		[ $n = 1 ] || { accepted && rm -r "$MNT/b"; }
		step a$n 'remember a'
		job_wait a$n
		accepting b $'recall\nsleep 600000'
	done
	rmdir "$MNT/.fsd/sessions/s"
	accepted
	job_wait b
	ended b 137 cancelled
	stdout_is b ''
	assert_equal "$(names "$MNT/.fsd/sessions")" ''
	assert_equal "$(server_pid)" "$SERVER"
}

@test "and so it does when the disk does not take that step, which can be started again" {
	step a $'out up\nsleep 600000'
	job_follow a up
	accepting b recall
	rmdir "$MNT/.fsd/sessions/s"
	accepted ENOSPC && fail 'it was accepted'
	grep -q 'No space left on device' "$BATS_TEST_TMPDIR/said"
	state_is b draft
	job_wait a
	echo start >"$MNT/b/ctl"
	job_wait b
	ended b 0 exited
	assert_equal "$(server_pid)" "$SERVER"
}

@test "rmdir of a session cancels its steps that wait elsewhere" {
	local i
	mount_stop
	mount_start --max-machines 4 --pool 1 --quota-running 1
	step a $'out up\nsleep 600000'
	job_follow a up
	for i in 1 2 3; do
		step b$i 'out never'
		state_is b$i queued
	done
	job_start other 'out other'
	rmdir "$MNT/.fsd/sessions/s"
	for i in 1 2 3; do
		job_wait b$i
		ended b$i 137 cancelled
		stdout_is b$i ''
		result_is b$i .message 'its session was ended'
	done
	job_wait a
	job_wait other
	stdout_is other other
	assert_equal "$(names "$MNT/.fsd/sessions")" ''
}

@test "and the step that is accepted just then and waits elsewhere" {
	mount_stop
	mount_start --max-machines 4 --pool 1 --quota-running 1
	step a $'out up\nsleep 600000'
	job_follow a up
	accepting b 'out never'
	rmdir "$MNT/.fsd/sessions/s"
	accepted
	job_wait a
	job_wait b
	ended b 137 cancelled
	assert_equal "$(names "$MNT/.fsd/sessions")" ''
}

@test "rmdir of an idle session gives its machine back" {
	step a 'remember a'
	job_wait a
	rmdir "$MNT/.fsd/sessions/s"
	assert_equal "$(ls "$MNT/.fsd/sessions")" ''
	await becomes 20 sh -c 'grep -qx "fsd_machines_in_use 0" "$1"' - "$MNT/.fsd/stats"
}

@test "an idle session ends after session_idle seconds" {
	step a 'remember a' s '"session_idle": 1'
	job_wait a
	[ -d "$MNT/.fsd/sessions/s" ]
	await becomes 20 sh -c '! test -e "$1"' - "$MNT/.fsd/sessions/s"
	step b 'recall'
	job_wait b
	stdout_is b ''
}

@test "a session that is in use does not end by idleness" {
	step a $'out up\nsleep 1500\nremember a' s '"session_idle": 1'
	job_follow a up
	job_wait a
	step b 'recall'
	job_wait b
	stdout_is b a
}

@test "an idle session counts by itself, and a job has its quota beside it" {
	mount_stop
	mount_start --max-machines 4 --pool 1 --quota-running 1
	step a 'remember a'
	job_wait a
	job_run b 'out b'
	stdout_is b b
	job_start x $'out up\nsleep 600000'
	job_follow x up
	step c recall
	job_wait c
	stdout_is c a
	result_is c .session_state kept
}

@test "another language under the same name is refused with a sentence" {
	step a 'remember a'
	job_wait a
	mkdir "$MNT/b"
	job_put b code.py 'out x'
	job_put b config.json '{"session": "s"}' || true
	refused b '"session" is "s", which speaks bash'
	mkdir "$MNT/c"
	job_put c code.ts 'out x'
	job_put c config.json '{"session": "s"}' || true
	refused c 'typescript'
	mkdir "$MNT/d"
	job_put d code $'#!/bin/sh\nout x'
	job_put d config.json '{"mode": "cell"}' || true
	refused d 'python, javascript, typescript and bash'
}

@test "TypeScript is a step of a JavaScript session" {
	local name
	for name in a.js b.ts c.js; do
		mkdir "$MNT/${name%.*}"
		job_put "${name%.*}" "code.${name#*.}" 'remember x'
		job_put "${name%.*}" config.json '{"session": "s", "mode": "cell"}'
		job_wait "${name%.*}"
		result_is "${name%.*}" .session_state kept
	done
	result_is b .language typescript
	result_is c .step 3
	assert_equal "$(session s language)" javascript
}

@test "sessions leave a machine for those who want none" {
	mount_stop
	mount_start --max-machines 3 --pool 1
	step a 'remember a' one
	job_wait a
	step b 'remember b' two
	job_wait b
	step c 'remember c' three || true
	refused c 'end one by rmdir'
	job_run d 'out through'
	stdout_is d through
	rmdir "$MNT/.fsd/sessions/one"
	rm -r "$MNT/c"
	step c 'remember c' three
	job_wait c
	ended c 0 exited
}

@test "a cell needs no session, and its value is told" {
	job_start a 'result {"text": "42", "results": [{"mime": "text/plain", "data": "42"}, {"mime": "image/png", "base64": "aGk="}, {"nomime": 1}, 7]}' '{"mode": "cell"}'
	job_wait a
	result_is a .text 42
	result_is a '.results | length' 2
	result_is a '.results[1].base64' aGk=
	result_is a .session null
}

@test "fifty steps in five sessions at once all come to their end in order" {
	local i k
	for i in $(seq 10); do
		for k in 1 2 3 4 5; do
			step "j$k-$i" $'recall\nremember '"$i" "s$k"
		done
	done
	for k in 1 2 3 4 5; do
		job_wait "j$k-10" >/dev/null
		assert_equal "$(xargs <"$MNT/j$k-10/stdout")" '1 2 3 4 5 6 7 8 9'
	done
}

@test "a restart ends the sessions and loses no result of theirs" {
	step a $'remember a\nout kept'
	job_wait a
	step b $'out up\nsleep 60000'
	job_follow b up
	mount_stop
	mount_start
	assert_equal "$(ls "$MNT/.fsd/sessions")" ''
	stdout_is a kept
	ended b 125 interrupted
	step c 'recall'
	job_wait c
	stdout_is c ''
	result_is c .step 1
}

@test "a step that still waits at a restart begins a new session" {
	mount_stop
	mount_start --max-machines 1
	step a 'remember a'
	job_wait a
	step b $'out up\nsleep 60000'
	job_follow b up
	step c 'recall'
	state_is c queued
	mount_stop
	mount_start --max-machines 1
	job_wait c
	stdout_is c ''
	result_is c .step 1
}

@test "steps that wait keep their order when their server dies, and the first says what was lost" {
	local i
	step a 'remember a'
	job_wait a
	step b $'out up\nsleep 60000'
	job_follow b up
	for i in 1 2 3 4; do
		step "c$i" "remember $i"
		state_is "c$i" queued
	done
	server_kill
	step d recall
	job_wait d
	stdout_is d $'1\n2\n3\n4'
	ended b 125 interrupted # its machine was the server's, as all of these tests
	run cat "$MNT/c1/log"
	assert_output --partial 'session s: begun anew, for its machine has died, with its server'
	result_is c1 .session_state kept
	result_is d .step 6
}

@test "a step that was killed takes its interpreter with it, whatever that says" {
	step a $'remember a\nsurvive\nout up\nsleep 60000'
	job_follow a up
	echo kill >"$MNT/a/ctl"
	job_wait a
	result_is a .session_state lost
	step b $'recall\nout new'
	job_wait b
	stdout_is b new
}

@test "a step of another language is refused before its session has a machine" {
	mount_stop
	mount_start --max-machines 4 --pool 1 --quota-running 1
	job_start first $'out up\nsleep 60000'
	job_follow first up
	step a 'remember a'
	mkdir "$MNT/b"
	job_put b code.py 'out wrong'
	job_put b config.json '{"session": "s"}' || true
	refused b '"session" is "s", which speaks bash'
	step c 'out c' two
	echo kill >"$MNT/first/ctl"
	job_wait a
	step f 'recall'
	job_wait f
	stdout_is f a
	state_is c queued
	grep -q 'waits until its session can begin: you have 1 sessions already' "$MNT/c/log"
	rmdir "$MNT/.fsd/sessions/s"
	job_wait c
	stdout_is c c
}
