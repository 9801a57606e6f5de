#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Jobs written by the programs that people already use: the right bytes run,
# and they run once.

load lib/common

setup() {
	mount_start
	cd "$BATS_TEST_TMPDIR" || return
}
teardown() {
	cd /
	mount_done
}

# once JOB TEXT — it ran a single time, well, and printed that.
once() {
	assert_equal "$(job_wait "$1")" 0
	ended "$1" 0 exited
	stdout_is "$1" "$2"
	assert_equal "$(grep -c ' queued$' "$MNT/$1/log")" 1
	assert_equal "$(cat "$MNT/$1/error")" ''
}

# idle JOB — nothing has started it; a later request's answer tells.
idle() {
	stat "$MNT/$1" >/dev/null
	state_is "$1" draft
	assert_equal "$(grep -c ' queued$' "$MNT/$1/log")" 0
}

# source_tree — a job in a plain directory, src, with a file two levels down.
# Its config names what it needs, so that the order of copying is free.
source_tree() {
	mkdir -p src/lib/deep
	printf 'show lib/deep/data\n' >src/code.sh
	printf 'payload\n' >src/lib/deep/data
	printf '{"inputs": ["lib/deep/data"]}\n' >src/config.json
}

# last_error_says TEXT
last_error_says() {
	run cat "$MNT/.fsd/last_error"
	assert_output --partial "$1"
}

# queued_count JOB
queued_count() {
	grep -c ' queued$' "$MNT/$1/log"
}

# --- copying ------------------------------------------------------------------

@test "cp -r of a directory from another file system is one job" {
	source_tree
	cp -r src "$MNT/a"
	once a payload
}

@test "cp -a keeps modes and times and is one job" {
	source_tree
	chmod 750 src/lib
	chmod 755 src/lib/deep/data
	touch -d '2001-02-03 04:05:06 UTC' src/lib/deep/data
	cp -a src "$MNT/a"
	once a payload
	assert_equal "$(stat -c '%a %Y' "$MNT/a/lib/deep/data")" '755 981173106'
	assert_equal "$(stat -c %a "$MNT/a/lib")" 750
}

@test "cp of single files in any order, the config last, the config first" {
	source_tree
	mkdir -p "$MNT/a/lib/deep" "$MNT/b/lib/deep"
	cp src/lib/deep/data "$MNT/a/lib/deep/"
	cp src/code.sh src/config.json "$MNT/a/"
	cp src/config.json src/code.sh "$MNT/b/"
	idle b
	cp src/lib/deep/data "$MNT/b/lib/deep/"
	once a payload
	once b payload
}

@test "cp -f, cp --remove-destination and cp -u over an older program run the new one" {
	local how
	printf 'out new\n' >code.sh
	for how in -f --remove-destination -u -T; do
		mkdir "$MNT/j$how"
		job_put "j$how" code.sh 'out old'
		touch -d 2001-01-01 "$MNT/j$how/code.sh"
		cp "$how" code.sh "$MNT/j$how/code.sh"
		job_put "j$how" config.json '{}'
		once "j$how" new
	done
}

@test "cp -b keeps a backup beside the new file, and only the new one runs" {
	mkdir "$MNT/a"
	job_put a code.sh 'out old'
	printf 'out new\n' >code.sh
	cp -b code.sh "$MNT/a/code.sh"
	assert_equal "$(cat "$MNT/a/code.sh~")" 'out old'
	job_put a config.json '{}'
	once a new
}

@test "cp --reflink=auto and --sparse=always bring the same bytes" {
	local how
	truncate -s 300000 data
	printf 'end' >>data
	printf 'show data\n' >code.sh
	printf '{"inputs": ["data"]}' >config.json
	for how in --reflink=auto --reflink=never --sparse=always --sparse=never; do
		mkdir "$MNT/j$how"
		cp "$how" code.sh config.json data "$MNT/j$how/"
		job_wait "j$how"
		cmp data "$MNT/j$how/stdout"
		assert_equal "$(queued_count "j$how")" 1
	done
}

@test "cp --reflink=always says that it cannot, and the job can still be made" {
	mkdir "$MNT/a"
	printf 'out x\n' >code.sh
	run env LC_ALL=C cp --reflink=always code.sh "$MNT/a/code.sh"
	assert_failure
	assert_output --partial 'failed to clone'
	cp code.sh "$MNT/a/code.sh"
	job_put a config.json '{}'
	once a x
}

@test "cp within the mount copies inputs from one job to another" {
	job_run a 'out x'
	mkdir "$MNT/b"
	cp "$MNT/a/code.sh" "$MNT/b/"
	cp -p "$MNT/a/config.json" "$MNT/b/"
	once b x
	assert_equal "$(queued_count a)" 1
}

@test "cp -r of a directory of jobs into the mount starts every one of them once" {
	local i
	mkdir jobs
	for i in {1..8}; do
		mkdir "jobs/j$i"
		echo "out $i" >"jobs/j$i/code.sh"
		echo '{}' >"jobs/j$i/config.json"
	done
	cp -r jobs/. "$MNT/"
	for i in {1..8}; do
		once "j$i" "$i"
	done
}

@test "cp -rL follows links where cp -a is refused with a sentence" {
	source_tree
	ln -s data src/lib/deep/link
	fails EPERM cp -a src "$MNT/a"
	last_error_says 'cp -L'
	rm -r "$MNT/a"
	cp -rL src "$MNT/a"
	once a payload
	assert_equal "$(cat "$MNT/a/lib/deep/link")" payload
}

# --- rsync --------------------------------------------------------------------

@test "rsync -a from another file system is one job" {
	source_tree
	rsync -a src/ "$MNT/a/"
	once a payload
}

@test "rsync of a finished job's source again changes nothing and runs nothing" {
	source_tree
	rsync -a src/ "$MNT/a/"
	once a payload
	run rsync -ai src/ "$MNT/a/"
	assert_success
	refute_output --partial '>f'
	assert_equal "$(queued_count a)" 1
}

