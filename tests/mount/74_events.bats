#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The file events: what happens, in order, one JSON object a line.

load ../lib/common

setup() { mount_start; }
teardown() { mount_done; }

# events JOB FILTER — of all its lines, once the job has ended.
events() {
	bounded 20 cat "$MNT/$1/events" | jq -cr "$2"
}

# alternate COUNT — a program that writes 0, 1, 2 ... in turn to both streams.
alternate() {
	local i
	for ((i = 0; i < $1; i += 2)); do
		printf 'out %d\nerr %d\n' $i $((i + 1))
	done
}

# bats test_tags=smoke
@test "events tells the states, the output, the result and the end" {
	job_run a $'out one\nerr two\nexit 3'
	run events a 'if .event == "result" then .result.exit_code else del(.time) end'
	assert_line --index 0 '{"event":"state","state":"queued"}'
	assert_line --index 1 '{"event":"state","state":"running"}'
	assert_line --index 2 '{"event":"stdout","data":"one\n"}'
	assert_line --index 3 '{"event":"stderr","data":"two\n"}'
	assert_line --index 4 3
	assert_line --index 5 '{"event":"state","state":"done"}'
	assert_line --index 6 '{"event":"end","exit_code":3,"status":"exited"}'
	check events-of "$MNT/a"
}

@test "events opens by name and is in no listing" {
	job_run a 'out x'
	run ls -a "$MNT/a"
	refute_line events
	exists a events
	assert_equal "$(stat -c '%F %A %s' "$MNT/a/events")" 'regular empty file -rw-r--r-- 0'
	fails EPERM dd status=none if=/dev/null of="$MNT/a/events"
	fails EPERM mv "$MNT/a/events" "$MNT/a/mine"
	fails EPERM ln "$MNT/a/events" "$MNT/a/mine"
}

@test "events opened before the start follows the run to its end" {
	mkdir "$MNT/a"
	bounded 20 cat "$MNT/a/events" >"$BATS_TEST_TMPDIR/got" 3>&- &
	local reader=$!
	await reader "$reader" "$MNT" 20
	job_put a code.sh $'out one\nsleep 50\nerr two\nsleep 50\nout three'
	job_put a config.json '{}'
	wait $reader
	assert_equal "$(jq -r 'select(.event == "stdout" or .event == "stderr").data' "$BATS_TEST_TMPDIR/got" | xargs)" 'one two three'
	cmp "$BATS_TEST_TMPDIR/got" "$MNT/a/events"
	check events-of "$MNT/a"
}

@test "events gives each line when it happens" {
	job_start a $'out one\nsleep 600000'
	local line
	exec 9<"$MNT/a/events"
	for _ in 1 2 3; do
		IFS= read -r -t $((20 * SLOW)) line <&9
	done
	assert_equal "$(jq -c 'del(.time)' <<<"$line")" '{"event":"stdout","data":"one\n"}'
	echo kill >"$MNT/a/ctl"
	assert_equal "$(bounded 20 tail -n 1 <&9 | jq -r .status)" cancelled
	exec 9<&-
}

@test "the streams are told in the order in which they came" {
	job_run a "$(alternate 2000)"
	check events-order "$MNT/a" 2000
}

@test "what a cell shows is told when it is shown, between what it prints" {
	job_start a $'out one\nshown {"bundle": 1, "results": []}\nout two\nsleep 600000'
	local line
	exec 9<"$MNT/a/events"
	for _ in 1 2 3 4 5; do
		IFS= read -r -t $((20 * SLOW)) line <&9
		echo "$line" >>"$BATS_TEST_TMPDIR/lines"
	done
	assert_equal "$(tail -n 3 "$BATS_TEST_TMPDIR/lines" | jq -c 'del(.time)')" \
		'{"event":"stdout","data":"one\n"}
{"event":"shown","shown":{"bundle":1,"results":[]}}
{"event":"stdout","data":"two\n"}'
	echo kill >"$MNT/a/ctl"
	job_wait a >/dev/null
	cmp "$BATS_TEST_TMPDIR/lines" <(head -n 5 "$MNT/a/events")
	exec 9<&-
	absent a shown
}

@test "what a program shows that is no JSON is not told, and loses nothing else" {
	job_run a $'shown {"a":\nout one\nshown [1]\nshown {"a": 1}\nresult {"text": "x"}'
	assert_equal "$(events a 'select(.event == "shown").shown')" '{"a":1}'
	assert_equal "$(events a 'select(.event == "stdout").data')" $'one'
	assert_equal "$(result a .text)" x
}

