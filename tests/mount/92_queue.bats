#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Who runs when: memory, priorities, a full queue.

load ../lib/common
load ../lib/queue

teardown() {
	mount_done || return
	[ -z "${MEMORY:-}" ] || rm -f "$MEMORY"
}

# memory AVAILABLE TOTAL — the host's, in MiB, from now on: a server's reading of it
# holds for 5 ms.
memory() {
	local before=
	export MEMORY=$BATS_TEST_TMPDIR/memory
	export FSD_FAKE_MEMORY=$MEMORY
	[ -z "${DAEMON:-}" ] || before=$(figure fsd_memory_room_bytes)
	echo "$@" >"$MEMORY"
	# shellcheck disable=SC2016 # expanded inside
	[ -z "$before" ] || await becomes 20 sh -c \
		'! grep -qx "fsd_memory_room_bytes $1" "$2"' - "$before" "$MNT/.fsd/stats"
}

# log_has JOB TEXT COUNT
log_has() {
	assert_equal "$(grep -cF -- "$2" "$MNT/$1/log")" "$3"
}

# becomes VALUE NAME — a figure, in time.
becomes() {
	await becomes 20 sh -c "[ \"\$(awk -v n='$2' '\$1 == n { print \$2 }' \
		'$MNT/.fsd/stats')\" = '$1' ]"
}

# bats test_tags=smoke
@test "of one user's jobs the highest priority is first, then the oldest" {
	local job
	one
	for job in a:0 b:-1 c:7 d:0 e:7 f:-100; do
		job_start "${job%:*}" 'sleep 5' "{\"priority\": ${job#*:}}"
	done
	first_ends
	for job in a b c d e f; do
		job_wait $job
	done
	assert_equal "$(for job in a b c d e f; do
		echo "$(result $job .started) $job"
	done | sort | cut -d' ' -f2 | xargs)" 'c e a d b f'
}

@test "a job that waits says in its log for what, once" {
	one
	job_start a 'out x'
	log_has a 'waits for a machine: all 1 are in use (--max-machines)' 1
	job_start b 'out x'
	first_ends
	job_wait b
	log_has a waits 1
	log_has b waits 1
	log_has first waits 0
}

@test "while a template is made health and the job's log say how long it takes" {
	mkdir -p "$BATS_TEST_TMPDIR/state/templates"
	echo 42000 >"$BATS_TEST_TMPDIR/state/templates/took-tcg"
	# as a boot is that does not end: the mount is stopped with it
	FSD_FAKE_START_MS=600000 mount_start
	health_becomes 'the template machine is being made: booting (fake) (0 s so far, about 42 s in all)'
	job_start a 'out x'
	state_is a queued
	await becomes 20 grep -q 'which is made once: booting (fake) ([0-9]* s so far, about 42 s in all)' "$MNT/a/log"
	health_becomes ' (1 s so far, about 42 s in all)'
	run bounded 20 "$FSD" status "$MNT/a"
	assert_output --regexp '^a: queued for .*: waits for the template of machines for up to 4160 MiB'
}

@test "a job of up to 4 GiB needs no template of its own" {
	local mb
	mount_start
	job_run a 'out x'
	for mb in 1500 4096; do
		job_run m$mb 'out x' "{\"memory_mb\": $mb}"
		ended m$mb 0 exited
		log_has m$mb 'waits for the template' 0
	done
	assert_equal "$(figure fsd_templates_made_total)" 1
}

@test "a job that is the first with a machine of its template says so in its log" {
	mount_start
	job_run a 'out x'
	job_run b 'out x' '{"memory_mb": 512, "cpus": 2}'
	job_run c 'out x' '{"memory_mb": 512, "cpus": 2}'
	log_has b 'waits for the template of machines for up to 4160 MiB (memory_mb) and 2 processors, which is made once: ' 1
	log_has c waits 0
	log_has b ' queued' 1
}

@test "a job waits for memory, and runs when another process has freed it" {
	memory 300 4000
	mount_start --pool 0
	job_start a 'out x'
	state_is a queued
	log_has a 'waits for memory: its machine may come to 384 MiB, and 50 MiB can be promised now' 1
	job_start small 'out x' '{"memory_mb": 32}'
	log_has small 'waits for memory' 1
	state_is small queued
	memory 1000 4000
	assert_equal "$(job_wait a)" 0
	assert_equal "$(job_wait small)" 0
	log_has a waits 1
}

