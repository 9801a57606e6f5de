#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Several users of one mount: what they see of each other, what each may have.

load ../lib/common

teardown() { mount_done; }

people() {
	timeout -k 5 $((120 * SLOW)) /usr/bin/python3 -I -S \
		"$TESTS/lib/people.py" "$@"
}

# user UID — what to put before a command to run it as that user.
user() {
	echo "setpriv --reuid $1 --regid $1 --clear-groups"
}
u4=$(user 65534)
u3=$(user 65533)

# with OPTION... — a mount for everybody.
with() {
	mount_public "--allow-other $*"
}

# of WHAT UID — what the daemon counts.
of() {
	figure "fsd_user_$1{uid=\"$2\"}"
}

# job_of UID JOB PROGRAM — complete.
job_of() {
	$(user "$1") sh -c 'umask 077 && mkdir "$1" && printf "%s\n" "$2" >"$1/code.sh" &&
		echo {} >"$1/config.json"' - "$MNT/$2" "$3"
}

# --- what others see --------------------------------------------------------

# bats test_tags=smoke
@test "what another user asks of a job is answered as if it were not there" {
	with
	umask 000
	job_run a $'out secret\nwrite f x'
	people strangers "$MNT" a
	stdout_is a secret
}

@test "a running job of another user is not there either" {
	with
	job_start a $'out up\nsleep 600000'
	job_follow a up
	people strangers "$MNT" a
	state_is a running
}

@test "the name of another user's job cannot be had, and nothing says why" {
	with
	mkdir "$MNT/a"
	people taken "$MNT" a
}

@test "an inherited descriptor of another user's job opens nothing" {
	with
	job_run a 'out x'
	people inherited "$MNT" a
}

@test "one's own numbers do not count what others made" {
	with
	people numbers "$MNT"
}

@test "no time tells when others do something" {
	with
	people times "$MNT"
}

@test "chmod and chgrp by the owner open a job to nobody" {
	with
	job_of 65534 theirs 'out x'
	$u4 cat "$MNT/theirs/wait" >/dev/null
	$u4 chmod -R 777 "$MNT/theirs"
	$u4 chgrp 65533 "$MNT/theirs"
	fails ENOENT $u3 cat "$MNT/theirs/stdout"
	assert_equal "$(stat -c '%U %G %a' "$MNT/theirs")" 'nobody nogroup 777'
	fails EPERM $u4 chown 65533 "$MNT/theirs"
}

@test "root sees every job and may do what its owner may" {
	with
	job_of 65534 theirs 'out x'
	assert_equal "$(job_wait theirs)" 0
	assert_equal "$(ls "$MNT")" theirs
	stdout_is theirs x
	fails EEXIST mkdir "$MNT/theirs"
	rm -r "$MNT/theirs"
	assert_equal "$($u4 ls "$MNT")" ''
}

@test "stats and last_error tell a user of themselves, the operator of all" {
	with
	job_run a 'out x'
	$u4 mkdir "$MNT/theirs"
	job_start b 'out x' '{"nonsense": 1}' || true
	assert_equal "$(figure 'fsd_jobs{state="draft"}')" 1
	assert_equal "$(figure 'fsd_jobs{state="done"}')" 1
	run $u4 cat "$MNT/.fsd/stats"
	assert_line 'fsd_jobs{state="draft"} 1'
	assert_line 'fsd_jobs{state="done"} 0'
	assert_line 'fsd_jobs{state="refused"} 0'
	# what any client of the mount plans by
	assert_line --regexp '^fsd_machines_max [1-9][0-9]*$'
	assert_line --regexp '^fsd_build_info\{version="[0-9.]*",.* 1$'
	refute_output --regexp 'runs|machines_[^m]|machines_made|leases|uid'
	assert_equal "$($u4 cat "$MNT/.fsd/last_error")" ''
	fails EACCES $u4 dd status=none of="$MNT/.fsd/ctl" if=/dev/null
}

