#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# fsd run: how files of a program come to the user's directory, whole or not at all.

load ../lib/common
load ../lib/run

setup() {
	mkdir "$BATS_TEST_TMPDIR/work"
	cd "$BATS_TEST_TMPDIR/work" || return
	mount_start
}
teardown() { mount_done; }

# killed HOW ARGUMENT... — as lib/killed_run.py says.
killed() {
	bounded 240 /usr/bin/python3 "$TESTS/lib/killed_run.py" "$1" "$FSD" --mount "$MNT" "${@:2}"
}

# on_sshfs COMMAND... — in a directory of sshfs.
on_sshfs() {
	mkdir -p remote other
	# shellcheck disable=SC2016 # for the other shell
	bounded 240 /usr/bin/python3 "$TESTS/lib/sshfs.py" remote other \
		bash -c 'cd other && exec "$@"' _ "$@"
}

@test "-o is never half there, wherever the client is killed" {
	program $'write a text\nwrite b/c text\nout x'
	run killed fresh -o results code.sh
	assert_output $'none\nwhole'
}

@test "-o --replace leaves the old or the new, wherever the client is killed" {
	program $'write b/c new\nout new'
	run killed replaced -o results --replace code.sh
	assert_output $'new\nold'
}

@test "-o makes results on sshfs, and replaces them, as on a disk" {
	program $'write b/c text\nout one'
	on_sshfs "$FSD" run -M "$MNT" -o results ../code.sh </dev/null
	assert_equal "$(names remote) $(cat remote/results/stdout)" 'results one'
	run -2 on_sshfs "$FSD" run -M "$MNT" -o results ../code.sh </dev/null
	assert_output --partial '-o results is there already'
	program 'out two'
	on_sshfs "$FSD" run -M "$MNT" -o results --replace ../code.sh </dev/null
	assert_equal "$(names remote) $(cat remote/results/stdout)" 'results two'
	mkdir remote/mine
	touch remote/mine/file
	run -2 on_sshfs "$FSD" run -M "$MNT" -o mine --replace ../code.sh </dev/null
	assert_output --partial 'file is in it, which no run has made'
	assert_equal "$(names remote)" 'mine results'
}

@test "-o on sshfs is never half there, wherever the client is killed" {
	program $'write a text\nwrite b/c text\nout x'
	run on_sshfs /usr/bin/python3 "$TESTS/lib/killed_run.py" fresh "$FSD" -M "$MNT" -o results ../code.sh
	assert_output $'none\nwhole'
	program $'write b/c new\nout new'
	run on_sshfs /usr/bin/python3 "$TESTS/lib/killed_run.py" replaced "$FSD" -M "$MNT" \
		-o results --replace ../code.sh
	# between two renames the old results are away
	assert_output $'away, then back\nnew\nold'
}

# --- -g --------------------------------------------------------------------------------

# nothing_left — neither in the mount nor of what was made beside the files.
nothing_left() {
	assert_equal "$(ls -A "$MNT")" .fsd
	assert_equal "$(find . -name '.*.fsd-*')" ''
}

# said CODE TEXT COMMAND... — it ends with that code and says exactly this.
said() {
	local code=$1 text=$2
	shift 2
	run -"$code" --separate-stderr "$@"
	# shellcheck disable=SC2154
	assert_equal "$stderr" "${text:+fsd run: $text}"
}

# refused TEXT ARGUMENT... — the run is refused before there is a job.
refused() {
	said 2 "$1" fsd_run "${@:2}" code.sh
}

# bats test_tags=smoke
@test "-g: the program's files and directories appear here, at the same paths" {
	mkdir -p sub/deep dir/old
	echo old | tee sub/deep/x dir/old/file >/dev/null
	echo mine >sub/mine
	program $'write a.out one\nwrite sub/deep/x two\nwrite dir/new/y three\nwrite other four\nout text'
	run --separate-stderr fsd_run -g a.out --get ./sub//deep/x -g dir/ code.sh
	assert_success
	assert_equal "$output $stderr" 'text '
	assert_equal "$(cat a.out sub/deep/x dir/new/y sub/mine)" $'one\ntwo\nthree\nmine'
	assert_equal "$(names .); $(names dir)" 'a.out code.sh dir sub; new'
	# as any file that the user makes
	assert_equal "$(stat -c %a a.out)" "$(printf '%o' $((0666 & ~$(umask))))"
	(umask 077 && fsd_run -g a.out code.sh >/dev/null)
	assert_equal "$(stat -c %a a.out)" 600
	# besides -o
	fsd_run -g a.out -o results code.sh >/dev/null
	assert_equal "$(cat results/output/a.out a.out)" $'one\none'
	nothing_left
}

