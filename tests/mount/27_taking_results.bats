#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Taking results away, reading what grows, system calls, and waiting by looking.

load ../lib/tools

# --- taking it away -----------------------------------------------------------

# bats test_tags=smoke
@test "tar of a finished job has every file, true sizes, and nothing to warn of" {
	sample
	run tar cf a.tar -C "$MNT" a
	assert_success
	assert_output ''
	run tar df a.tar -C "$MNT"
	assert_success
	assert_output ''
	assert_equal "$(tar tf a.tar | grep -c -e follow -e 'a/wait')" 0
	assert_equal "$(tar xOf a.tar a/exit_code)" 3
}

@test "tar of the whole mount, .fsd and all but its moving figures, has nothing to warn of" {
	sample
	run bounded 20 tar cf all.tar --exclude=./.fsd/stats -C "$MNT" .
	assert_success
	assert_output ''
	run tar tf all.tar
	assert_line ./.fsd/README
	assert_line ./a/output/d/e/g
}

@test "tar of a running job ends and has what was there" {
	running b
	run bounded 10 tar cf b.tar -C "$MNT" b
	assert_success
	assert_equal "$(tar xOf b.tar b/stdout)" up
	assert_equal "$(tar xOf b.tar b/state)" running
	killed b
}

@test "tar of a job that prints all the while is a whole archive" {
	job_start b "$(for _ in {1..60}; do printf 'bytes 20000\nsleep 1\n'; done)"
	bounded 10 head -c 1 "$MNT/b/stdout.follow" >/dev/null
	run bounded 20 tar cf b.tar -C "$MNT" b
	[ "$status" -le 1 ] # 1: a file changed meanwhile
	tar tf b.tar >/dev/null
	mkdir x
	tar xf b.tar -C x
	job_wait b
	cmp -n "$(stat -c %s x/b/stdout)" x/b/stdout "$MNT/b/stdout"
}

@test "zip, cpio and gzip take a job away whole" {
	sample
	(cd "$MNT" && zip -qr "$BATS_TEST_TMPDIR/a.zip" a)
	unzip -q a.zip -d x
	diff -r "$MNT/a" x/a
	(cd "$MNT" && find a | cpio --quiet -o) >a.cpio
	mkdir y
	(cd y && cpio --quiet -id <../a.cpio)
	diff -r "$MNT/a" y/a
	gzip -c "$MNT/a/stdout" | gunzip | cmp - "$MNT/a/stdout"
}

@test "cp -a, cp -r, --reflink=auto and --sparse=always take results away as they are" {
	sample
	local how
	for how in -a -r '-r --reflink=auto' '-r --sparse=always' '-rp'; do
		rm -rf x
		# shellcheck disable=SC2086
		cp $how "$MNT/a" x
		diff -r "$MNT/a" x
	done
	cp -a "$MNT/a/exit_code" kept
	assert_equal "$(stat -c '%a %.9Y' kept)" "$(stat -c '%a %.9Y' "$MNT/a/exit_code")"
}

@test "cp -r of a running job ends" {
	running b
	bounded 10 cp -r "$MNT/b" x
	assert_equal "$(cat x/stdout x/state)" $'up\nrunning'
	killed b
}

@test "rsync takes a job away, and a second time there is nothing to do" {
	sample
	rsync -a "$MNT/a/" x/
	diff -r "$MNT/a" x
	job_put a notes x
	run rsync -ai "$MNT/a/" x/
	assert_success
	assert_output --partial notes
	refute_output --regexp 'f[^ ]* (stdout|stderr|exit_code|result.json|output/.*)$'
}

@test "rsync and cp -u of a growing stdout catch up" {
	job_start a $'out one\nsleep 20\nout two\nsleep 600000'
	exec 9<"$MNT/a/stdout.follow"
	IFS= read -r -t $((20 * SLOW)) _ <&9
	rsync -a "$MNT/a/stdout" rsynced
	cp -pu "$MNT/a/stdout" copied
	IFS= read -r -t $((20 * SLOW)) _ <&9
	exec 9<&-
	rsync -a --append "$MNT/a/stdout" rsynced
	cp -pu "$MNT/a/stdout" copied
	cmp rsynced "$MNT/a/stdout"
	cmp copied "$MNT/a/stdout"
	killed a
}

@test "mv of an output file takes it out, rm removes it, the rest stays" {
	sample
	mv "$MNT/a/output/f" f
	assert_equal "$(cat f)" one
	absent a output/f
	rm -r "$MNT/a/output/d"
	assert_equal "$(ls -A "$MNT/a/output")" ''
	exit_is a 3
}

