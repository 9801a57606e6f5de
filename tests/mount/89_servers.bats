#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The process that serves the mount may be killed at any moment: another one
# goes on with all that was open, asked for or promised.

load ../lib/common

setup() { mount_start; }
teardown() { mount_done; }

# bats test_tags=smoke
@test "who uses a mount whose server is killed notices nothing" {
	job_run a $'out x\nwrite d/f 1\nexit 3'
	server_kill
	ended a 3 exited
	stdout_is a x
	exists a output/d/f
	job_run b 'out y'
	stdout_is b y
	assert_equal "$(names "$MNT")" '.fsd a b'
}

# bats test_tags=release
@test "workers go on through a hundred kills, and no call is lost or done twice" {
	run -0 timeout $((200 * SLOW)) python3 -I -S "$TESTS/lib/kills.py" \
		"$MNT" "${SERVER_KILLS:-100}" 3
	echo "# $output" >&3
	assert_equal "$(ls "$STATE/jobs" | wc -l)" "$(ls "$MNT" | wc -l)"
}

@test "files stay open for reading, writing and appending" {
	mkdir "$MNT/a"
	printf 'abc' >"$MNT/a/data"
	exec 5<>"$MNT/a/data" 6>>"$MNT/a/data" 7<"$MNT/a/data"
	server_kill
	printf d >&6
	server_kill
	printf X >&5
	assert_equal "$(cat <&7)" Xbcd
	exec 5>&- 6>&- 7<&-
	assert_equal "$(cat "$MNT/a/data")" Xbcd
}

# unlinked PART — what is open without a name, through kills.
unlinked() {
	run -0 timeout $((60 * SLOW)) python3 -I -S \
		"$TESTS/lib/unlinked.py" "$MNT" "$STATE" "$1"
}

@test "a file that was removed is read on, from where its reader was" {
	unlinked reading
}

@test "a file that was removed is written on, appended to and cut" {
	unlinked writing
}

@test "a file that another one has replaced is still what it was for who has it open" {
	unlinked replaced
}

@test "a directory that was removed can be looked at by who has it open" {
	unlinked directory
}

@test "inputs and results of a job that was removed are there for who has them open" {
	unlinked job
}

@test "hundreds of files that were removed at once go on for who has them open" {
	unlinked many
}

@test "quota: a file without a name counts until it is closed, whichever process serves" {
	mount_stop
	mount_start --quota-bytes 1M
	local before
	job_run a 'out 0123456789'
	printf %100s '' >"$MNT/a/data"
	exec 5<>"$MNT/a/data" 6<"$MNT/a/stdout" 7<"$MNT/a/stdout"
	rm "$MNT/a/data"
	rm -r "$MNT/a"
	assert_equal "$(figure 'fsd_user_bytes{uid="0"}')" 111
	server_kill
	assert_equal "$(figure 'fsd_user_bytes{uid="0"}')" 111
	printf %150s '' >&5
	assert_equal "$(figure 'fsd_user_bytes{uid="0"}')" 161
	exec 5>&- 6<&-
	await becomes 20 grep -qxF 'fsd_user_bytes{uid="0"} 11' "$MNT/.fsd/stats"
	server_kill
	assert_equal "$(figure 'fsd_user_bytes{uid="0"}')" 11
	exec 7<&-
	await becomes 20 grep -qxF 'fsd_user_bytes{uid="0"} 0' "$MNT/.fsd/stats"
}

# held — a process that has what is removed open; it ends with descriptor 9.
held() {
	mkfifo "$BATS_TEST_TMPDIR/in"
	timeout $((60 * SLOW)) python3 -I -S "$TESTS/lib/unlinked.py" "$MNT" \
		"$STATE" hold <"$BATS_TEST_TMPDIR/in" \
		>"$BATS_TEST_TMPDIR/out" 2>&1 9>&- &
	HOLDS=$!
	exec 9>"$BATS_TEST_TMPDIR/in"
	await becomes 20 grep -q held "$BATS_TEST_TMPDIR/out"
}