@test "rsync --inplace and --append-verify bring the whole program" {
	local how
	source_tree
	for how in --inplace --append-verify --whole-file --partial --delay-updates; do
		rsync -a "$how" src/ "$MNT/j$how/"
		once "j$how" payload
	done
}

@test "rsync -a into a draft's name and mv is free of races without inputs" {
	source_tree
	printf '{}\n' >src/config.json
	rsync -a src/ "$MNT/.a/"
	idle .a
	mv "$MNT/.a" "$MNT/a"
	once a payload
}

@test "rsync --delete takes away what a draft has too many of" {
	source_tree
	mkdir -p "$MNT/a/old/dir"
	job_put a old/dir/f x
	job_put a code.py 'a second program'
	rsync -a --delete-before src/ "$MNT/a/"
	once a payload
	absent a old
	absent a code.py
}

@test "rsync --delete leaves the virtual files of a finished job alone" {
	source_tree
	rsync -a src/ "$MNT/a/"
	once a payload
	rsync -a --delete --exclude-from=- src/ "$MNT/a/" <<-'END'
		/state
		/error
		/log
		/ctl
		/stdout
		/stderr
		/output
		/result.json
		/exit_code
	END
	ended a 0 exited
	stdout_is a payload
}

@test "rsync --checksum sends a changed config.json, which runs the job again" {
	source_tree
	rsync -a src/ "$MNT/a/"
	once a payload
	printf '{"inputs": ["lib/deep/data"], "env": {"A": "1"}}\n' >src/config.json
	rsync -a --checksum src/ "$MNT/a/"
	job_wait a
	assert_equal "$(queued_count a)" 2
	ended a 0 exited
}

@test "rsync --remove-source-files moves a job in" {
	source_tree
	rsync -a --remove-source-files src/ "$MNT/a/"
	once a payload
	[ ! -e src/code.sh ]
}

# --- archives -----------------------------------------------------------------

@test "tar -x unpacks a job, whatever the order of its members" {
	source_tree
	tar cf forth.tar -C src code.sh lib config.json
	tar cf back.tar -C src config.json lib code.sh
	local order
	for order in forth back; do
		mkdir "$MNT/$order"
		tar xf $order.tar -C "$MNT/$order"
		once $order payload
	done
}

@test "tar -x through gzip and xz, with modes, owners and times" {
	source_tree
	local way
	for way in z J; do
		tar c${way}f t.tar -C src .
		mkdir "$MNT/j$way"
		tar x${way}pf t.tar --same-owner -C "$MNT/j$way"
		once "j$way" payload
	done
}

@test "tar -x of a directory makes the job itself" {
	source_tree
	tar cf t.tar src
	tar xf t.tar -C "$MNT"
	once src payload
	tar xf t.tar -C "$MNT" --transform 's/^src/again/'
	once again payload
}

@test "tar --overwrite, --unlink-first and --keep-newer-files replace a program" {
	local how
	mkdir src
	printf 'out new\n' >src/code.sh
	tar cf t.tar -C src code.sh
	for how in --overwrite --unlink-first --keep-newer-files --recursive-unlink; do
		mkdir "$MNT/j$how"
		job_put "j$how" code.sh 'out old'
		touch -d 2001-01-01 "$MNT/j$how/code.sh"
		tar xf t.tar "$how" -C "$MNT/j$how"
		job_put "j$how" config.json '{}'
		once "j$how" new
	done
}

@test "tar with a link in it unpacks the rest and says what it left out" {
	source_tree
	ln -s data src/lib/deep/link
	ln src/lib/deep/data src/lib/deep/hard
	tar cf t.tar -C src lib code.sh config.json
	mkdir "$MNT/.a"
	fails EPERM tar xf t.tar -C "$MNT/.a"
	last_error_says links
	mv "$MNT/.a" "$MNT/a"
	job_wait a
	ended a 0 exited
}

@test "unzip brings a whole job, also over an older one" {
	source_tree
	(cd src && zip -qr ../t.zip .)
	unzip -q t.zip -d "$MNT/a"
	once a payload
	mkdir "$MNT/b"
	job_put b code.sh 'out old'
	unzip -qo t.zip -d "$MNT/b"
	once b payload
}

@test "python's zipfile and tarfile unpack jobs" {
	source_tree
	/usr/bin/python3 - "$MNT" <<-'END'
		import shutil, sys
		mnt = sys.argv[1]
		for form in "zip", "tar", "gztar":
		    name = shutil.make_archive("t", form, "src")
		    shutil.unpack_archive(name, mnt + "/j" + form)
	END
	once jzip payload
	once jtar payload
	once jgztar payload
}

@test "cpio copies in and passes through" {
	source_tree
	(cd src && find . | cpio --quiet -o) >t.cpio
	mkdir "$MNT/a"
	(cd "$MNT/a" && cpio --quiet -idm <"$BATS_TEST_TMPDIR/t.cpio")
	once a payload
	mkdir "$MNT/b"
	(cd src && find . | cpio --quiet -pdmu "$MNT/b")
	once b payload
}

@test "pieces that split has cut, put together in the job, run as they were" {
	mkdir "$MNT/a"
	seq 1000 | sed 's/^/out /' >code.sh
	split -b 777 code.sh "$MNT/a/piece."
	cat "$MNT"/a/piece.* >"$MNT/a/code.sh"
	rm "$MNT"/a/piece.*
	job_put a config.json '{}'
	once a "$(seq 1000)"
}

@test "split may write its pieces into a job and cat put them together" {
	mkdir "$MNT/a"
	seq 5000 | (cd "$MNT/a" && split -l 100 -d -a 3 - part)
	assert_equal "$(find "$MNT/a" -name 'part*' | wc -l)" 50
	job_put a code.sh $'show part000\nshow part049'
	job_put a config.json '{}'
	once a "$(seq 100; seq 4901 5000)"
}

@test "root may bring files of other owners, which are the job's owner's from then on" {
	source_tree
	if [ "$(id -u)" = 0 ]; then
		chown -R 1234:1234 src
	fi
	cp -a src "$MNT/a"
	rsync -a src/ "$MNT/b/"
	mkdir "$MNT/c"
	tar c -C src . | tar xp --same-owner -C "$MNT/c"
	mv src "$MNT/d"
	local job
	for job in a b c d; do
		once $job payload
		assert_equal "$(find "$MNT/$job" ! -user "$(id -u)")" ''
	done
}

