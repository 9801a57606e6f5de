#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Machines that die, daemons that die, templates that are damaged.

load ../lib/qemu

# Machines are killed and templates damaged here.
export LOG_EXPECTED='machines do not start|template'

setup_file() { file_setup; }
teardown_file() { file_teardown; }
teardown() {
	jobs_done
	[ -z "${OWN:-}" ] || mount_done
}

@test "every process of a machine goes with its job" {
	local before after
	prog code.py <<<'print(1)'
	ok 1
	before=$(machines | wc -l)
	for _ in 1 2 3 4 5; do
		prog code.py <<<'print(1)'
		ok 1
	done
	after=$(machines | wc -l)
	[ "$after" -le $((before + 2)) ] || fail "processes: $before, then $after"
}

@test "a machine whose QEMU is killed is failed at once with a reason, output kept" {
	job_made code.py <<<$'print("up", flush=True)\nwhile True: pass'
	job_put "$J" config.json '{"timeout": 100}'
	job_follow "$J" up
	# All of them, to be sure to hit the one; the idle ones are made anew.
	local pid
	for pid in $(machines); do
		kill -KILL "$pid" || true
	done
	job_wait "$J" 20
	ended "$J" 125 failed
	stdout_is "$J" up
	run result "$J" .message
	assert_output --partial 'outcome is unknown: QEMU was killed from outside'
	prog code.py <<<'print("the next one is fine")'
	ok 'the next one is fine'
}

@test "a machine that is stopped from outside fails its job in bounded time" {
	job_made code.py <<<$'print("up", flush=True)\nwhile True: pass'
	job_put "$J" config.json '{"timeout": 2}'
	job_follow "$J" up
	local pid stopped
	stopped=$(machines)
	for pid in $stopped; do
		kill -STOP "$pid"
	done
	job_wait "$J" 60
	for pid in $stopped; do
		kill -CONT "$pid" 2>/dev/null || true
	done
	local code
	code=$(cat "$MNT/$J/exit_code")
	[ "$code" = 124 ] || [ "$code" = 125 ] || fail "exit code $code"
	stdout_is "$J" up
	prog code.py <<<'print("the next one is fine")'
	ok 'the next one is fine'
}

@test "idle machines that were killed are not given out" {
	local pid
	for pid in $(machines); do
		kill -KILL "$pid" || true
	done
	prog code.py <<<'print("fine")'
	ok fine
}

# stopped — every machine is, until they are reaped.
stopped() {
	local pid
	# one that is being made would only be late
	check becomes 60 grep -q '^fsd_machines_starting 0$' "$MNT/.fsd/stats"
	STOPPED=
	for pid in $(machines); do # one may end by itself meanwhile
		kill -STOP "$pid" && STOPPED="$STOPPED $pid"
	done
	[ -n "$STOPPED" ]
}

@test "idle machines that are frozen are not given out, and their job does not notice" {
	local pid
	stopped
	[ "$(wc -w <<<"$STOPPED")" -ge 2 ]
	job_made code.py <<<'print("fine")'
	job_put "$J" config.json '{}'
	job_wait "$J" 60
	ok fine
	result_is "$J" .message null
	# All of them were asked, and thrown away.
	for pid in $STOPPED; do
		check await-exit "$pid" 20
	done
	prog code.py <<<'print("and again")'
	ok 'and again'
}

@test "rm -r of a running job ends its machine" {
	job_made code.py <<<$'print("up", flush=True)\nwhile True: pass'
	job_put "$J" config.json '{}'
	job_follow "$J" up
	rm -r "${MNT:?}/$J"
	absent . "$J"
	assert_equal "$(figure fsd_machines_leased)" 0
}

@test "a daemon that is killed leaves no machine behind, and its job is interrupted" {
	own_mount
	mount_start
	job_made code.py <<<$'print("up", flush=True)\nwhile True: pass'
	job_put "$J" config.json '{"timeout": 300}'
	bounded 300 head -c 3 "$MNT/$J/stdout.follow"
	local session=$DAEMON pids pid
	pids=$(machines)
	[ -n "$pids" ]
	mount_crash
	for pid in $pids; do
		check await-exit "$pid" 10
	done
	check no-leftover "$session" "$STATE"
	mount_start
	ended "$J" 125 interrupted
	stdout_is "$J" up
}

