#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# fsd gateway: clients that vanish, processes that are killed, many at once.

load ../lib/common
load ../lib/gateway

teardown() {
	[ -n "${DAEMON:-}" ] || return 0
	gateway_done || { mount_done; return 1; }
	mount_done
}

# execute_to FILE CODE — a cell whose client is $CLIENT.
execute_to() {
	curl -s -N -H "E2b-Sandbox-Id: $ID" -d "$(jq -n --arg code "$2" '{code: $code}')" \
		"$URL/execute" >"$1" 3>&- 4>&- &
	CLIENT=$!
}

client_vanishes() {
	kill -KILL "$1"
	wait "$1" || true
}

@test "a client that vanishes in the middle of its body is noticed at once" {
	mount_start
	gateway_start
	sandbox_new
	# what it sends, and its end, are there together
	kill -STOP "$GATEWAY"
	exec {tcp}<>"/dev/tcp/127.0.0.1/${URL##*:}"
	printf 'POST /execute HTTP/1.1\r\nHost: localhost\r\nE2b-Sandbox-Id: %s\r\nContent-Length: 90\r\n\r\n{"code"' "$ID" >&"$tcp"
	exec {tcp}>&-
	kill -CONT "$GATEWAY"
	await becomes 30 grep -q 'POST /execute' "$GATEWAY_LOG"
	# an idle connection ends after 75 s
	run grep 'POST /execute' "$GATEWAY_LOG"
	assert_output --regexp ' [0-9]{1,4} ms$'
}

@test "a client that vanishes behind much output that it did not read leaves nothing" {
	mount_start
	gateway_start
	sandbox_new
	exec {tcp}<>"/dev/tcp/127.0.0.1/${URL##*:}"
	printf 'POST /execute HTTP/1.1\r\nHost: localhost\r\nE2b-Sandbox-Id: %s\r\nContent-Length: 25\r\n\r\n{"code":"bytes 60000000"}' "$ID" >&"$tcp"
	# the sockets take a part of it, the gateway reads no more
	# shellcheck disable=SC2016
	await becomes 20 bash -c 'cat "$0"/*/state 2>/dev/null | grep -qx done' "$MNT"
	exec {tcp}>&-
	no_jobs
}

@test "of cells that wait for a context a client's going takes none of its state" {
	local first second

	mount_start
	gateway_start
	sandbox_new
	execute_to "$BATS_TEST_TMPDIR/first" $'remember x\nout up\nsleep 600000'
	first=$CLIENT
	await becomes 20 grep -q up "$BATS_TEST_TMPDIR/first"
	execute_to "$BATS_TEST_TMPDIR/second" $'out up\nsleep 600000'
	second=$CLIENT
	# shellcheck disable=SC2016
	await becomes 20 bash -c 'cat "$0"/*/state 2>/dev/null | grep -qx queued' "$MNT"
	client_vanishes "$second"
	await becomes 20 grep -q 'POST /execute' "$GATEWAY_LOG"
	client_vanishes "$first"
	run cell recall
	assert_line 'stdout x'
	no_jobs
	run cell recall
	assert_line 'stdout x'
}

# gateway_second — another gateway in front of the mount, from its start to its end; it
# has looked at all jobs, and then run a cell in a sandbox of its own.
# shellcheck disable=SC2030,SC2034
gateway_second() {
	local GATEWAY='' GATEWAY_LOG='' URL='' ID='' TOKEN='' H=''
	local BATS_TEST_TMPDIR=$BATS_TEST_TMPDIR/second
	mkdir "$BATS_TEST_TMPDIR"
	gateway_start
	gateway_looked
	sandbox_new
	cell 'out second' >"$BATS_TEST_TMPDIR/said"
	grep -qx 'stdout second' "$BATS_TEST_TMPDIR/said"
	assert_equal "$(status_of -X DELETE "/sandboxes/$ID")" 204
	gateway_stop
}

@test "a cell whose gateway dies ends, and its context goes on" {
	mount_start
	gateway_start
	sandbox_new
	execute_to "$BATS_TEST_TMPDIR/first" $'remember x\nout up\nsleep 600000'
	await becomes 20 grep -q up "$BATS_TEST_TMPDIR/first"
	# another gateway, which begins and ends, takes nothing of it
	gateway_second
	assert_equal "$(cat "$MNT"/gw.*/state)" running
	gateway_stop KILL
	wait "$CLIENT" || true
	# a command that a server refused, since its sandbox has gone
	mkdir "$MNT/gw.x.p.0123456789abcdef"
	job_put gw.x.p.0123456789abcdef config.json '{"sandbox": "x", "mode": "command",
		"command": ["out x"], "note": {"fsd-gateway": "stays"}}' || true
	state_is gw.x.p.0123456789abcdef refused
	gateway_start
	run cell recall
	assert_line 'stdout x'
	no_jobs
}

@test "a run without a sandbox ends with its gateway, without another one's start" {
	mount_start
	gateway_start
	ask -d "$(jq -n --arg c "$(printf 'out up\nsleep 600000' | base64)" \
		'{language: "python", code_b64: $c}')" /run >/dev/null 3>&- 4>&- &
	local client=$!
	# shellcheck disable=SC2016
	await becomes 20 bash -c 'grep -qx up "$0"/gw.*/stdout' "$MNT"
	gateway_stop KILL
	wait "$client" || true
	no_jobs
}