@test "another user may chown to nobody but himself" {
	mount_public
	local other='setpriv --reuid 65534 --regid 65534 --clear-groups'
	mkdir "$MNT/.keep"
	$other mkdir "$MNT/theirs"
	$other sh -c "echo 'out x' >'$MNT/theirs/code.sh'"
	$other chown 65534 "$MNT/theirs/code.sh"
	fails EPERM $other chown 0 "$MNT/theirs/code.sh"
	fails EPERM $other chown 0 "$MNT/theirs"
	assert_equal "$(stat -c %u "$MNT/theirs/code.sh")" 65534
	$other sh -c "echo '{}' >'$MNT/theirs/config.json'"
	once theirs x
}

# --- moving -------------------------------------------------------------------

@test "mv of a directory from another file system is one job and leaves nothing" {
	source_tree
	mv src "$MNT/a"
	once a payload
	[ ! -e src ]
}

@test "mv of files from another file system, the config last" {
	source_tree
	mkdir "$MNT/a"
	mv src/lib src/code.sh "$MNT/a/"
	idle a
	mv src/config.json "$MNT/a/"
	once a payload
}

@test "mv within the mount replaces a program by rename" {
	mkdir "$MNT/a"
	job_put a code.sh 'out old'
	job_put a tmp 'out new'
	mv -f "$MNT/a/tmp" "$MNT/a/code.sh"
	absent a tmp
	job_put a config.json '{}'
	once a new
}

@test "mv -n, -b and -u behave as anywhere" {
	mkdir "$MNT/a"
	job_put a code.sh 'out first'
	job_put a two 'out second'
	mv -n "$MNT/a/two" "$MNT/a/code.sh"
	exists a two
	assert_equal "$(cat "$MNT/a/code.sh")" 'out first'
	mv -b "$MNT/a/two" "$MNT/a/code.sh"
	assert_equal "$(cat "$MNT/a/code.sh~")" 'out first'
	job_put a config.json '{}'
	once a second
}

@test "mv of config.json from one draft to another starts the second only" {
	mkdir "$MNT/a" "$MNT/b"
	job_put b code.sh 'out b'
	job_put a config.json '{}'
	mv "$MNT/a/config.json" "$MNT/b/"
	once b b
	idle a
}

