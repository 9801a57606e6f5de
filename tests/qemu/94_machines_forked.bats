#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Zygotes, and machines that are forked off them, and how both die. One zygote
# serves most tests: a machine at a time, made when a job wants it.

load ../lib/machines

export LOG_EXPECTED='machines do not start|template|zygote'

setup_file() { file_setup; }
teardown_file() { file_teardown; }
teardown() {
	jobs_done
	[ -z "${OWN:-}" ] || mount_done
}

# no_machine — none is left of the tests before, and the next will be forked.
no_machine() {
	await becomes 60 grep -q '^fsd_fork_sources 1' "$MNT/.fsd/stats"
	await becomes 20 sh -c '! pgrep -P "$1" -r D,R,S,t,T qemu' - "$(jailer)"
}

zygotes_made() {
	grep -c 'a zygote is ready' "$LOG"
}

@test "a forked machine whose kernel ends fails its job by name, and so it is when its QEMU is told to end" {
	no_machine
	local how
	for how in kernel_ends 'kill -HUP'; do
		job_made code.py <<<$'import signal\nprint("up", flush=True)\nsignal.pause()'
		job_put "$J" config.json '{"timeout": 100}'
		job_follow "$J" up
		is_forked "$(machines)" || fail 'it was restored'
		if [ "$how" = kernel_ends ]; then
			kernel_ends
		else
			kill -HUP "$(machines)"
		fi
		job_wait "$J" 20
		ended "$J" 125 failed
		stdout_is "$J" up
	done
}

@test "once there is time machines are forked off a zygote, and each is a machine of its own" {
	no_machine
	job_made code.py <<<$'import signal\nopen("mark", "w")\nprint("up", flush=True)\nsignal.pause()'
	job_put "$J" config.json '{}'
	job_follow "$J" up
	is_forked "$(machines)" || fail 'it was restored'
	prog code.py <<<'import os; print(os.listdir("."))'
	ok "['code.py']"
}

@test "a zygote that is killed is missed by nobody, and there is another one soon" {
	local before
	no_machine
	before=$(zygotes_made)
	job_made code.py <<<$'import time\nprint("up", flush=True)\ntime.sleep(3)\nprint("lives on")'
	job_put "$J" config.json '{}'
	job_follow "$J" up
	local running=$J
	kill -KILL "$(zygote)"
	prog code.py <<<'print("restored")'
	ok restored
	job_wait "$running" 60
	stdout_is "$running" $'up\nlives on'
	await becomes 60 grep -q 'a zygote has ended (' "$LOG"
	await becomes 60 awk -v before="$before" \
		'/a zygote is ready/ { n++ } END { exit n <= before }' "$LOG"
	prog code.py <<<'print("forked")'
	ok forked
}

@test "machines that are killed from outside as they are forked cost neither their job nor the template" {
	no_machine
	killed_at_start 2 KILL
	same_template
}

@test "a zygote that is frozen is given up, and the job that needed it does not notice" {
	no_machine
	kill -STOP "$(zygote)"
	prog code.py <<<'print("fine")'
	ok fine
	result_is "$J" .message null
	run zygote
	assert_failure
	await becomes 60 grep -q 'a zygote has ended' "$LOG"
	health_is_ok
}

@test "a machine that is forked has its own copy of what programs write before it runs one" {
	own_mount
	mount_start --fork yes --pool 2
	prog code.py <<<'print(1)'
	ok 1
	forking
	at_rest
	local pid
	for pid in $(machines); do
		# KiB; a machine that only came up has some 400
		run awk '/^[0-9a-f]+-/ { ram = $NF ~ /\/ram$/ }
			ram && /^Private_Dirty/ { sum += $2 } END { print sum }' \
			"/proc/$pid/smaps"
		[ "$output" -gt 4096 ] || fail "$output KiB of its own"
	done
	run cat "$LOG"
	refute_output --partial 'heated one by one'
	prog code.py <<<'print(1)'
	ok 1
	assert_equal "$(result "$J" .machine.source)" warm
}

@test "a private mount for many jobs forks its machines off a zygote, one for a few does not" {
	export TMPDIR=$BATS_TEST_TMPDIR FSD_TEMPLATES=$STATE/templates
	run bounded 120 /usr/bin/python3 "$TESTS/lib/private_pool.py" "$FSD" 50
	assert_output 'idle zygote'
	run bounded 120 /usr/bin/python3 "$TESTS/lib/private_pool.py" "$FSD" 49
	assert_output 'none none'
}
