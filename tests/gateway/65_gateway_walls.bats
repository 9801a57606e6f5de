#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# fsd gateway: what it can still do once it serves, how many it serves, and for whom.

load ../lib/common
load ../lib/gateway

setup() {
	# a sanitizer starts processes of its own, so nothing is given up there
	case $FSD in */asan/*) SANITIZED=1 ;; esac
	mount_start
}
teardown() {
	gateway_done || { mount_done; return 1; }
	mount_done
}

# injected CALL ARGS... — what comes of a call that the gateway is made to do; a
# request is what brings it to one.
injected() {
	status_of /health >/dev/null
	bounded 30 "$TESTS/hostile/inject.py" "$GATEWAY" "$@"
}

# argument N — where the gateway's Nth argument is in its memory.
argument() {
	local at i words

	at=$(sed 's/.*) //' "/proc/$GATEWAY/stat" | cut -d' ' -f46)
	mapfile -d '' words <"/proc/$GATEWAY/cmdline"
	for ((i = 0; i < $1; i++)); do at=$((at + ${#words[i]} + 1)); done
	echo "$at"
}

# bats test_tags=smoke
@test "a gateway that is taken over starts nothing, connects nowhere, signals no other" {
	[ -z "${SANITIZED:-}" ] || return 0
	[ "$(id -u)" = 0 ] || need root
	gateway_start --ports no
	run awk '/^Cap(Eff|Prm|Inh|Amb)|^NoNewPrivs|^Seccomp:/ { print $2 }' \
		"/proc/$GATEWAY/status"
	assert_equal "${output//$'\n'/ }" \
		'0000000000000000 0000000000000000 0000000000000000 0000000000000000 1 2'
	local call
	# execve, fork, clone without a thread, ptrace, socket, connect, bind, mount,
	# umount2, unshare, setns, chroot, setuid, bpf, io_uring_setup, open_by_handle_at
	for call in '59 0 0 0' '57' '56 17' '101 0 0' '41 1 1 0' '42 0 0 0' '49 0 0 0' \
		'165 0 0 0 0' '166 0 0' '272 0' '308 0 0' '161 0' '105 0' \
		'321 0 0 0' '425 1 0' '304 -1 0 0'; do
		# shellcheck disable=SC2086 # number and arguments
		run injected $call
		assert_output -- -1
	done
	# kill, pidfd_send_signal, tgkill and prctl(PR_SET_DUMPABLE) of itself, the
	# owner of a descriptor's signals, TIOCSTI, memory of another process
	for call in '62 1 0' '424 0 0 0 0' '234 1 1 0' '157 4 1' '72 0 8 1' \
		'16 -1 0x5412 0' '310 1 0 0 0 0 0'; do
		# shellcheck disable=SC2086 # number and arguments
		run injected $call
		assert_output -- -1
	done
	run injected 435 0 0
	assert_output -- -38
	assert_equal "$(status_of /health)" 200
}

@test "for ports of sandboxes it makes sockets of this host alone" {
	[ -z "${SANITIZED:-}" ] || return 0
	[ "$(id -u)" = 0 ] || need root
	gateway_start
	local call
	# socket of IPv4, IPv6, netlink; connect to an address that is no path's
	for call in '41 2 1 0' '41 10 1 0' '41 16 3 0' '42 0 0 16'; do
		# shellcheck disable=SC2086 # number and arguments
		run injected $call
		assert_output -- -1
	done
	run injected 41 1 1 0
	[ "$output" -ge 0 ]
}

@test "it opens what is below the mount, and no other file" {
	[ -z "${SANITIZED:-}" ] || return 0
	[ "$(id -u)" = 0 ] || need root
	gateway_start
	# its own program, then the mount, by openat
	run injected 257 -100 "$(argument 0)" 0
	[ "$output" -ge 0 ] || assert_output -- -13
	[ "$output" -lt 0 ] || need 'a kernel with Landlock'
	run injected 257 -100 "$(argument 2)" 0
	[ "$output" -ge 0 ] || fail "the mount: $output"
}

@test "every door refuses a foreign Host, and each Origin that is not allowed" {
	LISTENS=()
	gateway_start --run-listen 127.0.0.1:0
	local url word paths=(/health /healthz /metrics /sandboxes /v2/sandboxes
		/mcp /run /ui /ui/state /ui/events /execute /contexts /files /nowhere
		/process.Process/Start /filesystem.Filesystem/Stat)
	for url in "${LISTENS[@]}"; do
		for word in 'Host: evil.example' 'Host: 127.0.0.1.evil.example' \
			'Host;' 'Origin: null' 'Origin: https://evil.example' \
			'Origin: http://localhost.evil.example'; do
			# Each on a connection of its own; a process for all of them.
			local words=(-H "$word" -H 'Connection: close'
				-w '\n=%{method} %{url} %{http_code}\n' "${paths[@]/#/$url}")
			bounded 60 curl -s -g -N -d '{}' "${words[@]}" \
				--next -s -g -N "${words[@]}" >"$BATS_TEST_TMPDIR/answers"
			run grep -a '^=' "$BATS_TEST_TMPDIR/answers"
			assert_output "$(printf "=POST $url%s 403\n" "${paths[@]}"
				printf "=GET $url%s 403\n" "${paths[@]}")"
		done
	done
}

# What comes of one connection more than there may be.
one_more() {
	assert_line "idle: answered $1, one more: 200, go on: $(($1 - 1))"
	assert_line 'busy: one more: 429, another goes on: 400, one behind the end of the first: 200'
}

@test "it has 1,024 connections at most: the next takes an idle one's place, or is told so" {
	gateway_start
	run bounded 60 "$TESTS/hostile/connect.py" "$URL" 127.0.0.1 1024
	one_more 1024
}

@test "a request that can be read in two ways is refused once, and its connection ends" {
	gateway_start
	run bounded 60 "$TESTS/gateway/raw.py" "${URL##*:}"
	assert_output --regexp '^[0-9]+ rows$'
}

@test "answers that nobody reads, what bodies become, and viewers have a share and no more" {
	printf 'greedy-key-of-these-tests one\n' >"$BATS_TEST_TMPDIR/keys"
	chmod 600 "$BATS_TEST_TMPDIR/keys"
	gateway_start --api-key-file "$BATS_TEST_TMPDIR/keys"
	greedy() { bounded 100 "$TESTS/hostile/greedy.py" "$1" "${URL##*:}"; }
	run greedy unread
	assert_output $'unread: 7 200, 5 429\nbehind them: 200'
	run greedy bodies
	assert_output $'a body of GET: 413\na body beside unread answers: 429\nbehind them: 201'
	run greedy form
	assert_output $'a form beside unread answers: 429\nbehind them: 200'
	run greedy viewers
	assert_output $'viewers: 32 200, 8 429\nbehind them: 200'
}

@test "another host has 512 connections at most: the next takes an idle one's place, or is told so" {
	local address
	address=$(ip -4 -o addr show scope global | awk '{ sub("/.*", "", $4); print $4; exit }')
	[ -n "$address" ] || need 'an address that is not loopback'
	printf 'secret-of-16-characters one\n' >"$BATS_TEST_TMPDIR/keys"
	chmod 600 "$BATS_TEST_TMPDIR/keys"
	LISTENS=()
	gateway_start --api-key-file "$BATS_TEST_TMPDIR/keys" --listen "$address:0"
	run bounded 60 "$TESTS/hostile/connect.py" "${LISTENS[1]}" "$address" 512 secret-of-16-characters
	one_more 512
	assert_equal "$(status_of /health)" 200
}
