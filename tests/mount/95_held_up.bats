#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What is large is done by the worker or in turns, and comes to the same.

load ../lib/common

setup() { mount_start; }
teardown() { mount_done; }

# big_config FILE [MEMBERS] — almost 1 MiB that takes long to parse.
big_config() {
	jq -nc "{input: [range(120000) | {a: 1}]$2}" | head -c 1048576 >"$1"
}

# files DIRECTORY COUNT — f1, f2, ...
files() {
	(cd "$1" && seq -f 'f%g' "$2" | xargs touch)
}

@test "a large config that is renamed into place is looked at when mv returns" {
	mkdir "$MNT/a"
	job_put a code.sh 'exit 3'
	big_config "$MNT/a/tmp" ', timeout: -3'
	mv "$MNT/a/tmp" "$MNT/a/config.json"
	refused a '"timeout" is -3'
	big_config "$MNT/a/tmp" ', timeout: 3'
	mv "$MNT/a/tmp" "$MNT/a/config.json"
	[ "$(job_state a)" != draft ] && [ "$(job_state a)" != refused ]
	assert_equal "$(job_wait a)" 3
}

@test "a large config is parsed by the worker however it comes" {
	mkdir "$MNT/a"
	job_put a code.sh 'exit 3'
	big_config "$BATS_TEST_TMPDIR/c" ', timeout: -3'
	check worker-does "$SERVER" cp "$BATS_TEST_TMPDIR/c" "$MNT/a/config.json"
	mkdir "$MNT/b"
	job_put b code.sh 'exit 3'
	cp "$BATS_TEST_TMPDIR/c" "$MNT/b/tmp"
	check worker-does "$SERVER" mv "$MNT/b/tmp" "$MNT/b/config.json"
	refused b '"timeout" is -3'
	check worker-does "$SERVER" truncate -s -20 "$MNT/b/config.json"
	refused b 'config.json'
	mkdir "$MNT/c"
	big_config "$MNT/c/config.json" ', start: "manual"'
	job_put c code.sh 'exit 4'
	state_is c draft
	mount_stop
	mount_start
	check worker-does "$SERVER" sh -c 'echo start >"$1"' - "$MNT/c/ctl"
	assert_equal "$(job_wait c)" 4
}

# bats test_tags=smoke
@test "large writes hold up nobody but their writer, and are exact" {
	mkdir "$MNT/.a"
	head -c 30000000 /dev/urandom >"$BATS_TEST_TMPDIR/big"
	check writes-elsewhere "$SERVER" cp "$BATS_TEST_TMPDIR/big" "$MNT/.a/big"
	cmp "$BATS_TEST_TMPDIR/big" "$MNT/.a/big"
	dd if="$BATS_TEST_TMPDIR/big" of="$MNT/.a/odd" bs=70001 2>/dev/null
	cmp "$BATS_TEST_TMPDIR/big" "$MNT/.a/odd"
	cat "$BATS_TEST_TMPDIR/big" >>"$MNT/.a/odd"
	assert_equal "$(stat -c %s "$MNT/.a/odd")" 60000000
	tail -c 30000000 "$MNT/.a/odd" | cmp - "$BATS_TEST_TMPDIR/big"
}

@test "a file of output that a full disk cannot take is left out, not cut" {
	local text
	small_disk 1m --quota-bytes 100M
	text=$(head -c 700000 /dev/zero | tr '\0' y)
	job_run a "write f $text"$'\nwrite g short\nexit 3'
	ended a 3 exited
	result_is a .output_dropped 1
	result_is a '[.output[].path] | join(" ")' g
	assert_equal "$(names "$MNT/a/output")" g
	run cat "$MNT/a/log"
	assert_output --partial 'left out: it could not be stored: No space left on device'
	assert_equal "$(figure 'fsd_user_bytes{uid="0"}')" "$(cat \
		"$STATE"/jobs/*/{files/*,r1/result.json,r1/output/g} | wc -c)"
}

@test "a large write to a full disk is told to its writer, and what fits is kept" {
	small_disk 4m
	mkdir "$MNT/.a"
	fails ENOSPC dd if=/dev/zero of="$MNT/.a/big" bs=256k count=40
	run cat "$MNT/.fsd/last_error"
	assert_output --partial 'No space left'
	rm -r "$MNT/.a"
	job_run b 'out fits'
	stdout_is b fits
}

