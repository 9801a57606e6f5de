#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# "ports": sockets of the mount that lead to programs in machines. The relay and the
# sockets are real, the machines are fake; real ones are in qemu/54_ports.bats.

load ../lib/common

setup() { SERVE=$'net serve 8080\nnet read\nnet send answer\nnet end'; }
teardown() {
	[ -z "${FORWARD:-}" ] || kill "$FORWARD"
	mount_done
}

# serve NAME PROGRAM [CONFIG] — a job with a port, once its socket is there.
serve() {
	job_start "$1" "$2" "${3:-{\"ports\": [8080]\}}" code.py
	await becomes 20 test -S "$MNT/$1/ports/8080"
}

# talk SOCKET [TEXT] — sends a line and the end, prints what comes to the end.
talk() {
	bounded 20 ${AS:-} /usr/bin/python3 -I -S -c '
import os, socket, sys
if len(sys.argv[1]) > 100:
    os.chdir(os.path.dirname(sys.argv[1]))
    sys.argv[1] = os.path.basename(sys.argv[1])
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(sys.argv[1])
    s.sendall(sys.argv[2].encode() + b"\n")
    s.shutdown(socket.SHUT_WR)
    while True:
        data = s.recv(65536)
        if not data:
            break
        sys.stdout.write(data.decode())
        sys.stdout.flush()
except OSError as e:
    sys.exit(e.strerror)' "$1" "${2:-question}"
}

# bats test_tags=smoke
@test "a client of ports/N talks to the program that listens there" {
	mount_start
	serve a "$SERVE"
	assert_equal "$(talk "$MNT/a/ports/8080")" answer
	job_wait a
	stdout_is a question
	result_is a .network null
	result_is a '.ports[] | [.port, .connections, .sent, .received] | join(" ")' '8080 1 7 9'
}

@test "the sockets are there while the machine runs, in a directory that no listing has" {
	mount_start
	serve a await '{"ports": [8080, 9090]}'
	await becomes 20 test -S "$MNT/a/ports/9090"
	assert_equal "$(ls "$MNT/a/ports")" $'8080\n9090'
	assert_equal "$(stat -c %a%F "$MNT/a/ports/8080" "$MNT/a/ports" | paste -sd ' ')" '600socket 500directory'
	run ls -a "$MNT/a"
	refute_line ports
	refute [ -e "$MNT/a/ports/8081" ]
	fails EACCES rm "$MNT/a/ports/8080" || fails EPERM rm "$MNT/a/ports/8080"
	goes_on a
	job_wait a
	refute [ -e "$MNT/a/ports" ]
	# without the key the name is the job's own
	mkdir -p "$MNT/b/ports"
	echo mine >"$MNT/b/ports/8080"
	job_put b code.py 'show ports/8080'
	job_put b config.json '{}'
	job_wait b
	stdout_is b mine
}

@test "a client that comes before the program listens is served when it does" {
	mount_start
	serve a $'await\n'"$SERVE"
	talk "$MNT/a/ports/8080" early >"$BATS_TEST_TMPDIR/out" &
	local client=$!
	goes_on a
	wait "$client"
	assert_equal "$(cat "$BATS_TEST_TMPDIR/out")" answer
	stdout_is a early
}

@test "two clients at a time have streams of their own, and bytes go both ways" {
	mount_start
	serve a $'net serve 8080\nnet serve 8080\nnet use 2\nnet bytes 500000\nnet end\nnet eat\nnet use 1\nnet send one\nnet end'
	talk "$MNT/a/ports/8080" 1 >"$BATS_TEST_TMPDIR/1" &
	local first=$!
	talk "$MNT/a/ports/8080" 2 >"$BATS_TEST_TMPDIR/2"
	wait "$first"
	assert_equal "$(cat "$BATS_TEST_TMPDIR"/[12] | tr -d x)" one
	assert_equal "$(cat "$BATS_TEST_TMPDIR"/[12] | wc -c)" 500004
	job_wait a
	stdout_is a '2 bytes, end'
}

@test "a program that ends closes its connections" {
	mount_start
	serve a $'net serve 8080\nnet read\nnet send half'
	assert_equal "$(talk "$MNT/a/ports/8080")" half
	job_wait a
	exit_is a 0
}