@test "of files without a name nothing is left by the end of the mount" {
	held
	mount_stop
	assert_equal "$(find "$STATE/jobs" "$STATE/trash" -mindepth 1)" ''
	exec 9>&-
	wait "$HOLDS"
}

@test "of files without a name nothing is left when all processes are killed" {
	held
	local pid=$DAEMON
	mount_crash
	await unused "$pid" "$STATE"
	exec 9>&-
	wait "$HOLDS"
	mount_start
	assert_equal "$(find "$STATE/jobs" "$STATE/trash" -mindepth 1)" ''
}

@test "an open file that is gone is never taken for another one" {
	mkdir "$MNT/a"
	echo mine >"$MNT/a/data"
	exec 5<>"$MNT/a/data"
	rm "$MNT/a/data"
	server_kill
	assert_equal "$(cat <&5)" mine
	for i in $(seq 200); do
		echo other >"$MNT/a/f$i"
	done
	server_kill
	/bin/sh -c 'exec /bin/echo more >&5'
	assert_equal "$(cat /proc/self/fd/5)" $'mine\nmore'
	exec 5>&-
	assert_equal "$(cat "$MNT/a/"f* | sort -u)" other
}

@test "what cannot be taken over leaves its number to nobody else" {
	job_run s 'out x' '{"session": "s"}'
	exec 5<"$MNT/.fsd/sessions/s/state"
	server_kill
	# sessions end with their server, so there is nothing to read
	mkdir "$MNT/a"
	exec 6>"$MNT/a/code.sh" 7>"$MNT/a/b" 8>"$MNT/a/c"
	echo 'out y' >&6
	echo b >&7
	echo c >&8
	exec 6>&- 7>&- 8>&- 5<&-
	job_put a config.json '{}'
	assert_equal "$(job_wait a)" 0
	stdout_is a y
	assert_equal "$(cat "$MNT/a/b" "$MNT/a/c" | xargs)" 'b c'
}

@test "a result that is open is that run's, though its job has run again" {
	job_run a $'out one\nwrite d/f made by one'
	exec 5<"$MNT/a/stdout" 6<"$MNT/a/result.json" 7<"$MNT/a/output/d/f" \
		8<"$MNT/a/stderr"
	server_kill
	assert_equal "$(cat <&5)" one
	exec 5<"$MNT/a/stdout"
	# Longer than the first: jobtree(5) on a result that is shorter.
	job_put a code.sh $'out two\nerr two\nwrite d/f made by two\nwrite d/more of two'
	job_put a config.json '{}'
	job_wait a
	server_kill
	assert_equal "$(head -c 2 <&5)" on
	server_kill
	assert_equal "$(cat <&5)" e
	assert_equal "$(jq .stdout.bytes <&6)" 4
	assert_equal "$(jq -r '.output[0].path' "$MNT/a/result.json")" d/f
	assert_equal "$(cat <&7)" 'made by one'
	assert_equal "$(cat <&8)" ''
	exec 5<&- 6<&- 7<&- 8<&-
	stdout_is a two
	server_kill
	assert_equal "$(cat "$MNT/a/output/d/f")" 'made by two'
	assert_equal "$(cat "$MNT/a/stderr")" two
}

@test "a result of an attempt that failed is read on, though another one has followed" {
	job_start a $'out one\nsleep 600000' '{"retry": 1}'
	job_follow a one
	exec 5<"$MNT/a/stdout"
	server_kill
	job_follow a one
	server_kill
	assert_equal "$(cat <&5)" one
	exec 5<&-
	echo kill >"$MNT/a/ctl"
	job_wait a
}

@test "nobody gets the number of a file that is gone while somebody has it" {
	mkdir -p "$MNT/a/gone"
	echo mine >"$MNT/a/data"
	exec 5<>"$MNT/a/data" 6<"$MNT/a/gone"
	rm "$MNT/a/data"
	rmdir "$MNT/a/gone"
	server_kill
	check become-others "$MNT/a" 5 6
	server_kill
	check become-others "$MNT/a" 5 6
	exec 5>&- 6>&-
}