@test "a gateway takes no job of its user for one of its own, whatever it is called" {
	local job tail=0123456789abcdef

	mount_start
	for job in gw.results "gw.$tail" "gw.a.p.$tail" "gw.noted.$tail"; do
		mkdir "$MNT/.$job"
		job_put ".$job" code.py $'out mine\nsleep 600000'
		job_put ".$job" config.json '{"note": {"mine": "goes"}}'
		mv "$MNT/.$job" "$MNT/$job"
		job_follow "$job" mine
	done
	job_put gw.results ctl kill
	job_wait gw.results
	# drafts: one that has a file, one of another form, one that has just begun
	mkdir "$MNT/gw.d.$tail" "$MNT/gw.draft" "$MNT/gw.young.$tail"
	job_put "gw.d.$tail" data kept
	gateway_start
	gateway_looked
	assert_equal "$(ls "$MNT")" "$(printf '%s\n' "gw.$tail" "gw.a.p.$tail" \
		"gw.d.$tail" gw.draft "gw.noted.$tail" gw.results "gw.young.$tail")"
	state_is "gw.$tail" running
	state_is "gw.noted.$tail" running
	stdout_is gw.results mine
}

@test "a watcher without a stream outlives its gateway" {
	local id name

	mount_start
	gateway_start
	sandbox_new
	fs() { envd -H 'Content-Type: application/json' -d "$2" "/filesystem.Filesystem/$1"; }
	# a fake machine runs what the directory's name says
	name=$(jq -n '"w\nout {\"ready\": true}\nsleep 600000\n"')
	fs MakeDir "{\"path\": $name}" >/dev/null
	id=$(fs CreateWatcher "{\"path\": $name}" | head -n 1 | jq -r .watcherId)
	state_is "gw.$H.w.$id" running
	gateway_stop KILL
	gateway_start
	gateway_looked
	# its end would come at once
	cell 'out x' >/dev/null
	state_is "gw.$H.w.$id" running
	assert_equal "$(fs RemoveWatcher "{\"watcherId\": \"$id\"}")" $'{}\n200'
	no_jobs
}

# shellcheck disable=SC2031
@test "many sandboxes, clients that vanish or do their worst, odd requests, processes that die" {
	bounded 200 /usr/bin/python3 -B "$TESTS/gateway/load.py" --only robust \
		--program "$FSD" --sandboxes 40 --vanish 300 --kills 5 \
		--gateway-kills 2 --mib 32 --odd 400 --held 0 3>&- 4>&- >"$BATS_TEST_TMPDIR/said" ||
		fail "$(cat "$BATS_TEST_TMPDIR/said")"
}

@test "a job for which sandboxes have left no machine is refused with the reason" {
	local first second before
	mount_start --max-machines 2
	gateway_start --max-life 1000
	sandbox_new
	first=$ID
	assert_equal "$(cell 'out one' | grep stdout)" 'stdout one'
	sandbox_new '{"templateID": "base", "timeout": 600, "autoPause": true}'
	second=$ID
	assert_equal "$(cell 'out two' | grep stdout)" 'stdout two'
	assert_equal "$(status_of -X POST "/sandboxes/$ID/pause")" 204
	health_becomes 'full: sandboxes and sessions keep all machines: 2 machines, of which 2 are yours and 0 in use'
	# One more can be made; what needs its machine is refused, not held up.
	sandbox_new
	before=$ID
	run code -d '{"code": "out x"}' /execute
	assert_output --partial 'sandboxes have all of them, idle and paused ones included'
	assert_output --partial '429'
	run envd -H 'Content-Type: application/connect+json' --data-binary @<(
		/usr/bin/python3 -I -S -c 'import sys
text = b"{\"process\": {\"cmd\": \"x\"}}"
sys.stdout.buffer.write(b"\0" + len(text).to_bytes(4, "big") + text)') /process.Process/Start
	assert_output --partial resource_exhausted
	run ask -H 'Content-Type: application/json' -d '{"code_b64": "b3V0IHg=", "language": "python"}' /run
	assert_output --partial 'sandboxes have all of them'
	# Those that have a machine go on, and so does the gateway.
	ID=$first
	assert_equal "$(cell 'out on' | grep stdout)" 'stdout on'
	run ask /health
	assert_output --partial '"status":"full"'
	assert_output --partial 200
	# With the end of one there is room.
	assert_equal "$(status_of -X DELETE "/sandboxes/$second")" 204
	ID=$before
	assert_equal "$(cell 'out at last' | grep stdout)" 'stdout at last'
}

@test "a sandbox is paused for no longer than --max-life" {
	mount_start
	gateway_start --max-life 2 --life 1
	sandbox_new '{"templateID": "base", "timeout": 1, "autoPause": true}'
	assert_equal "$(cell 'out x' | grep stdout)" 'stdout x'
	await becomes 20 grep -qx paused "$MNT/.fsd/sandboxes/$H/state"
	await becomes 20 test ! -e "$MNT/.fsd/sandboxes/$H"
	assert_equal "$(status_of "/sandboxes/$ID")" 404
}
