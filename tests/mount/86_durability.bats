#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What outlives what: fsd/durability.md. And who waits for the disk.
#
# on a disk

load ../lib/common

setup() { mount_start; }
teardown() {
	[ -z "${TRACE:-}" ] || trace_stop
	mount_done
}

# trace [OPTION...] — the daemon's system calls, one a line, in $CALLS: the
# thread, the call, with the paths of descriptors.
trace() {
	CALLS=$BATS_TEST_TMPDIR/calls
	for _ in 1 2 3 4 5; do
		# Else "attached" of an earlier strace would be found, and this one ended
		# while it tries what the kernel can: it leaves a stopped child then,
		# which holds the output of bats open.
		: >"$BATS_TEST_TMPDIR/strace"
		# what is not traced costs the daemon nothing
		strace -f -y -p "$SERVER" -o "$CALLS" "$@" \
			2>"$BATS_TEST_TMPDIR/strace" &
		TRACE=$!
		bounded 20 sh -c 'until grep -q attached "$1"; do :; done' - \
			"$BATS_TEST_TMPDIR/strace"
		# A thread that is made meanwhile may have been missed.
		cat "/proc/$SERVER/task"/*/status 2>/dev/null |
			grep -q '^TracerPid:[[:space:]]*0$' || return 0
		trace_stop
	done
	fail 'strace does not get all threads of the server'
}

# dies_traced — the server dies in a call that is delayed. With its tracer: a kernel
# may stop the dying thread once more, and strace lets it go after the delay only.
dies_traced() {
	kill -KILL "$SERVER"
	kill -KILL "$TRACE" || true # it ends when it has nobody to trace any more
	wait "$TRACE" || true
	TRACE=
	await exit "$SERVER" 20
}

# strace_end PID — what it has traced goes on. A strace that injects forgets one
# of its threads sometimes, and waits for itself then.
strace_end() {
	kill "$1"
	if ! await exit "$1" 5 2>/dev/null; then
		kill -KILL "$1"
		kill -CONT "$DAEMON" "$(server_pid)" || true
	fi
	wait "$1" || true
}

trace_stop() {
	strace_end "$TRACE"
	TRACE=
}

# ended_calls FILE — its calls, each in one line and in the order of their ends:
# of calls of several threads strace writes some in two pieces.
ended_calls() {
	awk '/<unfinished \.\.\.>$/ { sub(/ *<unfinished \.\.\.>$/, ""); begun[$1] = $0; next }
		/<\.\.\. .* resumed>/ { id = $1; sub(/.* resumed>/, "")
			$0 = begun[id] $0 }
		{ print }' "$1"
}

CHANGES=mkdirat,unlinkat,renameat,renameat2,ftruncate,fchmod,fchmodat,utimensat,pwrite64,fsync,fdatasync

# evict FILE — out of memory, as far as its file system can.
evict() {
	python3 -c 'import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
os.fsync(fd)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)' "$1"
	[ "$(fincore -bno res "$1")" -eq 0 ] || need 'a file can be evicted'
}

fill() {
	dd if=/dev/zero of="$SMALL/filler" bs=4k 2>/dev/null || true
}

# close_but_keep FILE TEXT [MORE] — writes and closes it, while another process
# has it still: it is not released. That one then writes MORE, or nothing ever.
close_but_keep() {
	python3 - "$@" <<-'END'
		import os, signal, sys
		fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600)
		os.write(fd, sys.argv[2].encode())
		ours, theirs = os.pipe()
		pid = os.fork()
		if pid == 0:
		    os.close(theirs)
		    os.close(0), os.close(1), os.close(2)
		    os.read(ours, 1)
		    if len(sys.argv) > 3:
		        os.write(fd, sys.argv[3].encode())
		    else:
		        signal.pause()
		    os._exit(0)
		os.close(fd)
		os.write(theirs, b"x")
		if len(sys.argv) > 3:
		    os.waitpid(pid, 0)
		print(pid)
	END
}

# bats test_tags=smoke
@test "a job whose last close was answered runs, though the daemon was killed before it began" {
	local keeper
	mkdir "$MNT/a"
	job_put a code.sh 'exit 3'
	keeper=$(close_but_keep "$MNT/a/config.json" '{}')
	state_is a draft
	mount_crash
	kill "$keeper"
	mount_start
	assert_equal "$(job_wait a)" 3
	assert_equal "$(grep -c ' running$' "$MNT/a/log")" 1
}

@test "what a close has promised is taken back if the file is written on" {
	mkdir "$MNT/a"
	job_put a code.sh 'exit 3'
	close_but_keep "$MNT/a/config.json" '{}' '['
	refused a 'config.json'
	grep -q '^state refused' "$STATE"/jobs/*/meta
}