@test "a config that was being written starts its job when it is closed" {
	mkdir "$MNT/a"
	job_put a code.sh 'out x'
	exec 5>"$MNT/a/config.json"
	printf '{"args":' >&5
	server_kill
	state_is a draft
	printf ' []}' >&5
	state_is a draft
	exec 5>&-
	job_wait a
	stdout_is a x
}

@test "a program that another process still writes keeps its job from starting" {
	mkdir "$MNT/a"
	exec 5>"$MNT/a/code.sh"
	printf 'out one\n' >&5
	job_put a config.json '{}'
	server_kill
	state_is a draft
	printf 'out two\n' >&5
	exec 5>&-
	job_wait a
	stdout_is a $'one\ntwo'
}

@test "readers that wait are answered by the server that follows" {
	job_start a $'out up\nsleep 600000'
	job_follow a up
	cat "$MNT/a/wait" >"$BATS_TEST_TMPDIR/wait" &
	local waiter=$!
	cat "$MNT/a/stdout.follow" >"$BATS_TEST_TMPDIR/follow" &
	local follower=$!
	await reader "$waiter" "$MNT" 20
	await reader "$follower" "$MNT" 20
	server_kill
	await exit "$waiter" 20
	await exit "$follower" 20
	wait "$waiter" "$follower"
	assert_equal "$(cat "$BATS_TEST_TMPDIR/wait")" 125
	assert_equal "$(cat "$BATS_TEST_TMPDIR/follow")" up
	ended a 125 interrupted
	stdout_is a up
}

@test "a reader that waits for a job that has not begun waits on" {
	mkdir "$MNT/a"
	cat "$MNT/a/wait" >"$BATS_TEST_TMPDIR/wait" &
	local waiter=$!
	await reader "$waiter" "$MNT" 20
	server_kill
	state_is a draft
	server_kill
	job_put a code.sh 'exit 7'
	job_put a config.json '{}'
	await exit "$waiter" 20
	wait "$waiter"
	assert_equal "$(cat "$BATS_TEST_TMPDIR/wait")" 7
}

@test "a thousand readers that wait are answered after a kill" {
	run -0 check parked-through "$MNT" 1000
	echo "# $output" >&3
}

@test "poll wakes after a kill" {
	check polls-through "$MNT"
}

@test "a directory that is being listed misses nothing" {
	check lists-through "$MNT" 3000
}

@test "a working directory deep in a job stays one" {
	mkdir -p "$MNT/a/one/two"
	cd "$MNT/a/one/two"
	echo x >file
	server_kill
	assert_equal "$(cat file)" x
	echo y >>file
	mv file other
	assert_equal "$(cat other)" $'x\ny'
	assert_equal "$(cat "$MNT/a/one/two/other")" $'x\ny'
	cd /
}

@test "queued jobs keep their place and run" {
	mount_stop
	mount_start --max-machines 1 --pool 1
	local i
	job_start a $'out up\nsleep 600000'
	job_follow a up
	for i in 1 2 3; do
		job_start "b$i" "out $i"
	done
	server_kill
	ended a 125 interrupted
	for i in 1 2 3; do
		job_wait "b$i"
		ended "b$i" 0 exited
	done
	[[ $(result b1 .started) < $(result b2 .started) ]]
	[[ $(result b2 .started) < $(result b3 .started) ]]
}

# many COUNT [STATE] — instead of an empty mount, one with so many jobs.
many() {
	mount_stop
	bounded 120 /usr/bin/python3 -I -S "$TESTS/lib/many_jobs.py" "$STATE" "$@"
	mount_start --max-machines 1 --pool 1
}

# jobs_are STATE COUNT
jobs_are() {
	assert_equal "$(figure "fsd_jobs{state=\"$1\"}")" "$2"
}