@test "install, ln -s from outside and cat through the link read a result" {
	sample
	install -m 600 "$MNT/a/output/f" f
	assert_equal "$(cat f)" one
	ln -s "$MNT/a/output/d" link
	assert_equal "$(cat link/e/g)" two
}

# --- growing files ------------------------------------------------------------

@test "head -c, tail -c and dd skip= cut a growing stdout at any place" {
	job_start a $'outn 0123456789\nsleep 600000'
	bounded 10 head -c 10 "$MNT/a/stdout.follow" >/dev/null
	assert_equal "$(head -c 4 "$MNT/a/stdout")" 0123
	assert_equal "$(tail -c 3 "$MNT/a/stdout")" 789
	assert_equal "$(tail -c +9 "$MNT/a/stdout")" 89
	assert_equal "$(head -c -8 "$MNT/a/stdout")" 01
	assert_equal "$(dd status=none bs=1 skip=5 count=2 if="$MNT/a/stdout")" 56
	assert_equal "$(dd status=none bs=4 skip=2 if="$MNT/a/stdout")" 89
	assert_equal "$(dd status=none bs=1 skip=50 if="$MNT/a/stdout")" ''
	killed a
}

@test "a reader that remembers its offset gets each byte once" {
	job_start a "$(for i in {1..50}; do printf 'out line %s\nsleep 1\n' "$i"; done)"
	local at=0 size
	bounded 10 head -c 1 "$MNT/a/stdout.follow" >/dev/null
	: >got
	until [ -e "$MNT/a/exit_code" ]; do
		tail -c +$((at + 1)) "$MNT/a/stdout" >>got
		at=$(stat -c %s got)
	done
	tail -c +$((at + 1)) "$MNT/a/stdout" >>got
	size=$(stat -c %s "$MNT/a/stdout")
	assert_equal "$(stat -c %s got)" "$size"
	cmp got "$MNT/a/stdout"
}

@test "tail -f sees every line and ends with the process that it watches" {
	job_start a "$(for i in {1..30}; do printf 'out %s\nsleep 3\n' "$i"; done)"
	bounded 10 head -c 1 "$MNT/a/stdout.follow" >/dev/null
	bounded 20 cat "$MNT/a/wait" >/dev/null 3>&- &
	bounded 20 tail -n +1 -s 0.02 --pid=$! -f "$MNT/a/stdout" >got
	assert_equal "$(cat got)" "$(seq 30)"
}

@test "tail -F waits for a stdout that is not there yet" {
	mkdir "$MNT/a"
	exec 9< <(exec timeout $((20 * SLOW)) tail -n +1 -s 0.02 -F "$MNT/a/stdout" 2>/dev/null 3>&-)
	local tail=$! line
	job_put a code.sh $'out first\nsleep 600000'
	job_put a config.json '{}'
	IFS= read -r -t $((20 * SLOW)) line <&9
	assert_equal "$line" first
	kill $tail
	exec 9<&-
	killed a
}

@test "an open stdout is read on by while read, as it grows" {
	job_start a $'out one\nsleep 20\nout two\nsleep 600000'
	exec 8<"$MNT/a/stdout.follow"
	IFS= read -r -t $((20 * SLOW)) _ <&8
	exec 9<"$MNT/a/stdout"
	local line
	IFS= read -r line <&9
	assert_equal "$line" one
	IFS= read -r -t $((20 * SLOW)) _ <&8
	IFS= read -r line <&9
	assert_equal "$line" two
	run read -r line <&9
	assert_failure
	exec 8<&- 9<&-
	killed a
}

# --- system calls -------------------------------------------------------------

@test "mmap of stdout, result.json, an output file and an input after the end" {
	sample
	python "$MNT/a" <<-'END'
		import mmap, os, sys
		for name in "stdout", "result.json", "output/d/e/g", "code.sh":
		    path = sys.argv[1] + "/" + name
		    with open(path, "rb") as f:
		        want = f.read()
		        for kind in mmap.MAP_SHARED, mmap.MAP_PRIVATE:
		            m = mmap.mmap(f.fileno(), 0, kind, mmap.PROT_READ)
		            assert m[:] == want, name
		            assert m.find(want[-4:]) >= 0
		            m.close()
		    assert len(want) == os.stat(path).st_size
	END
}

