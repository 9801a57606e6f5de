#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The state directory's format, what is damaged in it, and what lies about.

load ../lib/common

setup() { mount_start; }
teardown() { mount_done; }

job_dir() {
	grep -lx "name $1" "$STATE"/jobs/*/meta | xargs dirname
}

# meta_old DIR... — as the format before this one has it
meta_old() {
	sed -i 's/^format .*/format 1/; /^queued /d; /^ended /d; /^attempt /d; /^retry /d; /^retain /d; /^held /d' \
		"${@/%//meta}"
}

# mount_refused TEXT... — it does not start, and says each text
mount_refused() {
	local text
	run bounded 20 "$FSD" mount --state "$STATE" "$MNT"
	assert_equal "$status" 1
	assert_equal "${#lines[@]}" 1
	for text in "$@"; do
		assert_output --partial "$text"
	done
}

# --- format -----------------------------------------------------------------

# bats test_tags=smoke
@test "a state directory says its format" {
	assert_equal "$(cat "$STATE/format")" 'format 3'
}

@test "a newer format is refused with both numbers and a remedy, and left as it is" {
	job_run a 'out x'
	mount_stop
	echo 'format 4' >"$STATE/format"
	local before
	before=$(cd "$STATE" && find . -printf '%p %T@\n' | sort)
	mount_refused 'format 4' 'formats up to 3' '--state'
	assert_equal "$(cd "$STATE" && find . -printf '%p %T@\n' | sort)" "$before"
}

@test "a format that nobody can read is refused" {
	mount_stop
	echo 'formt 2' >"$STATE/format"
	mount_refused "$STATE/format" 'remove that file'
	: >"$STATE/format"
	mount_refused "$STATE/format"
}

@test "a directory that is somebody's own is refused, and left as it is" {
	mount_stop
	rm -r "$STATE"
	mkdir -p "$STATE/trash" "$STATE/jobs"
	echo mine >"$STATE/trash/file"
	mount_refused "$STATE" 'trash/file' '--state'
	assert_equal "$(cat "$STATE/trash/file")" mine
	rm -r "$STATE/trash"
	mkdir "$STATE/jobs/carpenter"
	mount_refused 'jobs/carpenter' '--state'
	[ -d "$STATE/jobs/carpenter" ]
	rmdir "$STATE/jobs/carpenter"
	mount_start
	job_run a 'exit 3' || true
	exit_is a 3
}

@test "an older state directory is taken over, every job as it was" {
	job_run a $'out x\nexit 3'
	mkdir "$MNT/b"
	job_put b code.sh 'out y'
	job_put b new '{"nope": 1}'
	mv "$MNT/b/new" "$MNT/b/config.json"
	mkdir "$MNT/c"
	local before
	before=$(cd "$MNT" && sha256sum a/result.json a/stdout b/error && stat -c '%n %y' a b c)
	mount_stop
	meta_old "$STATE"/jobs/*
	rm "$STATE/format"
	mount_start
	assert_equal "$(cd "$MNT" && sha256sum a/result.json a/stdout b/error && stat -c '%n %y' a b c)" "$before"
	assert_equal "$(cat "$STATE/format")" 'format 3'
	assert_equal "$(grep -lx 'format 3' "$STATE"/jobs/*/meta | wc -l)" 3
	exit_is a 3
	state_is b refused
	state_is c draft
}

@test "a takeover that was killed half way is gone on with" {
	job_run a 'exit 3'
	job_run b 'exit 4'
	mount_stop
	meta_old "$(job_dir a)"
	rm "$STATE/format"
	echo 'format 1234' >"$STATE/format.new"
	mount_start
	exit_is a 3
	exit_is b 4
	assert_equal "$(cat "$STATE/format")" 'format 3'
	[ ! -e "$STATE/format.new" ]
}

# --- the queue ---------------------------------------------------------------

@test "queued jobs run in the order in which they were accepted, whatever their names and numbers" {
	mount_stop
	mount_start --max-machines 1 --pool 1
	local i
	# made in one order, accepted in another
	for i in 1 2 3 4 5 6; do
		mkdir "$MNT/j$i"
		job_put "j$i" code.sh 'out x'
	done
	job_start first $'out up\nsleep 600000'
	job_follow first up
	for i in 4 1 6 3 5 2; do
		job_put "j$i" config.json '{}'
		state_is "j$i" queued
	done
	mount_crash
	mount_start --max-machines 1 --pool 1
	for i in 1 2 3 4 5 6; do
		job_wait "j$i" >/dev/null
	done
	assert_equal "$(for i in 1 2 3 4 5 6; do
		echo "$(result "j$i" .started) $i"
	done | sort | cut -d' ' -f2 | xargs)" '4 1 6 3 5 2'
}

@test "a queued job that was started by hand is queued again" {
	mount_stop
	mount_start --max-machines 1 --pool 1
	job_start first $'out up\nsleep 600000'
	job_follow first up
	mkdir "$MNT/a"
	job_put a code.sh 'out by hand'
	job_put a config.json '{"start": "manual"}'
	echo start >"$MNT/a/ctl"
	state_is a queued
	mount_crash
	mount_start
	job_wait a
	stdout_is a 'by hand'
}

