#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# fsd spool: what is dropped into a directory runs once, and its results appear whole.

load ../lib/common
load ../lib/spool

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	mount_start
	S=$BATS_TEST_TMPDIR/spool
}
teardown() {
	spools_end
	mount_done
}

# a_claim — of a spool that has ended; its directory in $claim.
a_claim() {
	spool_start
	spool_stop
	claim=$(echo "$S"/run/*)
	claim+=/$(cut -d' ' -f1 "$claim/.id")-0123456789abcdef
	mkdir -p "$claim/input"
	echo 'out x' >"$claim/input/code.sh"
}

# bats test_tags=smoke
@test "a directory that comes by a rename runs, and all of its results appear at once" {
	spool_start
	drop job code.sh $'show data\nerr oops\nwrite made it' data 'a line'
	comes done/job
	assert_equal "$(names "$S/done/job")" 'exit_code input log output result.json stderr stdout tries'
	assert_equal "$(<"$S/done/job/stdout")" 'a line'
	assert_equal "$(<"$S/done/job/stderr")" oops
	assert_equal "$(<"$S/done/job/exit_code")" 0
	assert_equal "$(<"$S/done/job/output/made")" it
	assert_equal "$(jq -r .status "$S/done/job/result.json")" exited
	assert_equal "$(names "$S/done/job/input")" 'code.sh data'
	assert_equal "$(<"$S/done/job/tries")" $'claimed job\nput\ntake'
	nothing_left
	spool_stop
}

@test "any other end than 0 is in failed" {
	spool_start
	drop a code.sh 'exit 3'
	drop b code.sh 'signal 11'
	drop c code.sh $'out x\nsleep 60000' config.json "{\"timeout\": $(patient 300)}"
	comes failed/a
	comes failed/b
	comes failed/c
	assert_equal "$(<"$S/failed/a/exit_code")" 3
	assert_equal "$(<"$S/failed/b/exit_code")" 139
	assert_equal "$(<"$S/failed/c/exit_code")" 124
	assert_equal "$(<"$S/failed/c/stdout")" x
	assert_equal "$(names "$S/done")" ''
	nothing_left
}

@test "a program file runs, by its ending or by its first line" {
	spool_start
	echo 'out one' >"$S/tmp/one.sh"
	printf '#!/bin/sh\nout two\n' >"$S/tmp/two"
	echo 'a,b' >"$S/tmp/three.csv"
	local name
	for name in one.sh two three.csv; do # mv of several stats each when it has come
		mv "$S/tmp/$name" "$S/new/"
	done
	comes done/one.sh
	comes done/two
	assert_equal "$(<"$S/done/one.sh/stdout")" one
	assert_equal "$(<"$S/done/one.sh/input")" 'out one'
	assert_equal "$(<"$S/done/two/stdout")" two
	failed three.csv 'three.csv is neither a directory, nor a program (.py'
}

@test "what is written into new itself is taken when it is whole" {
	spool_start
	echo 'out cp' >p.sh
	cp p.sh "$S/new/cp.sh"
	mkdir -p d/sub
	echo 'show sub/data' >d/code.sh
	echo whole >d/sub/data
	cp -r d "$S/new/d"
	ln p.sh "$S/new/link.sh"
	{
		echo 'out first'
		await becomes 20 test -e go
		echo 'out second'
	} >"$S/new/slow.sh" 3>&- 4>&- &
	comes done/cp.sh
	comes done/d
	comes done/link.sh
	[ ! -e "$S/done/slow.sh" ]
	touch go
	wait $!
	comes done/slow.sh
	assert_equal "$(<"$S/done/slow.sh/stdout")" $'first\nsecond'
	assert_equal "$(<"$S/done/d/stdout")" whole
}

@test "without events of the system all is found by listing" {
	spool_start --poll-only --poll 0.1
	drop a code.sh 'out a'
	comes done/a
	echo 'out b' >"$S/new/b.sh"
	comes done/b.sh
}

@test "names that tools use for what is not whole are left alone" {
	spool_start
	local name
	for name in .x.sh '~$x.sh' x.sh~ x.part x.partial x.tmp x.filepart x.crdownload .x.swp x.lock Thumbs.db desktop.ini; do
		echo 'out x' >"$S/new/$name"
	done
	drop after code.sh 'out a'
	comes done/after
	assert_equal "$(find "$S/new" -type f | wc -l)" 12
	mv "$S/new/x.part" "$S/new/x.sh"
	comes done/x.sh
}

@test "a link, a FIFO, a socket and a device are never opened, and fail" {
	spool_start
	echo 'out secret' >secret.sh
	ln -s "$PWD/secret.sh" "$S/new/link.sh"
	ln -s "$PWD" "$S/new/dir"
	mkfifo "$S/new/fifo"
	[ "$(id -u)" != 0 ] || mknod "$S/new/zero" c 1 5
	mkdir "$S/tmp/deep"
	echo 'out x' >"$S/tmp/deep/code.sh"
	ln -s /etc "$S/tmp/deep/etc"
	mv "$S/tmp/deep" "$S/new/"
	mkdir -p "$S/tmp/pipe/sub"
	echo 'out x' >"$S/tmp/pipe/code.sh"
	mkfifo "$S/tmp/pipe/sub/fifo"
	mv "$S/tmp/pipe" "$S/new/"
	failed link.sh 'link.sh is a symbolic link'
	failed dir 'dir is a symbolic link'
	failed fifo 'fifo is a FIFO'
	[ "$(id -u)" != 0 ] || failed zero 'zero is a device'
	failed deep 'deep/etc is a symbolic link'
	failed pipe 'pipe/sub/fifo is a FIFO'
	[ -L "$S/failed/link.sh/input" ]
	[ -p "$S/failed/fifo/input" ]
	nothing_left
}

@test "an owner who changes a claimed directory leads the spool nowhere" {
	spool_start
	echo secret >secret
	chmod 600 secret
	/usr/bin/python3 - "$S" "$PWD/secret" <<'PY' &
import os, sys, time
spool, secret = sys.argv[1:]
end = time.monotonic() + 3
n = 0
while time.monotonic() < end:
    n += 1
    new = "%s/tmp/x%d" % (spool, n)
    os.mkdir(new)
    for name, text in (("code.sh", "show data\nout end\n"), ("data", "good\n")):
        with open(new + "/" + name, "w") as f:
            f.write(text)
    at = os.open(new, os.O_RDONLY)
    os.symlink(secret, "link", dir_fd=at)
    os.rename("link", "data.link", src_dir_fd=at, dst_dir_fd=at)
    os.unlink("data.link", dir_fd=at)
    os.rename(new, "%s/new/x%d" % (spool, n))
    # its directory is claimed now, and can be reached by the descriptor alone
    stop = time.monotonic() + 0.02
    while time.monotonic() < stop:
        try:
            os.symlink(secret, "swap", dir_fd=at)
            os.rename("swap", "data", src_dir_fd=at, dst_dir_fd=at)
            os.mkfifo("swap", dir_fd=at)
            os.rename("swap", "data", src_dir_fd=at, dst_dir_fd=at)
            fd = os.open("swap", os.O_WRONLY | os.O_CREAT, dir_fd=at)
            os.write(fd, b"good\n")
            os.close(fd)
            os.rename("swap", "data", src_dir_fd=at, dst_dir_fd=at)
        except OSError:
            pass
    os.close(at)
PY
	wait $!
	drop after code.sh 'out after'
	comes done/after
	await becomes 90 sh -c '[ -z "$(ls "$1")" ]' _ "$S/new"
	run grep -rl secret "$S/done" "$S/failed" --include=stdout
	assert_output ''
	[ "$(find "$S/done" "$S/failed" -mindepth 1 -maxdepth 1 | wc -l)" -gt 20 ]
	kill -0 "$SPOOL"
}

@test "keys of config.json that would end or hold a job without the spool are refused" {
	spool_start
	drop session code.sh 'out x' config.json '{"session": "a"}'
	drop sandbox code.sh 'out x' config.json '{"sandbox": "a"}'
	drop retain code.sh 'out x' config.json '{"retain": 1}'
	drop start code.sh 'out x' config.json '{"start": "manual"}'
	drop inputs code.sh 'out x' config.json '{"inputs": ["x"]}'
	local key
	for key in session sandbox retain start inputs; do
		failed $key "config.json: \"$key\" is not allowed in a spool"
	done
	nothing_left
}

@test "a wrong config.json, no program and two programs fail with a sentence" {
	spool_start
	drop a code.sh 'out x' config.json '{"timeout": "x"}'
	drop b code.sh 'out x' config.json '{"timeout": 1'
	drop c code.sh 'out x' config.json '{"memory_mb": 99999999}'
	drop d main.py 'print()'
	drop e code.sh 'out x' code.py 'x'
	drop f code.sh 'out x' ctl 'kill'
	drop g code.sh 'out x' config.json ''
	mkdir -p "$S/tmp/h/config.json"
	echo 'out x' >"$S/tmp/h/code.sh"
	mv "$S/tmp/h" "$S/new/"
	drop i main.sh 'out main' config.json '{"main": "main.sh"}'
	drop j main.sh 'out main' config.json '{"main": "other.sh"}'
	failed a 'config.json: "timeout" is "x"; it must be a number'
	failed b 'config.json: '
	failed c 'config.json: "memory_mb" is 99999999'
	failed d 'it has no program (code.py, code.js, ...); there is main.py'
	failed e 'it has more than one program'
	failed f 'the name ctl is taken by the job itself'
	comes done/g
	failed h 'config.json is a directory'
	comes done/i
	failed j 'a file that its config.json names is missing'
	nothing_left
}

@test "a copy of a finished job's directory is a new job" {
	spool_start
	job_run a 'out same'
	cp -r "$MNT/a" "$S/tmp/a"
	mv "$S/tmp/a" "$S/new/"
	comes done/a
	assert_equal "$(<"$S/done/a/stdout")" same
}

@test "a name that is taken gets a number" {
	spool_start
	local i
	for i in 1 2 3; do
		drop x code.sh "out $i"
		comes "done/x$([ $i = 1 ] || echo .$i)"
	done
	assert_equal "$(<"$S/done/x.3/stdout")" 3
	drop x code.sh 'exit 1'
	comes failed/x
}

@test "names of every kind come out as they went in" {
	spool_start
	local name
	for name in 'a b' $'new\nline' '%41' 'ünï' $'\xff\xfe' '-rf' '\' "$(printf '%0255d' 0)"; do
		mkdir "$S/tmp/x"
		printf 'out x\n' >"$S/tmp/x/code.sh"
		mv -T -- "$S/tmp/x" "$S/new/$name"
		await becomes 20 test -e "$S/done/$name"
	done
	assert_equal "$(find "$S/done" -mindepth 1 -maxdepth 1 -printf x | wc -c)" 8
}

@test "mv of a failed input is another try" {
	spool_start
	drop x code.sh $'until go\nexit 1' config.json '{}'
	touch go
	comes failed/x
	echo 'out good' >"$S/failed/x/input/code.sh"
	mv "$S/failed/x/input" "$S/new/x"
	comes done/x
	assert_equal "$(<"$S/done/x/stdout")" good
}

@test "a marker decides that an entry is complete" {
	spool_start --ready READY
	echo 'out x' >"$S/new/x.sh"
	drop y code.sh 'out y'
	drop z code.sh 'out z' READY ''
	comes done/z
	[ ! -e "$S/done/x.sh" ] && [ ! -e "$S/done/y" ]
	touch "$S/new/x.sh.ready" "$S/new/y/READY"
	comes done/x.sh
	comes done/y
	assert_equal "$(names "$S/new")" ''
}

@test "two spools on one directory run each entry once" {
	spool_start --name a
	spool_start --name b
	local i
	for i in {1..40}; do
		drop "x$i" code.sh "out $i"
	done
	for i in {1..40}; do
		comes "done/x$i"
	done
	assert_equal "$(find "$S/done" -mindepth 1 -maxdepth 1 | wc -l)" 40
	assert_equal "$(figure 'fsd_runs_total{status="exited"}')" 40
	await becomes 20 sh -c "awk '/^fsd_spool_done_total/ { n += \$2 } END { exit n != 40 }' '$S/status'"
}

@test "a second spool of one name is refused" {
	spool_start --name a
	run bounded 20 "$FSD" spool --mount "$MNT" --name a "$S"
	assert_failure 1
	assert_output --partial "another fsd spool serves $S as a; --name gives this one a name of its own"
}

@test "a wrong command line is told" {
	run bounded 20 "$FSD" spool
	assert_failure 2
	run bounded 20 "$FSD" spool --name a/b --mount "$MNT" "$S"
	assert_failure 2
	assert_output --partial '"a/b" cannot be the name of a spool'
	run bounded 20 "$FSD" spool --keep-done 7w "$S"
	assert_failure 2
	assert_output --partial '--keep-done is "7w"; it must be a time such as 90s, 30m, 12h or 7d'
	run bounded 20 "$FSD" spool --window 0 "$S"
	assert_failure 2
	run bounded 20 "$FSD" spool --mount "$PWD" "$S"
	assert_failure 1
	assert_output --partial 'is not a mount of fsd'
}

@test "directories in another filesystem are refused" {
	mkdir -p "$S/done"
	mount -t tmpfs -o size=1m tmpfs "$S/done" || need 'a tmpfs can be mounted'
	run bounded 20 "$FSD" spool --mount "$MNT" "$S"
	umount "$S/done"
	assert_failure 1
	assert_output --partial "$S/done is on another filesystem than $S/new; results appear by rename, which needs one"
	mount --bind "$S/done" "$S/done"
	run bounded 20 "$FSD" spool --mount "$MNT" "$S"
	umount "$S/done"
	assert_failure 1
	assert_output --partial 'is on another filesystem'
}

@test "the directories have the modes of a group's, or of --drop-only" {
	umask 077
	spool_start
	assert_equal "$(stat -c '%n %a' "$S"/{new,tmp,run,run/*,done,failed} | sed "s|$S/||;s|run/.* |run/* |" | xargs)" \
		'new 2770 tmp 2770 run 700 run/* 700 done 2750 failed 2750'
	spool_stop
	spool_start --drop-only
	assert_equal "$(stat -c %a "$S/new" "$S/tmp" | xargs)" '1733 1733'
	[ "$(id -u)" = 0 ] || need root
	run grep root spool.log
	assert_output --partial 'all jobs are root'
}

@test "the status counts what waits, runs and has ended" {
	spool_start --window 1
	drop a code.sh $'until go\nout a'
	status_becomes '^fsd_spool_running.* 1'
	drop b code.sh 'exit 1'
	drop c code.sh 'out c'
	status_becomes '^fsd_spool_new 2$'
	assert_equal "$(grep -c '^fsd_spool_claimed.* 1' "$S/status")" 1
	await becomes 20 sh -c "awk '\$1 == \"fsd_spool_oldest_seconds\" { exit !(\$2 > 0) }' '$S/status'"
	touch go
	comes done/c
	status_becomes '^fsd_spool_done_total.* 2'
	grep -q '^fsd_spool_failed_total.* 1' "$S/status"
	grep -qx 'fsd_spool_new 0' "$S/status"
	[ "$(grep -v '^#' "$S/status" | cut -d' ' -f1 | sort | uniq -d)" = '' ]
}

@test "at most --window entries are claimed" {
	spool_start --window 3
	local i
	for i in {1..10}; do
		drop "x$i" code.sh $'until go\nout x'
	done
	status_becomes '^fsd_spool_new 7$'
	assert_equal "$(find "$S/run" -mindepth 2 -maxdepth 2 -type d | wc -l)" 3
	touch go
	for i in {1..10}; do
		comes "done/x$i"
	done
}

@test "a mount that takes no job blocks the spool, and no entry fails for it" {
	spool_start
	echo drain >"$MNT/.fsd/ctl"
	drop a code.sh 'out a'
	drop b code.sh 'out b'
	status_becomes 'blocked{.*\"drain\"} 1'
	assert_equal "$(names "$S/failed")" ''
	echo resume >"$MNT/.fsd/ctl"
	comes done/a
	comes done/b
	await becomes 20 sh -c "! grep -q 'blocked{.*} 1' '$S/status'"
}

@test "a directory without space blocks the spool, and no entry fails for it" {
	mkdir disk
	mount -t tmpfs -o size=150m tmpfs disk || need 'a tmpfs can be mounted'
	export SMALL=$PWD/disk # mount_done unmounts it
	S=$PWD/disk/spool
	spool_start
	head -c 100M /dev/zero >disk/fill
	drop a code.sh 'out a'
	status_becomes 'blocked{.*"disk"} 1'
	assert_equal "$(names "$S/new") $(names "$S/failed")" 'a '
	rm disk/fill
	comes done/a
	# results that do not fit wait, too
	drop b code.sh $'until go\nbytes 30000000'
	status_becomes '^fsd_spool_running.* 1'
	head -c 130M /dev/zero >disk/fill
	touch go
	status_becomes 'blocked{.*"disk"} 1'
	await becomes 20 sh -c "grep -qs later '$S'/run/*/*/tries"
	rm disk/fill
	comes done/b
	assert_equal "$(stat -c %s "$S/done/b/stdout")" 30000000
	spool_stop
}

@test "a full queue blocks the spool until it has room" {
	mount_stop
	mount_start --max-queued 2 --max-machines 1
	spool_start --window 8
	local i
	for i in {1..6}; do
		drop "x$i" code.sh $'until go\nout x'
	done
	status_becomes 'blocked{.*\"\(queue\|quota\)\"} 1'
	touch go
	for i in {1..6}; do
		comes "done/x$i"
	done
	assert_equal "$(names "$S/failed")" ''
}

@test "a job that its spool has left is taken over by the next start" {
	spool_start
	drop a code.sh $'witness a\nuntil go\nout a'
	status_becomes '^fsd_spool_running.* 1'
	spool_stop
	[ "$(find "$S/run" -name submitted | wc -l)" = 1 ]
	touch go
	spool_start
	comes done/a
	assert_equal "$(figure 'fsd_runs_total{status="exited"}')" 1
	nothing_left
}

@test "a job that a killed spool has left is taken over by the next start" {
	spool_start
	drop a code.sh $'until go\nout a'
	status_becomes '^fsd_spool_running.* 1'
	spool_kill
	touch go
	job_wait "$(basename "$MNT"/spool-*)"
	spool_start
	comes done/a
	assert_equal "$(figure 'fsd_runs_total{status="exited"}')" 1
	nothing_left
}

@test "an entry whose job the mount has lost ends as interrupted, and with retry runs again" {
	spool_start
	drop a code.sh $'until go\nout a'
	drop b code.sh $'until go\nout b' config.json '{"retry": 1}'
	status_becomes '^fsd_spool_running.* 2'
	spool_kill
	rm -r "$MNT"/spool-*
	touch go
	spool_start
	failed a 'its job was accepted, and is not in the mount any more'
	assert_equal "$(jq -r .status "$S/failed/a/result.json")" interrupted
	comes done/b
	nothing_left
}

@test "a mount that is made anew is gone on with" {
	spool_start
	drop a code.sh $'until go\nout a'
	status_becomes '^fsd_spool_running.* 1'
	mount_crash
	umount -l "$MNT"
	drop b code.sh 'out b'
	status_becomes 'blocked{.*\"mount\"} 1'
	touch go
	mount_start
	comes done/b
	# the host of the job has died
	comes failed/a
	assert_equal "$(jq -r .status "$S/failed/a/result.json")" interrupted
	spool_stop
}

@test "the claims of a dead instance are taken over on demand only" {
	spool_start --name dead
	drop a code.sh $'until go\nout a'
	status_becomes '^fsd_spool_running.* 1'
	run bounded 20 "$FSD" spool --name live --take-over dead "$S"
	assert_failure 1
	assert_output --partial "the fsd spool that serves $S as dead lives; stop it first"
	spool_kill
	spool_start --name live
	drop b code.sh 'out b'
	comes done/b
	touch go
	assert_equal "$(find "$S/run/dead" -mindepth 1 -maxdepth 1 -type d | wc -l)" 1
	run bounded 20 "$FSD" spool --name live --take-over dead "$S"
	assert_success
	assert_output "1 entries of dead belong to live now"
	comes done/a
	assert_equal "$(figure 'fsd_runs_total{status="exited"}')" 2
	run bounded 20 "$FSD" spool --name live --take-over none "$S"
	assert_failure 1
}

@test "an entry over which the spool has ended three times fails" {
	local claim
	a_claim
	printf 'claimed x\nput\nput\nput\n' >"$claim/tries"
	spool_start
	failed x 'fsd spool has ended 3 times over this'
}

@test "old results are removed, and new ones stay" {
	spool_start --keep-done 1h --keep-failed 1h
	drop a code.sh 'out a'
	drop b code.sh 'exit 1'
	comes done/a
	comes failed/b
	spool_stop
	cp -r "$S/done/a" "$S/done/old"
	cp -r "$S/failed/b" "$S/failed/old"
	touch -d '2 hours ago' "$S/done/old" "$S/failed/old"
	spool_start --keep-done 1h
	await becomes 20 test ! -e "$S/done/old"
	[ -e "$S/done/a" ] && [ -e "$S/failed/old" ]
	# it was moved away first
	await becomes 20 sh -c '[ -z "$(find "$1/run" -name ".old*")" ]' _ "$S"
}

@test "--no-input keeps what failed, and nothing of what is done" {
	spool_start --no-input
	drop a code.sh 'out a'
	drop b code.sh 'exit 1'
	comes done/a
	comes failed/b
	[ ! -e "$S/done/a/input" ]
	[ -e "$S/failed/b/input/code.sh" ]
}

# as_owner COMMAND... — as a user that is not root; in the background.
as_owner() {
	exec setpriv --reuid 12345 --regid 23456 --clear-groups "$@"
}

@test "another user's entry is taken if the spool's user has the right to" {
	[ "$(id -u)" = 0 ] || need root
	mount_public
	cp "$FSD" "$PUBLIC/fsd"
	mkdir "$PUBLIC/spool"
	chown 12345:23456 "$PUBLIC/spool"
	S=$PUBLIC/spool/s
	as_owner "$PUBLIC/fsd" spool --mount "$MNT" --settle 0.2 "$S" >>spool.log 2>&1 3>&- 4>&- &
	SPOOL=$!
	await becomes 20 grep -q ': serves ' spool.log
	setpriv --reuid 12346 --regid 23456 --clear-groups bash -ec '
		umask 002
		mkdir "$1/tmp/shared"
		echo "out shared" >"$1/tmp/shared/code.sh"
		mv "$1/tmp/shared" "$1/new/"
		umask 022
		echo "out file" >"$1/tmp/file.sh"
		mv "$1/tmp/file.sh" "$1/new/"
		mkdir "$1/tmp/own"
		echo "out own" >"$1/tmp/own/code.sh"
		mv "$1/tmp/own" "$1/new/"' _ "$S"
	comes done/shared
	comes done/file.sh
	status_becomes '^fsd_spool_denied_total.* 1'
	grep -q 'new/own cannot be taken: Permission denied' spool.log
	assert_equal "$(stat -c %u "$S/done/file.sh/stdout")" 12345
	chmod 775 "$S/new/own"
	spool_stop
	# the next one takes it
	as_owner "$PUBLIC/fsd" spool --mount "$MNT" --settle 0.2 "$S" >>spool.log 2>&1 3>&- 4>&- &
	SPOOL=$!
	comes done/own
	spool_stop
}

@test "an idle spool leaves its disk alone" {
	spool_start
	drop a code.sh 'out a'
	comes done/a
	status_becomes '^fsd_spool_done_total.* 1'
	# the same file, which each write replaces, for the time of two writes
	await becomes 60 sh -c '[ "$(stat -c %i "$1")" = "$(sleep 5; stat -c %i "$1")" ]' _ "$S/status"
	drop b code.sh 'out b'
	status_becomes '^fsd_spool_done_total.* 2'
}

@test "a record of many tries is shortened, and keeps the name" {
	local claim
	a_claim
	{
		echo 'claimed a%0Ab'
		for _ in {1..700}; do printf 'put\nlater\n'; done
	} >"$claim/tries"
	touch "$claim/submitted"
	spool_start
	comes $'failed/a\nb'
	[ "$(stat -c %s $S/failed/a*/tries)" -lt 200 ]
}

# bats test_tags=release
@test "the process that handles entries has no rights to spare" {
	sanitized && return # a sanitizer needs them; the part "release" tries it
	spool_start
	local pid
	pid=$(pgrep -P "$SPOOL")
	grep -qx $'Seccomp:\t2' "/proc/$pid/status"
	grep -qx $'NoNewPrivs:\t1' "/proc/$pid/status"
}

# --- the input of a program ---------------------------------------------------------------

# bats test_tags=smoke
@test "with --program an entry is the input of that program, under its own name" {
	printf 'args\nfiles\nshow data.csv' >prog.sh
	spool_start --program prog.sh
	echo 'a,b' >"$S/tmp/data.csv"
	mv "$S/tmp/data.csv" "$S/new/"
	comes done/data.csv
	run cat "$S/done/data.csv/stdout"
	assert_line data.csv
	assert_line a,b
	assert_equal "$(<"$S/done/data.csv/input")" a,b
	mkdir "$S/tmp/dir"
	echo x >"$S/tmp/dir/f"
	tar -C "$S/tmp" -cf a.tar dir
	mv "$S/tmp/dir" "$S/new/"
	cp a.tar "$S/new/"
	comes done/dir
	comes done/a.tar
	run cat "$S/done/dir/stdout"
	assert_line --regexp '^dir/f 2 '
	nothing_left
}

@test "an ARG is the program's; {} in it is the entry's name" {
	echo args >prog.sh
	spool_spawn --mount "$MNT" --program prog.sh "$S" -- -v --in={} x
	echo x >"$S/tmp/a b"
	mv "$S/tmp/a b" "$S/new/"
	comes 'done/a b'
	run cat "$S/done/a b/stdout"
	assert_output --partial $'-v\n--in=a b\nx'
}

@test "an entry whose name the job or its program has fails" {
	echo 'out x' >prog.sh
	spool_start --program prog.sh
	local name
	for name in prog.sh stdout code.py config.json; do
		echo x >"$S/tmp/$name"
		mv "$S/tmp/$name" "$S/new/"
		case $name in
		code.py | stdout | config.json) failed $name "the name $name is taken by the job itself" ;;
		esac
	done
	echo after >"$S/tmp/after"
	mv "$S/tmp/after" "$S/new/"
	comes done/after
}

