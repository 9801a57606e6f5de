#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Jobs written by the programs that people already use: the right bytes run,
# and they run once.

load ../lib/tools

# --- copying ------------------------------------------------------------------

# bats test_tags=smoke
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
	ln -s "$PWD/src/lib/deep/data" src/lib/deep/link
	echo '{"inputs": ["lib/deep/data", "lib/deep/link"]}' >src/config.json
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
	ln -s /etc/passwd src/lib/deep/link
	ln src/lib/deep/data src/lib/deep/hard
	# data first: then the other name is the link
	tar cf t.tar --sort=name -C src lib code.sh config.json
	mkdir "$MNT/.a"
	fails EPERM tar xf t.tar -C "$MNT/.a"
	last_error_says 'leads outside'
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
	alone
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
