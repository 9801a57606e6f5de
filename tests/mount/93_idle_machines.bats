#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Which machines are kept idle: classes by their demand, within one budget.

load ../lib/common
load ../lib/environment

teardown() { mount_done; }

# Of other classes of machines than the base's, base/1024/1.
LARGE='{"memory_mb": 1500}' # base/2048/1
TWO='{"cpus": 2}'           # base/1024/2

becomes() {
	await becomes 20 grep -q "^$2 $1\$" "$MNT/.fsd/stats"
}

# of NAME CLASS — the figure of a class, 0 if there is none.
of() {
	awk -v "name=$1{class=\"$2\"}" '$1 == name { v = $2 } END { print v + 0 }' \
		"$MNT/.fsd/stats"
}

of_becomes() {
	await becomes 20 grep -q "^$2{class=\"$3\"} $1\$" "$MNT/.fsd/stats"
}

# within — the budget holds now.
within() {
	[ "$(figure fsd_idle_memory_bytes)" -le "$(figure fsd_idle_memory_limit_bytes)" ] ||
		fail "$(grep idle_ "$MNT/.fsd/stats")"
}

# run_one NAME CLASS [CONFIG] — a job; FAULTS grows if it was restored although
# its class had an idle machine.
run_one() {
	local idle restored
	idle=$(of fsd_idle_machines "$2")
	restored=$(figure fsd_jobs_restored_total)
	job_run "$1" 'out x' "${3:-}"
	ended "$1" 0 exited
	rm -r "${MNT:?}/$1"
	if [ "$idle" -gt 0 ] && [ "$(figure fsd_jobs_restored_total)" -gt "$restored" ]; then
		FAULTS+=" $1:$2"
	fi
	within
}

@test "machines of each class that is asked for are kept idle, and its jobs find them" {
	local i
	[ "$(nproc)" -ge 2 ] || skip 'one processor'
	FAULTS=
	FSD_FAKE_COST=50 FSD_FAKE_ZYGOTE=200 \
		mount_start --pool 4 --max-machines 16 --idle-memory 1G
	becomes 4 fsd_machines_warm
	of_becomes 4 fsd_idle_machines base/1024/1
	for i in {1..8}; do
		run_one "a$i" base/1024/1
		run_one "b$i" base/2048/1 "$LARGE"
		run_one "c$i" base/1024/2 "$TWO"
	done
	assert_equal "$FAULTS" ''
	for class in base/1024/1 base/2048/1 base/1024/2; do
		await becomes 20 grep -q "^fsd_idle_machines{class=\"$class\"} [1-9]" \
			"$MNT/.fsd/stats"
	done
	becomes 4 fsd_machines_warm
	i=$(figure fsd_jobs_restored_total)
	run_one d base/1024/2 "$TWO"
	run_one e base/2048/1 "$LARGE"
	run_one f base/1024/1
	assert_equal "$(figure fsd_jobs_restored_total)" "$i"
	run "$FSD" top --batch -n 1 "$MNT"
	assert_line --regexp '^idle +[0-9]+ of 1024 MiB .* base/1024/2.*to fork off: .*base/1024/1'
}

@test "idle machines and zygotes stay within --idle-memory together" {
	FSD_FAKE_COST=100 FSD_FAKE_ZYGOTE=200 \
		mount_start --pool 9 --max-machines 20 --idle-memory 750M
	becomes $((700 << 20)) fsd_idle_memory_bytes
	becomes 5 fsd_machines_warm
	becomes 1 fsd_fork_sources
	within
	mount_stop
	FSD_FAKE_COST=100 mount_start --pool 9 --idle-memory 250M
	becomes 2 fsd_machines_warm
	within
}

@test "without memory for idle machines jobs run all the same" {
	mount_start --pool 4 --idle-memory 0
	job_run a 'out x'
	ended a 0 exited
	assert_equal "$(figure fsd_jobs_restored_total)" 1
	assert_equal "$(figure fsd_machines_warm)" 0
}

@test "the demand of a server is known to the next one; a damaged file of it is told and ignored" {
	local i
	mount_start --pool 2 --max-machines 8
	becomes 2 fsd_machines_warm
	for i in {1..9}; do
		job_run "j$i" 'out x' "$LARGE"
	done
	mount_stop
	assert_equal "$(head -n 1 "$STATE/templates/demand")" 'demand 1'
	mount_start --pool 2 --max-machines 8
	of_becomes 2 fsd_idle_machines base/2048/1
	mount_stop
	expect_log 'demand of the server before'
	echo 'x' >>"$STATE/templates/demand"
	mount_start --pool 2 --max-machines 8
	of_becomes 2 fsd_idle_machines base/1024/1
	grep -q 'warn.*demand of the server before.*is ignored' "$LOG"
}

