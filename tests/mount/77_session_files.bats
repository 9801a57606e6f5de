#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# .fsd/sessions/NAME/files: the working directory of a session's machine, as far
# as the host has a part in it.

load ../lib/common

setup() {
	mount_start
	FILES=$MNT/.fsd/sessions/s/files
}
teardown() { mount_done; }

# step JOB PROGRAM [MORE] — one step of session s to its end.
step() {
	job_start "$1" "$2" "{\"session\": \"s\"${3:+, $3}}"
	job_wait "$1" >/dev/null
}

# bats test_tags=smoke
@test "a file put in from outside is read by the next step" {
	step a 'out begun'
	echo given >"$FILES/data.txt"
	step b 'show data.txt'
	stdout_is b given
	assert_equal "$(cat "$FILES/data.txt")" given
}

@test "what a step has written is read outside" {
	step a $'write made.txt by a\nwrite sub.txt by a too'
	assert_equal "$(cat "$FILES/made.txt")" 'by a'
	assert_equal "$(names "$FILES")" 'code.sh made.txt sub.txt'
	[ "$(stat -c '%F %a %u %g' "$FILES/made.txt")" = "regular file 644 $(id -u) $(id -g)" ]
}

@test "bytes are exact whatever their number" {
	local n
	step a 'out begun'
	for n in 0 1 32767 32768 32769 65536 1048576 5242880; do
		head -c "$n" /dev/urandom >"$BATS_TEST_TMPDIR/f"
		bounded 30 cp "$BATS_TEST_TMPDIR/f" "$FILES/f$n"
		assert_equal "$(stat -c %s "$FILES/f$n")" "$n"
		bounded 30 cmp "$BATS_TEST_TMPDIR/f" "$FILES/f$n"
		bounded 30 cp "$FILES/f$n" "$BATS_TEST_TMPDIR/back"
		cmp "$BATS_TEST_TMPDIR/f" "$BATS_TEST_TMPDIR/back"
	done
}

@test "appending goes to the end, wherever the program has put it" {
	step a 'write log one'
	echo two >>"$FILES/log"
	assert_equal "$(cat "$FILES/log")" $'one\ntwo'
	exec 5>>"$FILES/log"
	step b 'write log other'
	echo three >&5
	exec 5>&-
	assert_equal "$(cat "$FILES/log")" $'other\nthree'
}

@test "a part is written and a file is cut and lengthened" {
	step a 'write f 0123456789'
	printf XY | dd of="$FILES/f" bs=1 seek=3 conv=notrunc status=none
	assert_equal "$(cat "$FILES/f")" 012XY56789
	truncate -s 4 "$FILES/f"
	assert_equal "$(cat "$FILES/f")" 012X
	truncate -s 6 "$FILES/f"
	assert_equal "$(od -An -c "$FILES/f" | tr -s ' ')" ' 0 1 2 X \0 \0'
	echo new >"$FILES/f"
	assert_equal "$(cat "$FILES/f")" new
}

@test "directories are made, filled, moved and removed" {
	step a 'out begun'
	mkdir "$FILES/d" "$FILES/d/e"
	echo 1 >"$FILES/d/e/f"
	fails ENOTEMPTY rmdir "$FILES/d"
	fails EEXIST mkdir "$FILES/d"
	mv "$FILES/d" "$FILES/g"
	[ ! -e "$FILES/d" ]
	assert_equal "$(cat "$FILES/g/e/f")" 1
	mv "$FILES/g/e/f" "$FILES/g/h"
	assert_equal "$(find "$FILES/g" -printf '%P ' | xargs)" 'e h'
	rmdir "$FILES/g/e"
	rm -r "$FILES/g"
	assert_equal "$(names "$FILES")" 'code.sh'
}

@test "an open file follows its renaming, a removed one is stale" {
	step a 'write a 1'
	exec 5<>"$FILES/a"
	mv "$FILES/a" "$FILES/b"
	echo 22 >&5
	assert_equal "$(cat "$FILES/b")" 22
	rm "$FILES/b"
	run cat "/proc/self/fd/5"
	assert_failure
	exec 5>&-
}

@test "mv replaces a file, and not one when told so" {
	step a $'write a 1\nwrite b 2'
	mv -n "$FILES/a" "$FILES/b" || true
	assert_equal "$(cat "$FILES/b")" 2
	mv -f "$FILES/a" "$FILES/b"
	assert_equal "$(cat "$FILES/b")" 1
	[ ! -e "$FILES/a" ]
}

@test "mv between a job and files copies" {
	step a 'write a 1'
	mkdir "$MNT/other"
	mv "$FILES/a" "$MNT/other/a"
	[ ! -e "$FILES/a" ]
	assert_equal "$(cat "$MNT/other/a")" 1
	mv "$MNT/other/a" "$FILES/back"
	assert_equal "$(cat "$FILES/back")" 1
}