@test "of thousands of jobs each is there, once, as soon as another server answers" {
	many 3000
	mkdir "$MNT/new"
	mv "$MNT/j1" "$MNT/moved"
	rm -r "$MNT/j2"
	exec 5<"$MNT/j3/stdout"
	server_kill
	jobs_are 'done' 2999
	jobs_are draft 1
	assert_equal "$(ls "$MNT" | wc -l)" 3000
	server_kill
	state_is j2999 'done'
	stdout_is j2999 j2999
	fails EEXIST mkdir "$MNT/j2998"
	fails EEXIST mkdir "$MNT/new"
	absent . j1
	absent . j2
	stdout_is moved j1
	assert_equal "$(cat <&5)" j3
	exec 5<&-
	mv "$MNT/j2997" "$MNT/moved2"
	rm -r "$MNT/j2996"
	mkdir "$MNT/j2996"
	server_kill
	jobs_are 'done' 2998
	jobs_are draft 2
	assert_equal "$(ls "$MNT" | sort | uniq -d | wc -l)" 0
	assert_equal "$(ls "$MNT" | wc -l)" 3000
	state_is j2996 draft
	stdout_is moved2 j2997
	mount_stop
	mount_start
	assert_equal "$(ls "$MNT" | wc -l)" 3000
	jobs_are 'done' 2998
}

@test "a long queue keeps its order under the server that follows" {
	many 300 queued
	server_kill
	job_start later 'out x'
	job_wait later
	ended later 0 exited
	assert_equal "$(cat "$MNT"/j*/state | grep -vc 'done')" 0
}

# --- what is on no record ------------------------------------------------------

# half_copied JOB COPY — cp -r of a job whose output is many files, and the
# server dies in the middle of it.
half_copied() {
	local copier

	cp -r "$MNT/$1" "$MNT/$2" &
	copier=$!
	await becomes 20 test -e "$MNT/$2/output/d/f100"
	server_kill
	await exit "$copier" 60
	wait "$copier"
}

@test "a copied output is whole though the server dies in the middle of cp -r" {
	job_run a "$(printf 'write d/f%d x\n' {1..400})"
	half_copied a .b
	diff -r "$MNT/a/output" "$MNT/.b/output"
	server_kill
	fails ENOTEMPTY rmdir "$MNT/.b/output"
	diff -r "$MNT/a/output" "$MNT/.b/output"
	rm -r "$MNT/.b/output"
	server_kill
	absent .b output
	mkdir "$MNT/.b/output"
	mv "$MNT/.b" "$MNT/b"
	job_wait b
	diff -r "$MNT/a/output" "$MNT/b/output"
}

@test "a copied output counts for its owner, whichever process serves" {
	mount_stop
	mount_start --quota-bytes 1M
	local before
	mkdir -p "$MNT/a/output/d"
	printf %100s '' >"$MNT/a/output/d/f"
	before=$(figure 'fsd_user_bytes{uid="0"}')
	server_kill
	assert_equal "$(figure 'fsd_user_bytes{uid="0"}')" "$before"
	assert_equal "$(wc -c <"$MNT/a/output/d/f")" 100
	rm -r "$MNT/a/output"
	assert_equal "$(figure 'fsd_user_bytes{uid="0"}')" $((before - 100))
}

@test "a result that was copied takes its time from who copied it, whichever process serves" {
	mkdir "$MNT/a"
	echo 0 >"$MNT/a/exit_code"
	server_kill
	/usr/bin/python3 -I -S -c 'import os, sys; os.utime(sys.argv[1], (1, 1))' \
		"$MNT/a/exit_code"
	absent a exit_code
}

@test "a result that was removed stays removed when the server dies" {
	job_run a $'out x\nwrite f 1'
	rm "$MNT/a/stdout"
	rm -r "$MNT/a/output"
	server_kill
	absent a stdout
	absent a output
	exists a stderr
	server_kill
	absent a stdout
	# until the next run
	job_put a config.json '{}'
	job_wait a
	stdout_is a x
	server_kill
	stdout_is a x
	exists a output/f
}

@test "a result that was removed is not another run's that the next server begins" {
	mount_stop
	mount_start --max-machines 1 --pool 1
	job_run a 'out x'
	rm "$MNT/a/stdout"
	job_start b $'out up\nsleep 600000'
	job_follow b up
	job_put a config.json '{}'
	state_is a queued
	server_kill
	job_wait a
	stdout_is a x
}

