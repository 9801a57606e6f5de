#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What the daemon can still do once it serves.

load ../lib/common

setup() {
	# a sanitizer starts processes of its own, so nothing is given up there
	case $FSD in */asan/*) SANITIZED=1 ;; esac
	mount_start
}
teardown() { mount_done; }

# injected CALL ARGS... — what comes of a call that the daemon is made to do;
# a request is what brings it to one.
injected() {
	stat "$MNT/.fsd/health" >/dev/null
	bounded 30 "$TESTS/hostile/inject.py" "$SERVER" "$@"
}

# bats test_tags=smoke
@test "every thread has one capability at the most, and can get no other" {
	[ -z "${SANITIZED:-}" ] || return 0
	local file
	job_run a 'out x'
	for file in "/proc/$SERVER/task/"*/status; do
		run awk '/^Cap(Eff|Prm|Inh|Amb)|^NoNewPrivs|^Seccomp:/ { print $1 $2 }' "$file"
		assert_line --regexp '^CapPrm:000000000000000[02]$'
		assert_line --regexp '^CapEff:000000000000000[02]$'
		assert_line CapInh:0000000000000000
		assert_line CapAmb:0000000000000000
		assert_line NoNewPrivs:1
		assert_line Seccomp:2
	done
}

@test "the report says what the daemon gave up" {
	run cat "$MNT/.fsd/security"
	[ -z "${SANITIZED:-}" ] || {
		assert_line --regexp '^daemon-seccomp  absent '
		return 0
	}
	assert_line --regexp '^daemon-capabilities  active '
	assert_line --regexp '^daemon-seccomp  active '
	assert_line --regexp '^daemon-landlock  (active|absent) '
}

@test "a daemon that is taken over starts nothing, connects nowhere, mounts nothing" {
	[ -z "${SANITIZED:-}" ] || return 0
	[ "$(id -u)" = 0 ] || need root
	local call
	# execve, fork, clone, clone3's answer, ptrace, socket, connect, mount,
	# umount2, unshare, setns, chroot, setuid, bpf, io_uring_setup
	for call in '59 0 0 0' '57' '56 17' '101 0 0' '41 1 1 0' '42 0 0 0' \
		'165 0 0 0 0' '166 0 0' '272 0' '308 0 0' '161 0' '105 0' \
		'321 0 0 0' '425 1 0'; do
		# shellcheck disable=SC2086 # number and arguments
		run injected $call
		assert_output -- -1
	done
	# kill, pidfd_send_signal, tgkill and prlimit64 of process 1, fchmod to
	# setuid and setgid, openat that makes a setuid file, TIOCSTI
	for call in '62 1 0' '424 0 0 0 0' '234 1 1 0' '302 1 7 0 0' '91 -1 0o4755' \
		'91 -1 0o2755' '257 -1 0 0x42 0o4700' '16 -1 0x5412 0'; do
		# shellcheck disable=SC2086 # number and arguments
		run injected $call
		assert_output -- -1
	done
	run injected 437 0 0 0 0
	assert_output -- -38
	run injected 435 0 0
	assert_output -- -38
	job_run a 'out it works on'
	stdout_is a 'it works on'
}

@test "the broker does what is left, without the rest of root's rights" {
	local broker
	broker=$(pgrep -P "$SERVER" -x fsd-broker)
	assert_equal "$(awk '/^CapInh/ { print $2 }' "/proc/$broker/status")" \
		0000000000000000
	[ "$(id -u)" != 0 ] || assert_equal \
		"$(awk '/^Cap(Eff|Bnd)/ { print $2 }' "/proc/$broker/status" |
			sort -u)" 00000000002c00c0
	run readlink "/proc/$broker/fd/"*
	refute_output --partial "$STATE"
}

@test "a broker that is killed takes no job with it, and another one follows" {
	job_start a $'out up\nsleep 500\nexit 3'
	job_follow a up
	kill -KILL "$(pgrep -P "$SERVER" -x fsd-broker)"
	job_wait a
	ended a 3 exited
	await exit "$SERVER" 20
	[ -n "$(pgrep -P "$(server_pid)" -x fsd-broker)" ]
	exit_is a 3
	umount "$MNT"
	mount_ended
}

@test "who waits for the broker is answered when the service ends" {
	local broker
	broker=$(pgrep -P "$SERVER" -x fsd-broker)
	expect_log 'the broker does not'
	mkdir "$MNT/a"
	job_put a config.json '{"timeout": -1}' || true
	state_is a refused
	check asked-at-end "$MNT" a/error "$DAEMON" "$broker"
	mount_ended
}