@test "a queued job runs under the next server also where no new one starts" {
	mount_stop
	mount_start --max-machines 1 --pool 1
	job_start first $'out up\nsleep 600000'
	job_follow first up
	job_start a 'out accepted'
	state_is a queued
	echo drain >"$MNT/.fsd/ctl"
	server_kill
	job_wait a
	ended a 0 exited
	status_is first interrupted
}

@test "a queued job stays queued when the daemon is told to end" {
	mount_stop
	mount_start --max-machines 1 --pool 1
	job_start first $'out up\nsleep 600000'
	job_follow first up
	job_start a 'out later'
	state_is a queued
	mount_stop
	mount_start
	status_is first interrupted
	job_wait a
	ended a 0 exited
	stdout_is a later
}

@test "a queued job that cannot be run any more ends as failed and says why" {
	mount_stop
	mount_start --max-machines 1 --pool 1
	job_start first $'out up\nsleep 600000'
	job_follow first up
	job_start a 'out later' '{"retry": 2}'
	state_is a queued
	mount_crash
	rm "$(job_dir a)/files/code.sh"
	mount_start
	job_wait a
	ended a 125 failed
	result_is a .attempt 1
	run result a .message
	assert_output --partial 'it was accepted, but cannot be run any more'
	job_put a code.sh 'out now'
	echo start >"$MNT/a/ctl"
	job_wait a
	stdout_is a now
}

@test "why a job failed is told after a restart as before" {
	job_run a $'out x\ncrash'
	job_start b 'out y' '{"nope": 1}' || true
	local before
	before=$(cd "$MNT" && sha256sum a/error b/error a/log b/log a/events)
	mount_stop
	mount_start
	assert_equal "$(cd "$MNT" && sha256sum a/error b/error a/log b/log a/events)" "$before"
	[ -s "$MNT/a/error" ] || fail 'it is empty'
	job_put a code.sh 'exit 0'
	job_put a config.json '{}'
	job_wait a
	assert_equal "$(cat "$MNT/a/error")" ''
	mount_stop
	mount_start
	assert_equal "$(cat "$MNT/a/error")" ''
}

# --- what is damaged ---------------------------------------------------------

# lost NAME TEXT... — it is there, once, and says each text
lost() {
	local name=$1 text
	shift
	run cat "$MNT/.fsd/lost+found/$name"
	assert_success
	for text in "$@"; do
		assert_output --partial "$text"
	done
	[ -e "$STATE/lost+found/$name/entry" ] ||
		[ -L "$STATE/lost+found/$name/entry" ] || fail 'it is not there'
}