@test "draining is the operator's wish, whichever process serves" {
	echo drain >"$MNT/.fsd/ctl"
	server_kill
	run cat "$MNT/.fsd/health"
	assert_output --partial draining
	job_start a 'out x' || true
	refused a draining
	echo resume >"$MNT/.fsd/ctl"
	echo start >"$MNT/a/ctl"
	job_wait a
}

@test "since when the operator has it so is told by whichever process serves" {
	local before
	echo drain >"$MNT/.fsd/ctl"
	before=$(stat -c %.Y "$MNT/.fsd/health")
	server_kill
	assert_equal "$(stat -c %.Y "$MNT/.fsd/health")" "$before"
}

@test "watchers are told of results after a kill" {
	server_kill
	run -0 timeout $((60 * SLOW)) python3 "$TESTS/lib/watch.py" job \
		"$MNT/a" 'out x'
	assert_line 'CREATE exit_code'
}

@test "watchers are told of an end that came with a kill, or just before one" {
	local i
	for i in 1 2 3 4 5; do
		run -0 timeout $((60 * SLOW)) python3 "$TESTS/lib/watch.py" \
			ends-with-server "$MNT/a$i" "$MNT"
	done
}

@test "umount of a mount whose server was killed ends it cleanly" {
	server_kill
	bounded 20 "$FSD" umount "$MNT"
	wait "$DAEMON"
	local pid=$DAEMON
	DAEMON=
	mount_gone "$pid"
}

@test "a service whose own process is killed ends and leaves nothing" {
	job_start a $'out up\nsleep 600000'
	job_follow a up
	local pid=$DAEMON server
	server=$(server_pid)
	DAEMON=
	kill -KILL "$pid"
	await exit "$server" 20
	wait "$pid" || true
	mount_gone "$pid"
	mount_start
	ended a 125 interrupted
}

@test "a server that cannot start again is tried again until it can" {
	mount_stop
	local dir=$BATS_TEST_TMPDIR/dir
	mkdir "$dir"
	: >"$dir.file"
	ln -s "$dir" "$dir.good"
	ln -s "$dir.file" "$dir.bad"
	STATE=$dir.state
	cp -P "$dir.good" "$STATE"
	mount_start
	mkdir "$MNT/a"
	echo kept >"$MNT/a/data"
	mv -T "$dir.bad" "$STATE"
	server_kill
	await becomes 20 grep -q 'Not a directory' "$LOG"
	mv -T "$dir.good" "$STATE"
	assert_equal "$(bounded 30 cat "$MNT/a/data")" kept
}

@test "no process is left behind by a killed server" {
	local i
	for i in 1 2 3; do
		server_kill
		job_run "a$i" 'out x'
	done
	assert_equal "$(pgrep -c -P "$DAEMON")" 1
	# the broker, and what starts the relays of fake machines
	assert_equal "$(pgrep -c -P "$(server_pid)")" 2
}

@test "upgrade goes on with the program that is installed, once no job runs" {
	mount_stop
	cp "$FSD" "$BATS_TEST_TMPDIR/fsd"
	FSD=$BATS_TEST_TMPDIR/fsd mount_start
	job_start a $'out up\nsleep 300\nexit 3'
	job_follow a up
	local before after
	before=$(server_pid)
	cp "$FSD" "$BATS_TEST_TMPDIR/new"
	mv "$BATS_TEST_TMPDIR/new" "$BATS_TEST_TMPDIR/fsd"
	run -0 bounded 20 "$FSD" upgrade "$MNT"
	assert_output "$MNT is served by $("$FSD" version)"
	after=$(server_pid)
	[ "$before" != "$after" ]
	assert_equal "$(readlink "/proc/$after/exe")" "$BATS_TEST_TMPDIR/fsd"
	ended a 3 exited
	job_run b 'out y'
}

@test "upgrade leaves a file that was removed to who has it open" {
	mkdir "$MNT/a"
	printf mine >"$MNT/a/data"
	exec 5<>"$MNT/a/data"
	rm -r "$MNT/a"
	bounded 20 "$FSD" upgrade "$MNT"
	assert_equal "$(cat <&5)" mine
	printf ' more' >&5
	assert_equal "$(cat /proc/self/fd/5)" 'mine more'
	exec 5>&-
}