@test "readers that begin at different times get the same bytes" {
	job_start a "$(alternate 500)"$'\nsleep 100\n'"$(alternate 500)"
	local i pids=()
	for i in 1 2 3 4 5; do
		bounded 20 cat "$MNT/a/events" >"$BATS_TEST_TMPDIR/got$i" 3>&- &
		pids+=($!)
	done
	wait "${pids[@]}"
	for i in 1 2 3 4 5; do
		cmp "$BATS_TEST_TMPDIR/got$i" "$MNT/a/events"
	done
	check events-of "$MNT/a"
}

@test "a read of events blocks, is interrupted, and can be polled" {
	check events-block "$MNT"
}

@test "offsets of events are the same for every reader, now and later" {
	check events-offsets "$MNT"
}

@test "no character is split, and what is no text is base64" {
	local size
	mkdir "$MNT/a"
	printf 'outn a\xc3\nawait\noutn \xbcb\nawait\noutn \xf0\x9f\nawait\noutn \x99\x82.\nawait\noutn \xff\xfe\nawait\nout z\xe2\x82\n' >"$MNT/a/code.sh"
	# A reader that looks at once makes every piece a line of its own.
	bounded 20 cat "$MNT/a/events" >"$BATS_TEST_TMPDIR/got" 3>&- &
	local reader=$!
	await reader "$reader" "$MNT" 20
	job_put a config.json '{}'
	for size in 2 4 6 9 11; do
		await becomes 20 sh -c '[ "$(stat -c %s "$1")" = "$2" ]' - \
			"$MNT/a/stdout" $size
		# 6: there is nothing to tell yet
		[ $size = 6 ] || await becomes 20 sh -c \
			'[ "$(grep -c stdout "$1")" = "$2" ]' - \
			"$BATS_TEST_TMPDIR/got" $(((size + 2) / 3))
		goes_on a
	done
	wait $reader
	run jq -cr 'select(.event == "stdout") | [.data, .base64]' "$BATS_TEST_TMPDIR/got"
	assert_line --index 0 '["a",null]'
	assert_line --index 1 '["üb",null]'
	assert_line --index 2 '["🙂.",null]'
	assert_line --index 3 '[null,"//4="]'
	check events-of "$MNT/a"
}

@test "half a character at the very end is told at the end" {
	mkdir "$MNT/a"
	printf 'outn ok\xe2\x82\n' >"$MNT/a/code.sh"
	job_put a config.json '{}'
	job_wait a
	assert_equal "$(events a 'select(.event == "stdout") | .data // .base64' | xargs)" 'ok 4oI='
	check events-of "$MNT/a"
}

@test "output of any size is told in lines of at most 64 KiB" {
	job_run a $'bytes 5000000\nerr e\nbytes 1000000'
	check events-of "$MNT/a"
}

@test "what is over the limit is not told" {
	job_run a $'out 123456789\nerr e\nout more' '{"stdout_limit": 12}'
	check events-of "$MNT/a"
}

@test "a refused job says why and its events end" {
	job_start a 'out x' '{"nope": 1}' || true
	run events a 'del(.time)'
	assert_line --index 0 '{"event":"state","state":"refused"}'
	assert_line --index 1 --partial '"event":"error","message":"config.json: \"nope\" is not a key'
	assert_equal "${#lines[@]}" 2
	exec 9<"$MNT/a/events"
	bounded 20 cat <&9 >/dev/null
	job_put a config.json '{}'
	job_wait a
	# who has read the refusal to its end does not get the run too
	assert_equal "$(bounded 20 cat <&9)" ''
	exec 9<&-
	check events-of "$MNT/a"
}

@test "a refusal wakes who waits for events" {
	mkdir "$MNT/a"
	bounded 20 cat "$MNT/a/events" >"$BATS_TEST_TMPDIR/got" 3>&- &
	local reader=$!
	await reader "$reader" "$MNT" 20
	job_put a code.sh 'out x'
	job_put a config.json '[]' || true
	wait $reader
	assert_equal "$(jq -r .event "$BATS_TEST_TMPDIR/got" | xargs)" 'state error'
}

