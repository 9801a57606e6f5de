#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Reading jobs with the programs that people already use: while they run, at
# their end and afterwards.

load lib/common

setup() {
	mount_start
	cd "$BATS_TEST_TMPDIR" || return
}
teardown() {
	cd /
	mount_done
}

python() {
	bounded 30 /usr/bin/python3 - "$@"
}

# running JOB — it has printed its line "up" and goes on until it is killed.
running() {
	job_start "$1" $'out up\nsleep 600000'
	job_follow "$1" up
}

# killed JOB
killed() {
	echo kill >"$MNT/$1/ctl"
	job_wait "$1" >/dev/null
}

# sample — a finished job with a tree of outputs, called a.
sample() {
	job_run a $'out hello\nerr oops\nwrite f one\nwrite d/e/g two\nbytes 100000\nexit 3'
}

# modified FILE — its time of change in nanoseconds.
modified() {
	local t
	t=$(stat -c %.9Y "$MNT/$1")
	echo "${t/./}"
}

# later FILE — until what is written now is newer than it: a disk's clock may
# tick as seldom as each 10 ms.
later() {
	until [ clock -nt "$MNT/$1" ]; do
		: >clock
	done
}

# --- listing ------------------------------------------------------------------

@test "ls -la of a draft, a running and a finished job has no question marks" {
	mkdir "$MNT/draft"
	running b
	sample
	run bounded 10 ls -la "$MNT" "$MNT/draft" "$MNT/b" "$MNT/a" "$MNT/a/output"
	assert_success
	refute_output --partial '?'
	assert_line --regexp '^-rw-r--r-- +1 .* 2 .* exit_code$'
	killed b
}

@test "ls -laR walks everything and ends, also while jobs run" {
	running b
	sample
	run bounded 10 ls -laR "$MNT"
	assert_success
	assert_line --partial "$MNT/a/output/d/e:"
	killed b
}

@test "ls -S, -t and --time-style sort by what is true" {
	job_run a $'write small 1\nwrite large 11111111111111111111'
	assert_equal "$(ls -S "$MNT/a/output" | head -n 1)" large
	later a/exit_code
	job_put a zzz x
	assert_equal "$(ls -t --ignore={state,error,ctl,log} "$MNT/a" | head -n 1)" zzz
}

@test "ls -i, stat and readdir agree on inode numbers, and .. is the parent" {
	sample
	python "$MNT" <<-'END'
		import os, sys
		seen = {}
		for where, dirs, files in os.walk(sys.argv[1]):
		    for entry in os.scandir(where):
		        st = os.stat(entry.path, follow_symlinks=False)
		        assert entry.inode() == st.st_ino, entry.path
		        assert st.st_ino not in seen, (entry.path, seen[st.st_ino])
		        seen[st.st_ino] = entry.path
		        assert entry.is_dir() == (st.st_mode & 0o170000 == 0o040000)
	END
	assert_equal "$(ls -aid "$MNT/a/output/..")" "$(stat -c %i "$MNT/a") $MNT/a/output/.."
	assert_equal "$(ls -ai "$MNT/a" | awk '$2 == ".." { print $1 }')" "$(stat -c %i "$MNT")"
	assert_equal "$(ls -ai "$MNT/a/output/d" | awk '$2 == ".." { print $1 }')" \
		"$(stat -c %i "$MNT/a/output")"
	assert_equal "$(ls -ai "$MNT/a/output" | awk '$2 == ".." { print $1 }')" \
		"$(stat -c %i "$MNT/a")"
}

@test "pwd, realpath and cd .. find their way in every directory" {
	sample
	cd "$MNT/a/output/d/e"
	assert_equal "$(/bin/pwd)" "$MNT/a/output/d/e"
	cd ../../..
	assert_equal "$(pwd -P)" "$MNT/a"
	assert_equal "$(realpath output/d/../d/e/g)" "$MNT/a/output/d/e/g"
	assert_equal "$(cd "$MNT/.fsd/templates" && realpath ..)" "$MNT/.fsd"
	cd "$BATS_TEST_TMPDIR"
}

@test "globs of the shell see what ls sees" {
	sample
	assert_equal "$(cd "$MNT/a" && echo *)" "$(ls "$MNT/a" | tr '\n' ' ' | sed 's/ $//')"
	assert_equal "$(cd "$MNT" && echo */exit_code)" a/exit_code
	shopt -s globstar
	assert_equal "$(cd "$MNT/a/output" && echo **)" 'd d/e d/e/g f'
	shopt -u globstar
}