@test "cp -r and tar go in and out with names of blanks and unicode" {
	local t=$BATS_TEST_TMPDIR/tree
	step a 'out begun'
	mkdir -p "$t/with blank/ünï" "$t/empty"
	echo x >"$t/with blank/ünï/日本 語.txt"
	printf '' >"$t/none"
	chmod 640 "$t/none"
	cp -r "$t" "$FILES/in"
	diff -r "$t" "$FILES/in"
	tar -C "$t" -cf - . | (mkdir "$FILES/tar" && tar -C "$FILES/tar" -xpf -)
	diff -r "$t" "$FILES/tar"
	assert_equal "$(stat -c %a "$FILES/tar/none")" 640
	tar -C "$FILES" -cf - in | (mkdir "$t.out" && tar -C "$t.out" -xf -)
	diff -r "$t" "$t.out/in"
	cp -a "$t/none" "$FILES/kept"
	rm -r "$FILES/in" "$FILES/tar"
	[ ! -e "$FILES/in" ]
}

@test "what cannot be there is refused" {
	step a 'write f 1'
	fails EPERM ln -s f "$FILES/l"
	fails EPERM ln "$FILES/f" "$FILES/l"
	fails EPERM mkfifo "$FILES/p"
	fails ENOTDIR mkdir "$FILES/f/x"
	fails ENOENT cat "$FILES/none"
	mkdir "$FILES/d"
	fails EISDIR rm "$FILES/d"
	fails EISDIR sh -c 'echo >"$1"' - "$FILES/d"
	fails ENAMETOOLONG mkdir "$FILES/$(printf 'n%.0s' {1..256})"
	[ "$(id -u)" != 0 ] || fails EPERM chown 65534 "$FILES/f"
}

@test "a name has any bytes, inside and outside" {
	step a $'plant bad\001name\nplant \377\nplant good'
	assert_equal "$(LC_ALL=C ls -b "$FILES")" $'bad\\001name\ncode.sh\ngood\n\\377'
	[ -e "$FILES/"$'bad\001name' ]
	mkdir "$FILES/"$'caf\351'
	echo x >"$FILES/"$'caf\351/a\tb'
	assert_equal "$(cat "$FILES/"$'caf\351/a\tb')" x
	rm -r "$FILES/"$'caf\351'
}

@test "five thousand files are listed, and removed while they are" {
	step a 'out begun'
	mkdir "$FILES/many"
	/usr/bin/python3 -I -S - "$FILES/many" <<-'END'
		import sys
		for i in range(5000):
		    open("%s/file number %d" % (sys.argv[1], i), "x").close()
	END
	assert_equal "$(bounded 30 ls "$FILES/many" | wc -l)" 5000
	assert_equal "$(bounded 30 ls "$FILES/many" | sort -u | wc -l)" 5000
	bounded 60 rm -r "$FILES/many"
	[ ! -e "$FILES/many" ]
}

@test "files are used while a step runs" {
	job_start a $'write during 1\nout up\nsleep 60000' '{"session": "s"}'
	job_follow a up
	assert_equal "$(cat "$FILES/during")" 1
	echo outside >"$FILES/other"
	assert_equal "$(cat "$FILES/other")" outside
	echo kill >"$MNT/a/ctl"
	job_wait a
	assert_equal "$(ls "$FILES")" ''
}

@test "a session without a machine shows nothing and takes nothing" {
	step a $'write f 1\ncrash'
	assert_equal "$(cat "$MNT/.fsd/sessions/s/state")" lost
	assert_equal "$(ls "$FILES")" ''
	assert_equal "$(stat -c '%F %a' "$FILES")" 'directory 555'
	fails ENOENT cat "$FILES/f"
	fails ESTALE mkdir "$FILES/d"
	grep -q 'no machine' "$MNT/.fsd/last_error"
	step b 'write g 2'
	assert_equal "$(cat "$FILES/g")" 2
}

@test "files of an ended session are stale, and nobody waits" {
	step a 'write f 1'
	exec 5<>"$FILES/f"
	cd "$FILES"
	rmdir "$MNT/.fsd/sessions/s"
	run bounded 10 cat /proc/self/fd/5
	assert_failure
	run bounded 10 ls .
	assert_failure 2
	cd /
	exec 5>&-
	[ ! -e "$FILES" ]
	step b 'recall'
	assert_equal "$(names "$FILES")" 'code.sh'
}

@test "a machine that answers wrongly about files is given up" {
	local how n=0
	for how in silent garbage long number; do
		n=$((n + 1))
		step "a$n" $'write f 1\nfsfault '"$how"
		run bounded 20 cat "$FILES/f"
		assert_failure
		assert_equal "$(cat "$MNT/.fsd/sessions/s/state")" lost
	done
}

@test "a machine that is wrong about files loses the step that runs" {
	job_start a $'write f 1\nfsfault number\nout up\nsleep 60000' '{"session": "s"}'
	job_follow a up
	run bounded 20 cat "$FILES/f"
	assert_failure
	job_wait a
	result_is a .session_state lost
	ended a 125 failed
}