# --- what fsd itself has only so much of ---------------------------------------

# with_files N OPTION... — a mount for everybody whose servers have so many
# descriptors.
with_files() {
	printf '#!/bin/sh\nulimit -n %s\nexec %q "$@"\n' "$1" "$FSD" \
		>"$BATS_TEST_TMPDIR/fsd"
	chmod 755 "$BATS_TEST_TMPDIR/fsd"
	FSD=$BATS_TEST_TMPDIR/fsd with "${@:2}"
}

@test "who opens files without end leaves the others what they need, whichever process serves" {
	with_files 400
	people hoard "$MNT" 100
}

# files_job JOB COUNT — of root, with so many inputs; started by its config.
files_job() {
	mkdir "$MNT/$1"
	(cd "$MNT/$1" && for i in $(seq "$2"); do echo x >"f$i"; done)
	job_put "$1" code.sh $'out up\nsleep 600000'
	job_put "$1" config.json '{}'
}

@test "inputs that are removed take no descriptors, whether their job waits or runs" {
	local before more
	with_files 400 --max-machines 1 --pool 1
	files_job busy 0
	job_follow busy up
	$u4 sh -c 'mkdir "$1" && for i in $(seq 500); do echo x >"$1/f$i"; done
		echo "show f500" >"$1/code.sh" && echo {} >"$1/config.json"' - \
		"$MNT/b"
	files_job a 500
	state_is b queued
	before=$(daemon_fds)
	$u4 sh -c 'rm "$1"/f*' - "$MNT/b"
	rm "$MNT"/a/f??
	more=$(($(daemon_fds) - before))
	[ "$more" -le 20 ] || fail "it took $more descriptors"
	echo kill >"$MNT/busy/ctl"
	assert_equal "$(job_wait b)" 0
	stdout_is b x
	job_follow a up
	rm "$MNT"/a/f*
	more=$(($(daemon_fds) - before))
	[ "$more" -le 20 ] || fail "it took $more descriptors"
	people hoard "$MNT" 100
}

# --- quotas -----------------------------------------------------------------

@test "mkdir over the quota of jobs fails and says what is used and allowed" {
	with --quota-jobs 3
	$u4 mkdir "$MNT/a" "$MNT/b" "$MNT/c"
	fails EDQUOT $u4 mkdir "$MNT/d"
	run $u4 cat "$MNT/.fsd/last_error"
	assert_output --partial 'd: over the quota of jobs (--quota-jobs)'
	assert_output --partial 'has 3, at most 3 are allowed'
	$u3 mkdir "$MNT/d"
	$u4 mv "$MNT/a" "$MNT/e"
	$u4 rmdir "$MNT/e"
	$u4 mkdir "$MNT/f"
	fails EDQUOT $u4 mkdir "$MNT/g"
	assert_equal "$(of jobs 65534) $(of jobs 65533)" '3 1'
}

@test "root has quotas too" {
	with --quota-jobs 1
	mkdir "$MNT/a"
	fails EDQUOT mkdir "$MNT/b"
}

@test "what is written over the quota of bytes fails and says why" {
	with --quota-bytes 10K
	$u4 mkdir "$MNT/a"
	head -c 10000 /dev/zero | $u4 dd status=none of="$MNT/a/f"
	assert_equal "$(of bytes 65534)" 10000
	fails EDQUOT $u4 dd status=none if=/dev/zero of="$MNT/a/g" \
		bs=241 count=1
	run $u4 cat "$MNT/.fsd/last_error"
	assert_output --partial 'a: g: over the quota of bytes (--quota-bytes)'
	assert_output --partial 'has 10000 of the 10240 that are allowed'
	assert_output --partial 'needs 241 more'
	fails EDQUOT $u4 truncate -s 241 "$MNT/a/g"
	$u4 truncate -s 240 "$MNT/a/g"
	fails EDQUOT $u4 touch "$MNT/a/h"
	$u4 rm "$MNT/a/g"
	$u4 touch "$MNT/a/h"
	$u4 truncate -s 0 "$MNT/a/f"
	assert_equal "$(of bytes 65534)" 0
}

