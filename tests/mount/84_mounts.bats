#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The mount itself: it takes nothing away that is not its own, is found wherever
# it is, and an upgrade that fails is told.

load ../lib/common

setup() { mount_start; }
teardown() { mount_done; } # and what is mounted on $MNT

# disk_below — a file system with a file, on $MNT before fsd is.
disk_below() {
	mount_stop
	DISK=$MNT
	mount -t tmpfs tmpfs "$DISK" || need 'a tmpfs can be mounted'
	echo precious >"$DISK/file"
	mount_start
	run ls "$MNT"
	assert_output ''
}

# disk_is_there — it was not taken away with the mount above it.
disk_is_there() {
	DAEMON=
	await exit "$1" 20
	assert_equal "$(cat "$DISK/file")" precious
	run grep -c " $DISK fuse.fsd " /proc/self/mounts
	assert_output 0
}

# bats test_tags=smoke
@test "what was mounted there before is there again after fsd umount" {
	disk_below
	local pid=$DAEMON
	bounded 20 "$FSD" umount "$MNT"
	disk_is_there "$pid"
}

@test "so it is after umount, and after a signal" {
	disk_below
	local pid=$DAEMON
	umount "$MNT"
	disk_is_there "$pid"
	mount_start
	pid=$DAEMON
	kill -TERM "$pid"
	disk_is_there "$pid"
}

@test "what somebody mounts above it is not taken away with it" {
	mount -t tmpfs tmpfs "$MNT" || need 'a tmpfs can be mounted'
	DISK=$MNT
	echo precious >"$MNT/file"
	local pid=$DAEMON
	kill -TERM "$pid"
	DAEMON=
	await exit "$pid" 20
	wait "$pid"
	assert_equal "$(cat "$MNT/file")" precious
	grep -q 'something else is mounted above' "$LOG"
	umount "$MNT"
}

@test "a service that ends late leaves the mount that followed it" {
	local old=$DAEMON server=$SERVER
	kill -STOP "$old"
	umount "$MNT"
	await exit "$server" 20
	DAEMON=
	STATE=$BATS_TEST_TMPDIR/state2 mount_start
	kill -CONT "$old"
	await exit "$old" 20
	assert_equal "$(cat "$MNT/.fsd/health")" ok
}

@test "a mount whose directory has another name now is taken over and ended" {
	mount_stop
	mkdir "$BATS_TEST_TMPDIR/a"
	MNT=$BATS_TEST_TMPDIR/a/mnt
	mount_start
	mkdir "$MNT/j"
	mv "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b"
	MNT=$BATS_TEST_TMPDIR/b/mnt
	server_kill
	exists . j
	job_run k 'out x'
	stdout_is k x
	local pid=$DAEMON
	DAEMON=
	bounded 20 "$FSD" umount "$MNT"
	wait "$pid"
	mount_gone "$pid"
}

@test "a copy of its attributes is no mount, and its service is not ended by it" {
	local copy=$BATS_TEST_TMPDIR/copy
	mkdir "$copy"
	setfattr -n user.fsd.service -v "$DAEMON" "$copy" ||
		need 'a file system with user attributes'
	setfattr -n user.fsd.pid -v "$SERVER" "$copy"
	local command
	for command in umount upgrade; do
		run -1 bounded 10 "$FSD" "$command" "$copy"
		assert_output "fsd $command: $copy is not a mount of fsd"
	done
	assert_equal "$(cat "$MNT/.fsd/health")" ok
	assert_equal "$(server_pid)" "$SERVER"
}

# installed — the service's program can be replaced: it is $PROGRAM.
installed() {
	mount_stop
	PROGRAM=$BATS_TEST_TMPDIR/fsd
	cp "$FSD" "$PROGRAM"
	FSD=$PROGRAM mount_start
}

# not_upgraded — it says so at once, and all goes on as before.
not_upgraded() {
	expect_log 'does not serve|cannot be started|going on with the program'
	run -1 bounded 10 "$FSD" upgrade "$MNT"
	assert_output --partial 'the program that is installed does not serve'
	job_run "${1}" 'out x'
	stdout_is "$1" x
}

@test "an upgrade to what cannot be executed goes on with the program before, and is 1" {
	installed
	cp "$FSD" "$PROGRAM.new"
	chmod 644 "$PROGRAM.new"
	mv "$PROGRAM.new" "$PROGRAM"
	not_upgraded a
	rm "$PROGRAM"
	not_upgraded b
	: >"$PROGRAM"
	chmod 755 "$PROGRAM"
	not_upgraded c
	cp "$FSD" "$PROGRAM.new"
	mv "$PROGRAM.new" "$PROGRAM"
	run -0 bounded 10 "$FSD" upgrade "$MNT"
}

# declares_otherwise TABLE — the installed program has another version of a table that
# servers share (fsd/handover).
declares_otherwise() {
	python3 - "$FSD" "$PROGRAM.new" "$1" <<-'EOF'
		import re, sys
		program = open(sys.argv[1], "rb").read()
		table = sys.argv[3].encode().ljust(16, b"\0")
		changed, count = re.subn(re.escape(table) + b"([^\\0])\0\0\0",
		                         table + b"\xfa\0\0\0", program)
		assert count == 1, count
		open(sys.argv[2], "wb").write(changed)
	EOF
	chmod 755 "$PROGRAM.new"
	mv "$PROGRAM.new" "$PROGRAM"
}

