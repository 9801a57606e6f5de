#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# stdin.feed: input that a program gets while it runs.

load ../lib/common

setup() { mount_start; }
teardown() { mount_done; }

# fed_start JOB PROGRAM — one with open standard input, which runs.
fed_start() {
	job_start "$1" "$2" '{"stdin_open": true}'
	job_follow "$1" up
}

# feed_py JOB — the python program on standard input has the path of its feed in
# FEED, and of the job in JOB.
feed_py() {
	JOB=$MNT/$1 FEED=$MNT/$1/stdin.feed bounded 30 /usr/bin/python3 -
}

# bats test_tags=smoke
@test "what is written to stdin.feed is the program's input, until eof is written to ctl" {
	fed_start a $'out up\ncat\nout end'
	echo one >"$MNT/a/stdin.feed"
	# Who closes it ends nothing.
	echo two >"$MNT/a/stdin.feed"
	await becomes 20 grep -q two "$MNT/a/stdout"
	state_is a running
	echo eof >"$MNT/a/ctl"
	assert_equal "$(job_wait a)" 0
	stdout_is a $'up\none\ntwo\nend'
}

@test "stdin.feed is ENXIO before and after the run, and without stdin_open" {
	mkdir "$MNT/a"
	run dd of="$MNT/a/stdin.feed" status=none conv=notrunc <<<x
	assert_failure
	assert_output --partial 'No such device or address'
	job_start b $'out up\nsleep 600000'
	job_follow b up
	run dd of="$MNT/b/stdin.feed" status=none conv=notrunc <<<x
	assert_output --partial 'No such device or address'
	run cat "$MNT/.fsd/last_error"
	assert_output --partial '"stdin_open": true; the job is running'
	job_start c 'out x' '{"stdin_open": true}'
	assert_equal "$(job_wait c)" 0
	run dd of="$MNT/c/stdin.feed" status=none conv=notrunc <<<x
	assert_output --partial 'No such device or address'
	run ls -A "$MNT/a"
	refute_output --partial feed
	assert_equal "$(cat "$MNT/a/stdin.feed")" ''
}

@test "a writer waits while 64 KiB wait: EAGAIN, poll, EINTR, then all of it goes on, exactly" {
	fed_start a $'out up\nhang'
	feed_py a <<-'END'
		import os, select, signal
		fd = os.open(os.environ["FEED"], os.O_WRONLY | os.O_NONBLOCK)
		sent = 0
		poll = select.poll()
		poll.register(fd, select.POLLOUT)
		# What waits is in the feed and on its way to the machine: 64 KiB each.
		while sent < 110000 or poll.poll(500):
		    try:
		        sent += os.write(fd, b"x" * 4096)
		    except BlockingIOError:
		        poll.poll(500)
		assert 65536 <= sent <= 4 * 65536, sent
		try:
		    os.write(fd, b"x")
		    raise SystemExit("it took more")
		except BlockingIOError:
		    pass
		class Rang(Exception): pass
		def ring(*unused):
		    signal.setitimer(signal.ITIMER_REAL, 0)
		    raise Rang
		signal.signal(signal.SIGALRM, ring)
		os.set_blocking(fd, True)
		try:
		    # The first signal may come before the write: the timer goes on.
		    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
		    os.write(fd, b"x")
		    raise SystemExit("it took more")
		except Rang:
		    pass
	END
	echo kill >"$MNT/a/ctl"
	job_start b $'out up\nsleep 300\ncat' '{"stdin_open": true}'
	job_follow b up
	head -c 3000000 /dev/zero | tr '\0' b >"$MNT/b/stdin.feed"
	echo eof >"$MNT/b/ctl"
	assert_equal "$(job_wait b)" 0
	assert_equal "$(stat -c %s "$MNT/b/stdout")" 3000003
}

@test "poll tells as POLLPRI that the program has read all, and result.json how much" {
	fed_start a $'out up\nawait\ncat'
	feed_py a <<-'END'
		import os, select
		fd = os.open(os.environ["FEED"], os.O_WRONLY | os.O_NONBLOCK)
		poll = select.poll()
		poll.register(fd, select.POLLPRI)
		assert poll.poll(0), "nothing was written"
		os.write(fd, b"some text")
		assert not poll.poll(300), "it does not read"
		with open(os.environ["JOB"] + "/ctl", "w") as ctl:
		    ctl.write("signal USR1")
		assert poll.poll(20000) == [(fd, select.POLLPRI)]
	END
	echo eof >"$MNT/a/ctl"
	job_wait a
	result_is a .stdin.read 9
	job_start b $'out up\nawait' '{"stdin_open": true}'
	job_follow b up
	echo text >"$MNT/b/stdin.feed"
	echo 'signal USR1' >"$MNT/b/ctl"
	job_wait b
	result_is b .stdin.read 0
	job_start c 'out x'
	job_wait c
	result_is c .stdin.read null
}

# fill JOB COMMAND... — writes until nothing more is taken, does that, then waits
# with a write and says what came of it.
fill() {
	JOB=$MNT/$1 bounded 30 /usr/bin/python3 -c '
import os, subprocess, sys
fd = os.open(os.environ["JOB"] + "/stdin.feed", os.O_WRONLY | os.O_NONBLOCK)
try:
    while True:
        os.write(fd, b"x" * 65536)
except BlockingIOError:
    pass
except BrokenPipeError:
    sys.exit("EPIPE")
os.set_blocking(fd, True)
subprocess.Popen(sys.argv[1:])
try:
    while True:
        os.write(fd, b"x" * 65536)
except OSError as e:
    sys.exit(e.strerror)' "${@:2}"
}

@test "a writer that waits when the job ends, or the program closes its input, gets EPIPE" {
	fed_start a $'out up\nsleep 600000'
	run fill a sh -c 'echo kill >"$JOB/ctl"'
	assert_output 'Broken pipe'
	fed_start b $'out up\nawait'
	run fill b sh -c 'echo "signal USR1" >"$JOB/ctl"'
	assert_output 'Broken pipe'
	fed_start c $'out up\nclosein\nsleep 600000'
	run fill c true
	assert_output --regexp '^(EPIPE|Broken pipe)$'
	state_is c running
}

@test "a run with open input does not outlive its server, and its writers are told" {
	expect_log 'was killed'
	fed_start a $'out up\nsleep 600000'
	run fill a kill -KILL "$SERVER"
	assert_output 'Broken pipe'
	ended a 125 interrupted
}

@test "stdin_open and a file stdin exclude each other" {
	mkdir "$MNT/a"
	echo x >"$MNT/a/stdin"
	job_put a code.sh 'out x'
	job_put a config.json '{"stdin_open": true}' || true
	refused a 'config.json: "stdin_open" is given and there is a file stdin as well'
}