@test "a job that the appliance fails says why" {
	expect_log 'machine'
	job_run a $'out one\ncrash'
	run events a 'select(.event == "error").message'
	assert_output "$(result a .message)"
	assert_equal "$(events a 'select(.event == "end") | "\(.exit_code) \(.status)"')" '125 failed'
	check events-of "$MNT/a"
}

@test "a job that is killed before it runs has its events too" {
	job_start a $'out up\nsleep 600000' '{"memory_mb": 32}'
	job_follow a up
	mount_stop
	mount_start --max-machines 1
	job_start b $'out up\nsleep 600000'
	job_follow b up
	job_start c 'out never'
	state_is c queued
	echo kill >"$MNT/c/ctl"
	assert_equal "$(events c 'select(.event == "state" or .event == "end") | .state // .status' | xargs)" 'queued done cancelled'
	check events-of "$MNT/c"
	echo kill >"$MNT/b/ctl"
	job_wait b
}

@test "a new run ends the old one's readers and has events of its own" {
	job_run a 'out first'
	exec 9<"$MNT/a/events"
	bounded 20 head -c 10 <&9 >/dev/null
	job_put a code.sh 'out second'
	echo start >"$MNT/a/ctl"
	job_wait a
	bounded 20 cat <&9 >"$BATS_TEST_TMPDIR/rest"
	exec 9<&-
	run cat "$BATS_TEST_TMPDIR/rest"
	refute_output --partial second
	assert_equal "$(events a 'select(.event == "stdout").data' | xargs)" second
	check events-of "$MNT/a"
}

@test "events is the same after a restart of the daemon" {
	job_run a "$(alternate 300)"
	local sum
	sum=$(sha256sum <"$MNT/a/events")
	mount_stop
	mount_start
	assert_equal "$(bounded 20 sha256sum <"$MNT/a/events")" "$sum"
	check events-order "$MNT/a" 300
}

@test "a job that a restart interrupted says so behind what it had told" {
	job_start a "$(alternate 300)"$'\nout up\nsleep 600000'
	bounded 20 grep -q -m 1 up "$MNT/a/stdout.follow"
	mount_stop
	mount_start
	assert_equal "$(events a 'select(.event == "end").status')" interrupted
	assert_equal "$(events a 'select(.event == "error").message')" "$(result a .message)"
	check events-of "$MNT/a"
}