@test "a start that the next server takes back leaves the results as they were" {
	local keeper
	job_run a 'out x'
	rm "$MNT/a/stdout"
	keeper=$(close_but_keep "$MNT/a/config.json" '{}')
	grep -q '^state queued' "$STATE"/jobs/*/meta
	server_kill
	state_is a 'done'
	absent a stdout
	exists a stderr
	kill "$keeper"
	await becomes 20 test -e "$MNT/a/stdout"
	job_wait a
	stdout_is a x
}

@test "what a new run waited for begins it, also when the server dies at its close" {
	local keeper
	job_run a 'show late'
	job_put a config.json '{"inputs": ["late"]}'
	state_is a draft
	keeper=$(close_but_keep "$MNT/a/late" two)
	grep -q '^state queued' "$STATE"/jobs/*/meta
	server_kill
	exists a exit_code # of the run before
	kill "$keeper"
	await becomes 20 grep -q two "$MNT/a/stdout"
	job_wait a
	stdout_is a two
}

@test "what was promised of a finished job stays on record while its other files change" {
	local keeper
	job_run a 'out x'
	job_put a other x
	keeper=$(close_but_keep "$MNT/a/config.json" '{}')
	grep -q '^state queued' "$STATE"/jobs/*/meta
	rm "$MNT/a/other"
	grep -q '^state queued' "$STATE"/jobs/*/meta
	mount_crash
	kill "$keeper"
	mount_start
	job_wait a
	await becomes 10 sh -c '[ "$(grep -c " running$" "$1")" = 2 ]' - "$MNT/a/log"
}

@test "the close of another file takes no promise off the record" {
	local keeper
	job_run a 'out x'
	keeper=$(close_but_keep "$MNT/a/config.json" '{}')
	job_put a other x
	grep -q '^state queued' "$STATE"/jobs/*/meta
	kill "$keeper"
	await becomes 10 sh -c '[ "$(grep -c " running$" "$1")" = 2 ]' - "$MNT/a/log"
	job_wait a
}

@test "a finished job whose config.json is released while its program is open starts by that one's close" {
	local keeper
	job_run a 'out one'
	keeper=$(close_but_keep "$MNT/a/config.json" '{}')
	exec 9>"$MNT/a/code.sh"
	echo 'out two' >&9
	kill "$keeper"
	await becomes 10 grep -qx draft "$MNT/a/state"
	exec 9>&-
	job_wait a
	await becomes 10 grep -qx two "$MNT/a/stdout"
}

@test "a job that was asked for again is a draft for the next server, and starts by its last close" {
	job_run a 'show late'
	job_put a config.json '{"inputs": ["late"]}'
	python3 - "$MNT/a/late" "$SERVER" <<-'END'
		import os, sys, time
		fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600)
		os.write(fd, b"two")
		os.close(os.dup(fd))  # it is promised
		os.kill(int(sys.argv[2]), 9)
		state = os.path.dirname(sys.argv[1]) + "/state"
		for _ in range(40):  # and taken back
		    assert open(state).read() == "draft\n"
		    time.sleep(0.005)
		os.close(fd)
	END
	job_wait a
	await becomes 10 grep -q two "$MNT/a/stdout"
}

@test "what a close has promised stays on record when another server takes over" {
	local keeper
	mkdir "$MNT/a"
	job_put a code.sh 'exit 3'
	keeper=$(close_but_keep "$MNT/a/config.json" '{}')
	server_kill
	state_is a draft
	grep -q '^state queued' "$STATE"/jobs/*/meta
	mount_crash
	kill "$keeper"
	mount_start
	assert_equal "$(job_wait a)" 3
}

@test "what a close has promised stays on record when its job gets another mode or name" {
	local keeper
	mkdir "$MNT/a"
	job_put a code.sh 'exit 3'
	keeper=$(close_but_keep "$MNT/a/config.json" '{}')
	chmod 750 "$MNT/a"
	grep -q '^state queued' "$STATE"/jobs/*/meta
	mv "$MNT/a" "$MNT/b"
	grep -q '^state queued' "$STATE"/jobs/*/meta
	state_is b draft
	mount_crash
	kill "$keeper"
	mount_start
	assert_equal "$(job_wait b)" 3
	assert_equal "$(stat -c %a "$MNT/b")" 750
}