@test "another user gets nothing of it" {
	mount_public
	local other='setpriv --reuid 65534 --regid 65534 --clear-groups'
	FILES=$MNT/.fsd/sessions/s/files
	step a 'write f 1'
	fails ENOENT $other ls "$FILES"
	cd "$FILES"
	fails EACCES $other ls .
	fails EACCES $other cat f
	fails EACCES $other mkdir d
	fails EACCES $other rm -f f
	cd ..
	fails EACCES $other ls .
	fails EACCES $other cat state
	cd /
	$other mkdir "$MNT/theirs"
	$other sh -c "echo 'write g 2' >$MNT/theirs/code.sh; echo '{\"session\": \"t\"}' >$MNT/theirs/config.json"
	$other cat "$MNT/theirs/wait" >/dev/null
	assert_equal "$(cat "$MNT/.fsd/sessions/t/files/g")" 2
	FILES=$MNT/.fsd/sessions/t/files
	assert_equal "$(stat -c %u "$FILES/g")" 65534
	$other chmod 444 "$FILES/g"
	fails EACCES $other sh -c 'echo >>"$1"' - "$FILES/g"
	assert_equal "$($other cat "$FILES/g")" 2
	$other cp "$FILES/g" "$FILES/copy"
	assert_equal "$($other cat "$FILES/copy")" 2
	$other chmod 200 "$FILES/copy"
	fails EACCES $other cat "$FILES/copy"
}

@test "many at once get each their own bytes" {
	local i pids=()
	step a 'out begun'
	for i in $(seq 40); do
		(
			head -c $((i * 3000)) /dev/zero | tr '\0' "$(printf "\\$(printf %o $((48 + i)))")" >"$FILES/f$i"
			[ "$(stat -c %s "$FILES/f$i")" = $((i * 3000)) ] &&
				[ "$(tr -d "$(printf "\\$(printf %o $((48 + i)))")" <"$FILES/f$i" | wc -c)" = 0 ]
		) &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i"
	done
}

@test "the daemon ends while a file is open and asked for" {
	local reader
	step a 'write f 1'
	exec 5<"$FILES/f"
	step b 'fsfault silent'
	cat <&5 >/dev/null 2>&1 3>&- 4>&- &
	reader=$!
	exec 5<&-
	mount_stop
	wait "$reader" || true
	mount_start
}

@test "what was opened in one machine is not found in the next" {
	step a $'write f first'
	mkdir "$FILES/d"
	exec 5<>"$FILES/f" 6<"$FILES/d"
	step b 'crash'
	step c $'write f second\nplant d/g'
	fails ESTALE cat /proc/self/fd/5
	run bounded 10 sh -c 'echo mine >&5'
	assert_failure
	assert_equal "$(cat "$FILES/f")" second
	exec 5>&- 6<&-
}

@test "no errno of a machine harms the mount" {
	local n
	for n in 38 116 512 524 900; do
		step "a$n" $'write f 1\nfsfault errno '"$n"
		fails EIO timeout 10 truncate -s 0 "$FILES/f"
		fails EIO timeout 10 sh -c ': >"$1"' - "$FILES/f"
		fails EIO timeout 10 sh -c ': >"$1"' - "$FILES/new"
		fails EIO timeout 10 mv -n "$FILES/f" "$FILES/g"
		fails EIO timeout 10 ls "$FILES"
		rmdir "$MNT/.fsd/sessions/s"
	done
	grep -q . "$MNT/.fsd/version"
	job_run after 'out fine'
	stdout_is after fine
}

@test "an errno that a file system has is passed on" {
	step a $'write f 1\nfsfault errno 28'
	fails ENOSPC sh -c ': >"$1"' - "$FILES/new"
}

@test "a listing without end ends" {
	step a $'write f 1\nfsfault endless'
	fails EIO ls "$FILES"
	step b 'out still there'
	stdout_is b 'still there'
}

@test "what is made is of its kind, whatever the machine says" {
	step a $'write f 1\nfsfault kind'
	fails EIO timeout 10 sh -c ': >"$1"' - "$FILES/new"
	fails EIO timeout 10 mkdir "$FILES/d"
	[ "$(stat -c %F "$FILES")" = directory ]
}

@test "a program's mode says whether it can be run" {
	step a 'write f 1'
	[ ! -x "$FILES/f" ]
	chmod 755 "$FILES/f"
	[ -x "$FILES/f" ]
	[ -r "$FILES/f" ]
	cd "$FILES"
	cd /
	step b 'crash'
	cd "$FILES"
	cd /
}

@test "to open for reading and to cut cuts" {
	step a 'write f 1'
	/usr/bin/python3 -c 'import os, sys
os.open(sys.argv[1], os.O_RDONLY | os.O_TRUNC)' "$FILES/f"
	assert_equal "$(stat -c %s "$FILES/f")" 0
}

@test "a file has a time of any year" {
	local at
	step a 'write f 1'
	for at in 1234567890.123456789 -315619200.000000000 -0.500000000 0.000000000 19880899200.000000000 \
		99999999999.000000000 253402300799.000000000; do
		touch -d "@$at" "$FILES/f"
		assert_equal "$(stat -c %.9Y "$FILES/f")" "$at"
	done
}