@test "sendfile, splice and copy_file_range copy results" {
	sample
	python "$MNT/a" <<-'END'
		import os, sys
		for name in "stdout", "output/f", "exit_code", "result.json", "log":
		    path = sys.argv[1] + "/" + name
		    want = open(path, "rb").read()
		    def copied(how):
		        src = os.open(path, os.O_RDONLY)
		        dst = os.open("copy", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
		        while how(src, dst):
		            pass
		        got = os.pread(dst, 1 << 20, 0)
		        os.close(src)
		        os.close(dst)
		        assert got == want, (name, len(got), len(want))
		    copied(lambda s, d: os.sendfile(d, s, None, 1 << 20))
		    r, w = os.pipe()
		    def splice(s, d):
		        n = os.splice(s, w, 4096)
		        done = 0
		        while done < n:
		            done += os.splice(r, d, n - done)
		        return n
		    copied(splice)
		    try:
		        copied(lambda s, d: os.copy_file_range(s, d, 1 << 20))
		    except OSError as e:
		        import errno
		        assert e.errno in (errno.EXDEV, errno.EOPNOTSUPP, errno.EINVAL), e
	END
}

@test "preadv, readahead, fadvise, O_DIRECT and O_NOATIME read the same bytes" {
	sample
	python "$MNT/a/stdout" <<-'END'
		import mmap, os, sys
		path = sys.argv[1]
		want = open(path, "rb").read()
		fd = os.open(path, os.O_RDONLY | os.O_NOATIME)
		os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_WILLNEED)
		a, b = bytearray(10), bytearray(50)
		assert os.preadv(fd, [a, b], 5) == 60
		assert bytes(a + b) == want[5:65]
		os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
		assert os.pread(fd, len(want), 0) == want
		direct = os.open(path, os.O_RDONLY | os.O_DIRECT)
		room = mmap.mmap(-1, 8192)
		assert os.preadv(direct, [room], 0) == 8192
		assert room[:] == want[:8192]
	END
}

@test "lseek finds the end, data and holes as in any file" {
	sample
	python "$MNT/a/stdout" <<-'END'
		import errno, os, sys
		fd = os.open(sys.argv[1], os.O_RDONLY)
		size = os.fstat(fd).st_size
		assert os.lseek(fd, 0, os.SEEK_END) == size
		assert os.read(fd, 10) == b""
		assert os.lseek(fd, 0, os.SEEK_DATA) == 0
		assert os.lseek(fd, 0, os.SEEK_HOLE) == size
		try:
		    os.lseek(fd, -1, os.SEEK_SET)
		    sys.exit("a negative offset was taken")
		except OSError as e:
		    assert e.errno == errno.EINVAL
		os.lseek(fd, -3, os.SEEK_END)
		assert len(os.read(fd, 10)) == 3
	END
}

@test "O_DIRECTORY, O_PATH, openat and fchdir work on every directory" {
	sample
	python "$MNT" <<-'END'
		import errno, os, sys
		mnt = sys.argv[1]
		for name in "", "/a", "/a/output", "/a/output/d", "/.fsd", "/.fsd/templates":
		    fd = os.open(mnt + name, os.O_RDONLY | os.O_DIRECTORY)
		    assert os.fstat(fd).st_ino == os.stat(mnt + name).st_ino
		    assert sorted(os.listdir(fd)) == sorted(os.listdir(mnt + name)) != []
		    os.fchdir(fd)
		    os.stat(".")
		    os.close(fd)
		fd = os.open(mnt + "/a", os.O_PATH)
		exit_code = os.open("exit_code", os.O_RDONLY, dir_fd=fd)
		assert os.read(exit_code, 9) == b"3\n"
		assert os.stat("output/f", dir_fd=fd).st_size == 4
		os.chdir("/")
		for name in "/a/stdout", "/a/output/f", "/a/wait", "/.fsd/README":
		    for flags in os.O_DIRECTORY, 0:
		        try:
		            os.open(mnt + name + ("" if flags else "/"), os.O_RDONLY | flags)
		            sys.exit(name + " is no directory")
		        except OSError as e:
		            assert e.errno == errno.ENOTDIR, e
	END
}

@test "access, test -r -w -x and -s tell what may be done" {
	sample
	[ -r "$MNT/a/stdout" ] && [ -s "$MNT/a/stdout" ] && [ -f "$MNT/a/stdout" ]
	[ -d "$MNT/a/output" ] && [ -x "$MNT/a/output" ]
	[ -w "$MNT/a/code.sh" ] && [ ! -x "$MNT/a/code.sh" ]
	[ ! -s "$MNT/a/error" ] && [ ! -x "$MNT/a/stdout" ]
	chmod +x "$MNT/a/code.sh"
	[ -x "$MNT/a/code.sh" ]
	assert_equal "$(find "$MNT" -type f -executable)" "$MNT/a/code.sh"
	[ ! -L "$MNT/a/stdout" ] && [ ! -p "$MNT/a/wait" ]
	fails ENOENT cat "$MNT/a/nothing"
	fails ENOENT ls "$MNT/a/output/nothing"
}