@test "with \"ports\": true the verb port opens one, and returns when its socket is there" {
	mount_start
	job_start a "$SERVE" '{"ports": true}' code.py
	await becomes 20 test -d "$MNT/a/ports"
	refute [ -e "$MNT/a/ports/8080" ]
	echo 'port 8080' >"$MNT/a/ctl"
	[ -S "$MNT/a/ports/8080" ]
	echo 'port 8080' >"$MNT/a/ctl" # it is open
	fails EINVAL bash -c 'echo port 80 >"$1"' - "$MNT/a/ctl"
	assert grep -qF 'ctl: "80" is not a port of a program; it must be a number from 1024 to 65535' "$MNT/.fsd/last_error"
	local n
	for n in {2001..2031}; do echo "port $n"; done >"$BATS_TEST_TMPDIR/verbs"
	while read -r n; do echo "$n" >"$MNT/a/ctl"; done <"$BATS_TEST_TMPDIR/verbs"
	fails EMFILE bash -c 'echo port 3000 >"$1"' - "$MNT/a/ctl"
	assert grep -qF '32 ports are open, and there may be no more at a time' "$MNT/.fsd/last_error"
	assert_equal "$(talk "$MNT/a/ports/8080")" answer
	job_wait a
	serve b await
	fails EACCES bash -c 'echo port 9090 >"$1"' - "$MNT/b/ctl"
	assert grep -qF '"ports" of the config does not have 9090; true allows any' "$MNT/.fsd/last_error"
	goes_on b
	job_wait b
	job_start c await '{}' code.py
	await becomes 20 grep -q running "$MNT/c/state"
	fails ESRCH bash -c 'echo port 9090 >"$1"' - "$MNT/c/ctl"
	goes_on c
}

@test "the owner and root may connect, no other user" {
	mount_public
	local owner="setpriv --reuid 65534 --regid 65534 --clear-groups"
	local other="setpriv --reuid 65533 --regid 65533 --clear-groups"
	umask 000
	$owner bash -c 'mkdir "$1" && printf "%s\n" "$2" >"$1/code.py" && echo "{\"ports\": [8080]}" >"$1/config.json"' - \
		"$MNT/a" $'net serve 8080\nnet read\nnet send root\nnet end\n'"$SERVE"
	await becomes 20 test -S "$MNT/a/ports/8080"
	AS=$other run talk "$MNT/a/ports/8080"
	assert_failure
	assert_output --regexp 'No such file or directory|Permission denied'
	# who gets the path in some other way is refused by the relay
	mkdir "$PUBLIC/way"
	mount --bind "$MNT/a" "$PUBLIC/way"
	AS=$other run talk "$PUBLIC/way/ports/8080"
	umount "$PUBLIC/way"
	assert_failure
	assert_equal "$(talk "$MNT/a/ports/8080")" root
	assert_equal "$(AS=$owner talk "$MNT/a/ports/8080")" answer
	$owner "$TESTS/../build/tests/await" read "$MNT/a/wait" 20
	assert_equal "$($owner cat "$MNT/a/stdout")" $'question\nquestion'
}