@test "mv of a directory tree within a job, and rename(1)-like loops" {
	mkdir -p "$MNT/a/x/y"
	local i
	for i in 1 2 3; do
		job_put a "x/y/$i.txt" "$i"
	done
	mv "$MNT/a/x/y" "$MNT/a/z"
	for i in "$MNT"/a/z/*.txt; do
		mv "$i" "${i%.txt}.csv"
	done
	job_put a code.sh $'show z/1.csv\nshow z/3.csv'
	job_put a config.json '{}'
	once a $'1\n3'
}

# --- dd, tee, appends ---------------------------------------------------------

@test "dd in blocks of 1, 7, 4096 and a MiB writes the same program" {
	local size
	seq 300 | sed 's/^/out /' >code.sh
	echo '{}' >config.json
	for size in 1 7 4096 1M; do
		mkdir "$MNT/j$size"
		dd status=none if=code.sh of="$MNT/j$size/code.sh" bs=$size
		dd status=none if=config.json of="$MNT/j$size/config.json" bs=$size
		cmp code.sh "$MNT/j$size/code.sh"
		once "j$size" "$(seq 300)"
	done
}

@test "dd conv=notrunc mends bytes in the middle" {
	mkdir "$MNT/a"
	job_put a code.sh 'out abcdef'
	printf XY | dd status=none of="$MNT/a/code.sh" bs=1 seek=6 conv=notrunc
	assert_equal "$(cat "$MNT/a/code.sh")" 'out abXYef'
	job_put a config.json '{}'
	once a abXYef
}

@test "dd seek= beyond the end leaves zeros, and without notrunc it cuts" {
	mkdir "$MNT/a"
	printf end | dd status=none of="$MNT/a/data" bs=1 seek=5000
	assert_equal "$(stat -c %s "$MNT/a/data")" 5003
	printf x | dd status=none of="$MNT/a/data" bs=1 seek=2
	printf '\0\0x' | cmp - "$MNT/a/data"
	job_put a code.sh 'show data'
	job_put a config.json '{}'
	job_wait a
	printf '\0\0x' | cmp - "$MNT/a/stdout"
}

@test "dd oflag=append, conv=fsync, oflag=sync, oflag=direct and conv=sparse work" {
	mkdir "$MNT/a"
	job_put a code.sh 'out 1'
	printf 'out 2\n' | dd status=none of="$MNT/a/code.sh" oflag=append conv=notrunc
	printf 'out 3\n' | dd status=none of="$MNT/a/code.sh" oflag=append conv=notrunc,fsync
	printf 'out 4\n' | dd status=none of="$MNT/a/code.sh" oflag=append,sync conv=notrunc,fdatasync
	truncate -s 100000 zero
	dd status=none if=zero of="$MNT/a/zero" conv=sparse bs=4096
	assert_equal "$(stat -c %s "$MNT/a/zero")" 100000
	printf '{}' | dd status=none of="$MNT/a/config.json" oflag=direct
	once a $'1\n2\n3\n4'
}

@test "dd conv=excl makes a file once" {
	mkdir "$MNT/a"
	printf 'out x\n' | dd status=none of="$MNT/a/code.sh" conv=excl
	fails EEXIST dd status=none if=/dev/null of="$MNT/a/code.sh" conv=excl
	assert_equal "$(cat "$MNT/a/code.sh")" 'out x'
}

@test "tee writes several jobs at once, tee -a adds to them" {
	mkdir "$MNT/a" "$MNT/b"
	echo 'out 1' | tee "$MNT/a/code.sh" "$MNT/b/code.sh" >/dev/null
	echo 'out 2' | tee -a "$MNT/a/code.sh" "$MNT/b/code.sh" >/dev/null
	echo '{}' | tee "$MNT/a/config.json" "$MNT/b/config.json" >/dev/null
	once a $'1\n2'
	once b $'1\n2'
}

@test "a thousand appends of one line each are a thousand lines" {
	mkdir "$MNT/a"
	local i
	for i in {1..1000}; do
		echo "out $i" >>"$MNT/a/code.sh"
	done
	job_put a config.json '{}'
	once a "$(seq 1000)"
}

@test "appends of single bytes by one open file are whole" {
	mkdir "$MNT/a"
	/usr/bin/python3 - "$MNT/a" <<-'END'
		import os, sys
		fd = os.open(sys.argv[1] + "/code.sh", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
		for byte in b"out " + b"x" * 500 + b"\n":
		    assert os.write(fd, bytes([byte])) == 1
		os.close(fd)
	END
	job_put a config.json '{}'
	once a "$(printf 'x%.0s' {1..500})"
}

@test "two processes that append to one file lose no line" {
	mkdir "$MNT/a"
	local pids=() who
	for who in 1 2 3 4; do
		(for i in {1..100}; do echo "out $who $i" >>"$MNT/a/code.sh"; done) 3>&- &
		pids+=($!)
	done
	wait "${pids[@]}"
	job_put a config.json '{}'
	job_wait a
	assert_equal "$(wc -l <"$MNT/a/stdout")" 400
	for who in 1 2 3 4; do
		assert_equal "$(grep -c "^$who " "$MNT/a/stdout")" 100
	done
}

@test "a config.json that comes in pieces is refused meanwhile and starts once whole" {
	mkdir "$MNT/a"
	job_put a code.sh args
	printf '{"args": [' >"$MNT/a/config.json" || true
	state_is a refused
	printf '"one"' >>"$MNT/a/config.json" || true
	printf ']}' >>"$MNT/a/config.json"
	job_wait a
	assert_equal "$(tail -n 1 "$MNT/a/stdout")" one
	assert_equal "$(queued_count a)" 1
	assert_equal "$(cat "$MNT/a/error")" ''
}

@test "heredocs, quoted and not, with tabs taken away" {
	mkdir "$MNT/a" "$MNT/b"
	local x=expanded
	cat >"$MNT/a/code.sh" <<'END'
out $x `y` \z
END
	cat >"$MNT/b/code.sh" <<-END
		out $x
	END
	tee "$MNT/a/config.json" "$MNT/b/config.json" >/dev/null <<<'{}'
	once a '$x `y` \z'
	once b expanded
}

@test "printf, redirections of groups and >| write a program" {
	set -o noclobber
	mkdir "$MNT/a"
	{ echo 'out 1'; echo 'out 2'; } >"$MNT/a/code.sh"
	run bash -c "set -o noclobber; echo 'out 3' >'$MNT/a/code.sh'"
	assert_failure
	printf 'out %s\n' a b c >|"$MNT/a/code.sh"
	{ printf '{'; printf '}'; } >"$MNT/a/config.json"
	set +o noclobber
	once a $'a\nb\nc'
}

@test "install brings files with their modes, -D with directories" {
	printf 'out tool\n' >tool
	echo '{}' >config.json
	mkdir "$MNT/a"
	install -D -m 755 tool "$MNT/a/bin/sub/tool"
	assert_equal "$(stat -c %a "$MNT/a/bin/sub/tool")" 755
	install -m 600 tool "$MNT/a/code.sh"
	install -b -m 640 config.json "$MNT/a/config.json"
	once a tool
}

@test "truncate shrinks, grows and empties; what it leaves is what runs" {
	mkdir "$MNT/a"
	printf 'out abc\nexit 7\n' >"$MNT/a/code.sh"
	truncate -s 8 "$MNT/a/code.sh"
	truncate -s +3 "$MNT/a/data"
	assert_equal "$(stat -c %s "$MNT/a/data")" 3
	truncate -s 0 "$MNT/a/data"
	truncate -r "$MNT/a/code.sh" "$MNT/a/data"
	assert_equal "$(stat -c %s "$MNT/a/data")" 8
	job_put a config.json '{}'
	once a abc
}

@test "fallocate either works or says that it is not supported, and nothing breaks" {
	mkdir "$MNT/a"
	local how
	for how in '-l 4096' '-n -l 4096' '-p -o 0 -l 1' '-z -l 4096'; do
		job_put a data text
		# shellcheck disable=SC2086
		run env LC_ALL=C bash -c "fallocate $how '$MNT/a/data'"
		[ "$status" = 0 ] || assert_output --partial support
	done
	/usr/bin/python3 -c 'import os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.posix_fallocate(fd, 0, 10000)
assert os.fstat(fd).st_size == 10000' "$MNT/a/room"
	job_put a code.sh 'out x'
	job_put a config.json '{}'
	once a x
}

# --- editors and their ways ---------------------------------------------------

@test "sed -i, also with a backup, edits the program" {
	mkdir "$MNT/a"
	job_put a code.sh 'out old'
	sed -i 's/old/mid/' "$MNT/a/code.sh"
	sed -i.bak 's/mid/new/' "$MNT/a/code.sh"
	assert_equal "$(cat "$MNT/a/code.sh.bak")" 'out mid'
	assert_equal "$(find "$MNT/a" -name 'sed*')" ''
	rm "$MNT/a/code.sh.bak"
	job_put a config.json '{}'
	once a new
}

@test "sed -i on config.json after the end runs the job again, once" {
	job_run a args '{"args": ["one"]}'
	sed -i 's/one/two/' "$MNT/a/config.json"
	job_wait a
	assert_equal "$(tail -n 1 "$MNT/a/stdout")" two
	assert_equal "$(queued_count a)" 2
}

@test "perl -i edits in place as sed does" {
	mkdir "$MNT/a"
	job_put a code.sh 'out old'
	perl -pi -e 's/old/new/' "$MNT/a/code.sh"
	perl -pi.orig -e 's/new/newer/' "$MNT/a/code.sh"
	rm "$MNT/a/code.sh.orig"
	job_put a config.json '{}'
	once a newer
}

@test "ed writes a program and a config" {
	mkdir "$MNT/a"
	printf 'a\nout one\nout two\n.\nw\nq\n' | ed -s "$MNT/a/code.sh"
	printf '2s/two/three/\nw\nq\n' | ed -s "$MNT/a/code.sh"
	printf 'a\n{}\n.\nw\nq\n' | ed -s "$MNT/a/config.json"
	once a $'one\nthree'
}

# vi_tiny FILE COMMAND... — vim as it comes, with swap files.
vi_tiny() {
	local file=$1 arg args=()
	shift
	for arg; do
		args+=(-c "$arg")
	done
	bounded 20 vim.tiny -u NONE -N -es --cmd 'set updatecount=1 directory=.' \
		"${args[@]}" "$file" </dev/null
}

@test "vim writes, with its swap file beside the program" {
	mkdir "$MNT/a"
	job_put a code.sh 'out old'
	vi_tiny "$MNT/a/code.sh" '%s/old/new/' 'w' 'q'
	vi_tiny "$MNT/a/config.json" 's/^/{}/' 'wq'
	once a new
	assert_equal "$(find "$MNT/a" -name '*.sw?')" ''
}

@test "vim's three ways of backup all run the job once" {
	local way
	for way in yes no auto; do
		mkdir "$MNT/$way"
		job_put "$way" code.sh 'out old'
		job_put "$way" config.json '{"start": "manual"}'
		vi_tiny "$MNT/$way/code.sh" "set backup backupskip= backupdir=. backupcopy=$way" \
			'%s/old/new/' 'wq'
		assert_equal "$(cat "$MNT/$way/code.sh~")" 'out old'
		idle "$way"
		vi_tiny "$MNT/$way/config.json" "set writebackup backupskip= backupcopy=$way" \
			'%s/manual/auto/' 'wq'
		once "$way" new
	done
}

@test "ex, driven by a script, edits a config and the job runs again" {
	job_run a args '{"args": ["one"]}'
	printf '%%s/one/two/\nx\n' |
		bounded 20 vim.tiny -u NONE -e -s "$MNT/a/config.json"
	job_wait a
	assert_equal "$(tail -n 1 "$MNT/a/stdout")" two
	assert_equal "$(queued_count a)" 2
}

@test "vim's swap file may be written while the job runs, and is no input" {
	mkdir "$MNT/a" "$MNT/a/sub"
	exec 8>"$MNT/a/.config.json.swp" 9>"$MNT/a/sub/.data.swo"
	echo before >&8
	echo before >&9
	job_put a code.sh $'files\nout up\nsleep 600000'
	job_put a config.json '{}'
	bounded 20 grep -qm 1 '^up$' "$MNT/a/stdout.follow"
	echo more >&8
	echo more >&9
	exec 8>&- 9>&-
	assert_equal "$(cat "$MNT/a/.config.json.swp")" $'before\nmore'
	rm "$MNT/a/.config.json.swp" "$MNT/a/sub/.data.swo"
	run cat "$MNT/a/stdout"
	assert_output --partial code.sh
	refute_output --partial .sw
	echo kill >"$MNT/a/ctl"
	job_wait a
}

@test "vim with its swap file, while the job that :w has started runs, has nothing to complain of" {
	mkdir "$MNT/a"
	job_put a code.sh $'out up\nsleep 600000'
	job_put a config.json '{"start": "manual"}'
	run vi_tiny "$MNT/a/config.json" '%s/manual/auto/' 'w' \
		'%s/auto/auto/' 'preserve' 'q!'
	assert_success
	assert_output ''
	job_follow a up
	assert_equal "$(find "$MNT/a" -name '*.sw?')" ''
	echo kill >"$MNT/a/ctl"
	job_wait a
	assert_equal "$(queued_count a)" 1
}

@test "nano writes, with a backup, and the job runs once" {
	mkdir "$MNT/a"
	job_put a code.sh 'out old'
	job_put a config.json '{"start": "manual"}'
	local file
	for file in code.sh config.json; do
		# it works on a terminal only
		bounded 20 /usr/bin/python3 - "$MNT/a/$file" <<-'END'
			import os, pty, sys
			pid, fd = pty.fork()
			if pid == 0:
			    os.environ["TERM"] = "xterm"
			    os.execvp("nano", ["nano", "-I", "-B", "-t", sys.argv[1]])
			shown = b""
			def until(text):
			    global shown
			    while text not in shown:
			        shown += os.read(fd, 4096)
			    shown = b""
			until(b"GNU nano")
			new = b'{}' if sys.argv[1].endswith("json") else b"out new"
			os.write(fd, b"\x0b" + new + b"\x18") # cut the line, type, leave
			try:
			    while os.read(fd, 4096):
			        pass
			except OSError:
			    pass
			assert os.waitpid(pid, 0)[1] == 0
		END
	done
	once a new
	assert_equal "$(cat "$MNT/a/code.sh~")" 'out old'
}

@test "an editor that saves by a temporary file and a rename: .x~, then the name" {
	mkdir "$MNT/a"
	job_put a code.sh 'out old'
	job_put a .code.sh~ 'out new'
	sync "$MNT/a/.code.sh~"
	chmod --reference="$MNT/a/code.sh" "$MNT/a/.code.sh~"
	mv "$MNT/a/.code.sh~" "$MNT/a/code.sh"
	job_put a .config.json.tmp '{}'
	idle a
	mv "$MNT/a/.config.json.tmp" "$MNT/a/config.json"
	once a new
}

@test "an editor that moves the old file away first: the start waits for the new one" {
	mkdir "$MNT/a"
	job_put a code.sh 'out old'
	mv "$MNT/a/code.sh" "$MNT/a/#code.sh#"
	job_put a config.json '{}'
	idle a
	job_put a code.sh 'out new'
	once a new
}

@test "emacs's lock is refused as a link, its autosave and backup do no harm" {
	mkdir "$MNT/a"
	job_put a code.sh 'out old'
	fails EPERM ln -s user@host.123 "$MNT/a/.#code.sh"
	job_put a '#code.sh#' 'out half'
	mv "$MNT/a/code.sh" "$MNT/a/code.sh~"
	job_put a code.sh 'out new'
	rm "$MNT/a/#code.sh#"
	job_put a config.json '{}'
	once a new
}

@test "python's tempfile and os.replace, with fsync of file and directory" {
	/usr/bin/python3 - "$MNT/a" <<-'END'
		import os, sys, tempfile
		job = sys.argv[1]
		os.mkdir(job)
		def save(name, text):
		    with tempfile.NamedTemporaryFile("w", dir=job, delete=False) as f:
		        f.write(text)
		        f.flush()
		        os.fsync(f.fileno())
		    os.replace(f.name, job + "/" + name)
		    fd = os.open(job, os.O_RDONLY | os.O_DIRECTORY)
		    os.fsync(fd)
		    os.close(fd)
		save("code.sh", "out x\n")
		save("config.json", "{}")
	END
	once a x
	assert_equal "$(find "$MNT/a" -name 'tmp*')" ''
}

@test "mkstemp, mktemp -d and O_TMPFILE's clear errno" {
	mkdir "$MNT/a"
	local file
	file=$(mktemp "$MNT/a/XXXXXX")
	printf 'out x\n' >"$file"
	file2=$(mktemp -d "$MNT/a/dir.XXXXXX")
	rmdir "$file2"
	/usr/bin/python3 - "$MNT/a" <<-'END'
		import errno, os, sys
		try:
		    os.close(os.open(sys.argv[1], os.O_TMPFILE | os.O_RDWR, 0o600))
		except OSError as e:
		    assert e.errno in (errno.EOPNOTSUPP, errno.EISDIR), e
	END
	mv "$file" "$MNT/a/code.sh"
	job_put a config.json '{}'
	once a x
}

@test "a program that is written through a shared mapping runs as written" {
	mkdir "$MNT/a"
	/usr/bin/python3 - "$MNT/a" <<-'END'
		import mmap, os, sys
		def write(name, data):
		    fd = os.open(sys.argv[1] + "/" + name, os.O_RDWR | os.O_CREAT, 0o644)
		    os.ftruncate(fd, len(data))
		    m = mmap.mmap(fd, len(data))
		    m[:] = data
		    m.close()
		    os.close(fd)
		write("code.sh", b"out mapped\n" + b"\n" * 9000)
		write("config.json", b'{"args": []}')
	END
	job_wait a
	ended a 0 exited
	stdout_is a mapped
}

@test "git init, add and commit work in a draft" {
	mkdir "$MNT/.a"
	job_put .a code.sh 'out x'
	git -C "$MNT/.a" init -q
	git -C "$MNT/.a" add code.sh
	git -C "$MNT/.a" -c user.name=n -c user.email=e@example.org \
		commit -qm first
	assert_equal "$(git -C "$MNT/.a" log --format=%s)" first
	run git -C "$MNT/.a" fsck
	assert_success
	job_put .a config.json '{}'
	mv "$MNT/.a" "$MNT/a"
	job_wait a
	stdout_is a x
	assert_equal "$(git -C "$MNT/a" ls-files -m)" ''
}

# repository — with a job that has a file two levels down.
repository() {
	source_tree
	git init -q src
	git -C src add .
	git -C src -c user.name=n -c user.email=e@example.org commit -qm first
}

@test "git clone into a draft's name, then mv, is one job" {
	repository
	git clone -q src "$MNT/.a"
	assert_equal "$(git -C "$MNT/.a" status --porcelain -uno)" ''
	mv "$MNT/.a" "$MNT/a"
	once a payload
}

@test "git checkout through a work tree, and git archive" {
	repository
	mkdir "$MNT/.a" "$MNT/b"
	git -C src --work-tree="$MNT/.a" checkout -q -f HEAD -- .
	mv "$MNT/.a" "$MNT/a"
	once a payload
	git -C src archive HEAD | tar x -C "$MNT/b"
	once b payload
}

@test "patch mends a program, diff agrees" {
	mkdir "$MNT/a"
	job_put a code.sh 'out old'
	printf 'out new\n' >new
	diff -u --label code.sh --label code.sh "$MNT/a/code.sh" new >p || true
	cp new "$MNT/a/other"
	git -C "$MNT/a" apply --unsafe-paths "$PWD/p"
	cmp new "$MNT/a/code.sh"
	rm "$MNT/a/other"
	job_put a config.json '{}'
	once a new
}

@test "sort -o, shuf and uniq write their file in place" {
	mkdir "$MNT/a"
	printf 'out %s\n' 3 1 2 1 >"$MNT/a/code.sh"
	sort -u -o "$MNT/a/code.sh" "$MNT/a/code.sh"
	job_put a config.json '{}'
	once a $'1\n2\n3'
}

@test "gzip and gunzip work in place in a job" {
	mkdir "$MNT/a"
	job_put a code.sh 'out x'
	gzip "$MNT/a/code.sh"
	absent a code.sh
	gunzip "$MNT/a/code.sh.gz"
	absent a code.sh.gz
	job_put a config.json '{}'
	once a x
}

@test "flock and lockf hold in a job's directory, and a lock file is only a file" {
	mkdir "$MNT/a"
	job_put a code.sh 'out x'
	flock "$MNT/a/.lock" true
	run flock "$MNT/a/.lock" flock -n "$MNT/a/.lock" true
	assert_failure
	/usr/bin/python3 -c 'import fcntl, sys
f = open(sys.argv[1], "r+")
fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB)' "$MNT/a/.lock"
	job_put a config.json '{}'
	once a x
}

# --- names --------------------------------------------------------------------

@test "jobs with blanks, quotes, emoji and a leading dash run like any other" {
	local name n=0
	for name in 'two words' "it's" 'say "hi"' '🙂 job' '-r' '--help' '$HOME' '*' 'a;b' 'ünï' '#x' '%s'; do
		n=$((n + 1))
		mkdir -- "$MNT/$name"
		echo "out $n" >"$MNT/$name/code.sh"
		echo '{}' >"$MNT/$name/config.json"
		once "$name" "$n"
		assert_equal "$(result "$name" .job)" "$name"
	done
	(cd "$MNT" && cp -r -- -r copy)
	once copy 5
	(cd "$MNT" && rm -r -- -r --help '*')
	absent . -r
	exists . 'two words'
}

@test "files with such names reach the program, through cp, rsync and tar" {
	mkdir src
	local name names=('two words' "it's" '"q"' '-n' '$(x)' '*' 'a\b')
	for name in "${names[@]}"; do
		printf '%s\n' "$name" >"src/$name"
	done
	echo files >src/code.sh
	printf '{"inputs": %s}' "$(printf '%s\n' "${names[@]}" | jq -R . | jq -s .)" >src/config.json
	cp -r src "$MNT/a"
	rsync -a src/ "$MNT/b/"
	mkdir "$MNT/c"
	tar c -C src . | tar x -C "$MNT/c"
	local job
	for job in a b c; do
		job_wait $job
		for name in "${names[@]}"; do
			assert_equal "$(cat -- "$MNT/$job/$name")" "$name"
			run grep -cF -e "$name $((${#name} + 1)) 644" "$MNT/$job/stdout"
			assert_output 1
		done
		assert_equal "$(queued_count $job)" 1
	done
}

@test "control characters in names are refused with a sentence, by every tool" {
	mkdir "$MNT/a"
	local bad=$'new\nline'
	run mkdir "$MNT/$bad"
	assert_failure
	last_error_says 'control characters'
	run touch "$MNT/a/$bad"
	assert_failure
	run cp /dev/null "$MNT/a/"$'tab\there'
	assert_failure
	run mkdir "$MNT/a/"$'esc\e'
	assert_failure
	job_put a code.sh 'out x'
	run mv "$MNT/a/code.sh" "$MNT/a/$bad"
	assert_failure
	last_error_says 'control characters'
	exists a code.sh
	job_put a config.json '{}'
	once a x
}

# --- what is refused ----------------------------------------------------------

@test "mkfifo, mknod and sockets are refused with EPERM and a sentence" {
	mkdir "$MNT/a"
	fails EPERM mkfifo "$MNT/a/fifo"
	last_error_says 'only files and directories'
	fails EPERM mknod "$MNT/a/null" c 1 3
	run /usr/bin/python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$MNT/a/s"
	assert_failure
	assert_output --partial 'not permitted'
	assert_equal "$(find "$MNT/a" -type p -o -type s -o -type c)" ''
}

@test "ln, ln -s and cp -l are refused with EPERM and say what to do instead" {
	mkdir "$MNT/a"
	job_put a data x
	fails EPERM ln -s data "$MNT/a/link"
	last_error_says 'copy the file'
	fails EPERM ln "$MNT/a/data" "$MNT/a/hard"
	last_error_says 'copy the file'
	fails EPERM cp -l "$MNT/a/data" "$MNT/a/hard"
	fails EPERM cp -s "$MNT/a/data" "$MNT/a/soft"
	assert_equal "$(find "$MNT/a" -name hard -o -name soft -o -name link)" ''
}

@test "a virtual file is nobody's to write with any tool while the job runs or after" {
	job_run a $'out x\nexit 3'
	local file
	for file in stdout exit_code result.json state log; do
		fails EPERM cp /etc/hostname "$MNT/a/$file"
		fails EPERM dd status=none if=/dev/zero count=1 of="$MNT/a/$file" conv=notrunc
		run tee -a "$MNT/a/$file" <<<x
		assert_failure
		run sed -i s/x/y/ "$MNT/a/$file"
		assert_failure
		run truncate -s 0 "$MNT/a/$file"
		last_error_says virtual
	done
	ended a 3 exited
	stdout_is a x
	assert_equal "$(queued_count a)" 1
}

@test "setfattr, setfacl and chattr are refused without harm" {
	mkdir "$MNT/a"
	job_put a code.sh 'out x'
	run setfattr -n user.x -v y "$MNT/a/code.sh"
	assert_failure
	run setfacl -m u:1:r "$MNT/a/code.sh"
	assert_failure
	run cp --preserve=all "$MNT/a/code.sh" "$MNT/a/copy"
	assert_success
	rm "$MNT/a/copy"
	job_put a config.json '{}'
	once a x
}

# --- jobs of many files -------------------------------------------------------

@test "inputs hold the start back until a slow copy has ended" {
	mkdir "$MNT/a"
	job_put a code.sh 'show big'
	job_put a config.json '{"inputs": ["big"]}'
	{
		head -c 100000 /dev/zero | tr '\0' x
		idle a >&2
		printf end
	} | dd status=none of="$MNT/a/big" bs=4096
	job_wait a
	assert_equal "$(tail -c 3 "$MNT/a/stdout")" end
	assert_equal "$(stat -c %s "$MNT/a/stdout")" 100003
}

@test "a draft's name holds the start back whatever comes in which order" {
	mkdir "$MNT/.a"
	job_put .a config.json '{}'
	job_put .a code.sh 'show late'
	idle .a
	job_put .a late 'too late otherwise'
	mv "$MNT/.a" "$MNT/a"
	once a 'too late otherwise'
}

@test "twenty jobs that are prepared and submitted at once by xargs run once each" {
	local i
	seq 20 | xargs -P 4 -n 1 sh -c '
		mkdir "$MNT/.j$1" && echo "out $1" >"$MNT/.j$1/code.sh" &&
		echo "{}" >"$MNT/.j$1/config.json" && mv "$MNT/.j$1" "$MNT/j$1"' sh
	for i in {1..20}; do
		once "j$i" "$i"
	done
}

@test "find -exec makes a job of every program it finds" {
	mkdir progs
	local i
	for i in 1 2 3; do
		echo "out $i" >"progs/p$i.sh"
	done
	find progs -name '*.sh' -exec sh -c 'for f; do
		j=$MNT/$(basename "$f" .sh)
		mkdir "$j" && cp "$f" "$j/code.sh" && echo "{" "}" >"$j/config.json"
	done' sh {} +
	for i in 1 2 3; do
		once "p$i" "$i"
	done
}

@test "a job of 500 small files in 50 directories arrives whole by tar and by cp" {
	mkdir src
	local d f
	for d in {1..50}; do
		mkdir "src/d$d"
		for f in {1..10}; do
			echo "$d.$f" >"src/d$d/f$f"
		done
	done
	echo files >src/code.sh
	mkdir "$MNT/.a"
	tar c -C src . | tar x -C "$MNT/.a"
	cp -r src "$MNT/.b"
	local job
	for job in a b; do
		job_put ".$job" config.json '{}'
		mv "$MNT/.$job" "$MNT/$job"
		job_wait $job
		assert_equal "$(grep -c '^d.*/f' "$MNT/$job/stdout")" 500
		diff -r src "$MNT/$job" | grep -v '^Only in .*/[ab]: ' >rest || true
		assert_equal "$(cat rest)" ''
	done
}