@test "find by type, name, size and depth" {
	sample
	assert_equal "$(find "$MNT/a/output" -type f -printf '%P %s\n' | sort)" $'d/e/g 4\nf 4'
	assert_equal "$(find "$MNT/a" -mindepth 1 -type d -printf '%P\n' | sort)" $'output\noutput/d\noutput/d/e'
	assert_equal "$(find "$MNT/a" -size +90k -printf '%P\n')" stdout
	assert_equal "$(find "$MNT/a" -maxdepth 1 -size 2c -printf '%P\n')" exit_code
	assert_equal "$(find "$MNT/a" -empty -printf '%P\n' | sort)" $'ctl\nerror'
	assert_equal "$(find "$MNT/a" -name '*.json' | wc -l)" 2
	assert_equal "$(find "$MNT" -path '*/output/*' -name g)" "$MNT/a/output/d/e/g"
}

@test "find descends into subdirectories however deep, as its leaf rule allows" {
	mkdir -p "$MNT/a/1/2/3/4/5" "$MNT/a/1/x/y"
	echo x >"$MNT/a/1/2/3/4/5/f"
	echo x >"$MNT/a/1/x/y/f"
	assert_equal "$(find "$MNT/a" -name f | wc -l)" 2
	assert_equal "$(find "$MNT/a" -noleaf -name f | wc -l)" 2
}

@test "find -newer and test -nt tell a program that was edited after its run" {
	sample
	assert_equal "$(find "$MNT/a/code.sh" -newer "$MNT/a/exit_code")" ''
	[ ! "$MNT/a/code.sh" -nt "$MNT/a/exit_code" ] || fail 'exit_code is older'
	later a/exit_code
	job_put a code.sh 'out other'
	[ "$MNT/a/code.sh" -nt "$MNT/a/exit_code" ] || fail 'code.sh is older'
	assert_equal "$(find "$MNT/a/code.sh" -newer "$MNT/a/exit_code" | wc -l)" 1
	assert_equal "$(find "$MNT/a/stdout" "$MNT/a/result.json" "$MNT/a/output" -maxdepth 0 -newer "$MNT/a/code.sh")" ''
	touch -d '2 hours ago' old
	assert_equal "$(find "$MNT/a/stdout" -newer old -mmin -60 | wc -l)" 1
}

@test "find by owner and permission finds the job's" {
	sample
	assert_equal "$(find "$MNT/a" ! -user "$(id -un)")" ''
	assert_equal "$(find "$MNT/a" -type f -perm /111)" ''
	assert_equal "$(find "$MNT/a" -name exit_code -perm 644 | wc -l)" 1
	assert_equal "$(find "$MNT/a" -links +2)" ''
}

@test "make builds a job from its program, and again only when that is newer" {
	cat >Makefile <<-'END'
		.RECIPEPREFIX = :
		$(MNT)/a/exit_code: prog.sh
		:mkdir -p $(MNT)/a
		:cp prog.sh $(MNT)/a/code.sh
		:echo '{}' >$(MNT)/a/config.json
		:cat $(MNT)/a/wait
	END
	echo 'out one' >prog.sh
	unset MAKEFLAGS MAKELEVEL
	bounded 20 make -s
	stdout_is a one
	assert_equal "$(bounded 20 make)" "make: '$MNT/a/exit_code' is up to date."
	job_put a notes 'of no concern'
	assert_equal "$(bounded 20 make)" "make: '$MNT/a/exit_code' is up to date."
	echo 'out two' >prog.sh
	touch -d '1 second' prog.sh
	bounded 20 make -s
	stdout_is a two
	assert_equal "$(grep -c ' queued$' "$MNT/a/log")" 2
}

# --- times --------------------------------------------------------------------

@test "results keep their times while other files of the job change" {
	sample
	local name before=() after=()
	for name in stdout stderr result.json exit_code output output/f; do
		before+=("$(modified a/$name)")
	done
	job_put a notes x
	mkdir "$MNT/a/dir"
	rm "$MNT/a/notes"
	for name in stdout stderr result.json exit_code output output/f; do
		after+=("$(modified a/$name)")
	done
	assert_equal "${after[*]}" "${before[*]}"
	[ "$(modified a/exit_code)" -ge "$(modified a/result.json)" ]
	[ "$(modified a/exit_code)" -ge "$(modified a/stdout)" ]
}