@test "a small job passes one that waits for memory" {
	memory 700 4000
	mount_start --pool 0
	job_start big 'out x' '{"memory_mb": 1000}'
	state_is big queued
	job_run small 'out x' '{"memory_mb": 64}'
	ended small 0 exited
	state_is big queued
	rm -r "$MNT/big"
	assert_equal "$(figure fsd_runs_waiting)" 0
}

@test "what is promised to a machine is not promised to another, used or not" {
	memory 1100 4000
	mount_start --pool 0
	job_start a $'out up\nsleep 600000'
	job_start b $'out up\nsleep 600000'
	job_follow a up
	job_follow b up
	job_start c $'out up\nsleep 600000'
	state_is c queued
	assert_equal "$(figure fsd_memory_promised_bytes)" $(((2 * 384 << 20) + 2 * 20))
	rm -r "$MNT/a"
	job_follow c up
	rm -r "$MNT/b" "$MNT/c"
	assert_equal "$(figure fsd_memory_promised_bytes)" 0
}

@test "idle machines give way to a job that waits for memory, and come back" {
	memory 4000 4000
	mount_start --pool 3 --max-machines 8
	becomes 3 fsd_machines_warm
	memory 300 4000
	job_start a 'out x'
	becomes 0 fsd_machines_warm
	state_is a queued
	memory 4000 4000
	assert_equal "$(job_wait a)" 0
	becomes 3 fsd_machines_warm
}

@test "a job that never fits is refused at once, and so is one with its files" {
	memory 1000 1000
	mount_start --pool 0
	job_start a 'out x' '{"memory_mb": 800}'
	refused a 'may come to 928 MiB, and this host never has more than 872 MiB'
	job_start b 'out x' '{"memory_mb": 700}'
	assert_equal "$(job_wait b)" 0
	# the end of its machine changes the room too, and `memory` waits for a change
	becomes 0 fsd_memory_promised_bytes
	mkdir "$MNT/c"
	truncate -s 300M "$MNT/c/data"
	job_put c code.sh 'out x'
	job_put c config.json '{"memory_mb": 600}'
	refused c 'may come to 1028 MiB'
	memory 800 1000
	# not even without the files
	job_put c config.json '{"memory_mb": 610, "retry": 2}'
	state_is c queued
	memory 1000 1000
	job_wait c
	ended c 125 failed
	result_is c .attempt 1
	run result c .message
	assert_output --partial 'may come to 1038 MiB'
	memory 2000 2000
	job_put a config.json '{"memory_mb": 800}'
	assert_equal "$(job_wait a)" 0
}

@test "a full queue is told to who would start a job, and nothing is lost" {
	one --max-queued 2
	job_start a 'out a'
	job_start b 'out b'
	mkdir "$MNT/c"
	job_put c code.sh 'out c'
	echo '{}' >"$BATS_TEST_TMPDIR/config"
	fails EAGAIN cp "$BATS_TEST_TMPDIR/config" "$MNT/c/config.json"
	refused c 'the queue is full: 2 jobs wait, as many as --max-queued allows'
	fails EAGAIN dd if=<(echo start) of="$MNT/c/ctl" conv=notrunc
	state_is c refused
	mkdir "$MNT/.d"
	job_put .d code.sh 'out d'
	job_put .d config.json '{}'
	fails EAGAIN mv "$MNT/.d" "$MNT/d"
	absent . d
	exists .d config.json
	run cat "$MNT/.fsd/last_error"
	assert_output --partial 'd: the queue is full'
	mkdir "$MNT/e"
	job_put e config.json '{}'
	echo 'out e' >"$BATS_TEST_TMPDIR/code"
	fails EAGAIN cp "$BATS_TEST_TMPDIR/code" "$MNT/e/code.sh"
	refused e 'the queue is full'
	mkdir "$MNT/f"
	job_put f code.sh 'out f'
	job_put f tmp '{}'
	fails EAGAIN mv "$MNT/f/tmp" "$MNT/f/config.json"
	state_is f draft
	first_ends
	job_wait a
	job_wait b
	echo start >"$MNT/c/ctl"
	mv "$MNT/.d" "$MNT/d"
	cp "$BATS_TEST_TMPDIR/config" "$MNT/e/config.json"
	mv "$MNT/f/tmp" "$MNT/f/config.json"
	local job
	for job in c d e f; do
		job_wait $job
		stdout_is $job $job
	done
}