@test "root fills no other user's job beyond that user's quota" {
	with --quota-bytes 10K
	$u4 mkdir "$MNT/theirs"
	mkdir "$MNT/mine"
	head -c 9000 /dev/zero >"$MNT/theirs/f"
	head -c 9000 /dev/zero >"$MNT/mine/f"
	assert_equal "$(of bytes 65534) $(of bytes 0)" '9000 9000'
	fails EDQUOT mv "$MNT/mine/f" "$MNT/theirs/g"
	rm "$MNT/theirs/f"
	mv "$MNT/mine/f" "$MNT/theirs/g"
	assert_equal "$(of bytes 65534) $(of bytes 0)" '9000 0'
	# what is replaced makes room, unless somebody has it open
	head -c 9500 /dev/zero >"$MNT/mine/f"
	exec 7<"$MNT/theirs/g"
	fails EDQUOT mv "$MNT/mine/f" "$MNT/theirs/g"
	exec 7<&-
	mv "$MNT/mine/f" "$MNT/theirs/g"
	assert_equal "$(of bytes 65534) $(of bytes 0)" '9500 0'
}

@test "a file that was removed counts until it is closed" {
	with --quota-bytes 10K
	$u4 mkdir "$MNT/a"
	$u4 bash -c 'exec 3>"$1/a/f" && rm "$1/a/f" &&
		head -c 9000 /dev/zero >&3 &&
		grep bytes.uid "$1/.fsd/stats" &&
		! head -c 9000 /dev/zero >&3' - "$MNT" >"$BATS_TEST_TMPDIR/said"
	assert_equal "$(cat "$BATS_TEST_TMPDIR/said")" 'fsd_user_bytes{uid="65534"} 9000'
	assert_equal "$(of bytes 65534)" 0
}

@test "results that are open when they go count until they are closed" {
	local old kept
	with --quota-bytes 40K
	job_of 65534 a 'bytes 15000'
	job_wait a >/dev/null
	exec 7<"$MNT/a/stdout" 8<"$MNT/a/stdout" 9<"$MNT/a/result.json"
	old=$(stat -c %s "$MNT/a/result.json")
	$u4 sh -c "echo {} >$MNT/a/config.json"
	job_wait a >/dev/null
	kept=$(stat -c %s "$MNT/a/result.json")
	kept=$((kept + 15000 + $(cat "$MNT/a/code.sh" "$MNT/a/config.json" | wc -c)))
	assert_equal "$(of bytes 65534)" $((kept + 15000 + old))
	exec 7<&-
	assert_equal "$(of bytes 65534)" $((kept + 15000 + old))
	exec 9<&-
	assert_equal "$(of bytes 65534)" $((kept + 15000))
	exec 7<"$MNT/a/stdout"
	$u4 rm -r "$MNT/a"
	assert_equal "$(of bytes 65534)" 30000
	exec 8<&-
	assert_equal "$(of bytes 65534)" 15000
	exec 7<&-
	people nothing-used "$MNT"
}

