#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Reading jobs with the programs that people already use: while they run, at
# their end and afterwards.

load ../lib/tools

# --- listing ------------------------------------------------------------------

# bats test_tags=smoke
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
	run modified .fsd/health
	echo resume >"$MNT/.fsd/ctl"
	[ "$output" -gt "$before" ]
}

@test "times survive a restart of the daemon" {
	alone
	mount_start
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