@test "an end that is wished for between two servers is a clean one" {
	job_run a 'out x'
	kill -STOP "$DAEMON"
	kill -USR2 "$SERVER"
	# it is dead, and nobody has taken notice yet
	await becomes 20 grep -q '^State:.Z' "/proc/$SERVER/status"
	kill -TERM "$DAEMON"
	kill -CONT "$DAEMON"
	mount_ended
	mount_start
	ended a 0 exited
}

@test "upgrade --now ends running jobs as interrupted" {
	job_start a $'out up\nsleep 600000'
	job_follow a up
	run -0 bounded 20 "$FSD" upgrade --now "$MNT"
	ended a 125 interrupted
	stdout_is a up
}

@test "jobs that come while an upgrade waits run after it" {
	job_start a $'out up\nawait'
	job_follow a up
	"$FSD" upgrade "$MNT" >/dev/null &
	await becomes 20 grep -q 'takes over when' "$LOG"
	job_start b 'out later'
	state_is b queued
	goes_on a
	wait $!
	ended a 0 exited
	job_wait b
	stdout_is b later
}

@test "an upgrade to a program that does not work goes back to the one before" {
	mount_stop
	cp "$FSD" "$BATS_TEST_TMPDIR/fsd"
	FSD=$BATS_TEST_TMPDIR/fsd mount_start
	expect_log 'does not serve|cannot be started'
	mkdir "$MNT/a"
	printf '#!/bin/sh\nexit 9\n' >"$BATS_TEST_TMPDIR/bad"
	chmod 755 "$BATS_TEST_TMPDIR/bad"
	mv "$BATS_TEST_TMPDIR/bad" "$BATS_TEST_TMPDIR/fsd"
	run -1 bounded 20 "$FSD" upgrade "$MNT"
	assert_output --partial "$MNT is served by the one before"
	exists . a
	run grep -c 'does not serve' "$LOG"
	assert_output 1
	mount_stop
}

@test "upgrade of what is no mount of fsd is 1" {
	mkdir "$BATS_TEST_TMPDIR/d"
	run bounded 10 "$FSD" upgrade "$BATS_TEST_TMPDIR/d"
	assert_equal "$status" 1
	refute_output ''
}

# held_up — the only machine has a job that does not end.
held_up() {
	mount_stop
	mount_start --max-machines 1 --pool 1
	job_start first $'out up\nsleep 600000'
	job_follow first up
}

# waiting JOB... — what they show is their input, then their arguments.
waiting() {
	local i
	for i; do
		mkdir "$MNT/$i"
		job_put "$i" data inside
		job_put "$i" code.sh $'show data\nargs'
		job_put "$i" config.json '{"args": ["given"]}'
		state_is "$i" queued
	done
}

@test "a config, a program or an input that goes while its job waits is there for the next server" {
	local i
	held_up
	waiting a b c d
	rm "$MNT/a/config.json"
	rm "$MNT/b/data"
	rm "$MNT/c/code.sh"
	rm "$MNT"/d/*.json "$MNT"/d/code.sh "$MNT/d/data"
	server_kill
	for i in a b c d; do
		job_wait $i
		ended $i 0 exited
		assert_equal "$(sed -n '1p;$p' "$MNT/$i/stdout")" $'inside\ngiven'
	done
	assert_equal "$(cd "$MNT/d" && echo *.json code* data*)" 'result.json code* data*'
	await becomes 20 sh -c '! ls -d "$1"/jobs/*/removed.*' - "$STATE"
}

# sending JOB — a job whose machine takes no more than the beginning of its inputs.
sending() {
	mount_stop
	# the next one comes when what the server says of the job is stored
	FSD_FAKE_WITNESS=$BATS_TEST_TMPDIR/witness FSD_FAKE_FREEZE=1 \
		FSD_FAKE_START_MS=200 mount_start --pool 1 --max-machines 1
	await becomes 30 grep -q '^fsd_machines_warm 1$' "$MNT/.fsd/stats"
	mkdir "$MNT/$1"
	head -c 4000000 /dev/zero >"$MNT/$1/data"
	job_put "$1" code.sh $'witness w\nargs\nsleep 300\nout late'
	job_put "$1" config.json '{"args": ["given"]}'
	await becomes 20 grep -qx running "$MNT/$1/state"
	await becomes 20 sh -c 'cat "$0"/jobs/*/r1/order | grep -q .' "$STATE"
}