@test "large files count as they grow, shrink, are replaced and go" {
	local i pids=() f=$BATS_TEST_TMPDIR/large
	with --quota-bytes 50M
	truncate -s 20M "$f"
	mkdir "$MNT/a" "$MNT/b"
	cp "$f" "$MNT/a/f"
	cp "$f" "$MNT/b/f"
	assert_equal "$(of bytes 0)" 41943040
	fails EDQUOT cp "$f" "$MNT/b/g"
	rm "$MNT/b/g"
	mv "$MNT/a/f" "$MNT/b/f"
	assert_equal "$(of bytes 0)" 20971520
	truncate -s 1000 "$MNT/b/f"
	assert_equal "$(of bytes 0)" 1000
	cp "$f" "$MNT/b/f"
	: >"$MNT/b/f"
	assert_equal "$(of bytes 0)" 0
	for i in 0 1 2 3 4; do
		dd status=none if="$f" of="$MNT/b/f" bs=100K seek=$((i * 7)) \
			count=$((20 + i)) conv=notrunc 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i"
	done
	assert_equal "$(of bytes 0)" "$(stat -c %s "$MNT/b/f")"
	cp "$f" "$MNT/b/g"
	people accounts "$MNT" "$STATE"
	rm -r "$MNT/a" "$MNT/b"
	people nothing-used "$MNT"
}

@test "output beyond the quota is kept up to it, and the result says so" {
	with --quota-bytes 20K
	job_of 65534 a $'bytes 30000\nwrite f text\nresult {"value": 42}\nexit 3'
	assert_equal "$(job_wait a)" 3
	ended a 3 exited
	result_is a '.stdout.bytes + .stdout.dropped' 30000
	result_is a .output_dropped 1
	result_is a .value null
	run result a .message
	assert_output --partial 'quota of bytes (--quota-bytes) is used up'
	run cat "$MNT/a/log"
	assert_output --partial 'quota of bytes (--quota-bytes) is used up'
	assert_equal "$(stat -c %s "$MNT/a/stdout")" "$(result a .stdout.bytes)"
	[ "$(result a .stdout.bytes)" -gt 20000 ]
	people accounts "$MNT" "$STATE"
	$u4 rm -r "$MNT/a"
	people nothing-used "$MNT"
}

@test "a new run gives the old results' bytes back" {
	with --quota-bytes 20K
	job_of 65534 a 'bytes 15000'
	job_wait a >/dev/null
	$u4 sh -c "echo {} >$MNT/a/config.json"
	job_wait a >/dev/null
	result_is a .stdout.bytes 15000
	result_is a .message null
	people accounts "$MNT" "$STATE"
}

# bats test_tags=release
@test "what is counted is what is there, after a storm of everything" {
	local seed=$RANDOM
	echo "seed $seed"
	with --quota-bytes 600K --quota-jobs 8 --quota-running 1
	people churn "$MNT" "$STATE" "$seed" "$(sanitized && echo 375 || echo 1500)"
	mount_stop
	mount_start --allow-other --quota-bytes 600K --quota-jobs 8
	people accounts "$MNT" "$STATE"
	find "$MNT" -mindepth 1 -maxdepth 1 -name 'j*' -exec rm -r {} +
	people nothing-used "$MNT"
}

@test "a daemon that was killed leaves nothing uncounted" {
	with --quota-bytes 1M --quota-jobs 8
	job_of 65534 a $'bytes 5000\nwrite f text'
	job_wait a >/dev/null
	job_of 65534 b $'outn 1234567\nout \nsleep 600000'
	IFS= read -r -t $((20 * SLOW)) _ <"$MNT/b/stdout.follow"
	$u4 mkdir -p "$MNT/c/output/d"
	$u4 cp "$MNT/a/stdout" "$MNT/c/output/d/x"
	mount_crash
	mount_start --allow-other --quota-bytes 1M --quota-jobs 2
	people accounts "$MNT" "$STATE"
	ended b 125 interrupted
	assert_equal "$(of jobs 65534)" 3
	fails EDQUOT $u4 mkdir "$MNT/d"
	rm -r "$MNT/a" "$MNT/b" "$MNT/c"
	people nothing-used "$MNT"
}