@test "stdout looks newer each time it has grown" {
	job_start a $'out one\nsleep 700\nout two\nsleep 600000'
	local first second
	exec 9<"$MNT/a/stdout.follow"
	IFS= read -r -t $((20 * SLOW)) _ <&9
	first=$(modified a/stdout)
	IFS= read -r -t $((20 * SLOW)) _ <&9
	second=$(modified a/stdout)
	exec 9<&-
	[ "$second" -gt "$first" ] || fail "$second is not after $first"
	killed a
}

@test "a job's directory changes its time with what is made, removed and renamed in it" {
	mkdir "$MNT/a"
	job_put a f x
	local what last=0 now
	for what in 'mkdir d' 'touch g' 'mv g h' 'rm h' 'rmdir d'; do
		last=$(modified a)
		(cd "$MNT/a" && $what)
		now=$(modified a)
		[ "$now" -gt "$last" ] || fail "$what did not change the time"
	done
	last=$(modified a)
	cat "$MNT/a/f" >/dev/null
	ls "$MNT/a" >/dev/null
	assert_equal "$(modified a)" "$last"
}

@test "a subdirectory's time changes likewise" {
	mkdir -p "$MNT/a/d"
	local before
	before=$(modified a/d)
	later a/d
	touch "$MNT/a/d/f"
	[ "$(modified a/d)" -gt "$before" ]
	before=$(modified a/d)
	later a/d
	mv "$MNT/a/d/f" "$MNT/a/f"
	[ "$(modified a/d)" -gt "$before" ]
}

@test "the mount's time changes when jobs come, go and are renamed, and only then" {
	local last what
	mkdir "$MNT/a"
	for what in 'mkdir b' 'mv b c' 'rmdir c'; do
		last=$(modified .)
		(cd "$MNT" && $what)
		[ "$(modified .)" -gt "$last" ] || fail "$what did not change the time"
	done
	last=$(modified .)
	job_put a code.sh 'out x'
	job_put a config.json '{}'
	job_wait a
	ls "$MNT" >/dev/null
	assert_equal "$(modified .)" "$last"
}

@test ".fsd's files have the time of their last change, not of the question" {
	local file before
	for file in README version security stats health templates ctl last_error; do
		before=$(modified .fsd/$file)
		cat /dev/null "$MNT/.fsd/version" >/dev/null
		assert_equal "$(modified .fsd/$file)" "$before"
	done
	before=$(modified .fsd/last_error)
	run touch "$MNT/x"
	assert_failure
	[ "$(modified .fsd/last_error)" -gt "$before" ]
	before=$(modified .fsd/health)
	echo drain >"$MNT/.fsd/ctl"
	[ "$(modified .fsd/health)" -gt "$before" ]
}

@test "times survive a restart of the daemon" {
	sample
	local name before=() after=()
	for name in . code.sh stdout result.json exit_code output output/f log; do
		before+=("$name $(modified "a/$name")")
	done
	mount_stop
	mount_start
	for name in . code.sh stdout result.json exit_code output output/f log; do
		after+=("$name $(modified "a/$name")")
	done
	assert_equal "${after[*]}" "${before[*]}"
}

# --- sizes --------------------------------------------------------------------

@test "du -b counts the bytes, du -s ends while a job runs" {
	sample
	running b
	local sum
	sum=$(find "$MNT/a" -type f -printf '%s\n' | awk '{ s += $1 } END { print s }')
	assert_equal "$(du -sb --apparent-size "$MNT/a" | cut -f1)" \
		"$((sum + $(find "$MNT/a" -type d -printf '%s\n' | awk '{ s += $1 } END { print s }')))"
	[ "$(bounded 10 du -sk "$MNT" | cut -f1)" -ge 97 ]
	killed b
}

@test "df and stat -f tell the room of the disk below" {
	local size here
	size=$(df --output=size "$MNT" | tail -n 1)
	here=$(df --output=size "$STATE" | tail -n 1)
	assert_equal "$size" "$here"
	[ "$(df --output=avail "$MNT" | tail -n 1)" -gt 0 ]
	df -i "$MNT" >/dev/null
	assert_equal "$(stat -f -c %l "$MNT")" 255
	run df -T "$MNT"
	assert_output --partial fuse
}