# --- what is no writing -------------------------------------------------------

@test "touch, chmod, an open for append and an empty dd are no new config" {
	job_run a 'out x'
	touch "$MNT/a/config.json"
	chmod 600 "$MNT/a/config.json"
	: >>"$MNT/a/config.json"
	dd status=none if=/dev/null of="$MNT/a/config.json" conv=notrunc
	cat "$MNT/a/config.json" >/dev/null
	touch "$MNT/a/code.sh"
	once a x
}

@test "rsync --delete over a finished job takes the results, and a new run brings them back" {
	source_tree
	printf 'show lib/deep/data\nwrite d/f x\n' >src/code.sh
	rsync -a src/ "$MNT/a/"
	once a payload
	run rsync -a --delete src/ "$MNT/a/"
	assert_success
	assert_output ''
	absent a stdout
	state_is a 'done'
	printf '{"inputs": ["lib/deep/data"], "timeout": 9}\n' >src/config.json
	rsync -a --delete src/ "$MNT/a/"
	assert_equal "$(job_wait a)" 0
	stdout_is a payload
	assert_equal "$(cat "$MNT/a/output/d/f")" x
	assert_equal "$(queued_count a)" 2
}

@test "rsync -n says what it would do and does nothing" {
	source_tree
	mkdir "$MNT/a"
	run rsync -ain src/ "$MNT/a/"
	assert_output --partial code.sh
	absent a code.sh
	idle a
}