@test "what a killed daemon has not written of the order is told all the same" {
	job_start a $'out one\nerr two\nout up\nsleep 600000'
	bounded 20 grep -q -m 1 up "$MNT/a/stdout.follow"
	mount_crash
	# as if the last of it had not reached the disk
	local order
	order=$(echo "$STATE"/jobs/*/r1/order)
	if [ -e "$order" ]; then truncate -s -1 "$order"; fi
	mount_start
	assert_equal "$(events a 'select(.event == "end").status')" interrupted
	run events a 'select(.event == "stdout" or .event == "stderr").data'
	assert_output --partial two
	assert_output --partial up
}

# read_on JOB — reads its events to their end, with one read at a time.
read_on() {
	cat "$MNT/$1/events" >"$BATS_TEST_TMPDIR/$1.events" &
	await reader $! "$MNT" 20
}

# read_well JOB — what read_on() got is what anybody gets now, line for line.
read_well() {
	wait %% || fail "the reader of $1 failed"
	python3 -c 'import json, sys
for line in open(sys.argv[1]):
    json.loads(line)' "$BATS_TEST_TMPDIR/$1.events"
	cmp "$BATS_TEST_TMPDIR/$1.events" "$MNT/$1/events"
}

@test "a reader gets the same events as all others although servers die" {
	local ms
	for ms in 00 01 05 12 20 30 45 70; do
		mkdir "$MNT/j$ms"
		job_put "j$ms" code.sh $'out 1\nerr 2\nsleep 7\nout 3\nsleep 15\nerr 4\nsleep 9\nout 5\nsleep 2000'
		read_on "j$ms"
		job_put "j$ms" config.json '{}'
		sleep "0.0$ms" # to find it anywhere
		server_kill
		job_wait "j$ms" >/dev/null
		read_well "j$ms"
		if [ "$(cat "$MNT/j$ms/exit_code")" = 0 ]; then
			ended "j$ms" 0 exited # it had not begun, or this host pauses
		else
			ended "j$ms" 125 interrupted
		fi
	done
}

@test "a reader of a queued job has the same events when the server dies before it runs" {
	mount_stop
	mount_start --max-machines 1
	job_start block 'sleep 60000'
	mkdir "$MNT/a"
	job_put a code.sh 'out x'
	read_on a
	job_put a config.json '{}'
	await becomes 10 grep -q queued "$BATS_TEST_TMPDIR/a.events"
	server_kill
	job_wait a >/dev/null
	ended a 0 exited
	read_well a
}

@test "the log and the events of a job are whole when it has ended, although the server dies" {
	local i
	for i in 1 2 3 4 5 6 7 8; do
		job_start "j$i" 'out hi'
		job_wait "j$i" >/dev/null
		server_kill
		run cut -d' ' -f2- "$MNT/j$i/log"
		assert_output $'queued\nrunning\nexited, exit code 0\ndone'
		run jq -r '.event + " " + (.state // .data // "")' "$MNT/j$i/events"
		assert_line --index 0 'state queued'
		assert_line --index 1 'state running'
		refute_output --partial 1970
	done
}

@test "of a log the line of the end at most is lost to a server that dies as it ends" {
	mkdir "$MNT/a"
	job_put a code.sh 'out hi'
	# the lines come at once, or by and by
	gate hold:openat:jobs/*/log{,,,,,,,}
	job_put a config.json '{}' 3>&- &
	local put=$!
	gate_held
	until grep -q '^state done' "$STATE"/jobs/*/meta; do
		gate_open
		gate_held
	done
	kill -KILL "$SERVER"
	gate_end
	wait "$put"
	job_wait a >/dev/null
	run cut -d' ' -f2- "$MNT/a/log"
	assert_line --index 0 queued
	assert_line --index 1 running
}

@test "an order that is nonsense loses nothing of the output" {
	job_run a $'out one\nerr two'
	mount_stop
	head -c 1000 /dev/urandom >"$(echo "$STATE"/jobs/*/r1/order)"
	mount_start
	assert_equal "$(events a 'select(.event == "stdout").data' | tr -d '\n')" one
	assert_equal "$(events a 'select(.event == "end").exit_code')" 0
}

@test "events that cannot be read now fail, and tell no end that never was" {
	local want
	job_run a $'out one\nerr two\nexit 3'
	want=$(sha256sum <"$MNT/a/events")
	exec 9<"$MNT/a/events"
	job_start b $'out up\nsleep 600000'
	job_follow b up
	exec 8<"$MNT/b/events"
	cat "$MNT/a/log" "$MNT/b/log" >/dev/null # the order is stored with it
	daemon_starve
	run bounded 20 cat <&9
	assert_failure
	refute_output --partial '"end"'
	run bounded 20 cat <&8
	assert_failure
	refute_output --partial '"end"'
	daemon_feed
	# nothing was passed over
	assert_equal "$(bounded 20 cat /dev/fd/9 | sha256sum)" "$want"
	echo kill >"$MNT/b/ctl"
	assert_equal "$(bounded 20 tail -n 1 <&8 | jq -r .status)" cancelled
	exec 8<&- 9<&-
}

@test "removing the job ends its readers" {
	job_start a $'out up\nsleep 600000'
	job_follow a up
	bounded 20 cat "$MNT/a/events" >"$BATS_TEST_TMPDIR/got" 3>&- &
	local reader=$!
	await reader "$reader" "$MNT" 20
	rm -r "$MNT/a"
	wait $reader
	run cat "$BATS_TEST_TMPDIR/got"
	assert_output --partial up
}

# bats test_tags=release
@test "a program that alternates a quarter of a million times costs no memory" {
	local before
	yes $'out\nerr' | head -n 262000 >"$BATS_TEST_TMPDIR/program"
	job_run warm "$(cat "$BATS_TEST_TMPDIR/program")"
	before=$(daemon_rss_kb)
	job_start a "$(cat "$BATS_TEST_TMPDIR/program")"
	assert_equal "$(job_wait a 60)" 0
	[ $(($(daemon_rss_kb) - before)) -lt "$(sanitized && echo 16384 || echo 4096)" ] ||
		fail "it grew by $(($(daemon_rss_kb) - before)) KiB"
	# two numbers of one byte for each turn
	[ "$(stat -c %s "$STATE"/jobs/*/r1/order | sort -n | tail -n 1)" -lt 600000 ]
	check events-of "$MNT/a"
}