@test "options of the program are fsd run's, and wrong ones end the spool" {
	printf 'env\nshow table\nargs\nsleep 60000' >prog.sh
	echo rows >table
	spool_start --program prog.sh -t "$(patient 300)" -e KEY=value -i table
	echo x >x.txt
	drop_file x.txt
	comes failed/x.txt
	assert_equal "$(<"$S/failed/x.txt/exit_code")" 124
	run cat "$S/failed/x.txt/stdout"
	assert_line KEY=value
	assert_line rows
	spool_stop
	run bounded 20 "$FSD" spool --mount "$MNT" --program prog.sh -t abc "$S"
	assert_failure 2
	assert_output --partial 'fsd spool: -t is "abc"; it must be a number'
	run bounded 20 "$FSD" spool --mount "$MNT" -t 5 "$S"
	assert_failure 2
	assert_output --partial '-t is an option of the program of --program'
	run bounded 20 "$FSD" spool --mount "$MNT" --program prog.sh -c code "$S"
	assert_failure 2
}

@test "a program that the mount refuses blocks the spool, and no entry fails for it" {
	spool_start -c 'out x' -l bash -m 99999999
	echo x >x.txt
	drop_file x.txt
	status_becomes 'blocked{.*"program"} 1'
	grep -q 'no entry is taken for a while: program: -m is 99999999' spool.log
	spool_stop
	spool_start -c 'out x' -l bash
	comes done/x.txt
}

@test "a program that is not there ends the spool" {
	run bounded 20 "$FSD" spool --mount "$MNT" --program none.py "$S"
	assert_failure 2
	assert_output --partial 'fsd spool: none.py: No such file'
}