# --- jobs from jobs -----------------------------------------------------------

@test "cp -r of a running job is a new job that runs once" {
	job_start a $'out up\nsleep 600000'
	job_follow a up
	cp -r "$MNT/a" "$MNT/b"
	job_follow b up
	assert_equal "$(queued_count b)" 1
	echo kill >"$MNT/a/ctl"
	echo kill >"$MNT/b/ctl"
	job_wait a
	job_wait b
}

@test "a finished job that was zipped, copied by Python or piped by tar runs again elsewhere" {
	job_run a $'out x\nwrite d/f 1'
	(cd "$MNT/a" && zip -qr "$BATS_TEST_TMPDIR/a.zip" .)
	unzip -qo a.zip -d "$MNT/.z"
	mv "$MNT/.z" "$MNT/z"
	/usr/bin/python3 -c 'import shutil, sys
shutil.copytree(sys.argv[1] + "/a", sys.argv[1] + "/p")' "$MNT"
	mkdir "$MNT/t"
	tar c -C "$MNT/a" . | tar x -C "$MNT/t"
	local job
	for job in z p t; do
		once $job x
		assert_equal "$(cat "$MNT/$job/output/d/f")" 1
	done
}

@test "a copied result takes its times and mode, and is still nowhere to be seen" {
	mkdir "$MNT/a"
	echo 0 >"$MNT/a/exit_code"
	touch -d 2001-01-01 "$MNT/a/exit_code" stamp
	/usr/bin/python3 -c 'import os, sys
os.chmod(sys.argv[1], 0o600)' "$MNT/a/exit_code"
	absent a exit_code
	fails ENOENT cat "$MNT/a/exit_code"
	fails ENOENT chmod 600 "$MNT/a/result.json"
	job_put a code.sh 'exit 5'
	job_put a config.json '{}'
	assert_equal "$(job_wait a)" 5
	exit_is a 5
	[ "$MNT/a/exit_code" -nt stamp ]
}

