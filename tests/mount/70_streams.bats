#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Reads that block: wait and the follow files.

load ../lib/common

setup_file() { file_mount; }
teardown_file() { file_mount_done; }
teardown() { file_mount_left; }

# bats test_tags=smoke
@test "cat wait blocks until the end and gives the code" {
	job_start a $'out up\nsleep 300\nexit 6'
	assert_equal "$(job_wait a)" 6
	state_is a 'done'
}

@test "wait before the job is even complete blocks until its end" {
	mkdir "$MNT/a"
	job_wait a >"$BATS_TEST_TMPDIR/code" 3>&- &
	local waiter=$!
	await reader "$waiter" "$MNT" 20
	job_put a code.sh 'exit 9'
	job_put a config.json '{}'
	wait $waiter
	assert_equal "$(cat "$BATS_TEST_TMPDIR/code")" 9
}

@test "wait after the end answers at once, as often as asked" {
	job_run a 'exit 2'
	local i
	for i in 1 2 3; do
		assert_equal "$(bounded 5 cat "$MNT/a/wait")" 2
	done
}

# bats test_tags=smoke
@test "stdout.follow gives the bytes as they come and ends with the job" {
	job_start a $'out one\nsleep 50\nout two\nsleep 50\nout three'
	assert_equal "$(bounded 10 cat "$MNT/a/stdout.follow")" $'one\ntwo\nthree'
	state_is a 'done'
}

@test "stderr.follow is the other stream" {
	job_start a $'out one\nerr two\nsleep 50\nerr three'
	assert_equal "$(bounded 10 cat "$MNT/a/stderr.follow")" $'two\nthree'
}

@test "follow opened before the start gets everything" {
	mkdir "$MNT/a"
	bounded 20 cat "$MNT/a/stdout.follow" >"$BATS_TEST_TMPDIR/got" 3>&- &
	local reader=$!
	await reader "$reader" "$MNT" 20
	job_put a code.sh $'bytes 200000\nout end'
	job_put a config.json '{}'
	wait $reader
	job_wait a
	cmp "$BATS_TEST_TMPDIR/got" "$MNT/a/stdout"
}

@test "follow after the end gives everything and ends" {
	job_run a $'bytes 300000\nout end'
	bounded 10 cat "$MNT/a/stdout.follow" | cmp - "$MNT/a/stdout"
}

@test "ten followers of one job all get the same bytes" {
	mkdir "$MNT/a"
	local i pids=()
	for i in {1..10}; do
		bounded 20 cat "$MNT/a/stdout.follow" >"$BATS_TEST_TMPDIR/got$i" 3>&- &
		pids+=($!)
	done
	job_put a code.sh $'bytes 1000000\nsleep 20\nbytes 1000000'
	job_put a config.json '{}'
	wait "${pids[@]}"
	job_wait a
	for i in {1..10}; do
		cmp "$BATS_TEST_TMPDIR/got$i" "$MNT/a/stdout"
	done
}

@test "a reader that goes away mid-way leaves the run alone" {
	job_start a $'bytes 1000000\nsleep 50\nbytes 1000000\nexit 3'
	head -c 10 "$MNT/a/stdout.follow" >/dev/null
	job_wait a
	ended a 3 exited
	assert_equal "$(stat -c %s "$MNT/a/stdout")" 2000000
}

@test "a slow reader does not hold the program up" {
	job_start a $'bytes 3000000\nexit 3'
	exec 9<"$MNT/a/stdout.follow"
	head -c 1 <&9 >/dev/null
	assert_equal "$(job_wait a)" 3
	exec 9<&-
}

@test "a signal interrupts a blocked read" {
	check interrupt "$MNT"
}

@test "O_NONBLOCK gives EAGAIN while there is nothing" {
	check nonblock "$MNT"
}

@test "who polls the state of a job is told that it has gone" {
	job_run a 'out x'
	run bounded 30 /usr/bin/python3 -I -S - "$MNT/a" <<-'END'
		import os, select, shutil, sys
		fd = os.open(sys.argv[1] + "/state", os.O_RDONLY)
		os.read(fd, 100)
		poll = select.poll()
		poll.register(fd, select.POLLPRI)
		assert not poll.poll(0)
		shutil.rmtree(sys.argv[1])
		print(bool(poll.poll(10000)))
	END
	assert_output True
}

@test "poll, select and epoll work on wait, follow and state" {
	check poll-files "$MNT"
}

