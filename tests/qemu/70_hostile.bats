#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Hostile programs on real machines, and ordinary ones that must not suffer: the
# rows of tests/hostile/table.py, a test for each of its groups. A group fails with
# every row that is not so. Those that need a network are in 55_network.bats.

HOSTILE=$BATS_TEST_DIRNAME/../hostile

# All jobs run once, before the first test; what they told is in GOT.
setup_file() {
	load ../lib/qemu
	[ -x "$TESTS/../build/hostile/raw" ] || fail 'run: make build/hostile/raw'
	file_setup --shared 0
	export GOT=$BATS_FILE_TMPDIR/got
	bounded 600 "$HOSTILE/submit.py" "$MNT" "$GOT"
}

teardown_file() {
	load ../lib/qemu
	file_teardown
}

# group NAME — each row of it has the only good outcome.
group() {
	"$HOSTILE/table.py" check "$1" "$GOT"
}

@test "each group of the table has a test" {
	diff <("$HOSTILE/table.py" groups | sort) \
		<(sed -n 's/^@test .* { group \([a-z]*\); }$/\1/p' "$BATS_TEST_FILENAME" \
			"$BATS_TEST_DIRNAME/55_network.bats" | sort)
}

@test "calls: what needs rights, or what no job needs, is refused" { group calls; }
@test "paths: what is not a job's can be neither read nor written" { group paths; }
@test "rights: a program gains none, and its processes stay its own" { group rights; }
@test "limits: what a program takes ends at its bounds" { group limits; }
@test "works: what Python's programs need works" { group works; }
@test "raw: calls of other ABIs, and what no interpreter survives" { group raw; }
@test "node: what Node's programs need works" { group node; }
@test "shell: what scripts need works" { group shell; }
@test "output: odd files are taken as they are, or left out" { group output; }
@test "after: all is counted, and the appliance is well" { group after; }
@test "ends: each way to end is told" { group ends; }