@test "a program that shares records otherwise is refused while there are any, and says which" {
	installed
	FSD=$BATS_TEST_TMPDIR/as_before
	cp "$PROGRAM" "$FSD"
	mkdir "$MNT/open"
	echo mine >"$MNT/open/data"
	exec 5<"$MNT/open/data"
	declares_otherwise handles
	not_upgraded a
	grep -q 'cannot take over .* which has "handles", version 1;' "$LOG"
	assert_equal "$(cat <&5)" mine
	exec 5<&-
	await becomes 20 "$FSD" upgrade "$MNT"
	job_run b 'out x'
	stdout_is b x
	assert_equal "$(cat "$MNT/a/stdout")" x
}

@test "upgrades on each other's heels are all right" {
	installed
	for _ in 1 2 3 4 5; do
		kill -USR2 "$DAEMON"
		"$FSD" upgrade "$MNT" &
		kill -USR2 "$DAEMON"
		wait $!
		kill -USR2 "$DAEMON"
	done
	run -0 bounded 20 "$FSD" upgrade "$MNT"
	job_run a 'out x'
	stdout_is a x
	run grep -c 'does not serve' "$LOG"
	assert_output 0
}

@test "an upgrade whose server is replaced while it asks for it asks the next one" {
	local i upgrades=()
	installed
	for i in 1 2 3 4 5 6 7 8 9 10; do
		bounded 20 "$FSD" upgrade "$MNT" &
		upgrades+=($!)
		kill -USR2 "$DAEMON"
	done
	for i in "${upgrades[@]}"; do
		wait "$i"
	done
	job_run a 'out x'
	stdout_is a x
}

@test "an upgrade that fails as the server is killed goes back to the one before" {
	installed
	expect_log 'does not serve|cannot be started|going on with the program'
	kill -STOP "$DAEMON"
	kill -USR2 "$DAEMON"
	server_kill
	printf '#!/bin/sh\nexit 9\n' >"$PROGRAM.bad"
	chmod 755 "$PROGRAM.bad"
	mv "$PROGRAM.bad" "$PROGRAM"
	kill -CONT "$DAEMON"
	job_run a 'out x'
	stdout_is a x
	run -1 bounded 20 "$FSD" upgrade "$MNT"
	job_run b 'out x'
	stdout_is b x
}

# hangs — a program that ignores signals and never serves is to do so.
hangs() {
	job_run a 'out kept'
	mkfifo "$BATS_TEST_TMPDIR/never"
	# as it runs, a script's own text is not to be had
	printf "#!/usr/bin/env -S sh -c 'trap \"\" TERM INT USR1 USR2; cd %s; : >begun; read x <never'\n" \
		"$BATS_TEST_TMPDIR" >"$PROGRAM.bad"
	chmod 755 "$PROGRAM.bad"
	cp "$FSD" "$BATS_TEST_TMPDIR/good"
	mv "$PROGRAM.bad" "$PROGRAM"
	"$BATS_TEST_TMPDIR/good" upgrade --now "$MNT" 2>/dev/null &
	UPGRADE=$!
	await becomes 20 test -e "$BATS_TEST_TMPDIR/begun"
}

@test "a service that is told to end does not wait for a program that hangs" {
	local signal
	for signal in TERM INT; do
		rm -f "$BATS_TEST_TMPDIR/begun" "$BATS_TEST_TMPDIR/never"
		installed
		hangs
		bounded 20 cat "$MNT/a/stdout" >/dev/null 2>&1 &
		local reader=$!
		mount_stop $signal
		! wait $reader || fail 'it was read after the end'
		! wait "$UPGRADE" || fail 'the upgrade was one'
		mv "$BATS_TEST_TMPDIR/good" "$PROGRAM"
		mount_start
		stdout_is a kept
		rm -r "$MNT/a"
	done
}

@test "mount --daemon keeps nothing open that its caller has" {
	mount_stop
	exec 7>"$BATS_TEST_TMPDIR/lock"
	flock 7
	MNT=$BATS_TEST_TMPDIR/mnt
	bounded 20 "$FSD" mount --daemon --state "$STATE" "$MNT" 2>>"$LOG" 3>&- 4>&-
	exec 7>&-
	bounded 5 flock --nonblock "$BATS_TEST_TMPDIR/lock" true
	bounded 20 "$FSD" umount "$MNT"
}

@test "mount --daemon whose caller ends before it answers leaves nothing" {
	mount_stop
	local pid child code stat hit=0
	while [ "$hit" -lt 3 ]; do
		setsid "$FSD" mount --daemon --state "$STATE" "$MNT" >>"$LOG" 2>&1 \
			3>&- 4>&- &
		pid=$!
		child=
		while [ -z "$child" ] && readlink "/proc/$pid/exe" >/dev/null; do
			# the first is the daemon's
			read -r child _ <"/proc/$pid/task/$pid/children" || true
		done
		# either may have ended by now
		stat=
		if [ -n "$child" ] && kill -STOP "$child"; then
			until [[ $stat == *") "[TZX]* ]]; do # it may run on for a moment
				stat=$(<"/proc/$child/stat") || stat=') X'
			done
		fi
		# The daemon answers behind its mount: without one it has not answered.
		grep -qF " $MNT " /proc/self/mounts || [ -z "$child" ] ||
			kill -KILL "$pid" || true
		[ -z "$child" ] || kill -CONT "$child" || true
		wait "$pid" && code=0 || code=$?
		if [ "$code" = 137 ]; then
			hit=$((hit + 1))
			await exit "$child" 20
			mount_gone "$child"
		else # it had answered
			bounded 20 "$FSD" umount "$MNT"
		fi
	done
}