@test "stat's size is true at every line of a growing stdout" {
	job_start a "$(for i in {1..40}; do printf 'outn %s\nout\nsleep 2\n' "$i"; done)"
	python "$MNT/a" <<-'END'
		import os, sys
		job, read = sys.argv[1], 0
		fd = os.open(job + "/stdout", os.O_RDONLY)
		with open(job + "/stdout.follow", "rb") as f:
		    for line in iter(f.readline, b""):
		        read += len(line)
		        size = os.stat(job + "/stdout").st_size
		        assert size >= read, (size, read)
		        assert os.fstat(fd).st_size >= size
		        data = os.pread(fd, 1 << 20, 0)
		        assert size <= len(data) <= os.stat(job + "/stdout").st_size
		assert os.stat(job + "/stdout").st_size == read
	END
	job_wait a
	assert_equal "$(stat -c %s "$MNT/a/stdout")" "$(wc -c <"$MNT/a/stdout")"
}

@test "wc, cat, sha256sum, less, od, dd and a pipe agree on the bytes" {
	job_run a $'bytes 300000\nout end'
	local want way
	want=$(sha256sum <"$MNT/a/stdout")
	for way in 'cat F' 'less -f F' 'dd status=none bs=1000 if=F' 'head -c 999999 F' \
		'tail -c +1 F' 'tail -n +1 F' 'cat F F | head -c 300004' \
		'dd status=none iflag=direct bs=64k if=F' 'grep -a "" F' \
		'split -b 7777 --filter=cat F' 'tac F | tac' 'rsync F o && cat o' 'tee < F'; do
		assert_equal "$(eval "${way//F/\"\$MNT/a/stdout\"}" | sha256sum) $way" "$want $way"
	done
	assert_equal "$(wc -c <"$MNT/a/stdout")" 300004
	cmp "$MNT/a/stdout" "$MNT/a/stdout.follow"
}

# --- searching ----------------------------------------------------------------

@test "grep -r over running and finished jobs ends and finds" {
	running b
	job_run a $'out needle\nwrite deep/er/f needle'
	run bounded 10 grep -r needle "$MNT" --include=stdout --include=f
	assert_success
	assert_line "$MNT/a/stdout:needle"
	assert_line "$MNT/a/output/deep/er/f:needle"
	run bounded 10 grep -rlc up "$MNT/b"
	assert_line "$MNT/b/stdout"
	run bounded 10 grep -rq 'nowhere to be [f]ound' "$MNT"
	assert_failure 1
	killed b
}

@test "grep, awk and sed on a growing stdout read to its present end" {
	running b
	assert_equal "$(bounded 10 grep -c up "$MNT/b/stdout")" 1
	assert_equal "$(bounded 10 awk 'END { print NR }' "$MNT/b/stdout")" 1
	assert_equal "$(bounded 10 sed -n '$p' "$MNT/b/stdout")" up
	killed b
}

@test "find -exec and xargs cat read every listed file of a running job and end" {
	running b
	bounded 10 find "$MNT/b" -type f -exec cat {} + >all
	grep -q '^up$' all
	find "$MNT/b" -type f -print0 | bounded 10 xargs -0 sha256sum >sums
	assert_equal "$(wc -l <sums)" "$(find "$MNT/b" -type f | wc -l)"
	killed b
}

@test "diff -r of two runs of one program differs in what differs only" {
	local job
	for job in a b; do
		job_run $job $'out same\nwrite d/f same'
	done
	job_put b extra x
	run diff -r -x log -x result.json "$MNT/a" "$MNT/b"
	assert_failure 1
	assert_output "Only in $MNT/b: extra"
	diff -r "$MNT/a/output" "$MNT/b/output"
}

@test "diff -r of a job and of its copy on a plain disk finds nothing" {
	sample
	cp -r "$MNT/a" copy
	diff -r "$MNT/a" copy
	rm -r copy
	rsync -a "$MNT/a" .
	diff -r "$MNT/a" a
}

# --- taking it away -----------------------------------------------------------

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
	job_put a code.sh $'out up\nsleep 300\nexit 3'
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