@test "-g: a directory of the path is there before the program starts" {
	mkdir -p sub/deep
	program 'files'
	run -1 fsd_run -g sub/deep/x -g sub/y -g z code.sh
	assert_line --regexp '^sub/deep/?'
	nothing_left
}

@test "-g changes nothing if the program fails, or leaves one out" {
	mkdir dir
	echo old | tee a.out dir/x >/dev/null
	program $'write a.out new\nwrite dir/x new\nexit 3'
	said 3 '' fsd_run -g a.out -g dir code.sh
	program $'write a.out new\nwrite dir/y new'
	said 1 $'-g b.out: the program has left no such file or directory\nfsd run: -g dir/x: the program has left no such file or directory' \
		fsd_run -g a.out -g b.out -g dir/y -g dir/x code.sh
	# what a limit cuts is no success
	program $'write a.out new\nout 12345'
	run -125 fsd_run --stdout-limit 2 -g a.out code.sh
	# nor one whose output has no reader
	program $'write a.out new\nout 12345'
	run bash -c '"$@" >/dev/full' _ "$FSD" run -M "$MNT" -n -g a.out code.sh
	assert_failure 1
	assert_equal "$(cat a.out dir/x)" $'old\nold'
	assert_equal "$(names .); $(names dir)" 'a.out code.sh dir; x'
	nothing_left
}

@test "-g tells what was left out of its files, and of no other ones" {
	program $'write a.out new\nlink other'
	said 0 '' fsd_run -g a.out code.sh
	assert_equal "$(cat a.out)" new
	program $'write a.out new\nwrite dir/x new\nlink dir/y'
	run -125 fsd_run -g a.out -g dir code.sh
	assert_line --partial '-g dir: 1 entry was left out:'
	assert_line --partial 'dir/y'
	[ ! -e dir ]
	echo old >a.out
	run -125 fsd_run --output-limit 2 -g a.out code.sh
	assert_line --partial '--output-limit changes output_limit'
	assert_equal "$(cat a.out)" old
	nothing_left
}

@test "-g refuses a path that does not stay in this directory, before there is a job" {
	local path
	program 'out x'
	mkdir -p dir/in elsewhere
	ln -s elsewhere link
	ln -s "$PWD/elsewhere" dir/far
	ln -s nowhere dangling
	touch file
	mkfifo pipe
	for path in "$PWD/x" ../x dir/../x dir/.. .. . ./ ''; do
		refused "-g $path: it must be a path in this directory: relative, without \"..\" and of at most 4095 bytes" -g "$path"
	done
	refused '-g link/x: link is behind a symbolic link, which -g does not follow' -g link/x
	refused '-g dir/far/x: dir/far is behind a symbolic link, which -g does not follow' -g dir/far/x
	refused '-g dangling/x: dangling is behind a symbolic link, which -g does not follow' -g dangling/x
	refused '-g no/x: no: No such file or directory' -g no/x
	refused '-g file/x: file: Not a directory' -g file/x
	refused '-g pipe is neither a file nor a directory' -g pipe
	refused '-g x and -g ./x are the same, or one is in the other; give one of them' -g x -g ./x
	refused '-g dir and -g dir/in/x are the same, or one is in the other; give one of them' -g dir -g dir/in/x
	mkdir log
	refused '-g log/x: the name log is taken by the job itself; rename the directory' -g log/x
	refused '-g takes no file with --session: it stays where the programs of that work' -g x --session s
	assert_equal "$(figure fsd_runs_accepted_total)" 0
	nothing_left
}

@test "-g of a directory refuses to replace what the job is given" {
	mkdir -p dir/in project
	program 'out x'
	cp code.sh dir/in/prog.sh
	cp code.sh project
	touch dir/in/data
	ln -s dir/in/data data
	refused '-g dir replaces the directory, and -i dir/in/data is in it; give the files in it that the program makes' -g dir -i dir/in/data
	refused '-g dir/in replaces the directory, and -i data is in it; give the files in it that the program makes' -g dir/in -i data
	refused '-g dir replaces the directory, and -i dir is in it; give the files in it that the program makes' -g dir -i dir
	said 2 '-g dir replaces the directory, and dir/in/prog.sh is in it; give the files in it that the program makes' \
		fsd_run -g dir dir/in/prog.sh
	said 2 '-g project replaces the directory, and -C project is in it; give the files in it that the program makes' \
		fsd_run -g project -C project
	program 'write dir/in/data new'
	fsd_run -R -i dir/in/data -g dir/in/data code.sh # a file may be changed in place
	assert_equal "$(cat dir/in/data)" new
	nothing_left
}