@test "who reads a file that is replaced meanwhile reads the old one to its end" {
	mkdir "$MNT/a"
	seq 50000 >"$MNT/a/data"
	exec 9<"$MNT/a/data"
	head -c 10 <&9 >first
	echo new >"$MNT/a/data.new"
	mv "$MNT/a/data.new" "$MNT/a/data"
	cat <&9 >rest
	exec 9<&-
	seq 50000 >want
	cat first rest | cmp - want
	assert_equal "$(cat "$MNT/a/data")" new
}

@test "what one process writes, another that has the file open reads at once" {
	mkdir "$MNT/a"
	/usr/bin/python3 - "$MNT/a/data" <<-'END'
		import mmap, os, sys
		for flags in os.O_WRONLY, os.O_WRONLY | os.O_APPEND, os.O_RDWR:
		    w = os.open(sys.argv[1], flags | os.O_CREAT | os.O_TRUNC, 0o644)
		    r = os.open(sys.argv[1], os.O_RDONLY)
		    total = b""
		    for i in range(300):
		        os.write(w, b"%04d\n" % i)
		        total += b"%04d\n" % i
		        assert os.fstat(r).st_size == len(total)
		        assert os.pread(r, 1 << 20, 0) == total
		    if not flags & os.O_APPEND:
		        m = mmap.mmap(r, 0, mmap.MAP_SHARED, mmap.PROT_READ)
		        for i in range(300):
		            os.pwrite(w, b"%04d" % i, 5)
		            assert m[5:9] == b"%04d" % i
		    for i in range(100):
		        os.ftruncate(w, i % 7)
		        assert len(os.pread(r, 100, 0)) == i % 7
	END
}