@test "a job that is removed while its config is parsed leaves nothing" {
	local i
	for i in 1 2 3; do
		mkdir "$MNT/a"
		job_put a code.sh 'exit 3'
		big_config "$MNT/a/tmp"
		mv "$MNT/a/tmp" "$MNT/a/config.json" &
		rm -rf "$MNT/a" || true
		wait $! || true
		rm -rf "$MNT/a"
	done
	assert_equal "$(ls -A "$MNT")" .fsd
	mount_stop
	run find "$STATE/jobs" -mindepth 1
	assert_output ''
}

@test "a large config that was not looked at before the end starts afterwards" {
	mkdir "$MNT/a"
	job_put a code.sh 'exit 3'
	big_config "$MNT/a/tmp"
	mv "$MNT/a/tmp" "$MNT/a/config.json" &
	mount_stop || true
	wait $! || true
	mount_start
	[ -e "$MNT/a/config.json" ] || mv "$MNT/a/tmp" "$MNT/a/config.json"
	# It was looked at after all, and told not to be accepted.
	[ "$(cat "$MNT/a/state")" != refused ] || echo start >"$MNT/a/ctl"
	assert_equal "$(job_wait a)" 3
}

@test "a job that is completed while the daemon ends is not accepted, nor by the next one" {
	job_start busy $'out up\nsleep 600000'
	job_follow busy up
	mkdir "$MNT/a"
	job_put a code.sh 'exit 3'
	big_config "$MNT/a/tmp"
	"$FSD" umount "$MNT" &
	bounded 20 sh -c 'until grep -q "stopping when" "$1"; do :; done' _ "$LOG"
	run mv "$MNT/a/tmp" "$MNT/a/config.json"
	assert_failure
	run cat "$MNT/.fsd/last_error"
	assert_output --partial 'fsd is about to end: this was not accepted'
	[ -e "$MNT/a/tmp" ]
	echo kill >"$MNT/busy/ctl"
	wait $!
	await exit "$DAEMON" 20
	mount_start
	job_run b 'out b'
	state_is a draft
	mv "$MNT/a/tmp" "$MNT/a/config.json"
	assert_equal "$(job_wait a)" 3
}