@test "a part of the queue is each user's" {
	one --quota-queued 1
	job_start a 'out a'
	job_start b 'out b'
	refused b "1 jobs of user 0 wait, as many as --quota-queued allows"
	first_ends
	job_wait a
	job_put b config.json '{}'
	job_wait b
	stdout_is b b
}

# at_once HOW COUNT EXPECTED [CONFIG] — jobs that are completed all together.
at_once() {
	run -0 queue at_once "$MNT" "$1" "$2" "${4:-{\}}"
	assert_output "$3"
}

@test "of jobs that are closed all at once so many are queued as may wait, and each close tells" {
	one --max-queued 1
	at_once close 16 $'0 queued 1\nEAGAIN refused 15'
	assert_equal "$(cat "$MNT"/close*/error |
		grep -c 'the queue is full: 1 jobs wait, as many as --max-queued allows')" 15
}

@test "of a user's jobs that are closed all at once so many are queued as may wait" {
	one --quota-queued 2
	at_once close 16 $'0 queued 2\nEAGAIN refused 14'
}

@test "of jobs that are renamed all at once so many are queued as may wait, and the others are as they were" {
	one --max-queued 1
	at_once submit 16 $'0 queued 1\nEAGAIN draft 15'
	mount_stop
	rm -r "$STATE"
	one --max-queued 3
	at_once config 16 $'0 queued 3\nEAGAIN draft 13'
}

@test "a rename of the program that completes a job tells that the queue is full, and has renamed nothing" {
	one --max-queued 1
	at_once code 16 $'0 queued 1\nEAGAIN draft 15'
	assert_equal "$(find "$MNT"/code* -name tmp | wc -l)" 15
}

@test "of jobs that are started all at once so many are queued as may wait" {
	one --max-queued 1
	at_once start 16 $'0 queued 1\nEAGAIN draft 15'
}

@test "places in the queue that were kept for nothing are had again" {
	one --max-queued 2
	at_once close 16 $'0 queued 2\nEAGAIN refused 14'
	rm -r "$MNT"/close*
	at_once submit 16 $'0 queued 2\nEAGAIN draft 14'
	rm -r "$MNT"/submit* "$MNT"/.submit*
	at_once code 16 $'0 queued 2\nEAGAIN draft 14'
	first_ends
	rm -r "$MNT"/code*
	assert_equal "$(figure fsd_runs_waiting)" 0
}

@test "a job that begins one session too many is refused, and its close tells" {
	mount_start --max-machines 2
	job_start a 'out a' '{"session": "a"}'
	job_wait a
	mkdir "$MNT/b"
	job_put b code.sh 'out b'
	echo '{"session": "b"}' >"$BATS_TEST_TMPDIR/config"
	fails EAGAIN cp "$BATS_TEST_TMPDIR/config" "$MNT/b/config.json"
	refused b '1 sessions live already, as many as machines allow'
	rmdir "$MNT/.fsd/sessions/a"
	await becomes 20 sh -c 'echo start >"$1"' - "$MNT/b/ctl"
	job_wait b
	stdout_is b b
}

# two_held — two machines, of which plain jobs have both.
two_held() {
	local job
	mount_start --max-machines 2
	for job in h1 h2; do
		job_start $job $'out up\nsleep 600000' '{"timeout": 3600}'
		job_follow $job up
	done
}

two_end() {
	echo kill >"$MNT/h1/ctl"
	echo kill >"$MNT/h2/ctl"
}

@test "a step that was accepted waits until its session can begin, and holds nobody up" {
	local i
	two_held
	job_start x 'remember x' '{"session": "x"}'
	job_start y1 'remember 1' '{"session": "y"}'
	job_start y2 $'recall\nremember 2' '{"session": "y"}'
	for i in $(seq 20); do
		job_start "z$i" 'out z' "{\"session\": \"z$i\"}"
	done
	job_start other 'out other'
	two_end
	job_wait x
	job_wait other
	stdout_is other other
	state_is y1 queued
	state_is z20 queued
	log_has y1 'waits until its session can begin: 1 sessions live already' 1
	rmdir "$MNT/.fsd/sessions/x"
	job_wait y2
	ended y1 0 exited
	stdout_is y2 1
	rmdir "$MNT/.fsd/sessions/y"
	job_wait z1
	stdout_is z1 z
	job_run other2 'out other'
	stdout_is other2 other
}