@test "a job whose program was not told to begin is queued again when its server dies" {
	sending a
	cat "$MNT/a/stdout.follow" >"$BATS_TEST_TMPDIR/follow" &
	local follower=$!
	exec 5<"$MNT/a/stdout"
	await reader "$follower" "$MNT" 20
	server_kill
	job_wait a
	ended a 0 exited
	result_is a .attempt 1
	result_is a '.attempts' '[]'
	[ "$(wc -l <"$BATS_TEST_TMPDIR/witness")" = 1 ]
	await exit "$follower" 20
	cmp "$BATS_TEST_TMPDIR/follow" "$MNT/a/stdout"
	grep -qx given "$MNT/a/stdout"
	# cmp of two descriptors of one file reads neither
	cat <&5 | cmp - "$MNT/a/stdout"
	exec 5<&-
	grep -q 'killed before its program had begun' "$MNT/a/log"
	assert_equal "$(jq -r 'select(.event == "state").state' "$MNT/a/events" |
		xargs)" 'queued running queued running done'
	assert_equal "$(grep -c '"time": "1970' "$MNT/a/events")" 0
}

@test "what such a job had while it ran can be removed" {
	sending a
	[ -e "$MNT/a/stdout" ]
	server_kill
	state_is a queued
	rm "$MNT/a/stdout"
	rm -r "$MNT/a"
}

@test "one whose program was removed has it, though another file of it is still written" {
	mount_stop
	FSD_FAKE_FREEZE=1 FSD_FAKE_START_MS=200 mount_start --pool 1 --max-machines 1
	await becomes 30 grep -q '^fsd_machines_warm 1$' "$MNT/.fsd/stats"
	mkdir "$MNT/a"
	head -c 4000000 /dev/zero >"$MNT/a/data"
	job_put a code.sh 'exit 0'
	exec 5>"$MNT/a/other"
	job_put a config.json '{"inputs": ["data"]}'
	await becomes 20 grep -qx running "$MNT/a/state"
	rm "$MNT/a/code.sh"
	server_kill
	job_wait a
	ended a 0 exited
	exec 5>&-
}

@test "it is cancelled, or removed, all the same" {
	sending a
	server_kill
	echo kill >"$MNT/a/ctl"
	job_wait a
	ended a 137 cancelled
	sending b
	server_kill
	rm -r "$MNT/b"
	[ ! -e "$MNT/b" ]
	mount_stop
	[ "$(wc -l <"$BATS_TEST_TMPDIR/witness")" -le 2 ]
}

@test "an input that was removed meanwhile is sent all the same" {
	sending a
	rm "$MNT/a/data"
	server_kill
	job_wait a
	ended a 0 exited
	[ "$(wc -l <"$BATS_TEST_TMPDIR/witness")" = 1 ]
}

@test "an input that goes before the next server has come to its job is run with all the same" {
	local i
	held_up
	# each holds up those behind it for some milliseconds
	jq -nc --argjson n "$(sanitized && echo 10000 || echo 100000)" \
		'{input: [range($n) | {a: 1}]}' >"$BATS_TEST_TMPDIR/large"
	for i in {1..20}; do
		mkdir "$MNT/large$i"
		job_put "large$i" code.sh 'exit 0'
		cp "$BATS_TEST_TMPDIR/large" "$MNT/large$i/config.json"
	done
	waiting a b c
	server_kill
	rm "$MNT/a/data"
	rm "$MNT/b/config.json"
	rm "$MNT/c/code.sh"
	job_wait a
	for i in a b c; do
		job_wait $i
		ended $i 0 exited
		stdout_is $i $'inside\n/bin/bash\n/home/user/code.sh\ngiven'
	done
	assert_equal "$(for i in a b c; do
		echo "$(result $i .started) $i"
	done | sort | cut -d' ' -f2 | xargs)" 'a b c'
}
