#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Editors, appends and writing in place: the right bytes run, and they run once.

load ../lib/tools

# --- dd, tee, appends ---------------------------------------------------------

# bats test_tags=smoke
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

@test "emacs's lock, autosave and backup do no harm" {
	mkdir "$MNT/a"
	job_put a code.sh 'out old'
	ln -s user@host.123 "$MNT/a/.#code.sh"
	job_put a '#code.sh#' 'out half'
	mv "$MNT/a/code.sh" "$MNT/a/code.sh~"
	job_put a code.sh 'out new'
	rm "$MNT/a/#code.sh#" "$MNT/a/.#code.sh"
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

@test "an editor makes, writes and removes its swap file while the job runs, and no other file" {
	job_start a $'out up\nawait'
	job_follow a up
	echo x >"$MNT/a/.code.sh.swp"
	echo y >>"$MNT/a/.code.sh.swp"
	fails EBUSY cp "$MNT/a/code.sh" "$MNT/a/.code.sh.sw"
	fails EBUSY mkdir "$MNT/a/.d.swp.d"
	rm "$MNT/a/.code.sh.swp"
	run grep -F .code.sh.swp "$MNT/a/log"
	assert_failure
	goes_on a
	assert_equal "$(job_wait a)" 0
}
