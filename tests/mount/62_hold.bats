#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A job that is held goes with the last process that holds it.

load ../lib/common

setup() { mount_start; }
teardown() { mount_done; }

# held JOB [COUNT] — another process holds it, COUNT open files in all; $HOLDER.
held() {
	python3 -I -S -c '
import os, sys
fds = [os.open(sys.argv[1], os.O_RDONLY) for _ in range(int(sys.argv[2]))]
os.write(1, b"held\n")
os.close(1)
try:
    os.read(fds[0], 1)
except OSError:
    pass # a refused job says why
os.read(0, 1)' "$MNT/$1/hold" "${2:-1}" \
		<"$BATS_TEST_TMPDIR/never" >"$BATS_TEST_TMPDIR/said" 3>&- 4>&- &
	HOLDER=$!
	read -r <"$BATS_TEST_TMPDIR/said"
	assert_equal "$REPLY" held
}

# A read of never blocks, an open of said for reading waits for its writer.
pipes() {
	mkfifo "$BATS_TEST_TMPDIR/never" "$BATS_TEST_TMPDIR/said"
	exec 8<>"$BATS_TEST_TMPDIR/never"
}

# gone JOB — within 2 s nothing is left of it in the mount, nor in the state.
gone() {
	await becomes 2 test ! -e "$MNT/$1" || fail "$1 is still there"
	assert_equal "$(ls "$STATE/jobs")" ''
}

holder_dies() {
	kill -KILL "$HOLDER"
	wait "$HOLDER" || true
}

# bats test_tags=smoke
@test "a job that a script holds goes with the script, its run is killed" {
	job_start a $'out up\nsleep 600000'
	job_follow a up
	bash -c 'exec 3<"$1/hold"; [ -e "$1/state" ]' - "$MNT/a"
	gone a
	assert_equal "$(figure 'fsd_runs_total{status="removed"}')" 1
	assert_equal "$(figure 'fsd_runs_accepted_total')" 1
	await becomes 2 grep -qx 'fsd_machines_in_use 0' "$MNT/.fsd/stats"
	mkdir "$MNT/a" # its name is free
	mount_stop
	assert_equal "$(names "$STATE/trash")" ''
}

@test "a draft, a queued, a refused and a job that is done go with a holder that is killed" {
	mount_stop
	mount_start --max-machines 1 --pool 1
	pipes
	mkdir "$MNT/draft"
	held draft
	holder_dies
	gone draft

	job_start refused 'out x' '{"nope": 1}' || true
	held refused
	holder_dies
	gone refused

	job_run ended 'out x'
	held ended
	assert_equal "$(cat "$MNT/ended/hold")" 0
	holder_dies
	gone ended

	job_start other $'out up\nsleep 600000'
	job_follow other up
	job_start queued 'witness x'
	held queued
	state_is queued queued
	holder_dies
	await becomes 2 test ! -e "$MNT/queued"
	rm -r "$MNT/other"
	assert_equal "$(figure 'fsd_runs_total{status="removed"}')" 2
	assert_equal "$(ls "$STATE/jobs")" ''
}

@test "of several holders the last one counts, and a child is one" {
	job_start a $'out up\nsleep 600000'
	job_follow a up
	pipes
	exec 5<"$MNT/a/hold" 6>"$MNT/a/hold" 7<"$MNT/a/hold"
	echo no effect >&6
	(exec cat 0<&8) 5>&- 6>&- 3>&- 4>&- &
	local child=$!
	exec 5<&- 6>&- 7<&-
	held a
	holder_dies
	state_is a running
	kill -KILL "$child"
	wait "$child" || true
	gone a
}

@test "a read of hold waits as one of wait does, and who waits for a job that goes is told" {
	job_start a $'out up\nsleep 600000'
	job_follow a up
	exec 5<"$MNT/a/hold"
	cat "$MNT/a/wait" >"$BATS_TEST_TMPDIR/out" 2>&1 5<&- &
	local waiter=$!
	await becomes 20 grep -q fsd_jobs "$MNT/.fsd/stats"
	exec 5<&-
	run wait "$waiter"
	assert_failure
	gone a
	job_run b 'exit 3' || true
	exec 5<"$MNT/b/hold"
	assert_equal "$(cat <&5)" 3
	exec 5<&-
	gone b
}