@test "a step that waits until its session can begin waits on after a restart, and can be killed" {
	two_held
	job_start x $'out up\nsleep 600000' '{"session": "x", "timeout": 3600}'
	job_start y 'out y' '{"session": "y"}'
	job_start z 'out z' '{"session": "z"}'
	mount_stop
	mount_start --max-machines 2
	job_follow x up
	await becomes 20 grep -q 'waits until its session can begin' "$MNT/z/log"
	echo kill >"$MNT/y/ctl"
	job_wait y
	ended y 137 cancelled
	state_is z queued
	rmdir "$MNT/.fsd/sessions/x"
	job_wait z
	stdout_is z z
}

# A session whose step does not wait, of the mount that is $1.
BEGUN='for s in "$1"/.fsd/sessions/*; do
	grep -qx queued "$1/${s##*/}/state" || { echo "${s##*/}"; exit 0; }
done
exit 1'

# each_ends COUNT — so many sessions begin, one after the other, and their jobs end.
each_ends() {
	local left job
	for ((left = $1; left; left--)); do
		await becomes 20 sh -c "$BEGUN" - "$MNT"
		job=$(sh -c "$BEGUN" - "$MNT")
		job_wait "$job"
		ended "$job" 0 exited
		rmdir "$MNT/.fsd/sessions/$job"
	done
}

@test "of jobs that begin sessions all at once each that was accepted ends" {
	local accepted=1 round
	mount_start --max-machines 2
	# now and then the first begins before the others have asked
	for ((round = 0; accepted == 1 && round < 20; round++)); do
		rm -rf "$MNT"/close*
		run -0 queue at_once "$MNT" close 16 '{"session": "NAME"}'
		refute_line --regexp '^0 refused'
		refute_line --regexp '^EAGAIN [^r]'
		accepted=$(cd "$MNT" && grep -Lx refused close*/state | wc -l)
		each_ends "$accepted"
	done
	[ "$accepted" -gt 1 ]
}

@test "a job whose close has failed does not start by itself when there is room" {
	one --max-queued 1
	job_start a 'out a'
	run -0 queue late "$MNT" late first
	assert_output $'close: EAGAIN\nthen: refused\nstart: 0'
	job_wait late
	stdout_is late x
}

@test "a job whose close was answered has its place, though the server died before its release came" {
	mount_start --max-machines 1 --pool 1 --max-queued 2
	run -0 queue promised "$MNT" a
	assert_output $'close: 0\nwaiting: queued\nlate: EAGAIN\nthen: queued'
	echo kill >"$MNT/running/ctl"
	job_wait a
	stdout_is a x
	job_wait waiting
	state_is late refused
}

@test "what makes no job start is not refused by a full queue" {
	one --max-queued 1
	job_start a 'out a'
	mkdir "$MNT/b" "$MNT/.c"
	echo '{}' >"$BATS_TEST_TMPDIR/config"
	echo '{"start": "manual"}' >"$BATS_TEST_TMPDIR/manual"
	cp "$BATS_TEST_TMPDIR/config" "$MNT/b/config.json"
	cp "$BATS_TEST_TMPDIR/manual" "$MNT/.c/config.json"
	cp "$BATS_TEST_TMPDIR/config" "$MNT/.c/code.sh"
	mv "$MNT/.c" "$MNT/c"
	state_is b draft
	state_is c draft
	first_ends
}

@test "wrong options of the queue are refused with what is allowed" {
	local option
	mkdir "$BATS_TEST_TMPDIR/m"
	for option in '--max-queued -1' '--max-queued many' '--quota-queued 1x' \
		'--memory-reserve 1T' '--memory-reserve all'; do
		# shellcheck disable=SC2086
		run bounded 10 "$FSD" mount $option "$BATS_TEST_TMPDIR/m"
		assert_equal "$status" 2
		assert_output --partial 'must be a number'
	done
}

@test "a file that is removed from a queued job is still sent" {
	one
	mkdir -p "$MNT/a/d"
	echo inside >"$MNT/a/d/data"
	job_put a code.sh $'show data\nfiles'
	job_put a config.json '{}'
	state_is a queued
	rm -r "$MNT/a/d" "$MNT/a/code.sh"
	first_ends
	job_wait a
	ended a 0 exited
	run cat "$MNT/a/stdout"
	assert_line --partial 'd/data 7'
}