@test "-g replaces a link, and never what it leads to; it follows none that appears meanwhile" {
	mkdir -p sub elsewhere
	echo mine >elsewhere/x
	ln -s elsewhere/x a.out
	program $'write a.out new\nwrite sub/x new\nout up\nawait'
	fsd_run -g a.out -g sub/x code.sh >out 2>err 3>&- &
	bounded 20 tail -F --pid=$! out 2>/dev/null 3>&- | grep -q -m1 up
	rmdir sub
	ln -s elsewhere sub
	echo 'signal USR1' >"$(echo "$MNT"/run-*/ctl)"
	local status=0
	wait $! || status=$?
	assert_equal "$status $(cat err)" '1 fsd run: -g sub/x: Too many levels of symbolic links'
	assert_equal "$(readlink a.out) $(cat elsewhere/x)" 'elsewhere/x mine'
	rm sub
	mkdir sub
	program $'write a.out new\nwrite sub/x new'
	fsd_run -g a.out -g sub/x code.sh
	assert_equal "$(cat a.out elsewhere/x) $([ -L a.out ] || echo file)" $'new\nmine file'
	nothing_left
}

@test "-g takes no link that leads out of what it takes" {
	local target
	touch secret
	program $'write d/x text\nsymlink d/deep/up ../x\nsymlink d/side x'
	fsd_run -g d code.sh
	assert_equal "$(readlink d/deep/up d/side | xargs) $(cat d/deep/up)" '../x x text'
	rm -r d
	for target in ../secret x/../../secret; do
		program $'write d/x text\nsymlink d/out '"$target"
		run -1 fsd_run -g d code.sh
		assert_output "fsd run: -g d: d/out: it is a symbolic link that leads out of what is taken"
		[ ! -e d ]
	done
	program $'write x text\nsymlink l x'
	run -1 fsd_run -g l code.sh
	assert_output "fsd run: -g l: l: it is a symbolic link that leads out of what is taken"
	mkdir s
	program $'write d/x text\nsymlink s d'
	run -1 fsd_run -g s/x code.sh
	assert_output "fsd run: -g s/x: s is behind a symbolic link of the program, which -g does not follow"
	assert_equal "$(names s)" ''
	nothing_left
}

@test "-g does not replace a file by a directory, nor a directory by a file" {
	mkdir d
	touch d/x f
	program $'write a new\nwrite d new\nwrite f/x new'
	said 1 '-g d: the program has made a file, and here is a directory, which it does not replace' \
		fsd_run -g a -g d code.sh
	said 1 '-g f: the program has made a directory, and here is a file, which it does not replace' \
		fsd_run -g a -g f code.sh
	assert_equal "$(names .)" 'code.sh d f'
	nothing_left
}

@test "-g leaves each file old or new, and nothing beside them, wherever the client is killed" {
	program $'write a.out new\nwrite sub/b.out new\nwrite dir/deep/x new\nwrite dir/made new'
	run killed got -g a.out -g sub/b.out -g dir code.sh
	assert_output $'new-new-new\nnew-new-old\nnew-old-old\nold-old-old'
}

@test "-g on sshfs: a directory is old, new or away, and then put back" {
	program $'write a.out new\nwrite sub/b.out new\nwrite dir/deep/x new\nwrite dir/made new'
	run on_sshfs /usr/bin/python3 "$TESTS/lib/killed_run.py" got "$FSD" -M "$MNT" \
		-g a.out -g sub/b.out -g dir ../code.sh
	assert_output $'new-new-away, then new-new-back\nnew-new-new\nnew-new-old\nnew-old-old\nold-old-old'
}

@test "one rule of make makes files of any directory, again when their sources change" {
	mkdir bin
	ln -s "$(realpath "$FSD")" bin/fsd
	local PATH=$PWD/bin:$PATH
	export FSD_MOUNT=$MNT
	mkdir -p sub/dir
	echo one | tee x.csv sub/dir/x.csv >/dev/null
	# the arguments of the program are as outside
	printf '%s\n' 'args' 'show x.csv' 'show sub/dir/x.csv' 'write x.out text' 'write sub/dir/x.out text' >sum.py
	echo 'all: x.out sub/dir/x.out' >Makefile
	# the manual's own rule
	sed -n '/^%\.out:/,/^\.EE/ { /^\./d; s/\\-/-/g; p }' "$TESTS/../fsd/fsd.8" >>Makefile
	run bounded 60 make -s
	assert_success
	assert_equal "$(grep -v ^/ <<<"$output")" $'x.csv\nx.out\none\nsub/dir/x.csv\nsub/dir/x.out\none'
	run make -s
	assert_output ''
	run make all
	assert_output --partial 'Nothing to be done'
	touch -d '1 hour ago' x.out x.csv
	echo two >x.csv
	run bounded 60 make -s -j2
	assert_equal "$(grep -v ^/ <<<"$output")" $'x.csv\nx.out\ntwo'
	# a failure leaves the old one
	echo 'exit 3' >sum.py
	touch -d '1 hour ago' x.out
	run bounded 60 make -s
	assert_failure 2
	assert_equal "$(cat x.out)" text
	nothing_left
}
