#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Ports: servers in real machines, reached by a socket of the mount, by fsd forward and
# through the gateway.

load ../lib/qemu
load ../lib/gateway

setup_file() { file_setup --shared; }
teardown_file() { file_teardown; }
teardown() {
	[ -z "${FORWARD:-}" ] || kill "$FORWARD"
	[ -z "${GATEWAY:-}" ] || gateway_done
	jobs_done
}

# A server on port $1 of the machine: it answers with the path and what was posted.
SERVER_PY='
import http.server, sys
import socket
class S(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6 if ":" in sys.argv[2] else socket.AF_INET
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        size = int(self.headers.get("Content-Length", 0))
        body = self.path.encode() + b" " + self.rfile.read(size)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_POST = do_GET
    def log_message(self, *args): pass
server = S((sys.argv[2], int(sys.argv[1])), H)
print("serves", flush=True)
server.serve_forever()
'

# serve NAME CONFIG PORT [ADDRESS] — a job that serves; its directory is $J. Returns
# when the program listens: a connection waits only 4 s for that, and a busy machine takes longer.
serve() {
	J=$MNT/t$BATS_TEST_NUMBER.$1
	mkdir "$J"
	printf '%s' "$SERVER_PY" >"$J/code.py"
	printf '{"args": ["%s", "%s"], %s}' "$3" "${4:-127.0.0.1}" "$2" >"$J/config.json"
	await becomes 60 grep -q serves "$J/stdout"
}

# reach SOCKET [CURL OPTION...]
reach() {
	local socket=$1
	shift
	bounded 60 curl -sS --max-time $((50 * SLOW)) --unix-socket "$socket" "$@" http://job/path
}

@test "a server in a job is reached by the socket of its port" {
	serve a '"ports": [8080, 9090]' 8080
	await becomes 60 test -S "$J/ports/8080"
	assert_equal "$(reach "$J/ports/8080")" '/path '
	assert_equal "$(reach "$J/ports/8080" -d posted)" '/path posted'
	assert_equal "$(ls "$J/ports")" $'8080\n9090'
	# no program listens there, and after 5 s it is told at once
	run reach "$J/ports/9090"
	assert_failure
	# the directory is in no listing, and goes with the machine
	run ls "$J"
	refute_line ports
	echo kill >"$J/ctl"
	await becomes 20 grep -q 'done' "$J/state"
	refute [ -e "$J/ports" ]
}

@test "a megabyte goes in and comes out, and many connections at a time" {
	serve b '"ports": [8080]' 8080 ::1
	await becomes 60 test -S "$J/ports/8080"
	head -c 1000000 /dev/zero | tr '\0' x >"$BATS_TEST_TMPDIR/in"
	reach "$J/ports/8080" --data-binary "@$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/out"
	assert_equal "$(stat -c %s "$BATS_TEST_TMPDIR/out")" 1000006
	local n pids=()
	for n in 1 2 3 4 5 6 7 8; do
		reach "$J/ports/8080" >"$BATS_TEST_TMPDIR/$n" &
		pids+=($!)
	done
	wait "${pids[@]}"
	assert_equal "$(cat "$BATS_TEST_TMPDIR"/[1-8])" \
		"$(for n in 1 2 3 4 5 6 7 8; do printf '/path '; done)"
}

@test "with \"ports\": true the verb port opens one, and returns when it is there" {
	serve c '"ports": true' 8081
	await becomes 60 grep -q running "$J/state"
	refute [ -e "$J/ports/8081" ]
	bounded 20 bash -c 'echo port 8081 >"$0/ctl"' "$J"
	[ -S "$J/ports/8081" ]
	assert_equal "$(reach "$J/ports/8081")" '/path '
	run bash -c 'echo port 80 >"$0/ctl"' "$J"
	assert_failure
	run cat "$MNT/.fsd/last_error"
	assert_output --partial \
		'c: ctl: "80" is not a port of a program; it must be a number from 1024 to 65535'
}

@test "fsd forward serves a port at 127.0.0.1" {
	serve d '"ports": [8080]' 8080
	await becomes 60 test -S "$J/ports/8080"
	exec {URLS}< <(exec "$FSD" forward "$J" 8080 3>&- 4>&-)
	FORWARD=$!
	read -r -t $((30 * SLOW)) url <&"$URLS"
	assert_equal "$(bounded 60 curl -sS "$url/path")" '/path '
	assert_equal "$(bounded 60 curl -sS -d x "$url/path")" '/path x'
	run "$FSD" forward "$J" 9999
	assert_failure
	assert_output --partial 'port 9999'
}

# served_by_run OPTION... — fsd run of the server, in the background as $RUN; its socket is $SOCKET.
served_by_run() {
	cd "$BATS_TEST_TMPDIR" || return
	printf '%s' "$SERVER_PY" >server.py
	"$FSD" run "$@" --timeout 200 --port 8080 server.py 8080 127.0.0.1 \
		</dev/null >served 2>said 3>&- 4>&- &
	RUN=$!
	await becomes 60 grep -q serves served
	SOCKET=$(sed -n 's/^fsd run: port 8080 is the socket \(.*\) while the job runs$/\1/p' said)
	await becomes 60 test -S "$SOCKET"
}

@test "fsd run --port says where the socket is" {
	served_by_run --mount "$MNT"
	[[ "$SOCKET" = "$MNT"/* ]]
	assert_equal "$(reach "$SOCKET")" '/path '
	kill "$RUN"
	await exit "$RUN" 20
	refute [ -e "$SOCKET" ]
}

@test "the socket of fsd run --port in a private mount is reached through /proc" {
	XDG_STATE_HOME=$BATS_TEST_TMPDIR served_by_run --private
	assert_equal "$(reach "$SOCKET")" '/path '
	kill "$RUN"
	await exit "$RUN" 20
	refute [ -e "$SOCKET" ]
}

@test "a job that has no ports has no such directory, and may have one of its own" {
	local job=$MNT/t$BATS_TEST_NUMBER.e
	mkdir -p "$job/ports"
	echo mine >"$job/ports/8080"
	echo 'cat ports/8080' >"$job/code.sh"
	echo '{}' >"$job/config.json"
	assert_equal "$(bounded 60 cat "$job/wait")" 0
	assert_equal "$(cat "$job/stdout")" mine
}

@test "a sandbox has ports, which its jobs serve and the gateway reaches" {
	gateway_start
	ID=$(bounded 60 curl -sS -d '{}' -H 'Content-Type: application/json' "$URL/sandboxes" |
		jq -r .sandboxID)
	[ -n "$ID" ]
	local box
	box=$(echo "$MNT"/.fsd/sandboxes/*)
	jq -e '.ports' "$box/config.json"
	serve srv "\"sandbox\": \"${box##*/}\", \"timeout\": 0" 8080
	await becomes 60 grep -q running "$J/state"
	local host=8080-$ID.localhost
	assert_equal "$(bounded 60 curl -sS -H "Host: $host" -d 'by the gateway' "$URL/path")" \
		'/path by the gateway'
	run bounded 60 curl -sS -o /dev/null -w '%{http_code}' -H "Host: 8090-$ID.localhost" "$URL/"
	assert_output 502
	bounded 20 curl -sS -X DELETE "$URL/sandboxes/$ID"
}