@test "result.json says which machine it was" {
	prog code.py <<<'print(1)'
	run result "$J" .machine.accel
	assert_output --regexp '^(kvm|tcg)$'
	run result "$J" .machine.source
	assert_output --regexp '^(warm|restored|booted)$'
	run result "$J" .machine.template
	assert_output --regexp '^[0-9a-f]{16,}$'
}

@test "a damaged template is found, thrown away and made again" {
	own_mount
	check flip-bit "$STATE/templates"
	mount_start
	job_made code.py <<<'print("right")'
	job_put "$J" config.json '{}'
	assert_equal "$(bounded 900 cat "$MNT/$J/wait")" 0
	stdout_is "$J" right
	[ "$(figure fsd_templates_made_total)" -ge 1 ] || fail 'the damaged template was used'
}

@test "whatever is wrong with a template's files, it is made again" {
	local dir
	own_mount
	for dir in "$STATE"/templates/*/; do
		truncate -c -s 4096 "$dir/state"
	done
	mount_start
	job_made code.py <<<'print("right")'
	job_put "$J" config.json '{}'
	assert_equal "$(bounded 900 cat "$MNT/$J/wait")" 0
	stdout_is "$J" right
	assert_equal "$(figure fsd_templates_made_total)" 1
	rm -r "${MNT:?}/$J"
	mount_stop
	for dir in "$STATE"/templates/*/; do
		echo nonsense >"$dir/meta"
	done
	mount_start
	job_made code.py <<<'print("right again")'
	job_put "$J" config.json '{}'
	assert_equal "$(bounded 900 cat "$MNT/$J/wait")" 0
	stdout_is "$J" 'right again'
	assert_equal "$(figure fsd_templates_made_total)" 1
}

@test "a template that is damaged while it serves gives no wrong result and is made again" {
	local dir
	own_mount
	mount_start --pool 0
	prog code.py <<<'print("right")'
	ok right
	for dir in "$STATE"/templates/*/; do
		truncate -c -s 8M "$dir/ram"
	done
	job_made code.py <<<'print("right")'
	job_put "$J" config.json '{}'
	assert_equal "$(bounded 900 cat "$MNT/$J/wait")" 0
	stdout_is "$J" right
	assert_equal "$(figure fsd_templates_made_total)" 1
}

@test "a guest image that is damaged is refused by its name, and runs nothing" {
	own_mount
	cp -a "$IMAGE" "$BATS_TEST_TMPDIR/image"
	chmod u+w "$BATS_TEST_TMPDIR/image/rootfs.erofs"
	printf 'x' | dd of="$BATS_TEST_TMPDIR/image/rootfs.erofs" bs=1 \
		seek=5000000 conv=notrunc status=none
	expect_log 'jobs cannot run|no template'
	mount_start --image "$BATS_TEST_TMPDIR/image"
	check becomes 120 grep -q 'rootfs.erofs' "$MNT/.fsd/health"
	job_made code.py <<<'print("wrong")'
	job_put "$J" config.json '{}'
	state_is "$J" queued
	run cat "$MNT/$J/log"
	assert_output --partial rootfs.erofs
}

@test "doctor says that jobs can run here" {
	run bounded 120 "$FSD" doctor
	echo "$output"
	[ "${#lines[@]}" -ge 3 ]
}

@test "fsd run gives a program's streams and code through the mount" {
	cat >"$BATS_TEST_TMPDIR/p.py" <<<$'import sys\nprint(sys.argv[1:], input())\nprint("e", file=sys.stderr)\nsys.exit(7)'
	run --separate-stderr bash -c "echo line | timeout 100 '$FSD' run --mount '$MNT' '$BATS_TEST_TMPDIR/p.py' a b"
	assert_equal "$status" 7
	assert_equal "$output" "['a', 'b'] line"
	# shellcheck disable=SC2154
	assert_equal "$stderr" e
}
