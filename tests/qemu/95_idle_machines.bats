#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Idle machines: what heat they get, and those of several classes within one budget.
# Both classes have one template, so that no guest is booted for this.

load ../lib/qemu

setup_file() { file_setup --pool 4 --idle-memory 1G; }
teardown_file() { file_teardown; }
teardown() { jobs_done; }

@test "a machine that rests is heated by what most programs do, and a program sees nothing of it" {
	at_rest
	prog code.py <<'PY'
import sys
print([name for name in ("call", "native", "sitecustomize") if name in sys.modules])
import os
print(os.listdir("/tmp"), os.listdir())
PY
	ok $'[]\n[] [\'code.py\']'
}

@test "jobs of two classes find the idle machines of theirs, and the budget holds" {
	at_rest
	run bounded 300 /usr/bin/python3 -I -S "$TESTS/lib/classes.py" "$MNT" 24 \
		base/1024/1 '{}' base/2048/1 '{"memory_mb": 1500}'
	assert_success
	await becomes 60 grep -q '^fsd_idle_machines{class="base/2048/1"} [1-9]' \
		"$MNT/.fsd/stats"
	at_rest
	run bounded 60 /usr/bin/python3 -I -S "$TESTS/lib/classes.py" "$MNT" 2 \
		base/1024/1 '{}' base/2048/1 '{"memory_mb": 1500}'
	assert_success
	assert_equal "$(jq .warm <<<"$output")" 2
	# The daemon's sum is what the kernel tells, for a quarter more or less.
	at_rest
	run bounded 60 /usr/bin/python3 -I -S "$TESTS/lib/classes.py" "$MNT" 1 \
		base/1024/1 '{}'
	[ "$(jq '.real > 0 and .real < 1.25 * .most and .most < 1.25 * .real' \
		<<<"$output")" = true ] || fail "$output"
}