@test "every kind of damage is set aside with its reason, and the rest lives" {
	local job dir
	for job in good garbage empty gone files twice old; do
		job_run "$job" "out $job"
	done
	mount_stop
	expect_log 'set aside'
	echo garbage >"$(job_dir garbage)/meta"
	dir=$(job_dir empty); mv "$dir" "$STATE/jobs/000000000000e1"
	: >"$STATE/jobs/000000000000e1/meta"
	dir=$(job_dir gone); mv "$dir" "$STATE/jobs/000000000000e2"
	rm "$STATE/jobs/000000000000e2/meta"
	dir=$(job_dir files); mv "$dir" "$STATE/jobs/000000000000e3"
	rm -r "$STATE/jobs/000000000000e3/files"
	sed -i 's/^name twice/name good/' "$(job_dir twice)/meta"
	touch "$STATE/jobs/a file"
	mkdir "$STATE/jobs/.hidden" "$STATE/jobs/NOT-OURS"
	ln -s /etc "$STATE/jobs/0123456789abcd"
	mount_start
	assert_equal "$(names "$MNT")" '.fsd good old'
	stdout_is good good
	stdout_is old old
	assert_equal "$(ls "$MNT/.fsd/lost+found" | wc -l)" 9
	assert_equal "$(figure fsd_lost_found)" 9
	health_is_ok
	lost 000000000000e1 'has no record' 'jobs/000000000000e1' "$STATE/lost+found/000000000000e1/entry"
	lost 000000000000e2 'has no record'
	lost 000000000000e3 'files/ is missing'
	lost 0123456789abcd 'not a directory'
	lost NOT-OURS 'not one that fsd gives'
	lost entry 'jobs/'
	lost entry.1 'jobs/'
	grep -q 'an older job of the same name' "$MNT"/.fsd/lost+found/*
	grep -q 'not as fsd writes it' "$MNT"/.fsd/lost+found/*
	[ -d /etc ] && [ -e /etc/passwd ]
	assert_equal "$(grep -c 'set aside' "$LOG")" 9
}

@test "what was set aside stays there, once, over restarts, until it is removed" {
	mount_stop
	expect_log 'set aside'
	touch "$STATE/jobs/x"
	mount_start
	local text
	text=$(cat "$MNT/.fsd/lost+found/x")
	mount_crash
	mkdir "$STATE/lost+found/half"
	mount_start
	assert_equal "$(names "$MNT/.fsd/lost+found")" x
	assert_equal "$(cat "$MNT/.fsd/lost+found/x")" "$text"
	assert_equal "$(stat -c %a "$MNT/.fsd/lost+found/x")" 400
	fails EPERM rm "$MNT/.fsd/lost+found/x"
	rm -r "$STATE/lost+found/x"
	assert_equal "$(names "$MNT/.fsd/lost+found")" ''
	assert_equal "$(figure fsd_lost_found)" 0
	[ ! -e "$MNT/.fsd/lost+found/x" ]
}

@test "a job that was mended by hand is there again" {
	job_run a 'out x'
	mount_stop
	expect_log 'set aside'
	local id
	id=$(basename "$(job_dir a)")
	cp "$STATE/jobs/$id/meta" "$BATS_TEST_TMPDIR/meta"
	echo >"$STATE/jobs/$id/meta"
	mount_start
	absent . a
	mount_stop
	mv "$STATE/lost+found/$id/entry" "$STATE/jobs/$id"
	cp "$BATS_TEST_TMPDIR/meta" "$STATE/jobs/$id/meta"
	mount_start
	stdout_is a x
	assert_equal "$(names "$MNT/.fsd/lost+found")" ''
}

# --- what lies about -----------------------------------------------------------

@test "what a killed daemon left of earlier runs and copies is gone after the next start" {
	job_run a 'out x'
	mkdir "$MNT/b"
	mount_crash
	local a b
	a=$(job_dir a) b=$(job_dir b)
	sed -i 's/^run 1$/run 3/' "$a/meta"
	mv "$a/r1" "$a/r3"
	mkdir -p "$a/r1/output" "$a/r2" "$b/sink/d" "$STATE/trash/7/d"
	echo x >"$a/r1/output/f"
	echo x >"$b/sink/d/f"
	echo x >"$a/strangers"
	touch "$a/log" # its lines may not have come that far
	mount_start
	stdout_is a x
	mount_stop
	assert_equal "$(names "$a")" 'files log meta r3 strangers'
	assert_equal "$(names "$b")" 'files meta'
	assert_equal "$(names "$STATE/trash")" ''
	assert_equal "$(names "$STATE/jobs" | wc -w)" 2
}

@test "a job's log is bounded, and says so where it was cut" {
	job_run a 'out x'
	mount_stop
	local log
	log=$(job_dir a)/log
	seq -f 'line %010.0f' 16384 >"$log"
	mount_start
	job_put a config.json '{}'
	job_wait a
	assert_equal "$(tail -n 4 "$MNT/a/log" | cut -d' ' -f2- | xargs)" \
		'queued running exited, exit code 0 done'
	run stat -c %s "$MNT/a/log"
	[ "$output" -le $((256 * 1024)) ] && [ "$output" -gt $((120 * 1024)) ]
	run head -n 1 "$MNT/a/log"
	assert_output --partial 'is left out: at most 256 KiB are kept'
	# from the start of a line on, and none is missing
	run sed -n '2,9000{/^line/p}' "$MNT/a/log"
	assert_equal "${lines[0]}" "$(printf 'line %010d' "$((16385 - ${#lines[@]}))")"
	[ ! -e "${log%/*}/log.new" ]
}

# --- many jobs -----------------------------------------------------------------

many() {
	bounded 120 /usr/bin/python3 -I -S "$TESTS/lib/many_jobs.py" "$STATE" "$@"
}

@test "ten thousand finished jobs do not keep the mount from answering" {
	mount_stop
	many 10000
	local began=$EPOCHREALTIME ended
	MOUNT_SECONDS=10 mount_start
	ended=$EPOCHREALTIME
	echo "# 10000 jobs: $((${ended/./} / 1000 - ${began/./} / 1000)) ms" >&3
	stdout_is j0 j0
	stdout_is j9999 j9999
	assert_equal "$(ls "$MNT" | wc -l)" 10000
}

@test "a long queue does not keep the mount from answering, and any of it can be ended" {
	mount_stop
	many 5000 queued
	MOUNT_SECONDS=10 mount_start --max-machines 1 --pool 1
	echo kill >"$MNT/j4999/ctl"
	job_wait j4999
	ended j4999 137 cancelled
	rm -r "$MNT/j4998"
	job_wait j0
	stdout_is j0 j0
	mount_stop
	mount_start --max-machines 1 --pool 1
	status_is j4999 cancelled
	absent . j4998
}

@test "a state directory that is removed under a mount is told: EIO, and health says how" {
	expect_log 'removed while it was served|cannot|lock'
	job_run a 'out x'
	rm -rf "${STATE:?}"/*
	fails EIO mkdir "$MNT/b"
	run cat "$MNT/.fsd/health"
	assert_output --partial 'the state directory was removed while it was served'
	ls -lR "$MNT" >/dev/null || true
	mount_stop
	mount_start
	job_run b 'out y'
	stdout_is b y
}