@test "a name that is of no job that starts takes back what a close has promised" {
	local keeper
	mkdir "$MNT/a"
	job_put a code.sh 'exit 3'
	keeper=$(close_but_keep "$MNT/a/config.json" '{}')
	mv "$MNT/a" "$MNT/.a"
	mount_crash
	kill "$keeper"
	mount_start
	state_is .a draft
}

@test "what a duplicate has promised is taken back by another server, too" {
	mkdir "$MNT/a"
	job_put a config.json '{}'
	python3 - "$MNT/a/code.sh" "$(server_pid)" "$STATE" <<-'END'
		import glob, os, signal, sys, time
		fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600)
		os.write(fd, b"exit 3\n")
		os.close(os.dup(fd))
		os.kill(int(sys.argv[2]), signal.SIGKILL)
		meta, end = glob.glob(sys.argv[3] + "/jobs/*/meta")[0], time.monotonic() + 20
		os.fstat(fd) # another server is there
		while "\nstate draft\n" not in open(meta).read():
		    if time.monotonic() > end:
		        sys.exit(open(meta).read())
		os.write(fd, b"exit 4\n")
	END
	assert_equal "$(job_wait a)" 3
}

@test "results are kept for their time, also while a start is promised" {
	local keeper
	job_run a 'out x' '{"retain": 3600}'
	keeper=$(close_but_keep "$MNT/a/config.json" '{"retain": 3600}')
	server_kill
	state_is a 'done'
	stdout_is a x
	mount_crash
	kill "$keeper"
	mount_start
	job_wait a
	stdout_is a x
	result_is a .attempt 1
}

@test "a start gives up the results that a run was about to replace" {
	job_run a 'out x'
	mount_crash
	sed -i 's/^state done/state queued/; s/^run 1$/run 2/' "$STATE"/jobs/*/meta
	mount_start
	assert_equal "$(job_wait a)" 0
	await becomes 20 sh -c '[ "$(cd "$1"/jobs/*/ && echo r[0-9]*)" = r2 ]' - "$STATE"
}

@test "a file that nobody had closed when the daemon was killed starts nothing" {
	mkdir "$MNT/a"
	job_put a config.json '{}'
	exec 9>"$MNT/a/code.sh"
	echo 'exit 3' >&9
	# echo has closed a duplicate of it, which looks like the end for a moment
	bounded 20 sh -c 'until grep -qx "state draft" "$@"; do :; done' - \
		"$STATE"/jobs/*/meta
	mount_crash
	exec 9>&- || true
	mount_start
	state_is a draft
	echo start >"$MNT/a/ctl"
	assert_equal "$(job_wait a)" 3
}

@test "with full durability all of a job is on the disk when its close returns" {
	local path
	mkdir -p "$MNT/a/sub"
	echo data >"$MNT/a/sub/data"
	job_put a code.sh $'out x\nwrite d/f y'
	trace -e trace=fsync,fdatasync
	job_put a config.json '{}'
	ended_calls "$CALLS" >"$BATS_TEST_TMPDIR/accepted"
	job_wait a
	trace_stop
	ended_calls "$CALLS" >"$BATS_TEST_TMPDIR/all"
	for path in /files/code.sh /files/config.json /files/sub/data /files/sub \
		/files /meta '' ; do
		grep -qE "jobs/[0-9a-f]*$path>\) += 0" "$BATS_TEST_TMPDIR/accepted" ||
			fail "not synced: ID$path"
	done
	grep -qE 'state/jobs>\) += 0' "$BATS_TEST_TMPDIR/accepted"
	for path in stdout result.json output/d/f output/d output; do
		grep -qE "/r1/$path>\) += 0" "$BATS_TEST_TMPDIR/all" ||
			fail "not synced: $path"
	done
	# the record of the end comes last, and nothing is under way behind it
	tail -n 1 "$BATS_TEST_TMPDIR/all" | grep -q '/meta>) *= 0'
	tail -n 1 "$CALLS" | grep -q '= 0$'
}

@test "with relaxed durability nothing waits for the disk" {
	mount_stop
	mount_start --durability relaxed
	trace -e trace=fsync,fdatasync,syncfs,sync,sync_file_range
	job_run a $'out x\nwrite f y\nexit 3'
	ended a 3 exited
	trace_stop
	run grep -E 'sync' "$CALLS"
	assert_failure
}

@test "a close that cannot be made durable fails, and the job runs when it can be" {
	expect_log 'cannot be stored'
	mkdir "$MNT/a"
	job_put a code.sh 'exit 3'
	trace -e trace=fsync -e inject=fsync:error=EIO
	echo '{}' >"$BATS_TEST_TMPDIR/c"
	fails EIO cp "$BATS_TEST_TMPDIR/c" "$MNT/a/config.json"
	refused a 'Input/output error'
	trace_stop
	state_is a refused
	# A disk says so once: that it does not say so again is no news.
	fails EIO bash -c 'echo start >"$1"' - "$MNT/a/ctl"
	refused a 'the disk has not taken what was written to it; write it again'
	fails EIO cp "$BATS_TEST_TMPDIR/c" "$MNT/a/config.json"
	refused a 'code.sh: the disk has not taken'
	job_put a code.sh 'exit 3'
	assert_equal "$(job_wait a)" 3
	[ ! -e "$(echo "$STATE"/jobs/*/unstored)" ]
}