# many JOB COUNT — a job that tells its files, f00001 and so on.
many() {
	mkdir "$MNT/$1"
	(cd "$MNT/$1" && seq -f 'f%05g' "$2" | xargs touch)
	job_put "$1" code.sh files
	job_put "$1" config.json '{"start": "manual"}'
}

# has_all JOB COUNT
has_all() {
	job_wait "$1"
	ended "$1" 0 exited
	assert_equal "$(grep -c '^f[0-9]* 0 ' "$MNT/$1/stdout")" "$2"
}

@test "so is each of many files, whichever are removed" {
	one
	many a 6000
	echo start >"$MNT/a/ctl"
	state_is a queued
	rm "$MNT/a/f05990" "$MNT/a/f00010"
	first_ends
	has_all a 6000
}

@test "and one that is removed while the files are listed for the machine that is there" {
	mount_start
	many a 6000
	/usr/bin/python3 -I -S -c 'import os, sys
os.chdir(sys.argv[1])
ctl = os.open("ctl", os.O_WRONLY)
os.write(ctl, b"start")
os.unlink("f06000")' "$MNT/a"
	has_all a 6000
}

@test "and one that was removed before its job had to wait for memory" {
	memory 1000 4000
	one
	mkdir "$MNT/a"
	truncate -s 300M "$MNT/a/large"
	echo inside >"$MNT/a/data"
	job_put a code.sh 'show data'
	job_put a config.json '{"memory_mb": 32}'
	state_is a queued
	rm "$MNT/a/data"
	memory 500 4000
	first_ends
	await becomes 20 grep -q 'waits for memory: its machine may come to 460' "$MNT/a/log"
	memory 4000 4000
	assert_equal "$(job_wait a)" 0
	stdout_is a inside
}

# left_with FUNCTION... — a and b wait, a without some of its inputs; then fsd ends
# in this way and is there again.
left_with() {
	local job
	one
	for job in a b; do
		mkdir -p "$MNT/$job/d/empty"
		echo x | tee "$MNT/$job/x" "$MNT/$job/d/x" >"$MNT/$job/d/y"
		job_put $job code.sh files
		job_put $job config.json '{}'
	done
	rm "$MNT/a/x" "$MNT/a/d/x"
	rmdir "$MNT/a/d/empty"
	"$@"
	absent a x
	absent a d/empty
	exists a d/y
	for job in a b; do
		job_wait $job
		ended $job 0 exited
		sort "$MNT/$job/stdout" >"$BATS_TEST_TMPDIR/$job"
	done
	cmp "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b"
	# the next submission has what is there
	job_put a config.json '{}'
	job_wait a
	ended a 0 exited
	run cat "$MNT/a/stdout"
	refute_line --partial 'x 2 '
}

again() {
	mount_stop
	mount_start
}

@test "a job of which files were removed runs with them when its server was killed" {
	left_with server_kill
}

@test "and when fsd was stopped" {
	left_with again
}

@test "a file that the disk cannot move stays, and is sent" {
	one
	mkdir "$MNT/a"
	echo x >"$MNT/a/x"
	job_put a code.sh files
	job_put a config.json '{}'
	gate 'fail:EIO:renameat:jobs/*/files/x'
	fails EIO rm "$MNT/a/x"
	gate_end
	exists a x
	first_ends
	job_wait a
	run cat "$MNT/a/stdout"
	assert_line --partial 'x 2 '
}

@test "jobs that wait when fsd ends wait again when it is back, and run" {
	one
	job_start a 'out a'
	job_start b 'out b'
	mount_stop
	mount_start --max-machines 1 --max-queued 1
	ended first 125 interrupted
	job_wait a
	job_wait b
	stdout_is a a
	stdout_is b b
}

@test "--max-timeout and --max-memory: a job may ask for what the operator allows, and no more" {
	mount_start --max-timeout 7200 --max-memory 300
	job_run a 'out x' '{"timeout": 7200, "memory_mb": 300}'
	stdout_is a x
	mkdir "$MNT/b" "$MNT/c"
	run bash -c 'echo "{\"timeout\": 7200.1}" >"$0/config.json"' "$MNT/b"
	[ "$status" != 0 ]
	assert_regex "$(cat "$MNT/b/error")" '"timeout" is 7200.1; .* to 7200'
	run bash -c 'echo "{\"memory_mb\": 301}" >"$0/config.json"' "$MNT/c"
	[ "$status" != 0 ]
	assert_regex "$(cat "$MNT/c/error")" '"memory_mb" is 301; .* to 300'
}