@test "a zygote that was not used for long makes place for one that is" {
	local i
	[ "$(nproc)" -ge 2 ] || skip 'one processor'
	FSD_FAKE_COST=10 FSD_FAKE_ZYGOTE=200 \
		mount_start --pool 1 --max-machines 4 --idle-memory 300M
	of_becomes 1 fsd_class_fork_sources base/1024/1
	for i in {1..9}; do
		job_run "j$i" 'out x' "$TWO"
		within
	done
	of_becomes 1 fsd_class_fork_sources base/1024/2
	of_becomes 0 fsd_class_fork_sources base/1024/1
	of_becomes 1 fsd_idle_machines base/1024/2
	within
}

# two_environments — small and large, which has 64 MiB in memory.
two_environments() {
	export ENVIRONMENTS=$BATS_TEST_TMPDIR/environments
	mkdir -p "$BATS_TEST_TMPDIR/tree/a" "$BATS_TEST_TMPDIR/tree/b"
	environment_make small "$BATS_TEST_TMPDIR/tree/a" >/dev/null
	ENVIRONMENT_HEAP=$((64 << 20)) LOCK='{"packages": ["x"]}' \
		environment_make large "$BATS_TEST_TMPDIR/tree/b" >/dev/null
}

@test "environments share the pool: jobs of each find idle machines of their own" {
	local i
	two_environments
	FAULTS=
	FSD_FAKE_COST=50 FSD_FAKE_ZYGOTE=200 mount_start --pool 4 --max-machines 16 \
		--idle-memory 1G --environments "$ENVIRONMENTS"
	becomes 4 fsd_machines_warm
	for i in {1..8}; do
		run_one "a$i" base/1024/1
		run_one "b$i" small/1024/1 '{"environment": "small"}'
		run_one "c$i" large/1024/1 '{"environment": "large"}'
	done
	assert_equal "$FAULTS" ''
	becomes 4 fsd_machines_warm
	i=$(figure fsd_jobs_restored_total)
	run_one d small/1024/1 '{"environment": "small"}'
	run_one e large/1024/1 '{"environment": "large"}'
	run_one f base/1024/1
	assert_equal "$(figure fsd_jobs_restored_total)" "$i"
	mount_stop
	# The next server begins with all three.
	FSD_FAKE_COST=50 FSD_FAKE_ZYGOTE=200 mount_start --pool 4 --max-machines 16 \
		--idle-memory 1G --environments "$ENVIRONMENTS"
	for i in base small large; do
		await becomes 20 grep -q "^fsd_idle_machines{class=\"$i/1024/1\"} [1-9]" \
			"$MNT/.fsd/stats"
	done
}

@test "a server's first idle machines are of the environment that jobs have who ask for none" {
	two_environments
	mount_start --pool 2 --environments "$ENVIRONMENTS" --default-environment small
	of_becomes 2 fsd_idle_machines small/1024/1
	job_run a 'out x'
	ended a 0 exited
	assert_equal "$(result a .environment.name)" small
	assert_equal "$(figure fsd_jobs_restored_total)" 0
}

@test "a run is promised what its environment has in memory, besides its own" {
	local base
	two_environments
	mount_start --pool 0 --environments "$ENVIRONMENTS"
	job_start a $'out up\nsleep 600000' '{"timeout": 3600}'
	job_follow a up
	base=$(figure fsd_memory_promised_bytes)
	job_start b $'out up\nsleep 600000' '{"timeout": 3600, "environment": "large"}'
	job_follow b up
	assert_equal $(($(figure fsd_memory_promised_bytes) - base)) \
		$((base + (64 << 20)))
	echo kill >"$MNT/a/ctl"
	echo kill >"$MNT/b/ctl"
	job_wait a
	job_wait b
}

@test "a job that waits for its machine gets one that was heated for its language, however few are idle" {
	mount_start --pool 0
	job_run a heated
	stdout_is a yes
	mkdir "$MNT/b"
	job_put b code.py heated
	job_put b config.json '{}'
	assert_equal "$(job_wait b)" 0
	stdout_is b yes
}