# not_taken JOB — the disk does not take one of its inputs, and says so once.
not_taken() {
	expect_log 'cannot be stored'
	mkdir "$MNT/$1"
	job_put "$1" data x
	job_put "$1" code.sh 'exit 3'
	trace -e trace=fsync -P "$(echo "$STATE"/jobs/*)/files/data" \
		-e inject=fsync:error=EIO:when=1
	echo '{}' >"$BATS_TEST_TMPDIR/c"
	fails EIO cp "$BATS_TEST_TMPDIR/c" "$MNT/$1/config.json"
	trace_stop
}

@test "an input that the disk has not taken is written again before its job runs" {
	not_taken a
	echo more >>"$MNT/a/data"
	python3 -c 'import os, sys; os.rename(*sys.argv[1:])' \
		"$MNT/a/data" "$MNT/a/file"
	chmod 600 "$MNT/a/file"
	fails EIO bash -c 'echo start >"$1"' - "$MNT/a/ctl"
	refused a 'file: the disk has not taken'
	truncate -s 0 "$MNT/a/file"
	assert_equal "$(job_wait a)" 3
}

@test "a name that it gets is remembered, in another job as well" {
	not_taken a
	python3 -c 'import os, sys; os.rename(*sys.argv[1:])' \
		"$MNT/a/data" "$MNT/a/file"
	server_kill
	refused a 'file: the disk has not taken'
	fails EIO bash -c 'echo start >"$1"' - "$MNT/a/ctl"
	mkdir -p "$MNT/b/dir"
	job_put b code.sh 'exit 3'
	mv "$MNT/a/file" "$MNT/b/dir/data"
	server_kill
	fails EIO cp "$BATS_TEST_TMPDIR/c" "$MNT/b/config.json"
	refused b 'dir/data: the disk has not taken'
	python3 -c 'import os, sys; os.rename(*sys.argv[1:])' \
		"$MNT/b/dir" "$MNT/b/new"
	server_kill
	fails EIO bash -c 'echo start >"$1"' - "$MNT/b/ctl"
	refused b 'new/data: the disk has not taken'
	job_put b new/data y
	assert_equal "$(job_wait b)" 3
	echo start >"$MNT/a/ctl"
	assert_equal "$(job_wait a)" 3
}

@test "what the user has asked the disk for first is not asked for again" {
	expect_log 'cannot be stored'
	mkdir "$MNT/a"
	job_put a code.sh 'exit 3'
	trace -e trace=fsync -e inject=fsync:error=EIO:when=1
	fails EIO python3 -c 'import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
os.write(fd, b"x")
os.fsync(fd)' "$MNT/a/data"
	trace_stop
	echo '{}' >"$BATS_TEST_TMPDIR/c"
	fails EIO cp "$BATS_TEST_TMPDIR/c" "$MNT/a/config.json"
	refused a 'data: the disk has not taken'
	server_kill
	fails EIO bash -c 'echo start >"$1"' - "$MNT/a/ctl"
	job_put a data x
	assert_equal "$(job_wait a)" 3
}

@test "one that is replaced or removed is no hindrance" {
	not_taken a
	echo y >"$MNT/a/new"
	mv "$MNT/a/new" "$MNT/a/data"
	assert_equal "$(job_wait a)" 3
	rm -r "$MNT/a"
	not_taken b
	rm "$MNT/b/data"
	# it may have begun by itself by now
	echo start >"$MNT/b/ctl" 2>"$BATS_TEST_TMPDIR/said" ||
		grep -q busy "$BATS_TEST_TMPDIR/said"
	assert_equal "$(job_wait b)" 3
}