@test "a large result: exit_code is last, the state follows, all is there" {
	local program
	program=$(for i in $(seq 3000); do echo "write d$((i % 7))/f$i $i"; done)
	job_start a "$program
result {\"value\": [1, 2]}
exit 3"
	assert_equal "$(JOB_SECONDS=60 job_wait a)" 3
	ended a 3 exited
	result_is a '.output | length' 3000
	result_is a '.value | length' 2
	assert_equal "$(grep -c ' done$' "$MNT/a/log")" 1
	job_put a code.sh 'exit 4'
	echo start >"$MNT/a/ctl"
	assert_equal "$(job_wait a)" 4
	assert_equal "$(ls -A "$MNT/a/output")" ''
}

@test "a job that ends is removed or stopped while its result is rendered" {
	local program i
	program=$(for i in $(seq 2000); do echo "write f$i $i"; done)
	for i in 1 2 3; do
		job_start a "out up
$program"
		job_follow a up
		rm -r "$MNT/a"
	done
	job_start b "out up
$program"
	job_follow b up
	mount_stop
	mount_start
	state_is b 'done'
	[ -s "$MNT/b/result.json" ]
	assert_equal "$(cat "$MNT/b/wait")" "$(cat "$MNT/b/exit_code")"
	assert_equal "$(find "$STATE/jobs" -mindepth 1 -maxdepth 1 | wc -l)" 1
}

@test "a job of many inputs runs with all of them, is killed and removed" {
	mkdir -p "$MNT/a/d/e"
	files "$MNT/a" 3000
	files "$MNT/a/d/e" 1000
	job_put a code.sh files
	job_put a config.json '{"start": "manual"}'
	echo start >"$MNT/a/ctl"
	job_wait a
	assert_equal "$(grep -c '^f[0-9]* 0 ' "$MNT/a/stdout")" 3000
	assert_equal "$(grep -c '^d/e/f[0-9]* 0 ' "$MNT/a/stdout")" 1000
	# A directory comes before what is in it.
	grep -nE '^d/(e/)? |^d/e/f1 ' "$MNT/a/stdout" | cut -d' ' -f1 | cut -d: -f2 >"$BATS_TEST_TMPDIR/order"
	assert_equal "$(tr '\n' ' ' <"$BATS_TEST_TMPDIR/order")" 'd/ d/e/ d/e/f1 '
	echo start >"$MNT/a/ctl"
	echo kill >"$MNT/a/ctl"
	job_wait a
	echo start >"$MNT/a/ctl"
	rm "$MNT/a/f3" "$MNT/a/f2999" "$MNT"/a/d/e/f9*
	job_wait a
	[ "$(job_state a)" = 'done' ]
	job_put a config.json '{}' || true
	rm -r "$MNT/a"
	assert_equal "$(ls -A "$MNT")" .fsd
}

@test "after a restart large directories are there at the first look" {
	mkdir "$MNT/.a"
	files "$MNT/.a" 9000
	job_put .a code.sh 'exit 3'
	job_put .a config.json '{}'
	job_run b "$(for i in $(seq 4000); do echo "write f$i $i"; done)"
	mount_stop
	mount_start
	assert_equal "$(cat "$MNT/b/output/f3999")" 3999
	mv "$MNT/.a" "$MNT/a"
	[ "$(job_state a)" != draft ]
	assert_equal "$(job_wait a)" 3
	assert_equal "$(find "$MNT/a" -name 'f*' | wc -l)" 9000
	mount_stop
	mount_start
	fails ENOTEMPTY rmdir "$MNT/a"
	assert_equal "$(find "$MNT/b/output" -type f | wc -l)" 4000
	assert_equal "$(find "$MNT/a" -name 'f*' | wc -l)" 9000
	bounded 60 rm -r "$MNT/a" "$MNT/b"
	mount_stop
	run find "$STATE/jobs" -mindepth 1
	assert_output ''
}

@test "a file of an old run that is open stays readable when all of it goes" {
	job_run a "$(for i in $(seq 3000); do echo "write f$i $i"; done)"
	exec 9<"$MNT/a/output/f2345"
	job_put a code.sh 'exit 4'
	echo start >"$MNT/a/ctl"
	job_wait a
	assert_equal "$(cat <&9)" 2345
	exec 9<&-
	fails ENOENT stat "$MNT/a/output/f2345"
}

@test "a directory is listed exactly while it is changed" {
	mkdir "$MNT/a"
	mkdir "$MNT/a/d" "$MNT/a/e"
	files "$MNT/a/d" 2500
	check listing "$MNT/a/d" 2500
	files "$MNT/a/e" 1000
	check seek-listing "$MNT/a/e"
	job_put a code.sh 'exit 0'
	job_put a config.json '{"start": "manual"}'
	files "$MNT/a" 500
	# shellcheck disable=SC2012
	assert_equal "$(ls -fA "$MNT/a" | tail -n 1)" config.json
	(cd "$MNT" && seq -f 'j%g' 500 | xargs mkdir)
	assert_equal "$(find "$MNT" -maxdepth 1 -name 'j*' | wc -l)" 500
}

@test "large files are replaced, cut and removed with every byte right" {
	local mib=1048576
	mkdir "$MNT/a"
	head -c $((12 * mib)) /dev/urandom >"$BATS_TEST_TMPDIR/big"
	cp "$BATS_TEST_TMPDIR/big" "$MNT/a/f"
	truncate -s 1000 "$MNT/a/f"
	cmp <(head -c 1000 "$BATS_TEST_TMPDIR/big") "$MNT/a/f"
	cp "$BATS_TEST_TMPDIR/big" "$MNT/a/f"
	echo small >"$MNT/a/f"
	assert_equal "$(cat "$MNT/a/f")" small
	cp "$BATS_TEST_TMPDIR/big" "$MNT/a/g"
	mv "$MNT/a/g" "$MNT/a/f"
	[ ! -e "$MNT/a/g" ]
	cmp "$BATS_TEST_TMPDIR/big" "$MNT/a/f"
	echo less >"$MNT/a/g"
	exec 9<"$MNT/a/f"
	mv "$MNT/a/g" "$MNT/a/f"
	assert_equal "$(cat "$MNT/a/f")" less
	cmp "$BATS_TEST_TMPDIR/big" - <&9
	exec 9<&-
	cp "$BATS_TEST_TMPDIR/big" "$MNT/a/f"
	exec 9<"$MNT/a/f"
	rm "$MNT/a/f"
	cmp "$BATS_TEST_TMPDIR/big" - <&9
	exec 9<&-
	assert_equal "$(find "$MNT/a" -name '[fg]')" ''
	mount_stop
	[ "$(du -sk "$STATE" | cut -f1)" -lt 1024 ]
}