@test "fsd forward serves a port at 127.0.0.1, and opens it first where it may" {
	mount_start
	job_start a $'net serve 8080\nnet read\nnet send over tcp\nnet end' '{"ports": true}' code.py
	await becomes 20 test -d "$MNT/a/ports"
	exec {URLS}< <(exec "$FSD" forward "$MNT/a" 8080 3>&- 4>&-)
	FORWARD=$!
	read -r -t $((20 * SLOW)) url <&"$URLS"
	[[ $url == http://127.0.0.1:* ]]
	run bounded 20 /usr/bin/python3 -I -S -c '
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"hello\n")
s.shutdown(socket.SHUT_WR)
print(s.makefile().read(), end="")' "${url##*:}"
	assert_output 'over tcp'
	job_wait a
	stdout_is a hello
	serve b await
	run "$FSD" forward "$MNT/b" 9090
	assert_failure
	assert_output --partial 'port 9090'
	goes_on b
}

@test "a sandbox's ports are its own, and may be added to while its machine runs" {
	mount_start
	local S=$MNT/.fsd/sandboxes
	mkdir "$S/a" "$S/b"
	echo '{"ports": [8080]}' >"$S/a/config.json"
	fails EINVAL bash -c 'mkdir "$1/x" && echo x >"$1/x/code.py" && echo "{\"sandbox\": \"a\", \"ports\": [8080]}" >"$1/x/config.json"' - "$MNT"
	job_start s "$SERVE" '{"sandbox": "a"}' code.py
	await becomes 20 test -S "$S/a/ports/8080"
	assert_equal "$(talk "$S/a/ports/8080")" answer
	job_wait s
	refute [ -e "$MNT/s/ports" ]
	echo '{"ports": [8080, 9090]}' >"$S/a/config.json"
	await becomes 20 test -S "$S/a/ports/9090"
	job_start t $'net serve 9090\nnet send later\nnet end' '{"sandbox": "a"}' code.py
	assert_equal "$(talk "$S/a/ports/9090")" later
	job_wait t
	job_run u 'out x' '{"sandbox": "b"}' code.py
	fails EBUSY bash -c 'echo "{\"ports\": [8080]}" >"$1"' - "$S/b/config.json"
	assert grep -qF '"ports" cannot be added, since the machine has begun without; a list of one port can be widened' "$MNT/.fsd/last_error"
	rmdir "$S/a" "$S/b"
}

@test "the steps of a session have the ports of its first one" {
	mount_start
	local s=$MNT/.fsd/sessions/s
	job_start a "$SERVE" '{"session": "s", "ports": [8080]}' code.py
	await becomes 20 test -S "$s/ports/8080"
	assert_equal "$(talk "$s/ports/8080")" answer
	job_wait a
	job_start b "$SERVE" '{"session": "s", "ports": [8080]}' code.py
	assert_equal "$(talk "$s/ports/8080")" answer
	job_wait b
	mkdir "$MNT/c"
	job_put c code.py 'out x'
	job_put c config.json '{"session": "s", "ports": [9090]}'
	await becomes 20 grep -q refused "$MNT/c/state"
	refused c '"ports" differs from that of session "s": use another name, or end it by rmdir .fsd/sessions/s'
	rmdir "$s"
}

@test "a relay that ends takes the ports with it, and the program runs on" {
	mount_start
	serve a $'await\nout on'
	kill -9 "$(pgrep -x fsd-relay -P "$(pgrep -x fake-relays -P "$SERVER")")"
	await becomes 20 grep -qF 'network: lost: the relay ended; the program runs on without' "$MNT/a/log"
	refute [ -e "$MNT/a/ports/8080" ]
	goes_on a
	job_wait a
	ended a 0 exited
	stdout_is a on
	# the next machine has its own
	serve b "$SERVE"
	assert_equal "$(talk "$MNT/b/ports/8080")" answer
}

@test "a socket whose path is too long for an address is reached from its directory" {
	mount_start
	local name
	name=$(printf 'n%.0s' {1..120})
	serve "$name" "$SERVE"
	assert_equal "$(talk "$MNT/$name/ports/8080")" answer
}

@test "a port that a living sandbox gives up has no socket, and may come again" {
	mount_start
	local box=$MNT/.fsd/sandboxes/s
	mkdir "$box"
	echo '{"ports": [8080, 9090]}' >"$box/config.json"
	job_start a $'net serve 9090\nnet end\nnet serve 9090\nnet send again\nnet end' '{"sandbox": "s"}' code.py
	await becomes 20 test -S "$box/ports/9090"
	assert_equal "$(talk "$box/ports/9090")" ''
	# a client that has the socket's directory open finds it no more
	cd "$box/ports" || return
	echo '{"ports": [8080]}' >"$box/config.json"
	run talk "$box/ports/9090"
	assert_failure
	assert_output 'No such file or directory'
	run talk 9090
	assert_failure
	assert_output --regexp '^(No such file or directory|Connection refused)$'
	cd / || return
	assert_equal "$(ls "$box/ports")" 8080
	fails EACCES bash -c 'echo "port 9090" >"$1"' - "$box/ctl"
	echo '{"ports": [8080, 9090]}' >"$box/config.json"
	await becomes 20 test -S "$box/ports/9090"
	assert_equal "$(talk "$box/ports/9090")" again
	job_wait a
	# the program has ended, and the machine lives: the connection ends at once
	run talk "$box/ports/9090"
	[ -z "$output" ] || assert_output 'Connection reset by peer'
	rmdir "$box"
	run talk "$box/ports/9090"
	assert_failure
	assert_output 'No such file or directory'
}