@test "neither another server nor another daemon forgets what the disk has not taken" {
	not_taken a
	server_kill
	refused a 'data: the disk has not taken'
	fails EIO bash -c 'echo start >"$1"' - "$MNT/a/ctl"
	mount_stop
	mount_start
	refused a 'data: the disk has not taken'
	fails EIO bash -c 'echo start >"$1"' - "$MNT/a/ctl"
	job_put a data y
	assert_equal "$(job_wait a)" 3
	mount_stop
	mount_start
	ended a 3 exited
}

@test "output that the disk has not taken is no success, though the disk says so once" {
	local stream
	expect_log 'No space left'
	for stream in stdout stderr; do
		job_start a $'out up\nerr up\nawait\nexit 0'
		job_follow a up
		trace -e trace=fsync -P "$(echo "$STATE"/jobs/*)/r1/$stream" \
			-e inject=fsync:error=ENOSPC:when=1
		goes_on a
		job_wait a
		trace_stop
		ended a 125 failed
		grep -q 'cannot be stored: No space left on device' "$MNT/a/error"
		mount_stop
		mount_start
		ended a 125 failed
		rm -r "$MNT/a"
	done
}

# runs JOB — starts a job that waits to go on. The disk has the record of its start:
# a worker writes it beside the program's first output, then waits on its condition
# again (0x189: the futex of pthread_cond_wait).
runs() {
	job_start "$1" $'out up\nawait\nexit 3'
	job_follow "$1" up
	bounded 20 sh -c 'until grep -q "^state running" "$1"/jobs/*/meta; do :; done' \
		- "$STATE"
	bounded 20 sh -c 'cd "/proc/$1/task" && while cat [0-9]*/syscall |
		grep -qv -e "^232 " -e "^202 0x[0-9a-f]* 0x189 "; do :; done' \
		- "$SERVER"
}

# the_next [OPTION...] — the system calls of the server that follows, in $NEXT.
the_next() {
	NEXT=$BATS_TEST_TMPDIR/next
	strace -f -y -p "$DAEMON" -o "$NEXT" "$@" 2>"$NEXT.err" &
	NEXT_TRACE=$!
	bounded 20 sh -c 'until grep -q attached "$1"; do :; done' - "$NEXT.err"
}

# dies_before_sync STATE [COMMAND...] — the server, when the record says STATE.
dies_before_sync() {
	trace -e trace=fdatasync -P "$(echo "$STATE"/jobs/*)/meta" \
		-e inject=fdatasync:delay_enter=30000000
	"${@:2}" &
	CALLER=$!
	bounded 20 sh -c 'until grep -q "^state $2" "$1"/jobs/*/meta; do :; done' \
		- "$STATE" "$1"
	dies_traced
}

@test "an end whose server dies before the disk has it is on the disk before it is shown again" {
	runs a
	the_next -e trace=fdatasync
	# In the background: its close may find the end on its way to the disk, and
	# waits for it then.
	dies_before_sync 'done' goes_on a
	wait "$CALLER" || true
	assert_equal "$(cat "$MNT/a/exit_code")" 3
	strace_end "$NEXT_TRACE"
	grep -q 'fdatasync(.*/meta>) *= 0' "$NEXT"
}

@test "a job whose server dies before the disk has it is on the disk before its call returns" {
	mount_stop
	FSD_FAKE_START_MS=600000 mount_start --pool 0
	mkdir "$MNT/a"
	job_put a code.sh 'exit 3'
	job_put a new '{}'
	the_next -e trace=fdatasync
	dies_before_sync queued mv "$MNT/a/new" "$MNT/a/config.json"
	wait "$CALLER"
	state_is a queued
	strace_end "$NEXT_TRACE"
	grep -q 'fdatasync(.*/meta>) *= 0' "$NEXT"
}