@test "getfattr tells the state at every stage, and the id stays" {
	mkdir "$MNT/a"
	local id
	id=$(getfattr --only-values -n user.fsd.id "$MNT/a")
	assert_equal "$(getfattr --only-values -n user.fsd.state "$MNT/a")" draft
	job_put a code.sh $'out up\nsleep 600000'
	job_put a config.json '{}'
	job_follow a up
	assert_equal "$(getfattr --only-values -n user.fsd.state "$MNT/a")" running
	killed a
	mv "$MNT/a" "$MNT/b"
	assert_equal "$(getfattr --only-values -n user.fsd.state "$MNT/b")" 'done'
	assert_equal "$(getfattr --only-values -n user.fsd.id "$MNT/b")" "$id"
	run getfattr --absolute-names -d "$MNT/b"
	assert_line 'user.fsd.state="done"'
	assert_line "user.fsd.id=\"$id\""
	run getfattr -n user.other "$MNT/b"
	assert_failure
	assert_output --partial 'No such attribute'
	run getfacl -cp "$MNT/b/code.sh"
	assert_success
	assert_output --partial 'user::rw-'
}

@test "flock -s and fuser on a result do not hang" {
	sample
	bounded 10 flock -s "$MNT/a/stdout" true
	exec 9<"$MNT/a/stdout"
	run bounded 10 fuser "$MNT/a/stdout"
	assert_success
	assert_output --partial "$BASHPID"
	exec 9<&-
}

@test "sync, sync -f and fsync of a directory and of a result return" {
	sample
	bounded 20 sync -f "$MNT/a/stdout"
	bounded 20 sync "$MNT/a/exit_code" "$MNT/a/output" "$MNT/a" "$MNT/a/code.sh"
	exit_is a 3
}

@test "sqlite keeps a database in a draft, and reads it after the end" {
	mkdir "$MNT/a"
	python "$MNT/a/data.db" <<-'END'
		import sqlite3, sys
		for mode in "delete", "truncate", "persist", "wal":
		    db = sqlite3.connect(sys.argv[1])
		    db.execute("pragma journal_mode = " + mode)
		    db.execute("create table if not exists t (x)")
		    with db:
		        db.executemany("insert into t values (?)", [(i,) for i in range(500)])
		    db.close()
	END
	absent a data.db-wal
	absent a data.db-shm
	rm -f "$MNT/a/data.db-journal"
	cp "$MNT/a/data.db" before.db
	job_put a code.sh 'show data.db'
	job_put a config.json '{}'
	job_wait a
	cmp before.db "$MNT/a/stdout"
	python "$MNT/a/data.db" <<-'END'
		import sqlite3, sys
		db = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
		assert db.execute("pragma integrity_check").fetchone() == ("ok",)
		assert db.execute("select count(*) from t").fetchone() == (2000,)
	END
}

@test "Python's walk, glob, copytree, filecmp and zipfile take it for a directory" {
	sample
	python "$MNT" <<-'END'
		import filecmp, glob, os, pathlib, shutil, sys
		mnt = sys.argv[1]
		assert glob.glob(mnt + "/*/exit_code") == [mnt + "/a/exit_code"]
		assert {p.name for p in pathlib.Path(mnt, "a", "output").rglob("*")} == {"f", "d", "e", "g"}
		shutil.copytree(mnt + "/a", "copy")
		assert not filecmp.dircmp(mnt + "/a", "copy").diff_files
		found = {os.path.relpath(os.path.join(w, f), mnt + "/a") for w, d, fs in os.walk(mnt + "/a") for f in fs}
		assert {"exit_code", "output/d/e/g", "code.sh"} <= found
		shutil.rmtree("copy")
		shutil.make_archive("all", "zip", mnt, "a")
	END
	unzip -tq all.zip
}

# --- waiting by looking -------------------------------------------------------