@test "runs over the quota wait in the order of their submission" {
	with --quota-running 1 --max-machines 4 --pool 4
	job_of 65534 a $'out up\nsleep 600000'
	job_follow a up
	job_of 65534 b $'out up\nsleep 600000'
	job_of 65534 c 'out x'
	state_is b queued
	state_is c queued
	assert_equal "$(of running 65534) $(of waiting 65534)" '1 2'
	run cat "$MNT/c/log"
	assert_output --partial 'at most 1 at a time (--quota-running)'
	job_of 65533 d 'out x'
	assert_equal "$(job_wait d)" 0
	$u4 sh -c "echo kill >$MNT/a/ctl"
	job_follow b up
	state_is c queued
	$u4 rm -r "$MNT/b"
	assert_equal "$(job_wait c)" 0
	assert_equal "$(of running 65534) $(of waiting 65534)" '0 0'
}

@test "a session counts against the quota while it lives, idle or not" {
	with --quota-running 1 --max-machines 4 --pool 4
	$u4 mkdir "$MNT/a" "$MNT/b"
	echo 'remember x' | $u4 tee "$MNT/a/code.sh" "$MNT/b/code.sh" >/dev/null
	echo '{"session": "one"}' | $u4 tee "$MNT/a/config.json" >/dev/null
	assert_equal "$(job_wait a)" 0
	echo '{"session": "two"}' | $u4 tee "$MNT/b/config.json" >/dev/null || true
	state_is b refused
	run $u4 cat "$MNT/b/error"
	assert_output --partial 'you have 1 sessions already'
	$u4 rmdir "$MNT/.fsd/sessions/one"
	echo '{"session": "two"}' | $u4 tee "$MNT/b/config.json" >/dev/null
	assert_equal "$(job_wait b)" 0
}

@test "a run that waits for its quota can be killed and removed" {
	with --quota-running 1
	job_of 65534 a $'out up\nsleep 600000'
	job_follow a up
	job_of 65534 b 'out x'
	job_of 65534 c 'out x'
	$u4 sh -c "echo kill >$MNT/b/ctl"
	assert_equal "$(job_wait b)" 137
	$u4 rm -r "$MNT/c"
	assert_equal "$(of running 65534) $(of waiting 65534)" '1 0'
}

@test "wrong quotas are refused with what is allowed" {
	local option
	for option in '--quota-jobs -1' '--quota-bytes 1T' '--quota-bytes K' \
		'--quota-running many'; do
		# shellcheck disable=SC2086
		run bounded 60 "$FSD" mount $option "$BATS_TEST_TMPDIR"
		assert_failure 2
		assert_output --partial 'must be a number'
	done
}

# --- df ---------------------------------------------------------------------

@test "df and df -i tell the caller's own room" {
	with --quota-bytes 1M --quota-jobs 10
	$u4 mkdir "$MNT/a" "$MNT/b"
	head -c 524288 /dev/zero | $u4 dd status=none of="$MNT/a/f"
	run $u4 df --output=size,avail -B 1 "$MNT"
	assert_line --regexp '^ *1048576 +524288$'
	run $u4 df --output=itotal,iavail "$MNT"
	assert_line --regexp '^ *10 +8$'
	run $u3 df --output=size,avail,itotal,iavail -B 1 "$MNT"
	assert_line --regexp '^ *1048576 +1048576 +10 +10$'
}

@test "without quotas df is the disk's, and room is never more than the disk's" {
	with
	assert_equal "$(stat -f -c '%b %c' "$MNT")" "$(stat -f -c '%b %c' "$STATE")"
	mount_stop
	mount_start --allow-other --quota-bytes 1000000G
	assert_equal "$(df --output=size -B 1G "$MNT" | tail -n 1 | tr -d ' ')" \
		1000000
	[ "$(df --output=avail -k "$MNT" | tail -n 1)" -lt 900000000000 ]
	assert_equal "$(stat -f -c %c "$MNT")" "$(stat -f -c %c "$STATE")"
}

# --- side by side -----------------------------------------------------------