@test "an end that the disk refuses once is on the disk by the next server, and what it was" {
	local call
	expect_log 'the disk refuses the record of a job: Input/output error'
	for call in pwrite64 fdatasync; do
		runs a
		gate "fail:EIO:$call:jobs/$(basename "$STATE"/jobs/*)/meta"
		goes_on a
		assert_equal "$(job_wait a)" 3
		ended a 3 exited
		gate_end
		await exit "$SERVER" 20
		SERVER=$(server_pid)
		grep -q '^state done' "$STATE"/jobs/*/meta
		health_is_ok
		rm -r "$MNT/a"
	done
}

@test "an end that the disk takes from no server is no success" {
	expect_log 'may not outlive the host|refuses (the record of a job|records of jobs)'
	expect_log 'its end cannot be written'
	runs a
	the_next -e trace=fdatasync -P "$(echo "$STATE"/jobs/*)/meta" \
		-e inject=fdatasync:error=EIO
	dies_before_sync 'done' goes_on a
	wait "$CALLER" || true
	health_becomes 'refuses records of jobs (Input/output error)'
	assert_equal "$(cat "$MNT/a/exit_code")" 125
	strace_end "$NEXT_TRACE"
	[ -s "$MNT/a/error" ]
	cp "$MNT/a/error" "$BATS_TEST_TMPDIR/error"
	mount_stop
	mount_start
	assert_equal "$(cat "$MNT/a/exit_code")" 125
	cmp "$MNT/a/error" "$BATS_TEST_TMPDIR/error"
}

@test "one that was cancelled before its program had begun is not run by the next server" {
	mount_stop
	FSD_FAKE_WITNESS=$BATS_TEST_TMPDIR/witness FSD_FAKE_FREEZE=1 \
		FSD_FAKE_START_MS=200 mount_start --pool 1 --max-machines 1
	await becomes 30 grep -q '^fsd_machines_warm 1$' "$MNT/.fsd/stats"
	mkdir "$MNT/a"
	head -c 4000000 /dev/zero >"$MNT/a/data"
	job_put a code.sh 'witness w'
	job_put a config.json '{"inputs": ["data"], "retry": 1}'
	await becomes 20 grep -qx running "$MNT/a/state"
	trace -e trace=fsync -e inject=fsync:delay_enter=3000000
	echo kill >"$MNT/a/ctl"
	dies_traced
	job_wait a
	ended a 137 cancelled
	[ ! -s "$BATS_TEST_TMPDIR/witness" ]
}

@test "a start has the newest ends on the disk before it shows them" {
	local i calls=$BATS_TEST_TMPDIR/next id
	for i in {1..20}; do
		job_run "j$i" "exit $i"
	done
	id=$(cd "$STATE/jobs" && grep -l '^name j20$' */meta)
	mount_crash
	umount -l "$MNT"
	# nobody can look for leaks in what is traced
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 \
		strace -f -y -e trace=fdatasync -o "$calls" "$FSD" mount \
		--state "$STATE" "$MNT" 2>/dev/null &
	local tracer=$!
	await becomes 20 test -e "$MNT/j1/exit_code"
	assert_equal "$(cat "$MNT/j20/exit_code")" 20
	grep -q "fdatasync(.*/$id>) *= 0" "$calls"
	[ "$(grep -c 'fdatasync(.*/meta>)' "$calls")" = 16 ]
	"$FSD" umount "$MNT"
	wait "$tracer"
}

@test "no call that changes the disk is made by the thread that serves the others" {
	trace -e trace=$CHANGES
	job_run a $'out x\nwrite d/f y\nexit 3'
	echo z >"$MNT/a/more"
	truncate -s 1 "$MNT/a/more"
	chmod 600 "$MNT/a/more"
	touch "$MNT/a/more"
	mv "$MNT/a/more" "$MNT/a/less"
	sync "$MNT/a/less"
	cat "$MNT/a/log" >/dev/null
	mv "$MNT/a" "$MNT/b"
	mkdir "$MNT/b/dir"
	rm -r "$MNT/b"
	trace_stop
	[ "$(grep -c . "$CALLS")" -gt 20 ]
	run grep -E "^$SERVER " "$CALLS"
	assert_failure
}