@test "test -e exit_code: once it is there all is final, however one looks" {
	local how n=0
	for how in '[ -e J/exit_code ]' 'test -s J/exit_code' 'ls J | grep -qx exit_code' \
		'ls J/exit_code >/dev/null 2>&1' 'cat J/exit_code >/dev/null 2>&1' \
		'find J/ -name exit_code | grep -q .' 'stat J/exit_code >/dev/null 2>&1' \
		'grep -qx "done" J/state' 'set -- J/exit_co*; [ -e "$1" ]' \
		'[ "$(getfattr --only-values -n user.fsd.state J/)" = "done" ]'; do
		n=$((n + 1))
		ln -sfn "$MNT/j$n" J
		job_start j$n $'bytes 50000\nsleep 15\nout end\nwrite f x\nexit 4'
		bounded 20 bash -c "until $how; do :; done"
		assert_equal "$(cat "$MNT/j$n/exit_code")" 4
		assert_equal "$(stat -c %s "$MNT/j$n/stdout")" 50004
		assert_equal "$(cat "$MNT/j$n/output/f")" x
		assert_equal "$(jq .exit_code "$MNT/j$n/result.json")" 4
	done
}

@test "a loop like watch(1)'s sees each state in order and never an error" {
	mkdir "$MNT/a"
	job_put a code.sh $'out up\nawait\nexit 3'
	python "$MNT/a" <<-'END'
		import os, sys
		job, seen = sys.argv[1], []
		while "done" not in seen:
		    state = open(job + "/state").read().strip()
		    if not seen:
		        with open(job + "/config.json", "w") as f:
		            f.write("{}")
		    if not seen or seen[-1] != state:
		        seen.append(state)
		        if state == "running":
		            with open(job + "/ctl", "w") as f:
		                f.write("signal USR1\n")
		    for name in os.listdir(job):
		        os.stat(job + "/" + name)
		order = ["draft", "queued", "running", "done"]
		assert seen == [s for s in order if s in seen], seen
		assert "running" in seen, seen
	END
	exit_is a 3
}

@test "readdir while jobs come and go lists those that stay exactly once" {
	local i
	for i in {1..60}; do
		mkdir "$MNT/stay$i"
	done
	(for i in {1..150}; do
		mkdir "$MNT/come$i" && rmdir "$MNT/come$i"
	done) 3>&- &
	local churn=$! want
	want=$(seq 60 | sed 's/^/stay/' | sort)
	for i in {1..25}; do
		assert_equal "$(ls --ignore='come*' "$MNT" | sort)" "$want"
		assert_equal "$(find "$MNT" -maxdepth 1 -name 'stay*' -printf '%f\n' | sort)" "$want"
	done
	wait $churn
	assert_equal "$(ls "$MNT" | wc -l)" 60
}

@test "rm -r beside ls -R and find: readers see ENOENT at worst" {
	local i
	for i in {1..15}; do
		job_start "j$i" $'write d/f x\nout x'
	done
	for i in {1..15}; do
		job_wait "j$i"
	done
	(for i in {1..15}; do rm -r "$MNT/j$i"; done) 3>&- &
	local remover=$!
	while [ "$(ls "$MNT" | wc -l)" != 0 ]; do
		LC_ALL=C bounded 20 find "$MNT" -ls >/dev/null 2>>errors || true
		LC_ALL=C bounded 20 ls -lR "$MNT" >/dev/null 2>>errors || true
	done
	wait $remover
	run grep -v 'No such file or directory' errors
	assert_output ''
}

@test "results of a removed run vanish from listings with the new start" {
	job_run a $'write old 1\nout one'
	job_put a code.sh $'out up\nsleep 600000'
	job_put a config.json '{}'
	job_follow a up
	run ls "$MNT/a"
	refute_output --partial exit_code
	refute_output --partial output
	fails ENOENT cat "$MNT/a/output/old"
	fails ENOENT stat "$MNT/a/exit_code"
	killed a
}

@test "a directory that is removed while it is open can be looked at, and is empty" {
	sample
	mkdir -p "$MNT/a/sub"
	python "$MNT" <<-'END'
		import errno, os, shutil, sys
		mnt = sys.argv[1]
		fds = [os.open(mnt + name, os.O_RDONLY | os.O_DIRECTORY) for name in ("/a", "/a/sub")]
		shutil.rmtree(mnt + "/a")
		for fd in fds:
		    assert os.fstat(fd).st_nlink == 0
		    try:
		        assert os.listdir(fd) == []
		    except FileNotFoundError:
		        pass
		    try:
		        os.open("x", os.O_WRONLY | os.O_CREAT, dir_fd=fd)
		        sys.exit("a file was made in it")
		    except FileNotFoundError:
		        pass
	END
}

@test "the directory of results, open alone, outlives its job, and is empty" {
	sample
	python "$MNT/a" <<-'END'
		import os, shutil, sys
		fd = os.open(sys.argv[1] + "/output", os.O_RDONLY | os.O_DIRECTORY)
		shutil.rmtree(sys.argv[1])
		assert os.fstat(fd).st_nlink == 0
		assert os.listdir(fd) == []
	END
}