@test "one user's two hundred queued jobs do not hold up another's single job" {
	local i
	with --max-machines 1 --pool 1
	job_of 65534 first $'out up\nsleep 600000'
	job_follow first up
	$u4 sh -c 'i=0; while [ $i -lt 200 ]; do mkdir "$1/q$i" &&
		echo "sleep 30" >"$1/q$i/code.sh" && echo {} >"$1/q$i/config.json"
		i=$((i + 1)); done' - "$MNT"
	# the last file's release comes behind its close
	await becomes 20 \
		grep -qxF 'fsd_jobs{state="queued"} 200' "$MNT/.fsd/stats"
	job_of 65533 single 'out x'
	$u4 rm -r "$MNT/first"
	assert_equal "$(job_wait single)" 0
	[ "$(figure 'fsd_jobs{state="done"}')" -lt 50 ] ||
		fail "it was not among the first"
	$u4 sh -c "rm -r $MNT/q*"
}

@test "one user's five hundred drafts do not hold up another's single job" {
	with --max-machines 2
	$u4 sh -c 'i=0; while [ $i -lt 500 ]; do mkdir "$1/d$i" || exit
		i=$((i + 1)); done' - "$MNT"
	job_of 65533 single 'out x'
	assert_equal "$(job_wait single 10)" 0
	assert_equal "$($u3 ls "$MNT")" single
}

# keeps UID NAME... — that user's sandboxes, each with a machine that stays.
keeps() {
	local by name
	by=$(user "$1")
	for name in "${@:2}"; do
		$by mkdir "$MNT/.fsd/sandboxes/$name"
		$by sh -c 'echo "{\"idle\": 0}" >"$1/config.json" && echo x >"$1/files/x"' - \
			"$MNT/.fsd/sandboxes/$name"
	done
}

@test "who keeps all machines idle gives one back to another user who waits" {
	with --max-machines 3
	local S=$MNT/.fsd/sandboxes
	keeps 65534 old paused new
	$u4 sh -c 'echo pause >"$1"' - "$S/paused/ctl"
	run $u4 cat "$MNT/.fsd/health"
	assert_output 'full: sandboxes and sessions keep all machines: 3 machines, of which 3 are yours and 0 in use; a new job waits until one ends (rmdir .fsd/sandboxes/NAME ends one)'
	run $u3 cat "$MNT/.fsd/health"
	assert_output --partial 'busy: sandboxes and sessions keep all machines'
	# Its own job ends none of them.
	job_of 65534 own 'out own'
	job_of 65533 other $'out up\nsleep 600000'
	job_follow other up
	assert_equal "$($u4 cat "$S/old/state" "$S/paused/state" "$S/new/state")" $'lost\npaused\nidle'
	run $u4 cat "$S/old/error"
	assert_output "another user had waited for its machine, which was not in use"
	fails ESTALE $u4 cat "$S/old/files/x"
	run $u4 cat "$MNT/.fsd/last_error"
	assert_output --partial 'another user had waited for its machine'
	$u4 mkdir "$MNT/in"
	$u4 sh -c 'echo "{\"sandbox\": \"old\", \"code\": \"out x\", \"language\": \"bash\"}" >"$1"' - "$MNT/in/config.json" || true
	run $u4 cat "$MNT/in/error"
	assert_output --partial 'another user had waited for its machine'
	assert_equal "$($u4 cat "$S/new/files/x")" x
	# The machine goes to who has waited as soon as it is free, own jobs included.
	$u3 rm -r "$MNT/other"
	assert_equal "$(job_wait own)" 0
	run $u4 cat "$MNT/.fsd/health"
	assert_output ok
}