@test "a disk that takes its time holds up nobody but who waits for it" {
	local delay
	delay=$(patient 300)
	delay=$((10#${delay/./})) # milliseconds
	mkdir "$MNT/other"
	trace -e trace=$CHANGES -e inject=$CHANGES:delay_enter=${delay}000
	job_start a 'exit 3' &
	python3 - "$MNT/other/state" "$MNT/a/exit_code" "$delay" <<-'END'
		import os, sys, time
		worst, end = 0, time.monotonic() + 120
		while not os.path.exists(sys.argv[2]) and time.monotonic() < end:
		    begin = time.monotonic()
		    os.stat(sys.argv[1])
		    worst = max(worst, time.monotonic() - begin)
		bound = float(sys.argv[3]) / 1000 * 0.8
		sys.exit("%.3f s" % worst if worst > bound else 0)
	END
	wait $!
	trace_stop
	assert_equal "$(job_wait a)" 3
}

@test "a job that got its machine while it was put on record runs before another server takes over" {
	mount_stop
	FSD_FAKE_START_MS=100 mount_start --pool 0
	trace -e trace=fdatasync,fsync -e inject=fdatasync,fsync:delay_enter=500000
	job_start a 'exit 3' &
	bounded 30 sh -c 'until grep -q "^fsd_machines_in_use 1" "$1"; do :; done' \
		- "$MNT/.fsd/stats"
	kill -USR2 "$DAEMON"
	bounded 20 sh -c 'until grep -q "takes over when 1" "$1"; do :; done' - "$LOG"
	wait $!
	trace_stop
	assert_equal "$(job_wait a)" 3
	bounded 20 sh -c 'until grep -q "another server takes over$" "$1"; do :; done' - "$LOG"
}

# read_cold FILE — of job a, while nothing of its output is in memory. A disk may be so
# quick that the read which must not wait has its bytes all the same: then once more.
read_cold() {
	for _ in 1 2 3 4 5; do
		evict "$(echo "$STATE"/jobs/*/r1/stdout)"
		trace -e trace=pread64
		cmp <(bounded 20 cat "$MNT/a/$1") "$BATS_TEST_TMPDIR/all"
		trace_stop
		run grep -E "^$SERVER .*/r1/stdout>" "$CALLS"
		assert_failure
		! grep -q '/r1/stdout>' "$CALLS" || return 0
	done
	fail 'no thread has read it'
}

@test "what is not in memory any more is read by another thread" {
	job_run a 'bytes 300000'
	cp "$MNT/a/stdout" "$BATS_TEST_TMPDIR/all"
	read_cold stdout
	read_cold stdout.follow
}

@test "a full disk: closing fails, all answers, and with room the job runs" {
	expect_log 'No space left'
	small_disk 2m
	mkdir "$MNT/a" "$MNT/b"
	job_put a code.sh 'exit 3'
	fill
	echo '{}' >"$BATS_TEST_TMPDIR/c"
	fails ENOSPC cp "$BATS_TEST_TMPDIR/c" "$MNT/a/config.json"
	fails ENOSPC mkdir "$MNT/c"
	state_is a refused # it is empty, but {} was not meant
	grep -qxF 'config.json: it is empty, since writing it failed; write it again' \
		"$MNT/a/error"
	[ "$(job_state b)" = draft ]
	ls -lR "$MNT" >/dev/null
	rm "$SMALL/filler"
	job_put a config.json '{}'
	assert_equal "$(job_wait a)" 3
	job_run c 'exit 4'
	ended c 4 exited
}

@test "a run that ends on a full disk has its result all the same" {
	small_disk 2m
	job_start a $'out up\nawait\nexit 3'
	job_follow a up
	fill
	goes_on a
	assert_equal "$(job_wait a)" 3
	ended a 3 exited
	stdout_is a up
	rm "$SMALL/filler"
	job_run b 'exit 4'
	[ "$(stat -c %b "$STATE/reserve")" -gt 0 ]
}

@test "jobs that are queued when the disk is full wait for room" {
	local i
	expect_log 'No space left|is full'
	small_disk 2m --max-machines 1
	job_start a $'out up\nawait\nexit 3'
	job_follow a up
	for i in {1..12}; do
		job_start "j$i" "out $i"
	done
	fill
	goes_on a
	assert_equal "$(job_wait a)" 3
	await becomes 10 grep -q 'waits: the disk of the state directory is full' "$MNT/j1/log"
	health_becomes 'the disk of the state directory is full: no job begins until it has room' -x
	rm "$SMALL/filler"
	for i in {1..12}; do
		job_wait "j$i" >/dev/null
		ended "j$i" 0 exited
		stdout_is "j$i" "$i"
	done
	health_is_ok
	[ "$(stat -c %b "$STATE/reserve")" -gt 0 ]
}

@test "a job that finds no room just when its program is to begin waits for it, and runs once" {
	expect_log 'is full'
	mount_stop
	FSD_FAKE_WITNESS=$BATS_TEST_TMPDIR/witness mount_start --max-machines 1
	job_start a $'out up\nawait'
	job_follow a up
	job_start b $'witness\nout b' # it is queued
	trace -e trace=mkdirat -e inject=mkdirat:error=ENOSPC:when=1
	goes_on a
	assert_equal "$(job_wait b)" 0
	trace_stop
	ended b 0 exited
	grep -qx b "$MNT/b/stdout"
	result_is b .attempt 1
	assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/witness")" 1
	grep -q 'waits: the disk of the state directory is full' "$MNT/b/log"
	grep -q 'has room again' "$LOG"
}

@test "queued jobs wait for room after a start on a full disk, too" {
	local i
	expect_log 'No space left|is full'
	small_disk 2m --max-machines 1
	job_start a 'sleep 60000'
	for i in 1 2 3 4; do
		job_start "j$i" "out $i"
	done
	mount_crash
	fill
	mount_start --max-machines 1
	await becomes 10 grep -q 'waits: the disk of the state directory is full' "$MNT/j1/log"
	rm "$SMALL/filler"
	for i in 1 2 3 4; do
		job_wait "j$i" >/dev/null
		ended "j$i" 0 exited
	done
}

@test "a program whose output finds no room fails, says so, and runs with room" {
	expect_log 'No space left'
	small_disk 2m
	job_start a $'out up\nawait\nbytes 300000\nexit 3'
	job_follow a up
	fill
	goes_on a
	assert_equal "$(job_wait a)" 125
	ended a 125 failed
	run cat "$MNT/a/error"
	assert_output --partial 'the output could not be kept'
	rm "$SMALL/filler"
	echo start >"$MNT/a/ctl"
	job_follow a up
	goes_on a
	assert_equal "$(job_wait a)" 3
	assert_equal "$(stat -c %s "$MNT/a/stdout")" 300003
}

@test "who takes over asks the disk about no job before it answers" {
	local i calls
	for i in {1..20}; do
		job_run "j$i" $'out x\nwrite f y'
	done
	SERVER=$DAEMON trace -e trace=openat,read,newfstatat,faccessat,faccessat2,sendto
	server_kill
	state_is j20 'done'
	trace_stop
	# until it says that it is ready
	calls=$(sed '/sendto([^,]*, "R"/q; / resumed>/d' "$CALLS" |
		grep -cE '"[0-9a-f]{14}[/"]|jobs/[0-9a-f]{14}/' || true)
	assert_equal "$calls" 0
}

# completing_fails JOB SENTENCE — each call that would start a job fails.
completing_fails() {
	echo '{}' >"$BATS_TEST_TMPDIR/config"
	mkdir "$MNT/$1" "$MNT/.$1-moved" "$MNT/$1-given" "$MNT/$1-told"
	job_put "$1" code.sh "out $1"
	fails ESHUTDOWN cp "$BATS_TEST_TMPDIR/config" "$MNT/$1/config.json"
	refused "$1" "$2"
	job_put ".$1-moved" code.sh "out $1"
	job_put ".$1-moved" config.json '{}'
	fails ESHUTDOWN mv -T "$MNT/.$1-moved" "$MNT/$1-moved"
	[ -d "$MNT/.$1-moved" ]
	job_put "$1-given" code.sh "out $1"
	job_put "$1-given" config '{}'
	fails ESHUTDOWN mv -T "$MNT/$1-given/config" "$MNT/$1-given/config.json"
	state_is "$1-given" draft
	job_put "$1-told" code.sh "out $1"
	fails ESHUTDOWN bash -c 'echo start >"$1"' - "$MNT/$1-told/ctl"
}

@test "what completes a job fails while no new one starts" {
	echo drain >"$MNT/.fsd/ctl"
	completing_fails a 'resume was written'
	mkdir "$MNT/b"
	job_put b code.sh 'out b'
	state_is b draft
	echo resume >"$MNT/.fsd/ctl"
	cp "$BATS_TEST_TMPDIR/config" "$MNT/a/config.json"
	job_wait a
	ended a 0 exited
	mv "$MNT/.a-moved" "$MNT/a-moved"
	mv "$MNT/a-given/config" "$MNT/a-given/config.json"
	cp "$BATS_TEST_TMPDIR/config" "$MNT/b/config.json"
	job_wait a-moved
	job_wait a-given
	job_wait b
}

@test "and while umount waits for a job" {
	local ends
	job_start first $'out up\nsleep 600000'
	job_follow first up
	bounded 60 "$FSD" umount "$MNT" 3>&- 4>&- &
	ends=$!
	health_becomes draining
	completing_fails a 'about to end'
	echo kill >"$MNT/first/ctl"
	wait $ends
	mount_ended
	mount_start
	job_run b 'out b'
	state_is a refused
	echo start >"$MNT/a/ctl"
	job_wait a
	ended a 0 exited
	state_is a-given draft
}