# bats test_tags=release
@test "who polls again and again costs no memory" {
	local before
	mkdir "$MNT/a"
	check poll-often "$MNT/a" 2000
	before=$(daemon_rss_kb)
	check poll-often "$MNT/a" 20000
	# a sanitizer keeps what was freed
	sanitized || [ $(($(daemon_rss_kb) - before)) -lt 512 ] ||
		fail "it grew by $(($(daemon_rss_kb) - before)) KiB"
}

@test "offsets of a follow file are those of the stream" {
	check follow-offsets "$MNT"
}

@test "wait and follow are read from any offset and are no writer's" {
	check follow-seek "$MNT"
}

@test "head, tail, sed, grep, dd and read take what they want of a stream that goes on" {
	job_start a $'out one\nout two\nout three\nsleep 600000'
	local f=$MNT/a/stdout.follow line
	assert_equal "$(bounded 20 head -n 1 "$f" 2>&1)" one
	assert_equal "$(bounded 20 head -n 3 "$f" 2>&1)" $'one\ntwo\nthree'
	assert_equal "$(bounded 20 head -c 5 "$f" 2>&1)" $'one\nt'
	assert_equal "$(bounded 20 sed 2q "$f" 2>&1)" $'one\ntwo'
	assert_equal "$(bounded 20 grep -m 1 tw "$f" 2>&1)" two
	assert_equal "$(bounded 20 dd if="$f" bs=4 skip=1 count=1 status=none)" two
	run bounded 20 head -n 2 "$f"
	assert_success
	{
		IFS= read -r -t $((20 * SLOW)) line
		assert_equal "$line" one
		IFS= read -r -t $((20 * SLOW)) line
		assert_equal "$line" two
	} <"$f"
	echo kill >"$MNT/a/ctl"
	run bounded 20 head -n 1 "$MNT/a/wait"
	assert_success
	assert_output 137
	run bounded 20 tail -c +5 "$f"
	assert_success
	assert_output $'two\nthree'
	assert_equal "$(bounded 20 tail -n 1 "$f" 2>&1)" three
	assert_equal "$(bounded 20 tail -c 6 "$f" 2>&1)" three
}

@test "tail -f on stdout shows what comes" {
	job_start a $'out one\nsleep 200\nout two\nsleep 600000'
	local lines=() line
	# stdout appears when the job starts: its first byte says that it has
	timeout $((20 * SLOW)) head -c 1 "$MNT/a/stdout.follow"
	exec 9< <(exec timeout $((20 * SLOW)) tail -n +1 -f "$MNT/a/stdout" 3>&-)
	local tail=$!
	for _ in 1 2; do
		IFS= read -r -t $((20 * SLOW)) line <&9
		lines+=("$line")
	done
	kill $tail
	exec 9<&-
	assert_equal "${lines[*]}" 'one two'
	echo kill >"$MNT/a/ctl"
	job_wait a
}

@test "what follows the first run ends with it, and a second run has its own" {
	job_run a 'out first'
	assert_equal "$(bounded 5 cat "$MNT/a/stdout.follow")" first
	job_put a code.sh 'out second'
	echo start >"$MNT/a/ctl"
	job_wait a
	assert_equal "$(bounded 5 cat "$MNT/a/stdout.follow")" second
}

@test "wait opened after a new start waits for the new end" {
	job_run a 'exit 1'
	job_put a code.sh $'sleep 100\nexit 2'
	echo start >"$MNT/a/ctl"
	assert_equal "$(job_wait a)" 2
}

@test "the mount answers others while hundreds of reads are blocked" {
	check blocked-readers "$MNT" 300
}

@test "stdin from the file stdin arrives byte for byte, then ends" {
	mkdir "$MNT/a"
	head -c 3000000 /dev/urandom >"$BATS_TEST_TMPDIR/in"
	cp "$BATS_TEST_TMPDIR/in" "$MNT/a/stdin"
	job_put a code.sh $'cat\nexit 3'
	job_put a config.json '{}'
	job_wait a
	exit_is a 3
	cmp "$BATS_TEST_TMPDIR/in" "$MNT/a/stdout"
}

@test "stdin from the config, and none at all" {
	job_run a cat '{"stdin": "line\nü\u0000end"}'
	printf 'line\nü\0end' | cmp - "$MNT/a/stdout"
	job_run b $'cat\nout ended'
	stdout_is b ended
}

@test "a program that reads no stdin ends all the same" {
	mkdir "$MNT/a"
	head -c 5000000 /dev/zero >"$MNT/a/stdin"
	job_put a code.sh 'exit 3'
	job_put a config.json '{}'
	assert_equal "$(job_wait a)" 3
}