@test "a job that is held stays when its server is killed, and goes with its holder behind that" {
	job_start a $'out up\nsleep 600000'
	job_follow a up
	pipes
	held a 2
	server_kill
	[ -e "$MNT/a/state" ]
	holder_dies
	gone a
}

@test "a job that is held stays through an upgrade" {
	mkdir "$MNT/a"
	exec 5<"$MNT/a/hold"
	"$FSD" upgrade "$MNT"
	job_put a code.sh 'out x'
	job_put a config.json '{}'
	assert_equal "$(cat <&5)" 0
	exec 5<&-
	gone a
}

@test "the mount dies with all of its processes: the next one removes what was held, and runs none of it" {
	export FSD_FAKE_WITNESS=$BATS_TEST_TMPDIR/witness
	mount_stop
	mount_start --max-machines 1 --pool 1
	job_start running $'out up\nsleep 600000'
	job_follow running up
	job_start queued 'witness queued'
	state_is queued queued
	mkdir "$MNT/draft" "$MNT/kept"
	exec 5<"$MNT/running/hold" 6<"$MNT/queued/hold" 7<"$MNT/draft/hold"
	mount_crash
	exec 5<&- 6<&- 7<&-
	umount -l "$MNT"
	mount_start --max-machines 1 --pool 1
	local job
	for job in running queued draft; do
		await becomes 2 test ! -e "$MNT/$job"
	done
	assert_equal "$(names "$MNT")" '.fsd kept'
	assert_equal "$(ls "$STATE/jobs" | wc -l)" 1
	[ ! -s "$FSD_FAKE_WITNESS" ]
}

@test "what is held is not removed for its time, and without retain by no limit" {
	mount_stop
	mount_start --retain-count 1
	job_run a 'out x'
	exec 5<"$MNT/a/hold"
	job_run b 'out y'
	job_run c 'out y'
	await becomes 20 test ! -e "$MNT/b"
	stdout_is a x
	exec 5<&-
	await becomes 2 test ! -e "$MNT/a"
}

# --- sandboxes of the adapters ------------------------------------------------

# maker PROGRAM... — it makes sandboxes and says so; $HOLDER.
maker() {
	pipes
	FSD_MOUNT=$MNT "$@" <"$BATS_TEST_TMPDIR/never" >"$BATS_TEST_TMPDIR/said" 3>&- 4>&- &
	HOLDER=$!
	read -r -t $((20 * SLOW)) <"$BATS_TEST_TMPDIR/said"
	assert_equal "$REPLY" made
}

# died — the maker was killed: of its sandboxes only the one that it did not hold stays.
died() {
	assert_equal "$(names "$MNT/.fsd/sandboxes" | wc -w)" 3
	assert_equal "$(cat "$MNT/.fsd/sandboxes/named/files/x")" text
	holder_dies
	await becomes 2 bash -c '[ "$(ls "$0")" = free ]' "$MNT/.fsd/sandboxes"
	await becomes 2 grep -qx 'fsd_machines_in_use 0' "$MNT/.fsd/stats"
}

@test "a sandbox of the Python adapter goes with the process that made it" {
	maker /usr/bin/python3 -I -S -c '
import sys
sys.path.insert(0, sys.argv[1])
from fsd_sandbox import Mount
with Mount().sandbox() as short:
    short.write("x", "text")
own = Mount().sandbox(idle=0)
named = Mount().sandbox("named", idle=0)
named.write("x", "text")
Mount().sandbox("named")
Mount().sandbox("free", hold=False)
print("made", flush=True)
sys.stdin.read()' "$TESTS/../fsd/adapters/python"
	died
}

@test "a sandbox of the JavaScript adapter goes with the process that made it" {
	cat >"$BATS_TEST_TMPDIR/maker.mjs" <<-'END'
		const { Mount } = await import(process.argv[2]);
		const mount = new Mount();
		const short = await mount.sandbox();
		await short.write("x", "text");
		await short.close();
		await mount.sandbox(undefined, { idle: 0 });
		const named = await mount.sandbox("named", { idle: 0 });
		await named.write("x", "text");
		await mount.sandbox("named");
		await mount.sandbox("free", { hold: false });
		console.log("made");
		process.stdin.resume();
	END
	maker node "$BATS_TEST_TMPDIR/maker.mjs" "$TESTS/../fsd/adapters/js/index.mjs"
	died
}