@test "an idle session gives its machine back as well, and its next step begins anew" {
	with --max-machines 2
	local first=$'remember a\nrecall'
	$u4 mkdir "$MNT/a" "$MNT/b"
	echo "$first" | $u4 tee "$MNT/a/code.sh" >/dev/null
	echo recall | $u4 tee "$MNT/b/code.sh" >/dev/null
	echo '{"session": "s", "session_idle": 3600}' | $u4 tee "$MNT/a/config.json" >/dev/null
	assert_equal "$(job_wait a)" 0
	keeps 65534 box
	# The one of another user, which no session leaves room for, waits.
	$u3 mkdir "$MNT/c"
	echo "$first" | $u3 tee "$MNT/c/code.sh" >/dev/null
	echo '{"session": "t"}' | $u3 tee "$MNT/c/config.json" >/dev/null
	assert_equal "$(job_wait c)" 0
	assert_equal "$($u4 cat "$MNT/.fsd/sessions/s/state" "$MNT/.fsd/sandboxes/box/state")" $'lost\nidle'
	$u3 rmdir "$MNT/.fsd/sessions/t"
	echo '{"session": "s"}' | $u4 tee "$MNT/b/config.json" >/dev/null
	assert_equal "$(job_wait b)" 0
	assert_equal "$($u4 cat "$MNT/b/stdout")" ''
	run $u4 cat "$MNT/b/log"
	assert_output --partial "begun anew, for another user had waited for its machine"
}

@test "the operator sees what users call the same, and ends each" {
	with --allow-other
	local S=$MNT/.fsd/sandboxes uid i
	for uid in 65533 65534; do
		$(user "$uid") mkdir "$S/box" "$MNT/j$uid"
		echo 'remember x' | $(user "$uid") tee "$MNT/j$uid/code.sh" >/dev/null
		echo '{"session": "s"}' | $(user "$uid") tee "$MNT/j$uid/config.json" >/dev/null
		job_wait "j$uid"
	done
	$u4 mkdir "$S/box@65533" "$S/alone"
	assert_equal "$(ls "$S" | sort | paste -sd ' ')" 'alone box box@65533@65534 box@65534'
	assert_equal "$(ls "$MNT/.fsd/sessions" | sort | paste -sd ' ')" 's s@65534'
	assert_equal "$(stat -c %u "$S/box" "$S/box@65533" "$S/box@65534" "$S/box@65533@65534" "$S/alone@65534" | paste -sd ' ')" \
		'65533 65533 65534 65534 65534'
	assert_equal "$($u4 ls "$S" | sort | paste -sd ' ')" 'alone box box@65533'
	fails ENOENT $u4 ls "$S/box@65534"
	rmdir "$S/box@65534" "$MNT/.fsd/sessions/s@65534"
	assert_equal "$($u4 ls "$S"; $u4 ls "$MNT/.fsd/sessions")" $'alone\nbox@65533'
	# root's own name is root's.
	mkdir "$S/mine"
	$u3 mkdir "$S/mine"
	assert_equal "$(stat -c %u "$S/mine" "$S/mine@65533" | paste -sd ' ')" '0 65533'
	rmdir "$S/mine@65533"
	assert_equal "$($u3 ls "$S")" box
}

@test "users side by side each get their own results and nothing else's" {
	local uid by i pids=()
	with --quota-jobs 20 --quota-bytes 1M --quota-running 2
	for uid in 65531 65532 65533 65534; do
		by=$(user "$uid")
		(for i in 1 2 3 4 5 6 7 8 9 10; do
			job_of "$uid" "u$uid-$i" "out $uid $i" || exit
		done
		for i in 1 2 3 4 5 6 7 8 9 10; do
			[ "$(bounded 60 $by cat "$MNT/u$uid-$i/wait")" = 0 ] &&
			[ "$($by cat "$MNT/u$uid-$i/stdout")" = "$uid $i" ] ||
				exit
		done
		[ "$($by ls "$MNT" | grep -c "^u$uid-")" = 10 ] &&
		[ "$($by ls "$MNT" | wc -l)" = 10 ]) 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i"
	done
	people accounts "$MNT" "$STATE"
	rm -r "$MNT"/u*
	people nothing-used "$MNT"
}
