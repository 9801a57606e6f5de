#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# rm, mv and cp of jobs in every state.

load ../lib/common

setup() { mount_start; }
teardown() { mount_done; }

# Nothing of any job is left, in the mount or in the store. What is thrown
# away is deleted by the side: the daemon's end waits for that.
nothing_left() {
	assert_equal "$(ls -A "$MNT")" .fsd
	mount_stop
	run find "$STATE" -mindepth 2 -path '*/jobs/*' -o -mindepth 2 -path '*/trash/*'
	assert_output ''
}

# bats test_tags=smoke
@test "rm -r removes a draft" {
	mkdir -p "$MNT/a/d1/d2"
	echo x >"$MNT/a/d1/d2/f"
	job_put a code.sh 'out x'
	rm -r "$MNT/a"
	absent . a
	nothing_left
}

@test "rm -r removes a refused job" {
	job_start a 'out x' '{"nope": 1}' || true
	state_is a refused
	rm -r "$MNT/a"
	nothing_left
}

@test "rm -r removes a queued job, which then never runs" {
	mount_stop
	mount_start --max-machines 1 --pool 1
	job_start a $'out up\nsleep 600000'
	job_follow a up
	job_start b 'out never'
	state_is b queued
	rm -r "$MNT/b"
	absent . b
	assert_equal "$(figure fsd_machines_awaited)" 0
	rm -r "$MNT/a"
	nothing_left
}

# bats test_tags=smoke
@test "rm -r kills a running job" {
	job_start a $'ignoreterm\nout up\nsleep 600000'
	job_follow a up
	rm -r "$MNT/a"
	absent . a
	assert_equal "$(figure fsd_machines_in_use)" 0
	nothing_left
}

@test "rm -r removes a finished job with results and an output tree" {
	job_run a $'out x\nwrite d/e/f 1\nwrite g 2'
	rm -r "$MNT/a"
	absent . a
	nothing_left
}

@test "rm without -f asks nothing and -i can be answered" {
	job_run a 'out x'
	run bounded 10 rm -r "$MNT/a" </dev/null
	assert_success
	assert_output ''
	nothing_left
}

@test "rmdir removes a job with only virtual files, in every state" {
	mkdir "$MNT/a"
	rmdir "$MNT/a"
	job_run b 'out x'
	fails ENOTEMPTY rmdir "$MNT/b"
	rm "$MNT/b/code.sh" "$MNT/b/config.json"
	rmdir "$MNT/b"
	nothing_left
}

@test "find -delete and a language's rmtree work too" {
	job_run a $'out x\nwrite d/f 1'
	find "$MNT/a" -delete
	absent . a
	job_run b $'out x\nwrite d/f 1'
	/usr/bin/python3 -c 'import shutil, sys; shutil.rmtree(sys.argv[1])' "$MNT/b"
	absent . b
	nothing_left
}

@test "readers that are blocked on a job are released when it is removed" {
	check removed-readers "$MNT"
}

@test "open files of a removed job can still be read and closed" {
	job_run a $'out kept\nwrite f 1'
	exec 7<"$MNT/a/stdout" 8<"$MNT/a/result.json" 9<"$MNT/a/code.sh"
	rm -r "$MNT/a"
	cat <&7 >/dev/null || true
	assert_equal "$(jq -r .exit_code <&8)" 0
	assert_equal "$(cat <&9)" $'out kept\nwrite f 1'
	exec 7<&- 8<&- 9<&-
	nothing_left
}

@test "a shell may stand in a job that is removed" {
	mkdir "$MNT/a"
	cd "$MNT/a"
	rm -r "$MNT/a"
	run ls
	run touch x
	assert_failure
	cd /
	nothing_left
}

@test "a name is free again at once after rm -r" {
	local i
	for i in {1..20}; do
		job_run a "out $i"
		stdout_is a "$i"
		rm -r "$MNT/a"
	done
	nothing_left
}

@test "removing a result by hand hides it until the next run" {
	job_run a 'out x'
	rm "$MNT/a/stdout"
	absent a stdout
	exists a exit_code
	echo start >"$MNT/a/ctl"
	job_wait a
	stdout_is a x
}

@test "mv renames a finished job, results and all" {
	job_run a $'out x\nwrite d/f 1\nexit 3'
	mv "$MNT/a" "$MNT/b"
	absent . a
	exit_is b 3
	stdout_is b x
	assert_equal "$(cat "$MNT/b/output/d/f")" 1
	assert_equal "$(cat "$MNT/b/wait")" 3
	echo start >"$MNT/b/ctl"
	job_wait b
	result_is b .job b
}

@test "mv of a draft, a refused job, and onto itself" {
	mkdir "$MNT/a"
	mv "$MNT/a" "$MNT/b"
	state_is b draft
	job_start c 'out x' '{"nope": 1}' || true
	mv "$MNT/c" "$MNT/d"
	refused d nope
	run mv -T "$MNT/b" "$MNT/b"
	exists . b
}

@test "mv never overwrites another job" {
	job_run a 'out a'
	job_run b 'out b'
	run mv -T "$MNT/a" "$MNT/b"
	assert_failure
	stdout_is a a
	stdout_is b b
}

@test "mv of a job to a name that is taken takes nothing apart and says what to do" {
	job_run a 'out old'
	mkdir -p "$MNT/.a/lib"
	job_put .a code.sh 'out new'
	job_put .a lib/f x
	job_put .a config.json '{}'
	fails EPERM mv "$MNT/.a" "$MNT/a"
	run cat "$MNT/.fsd/last_error"
	assert_output --partial 'remove that one first'
	assert_equal "$(names "$MNT/.a")" 'code.sh config.json ctl error lib log state'
	absent a .a
	rm -r "$MNT/a"
	mv "$MNT/.a" "$MNT/a"
	job_wait a
	stdout_is a new
}

@test "a draft that is renamed to a dot name stops being a candidate" {
	mkdir "$MNT/a"
	mv "$MNT/a" "$MNT/.a"
	job_put .a code.sh 'out x'
	job_put .a config.json '{}'
	state_is .a draft
	mv "$MNT/.a" "$MNT/a"
	job_wait a
}

@test "cp -r of a finished job is a new job that runs the same program" {
	job_run a $'out x\nwrite d/f 1\nexit 3'
	local how
	for how in 'cp -r' 'cp -a' 'rsync -a'; do
		rm -rf "$MNT/b"
		case $how in
		# rsync goes by the alphabet, and config.json would start the
		# job before the rest is there
		rsync*)
			$how "$MNT/a/" "$MNT/.b/"
			mv "$MNT/.b" "$MNT/b"
			;;
		*) $how "$MNT/a" "$MNT/b" ;;
		esac
		assert_equal "$(job_wait b) $how" "3 $how"
		ended b 3 exited
		stdout_is b x
		assert_equal "$(grep -c ' queued$' "$MNT/b/log")" 1
		[ "$(result a .id)" != "$(result b .id)" ]
		assert_equal "$(cat "$MNT/b/output/d/f")" 1
	done
}

@test "a copied exit_code or stdout does not make a draft look finished" {
	job_run a $'out x\nexit 3'
	mkdir "$MNT/b"
	cp "$MNT/a/exit_code" "$MNT/a/stdout" "$MNT/a/result.json" "$MNT/a/state" "$MNT/a/error" "$MNT/a/log" "$MNT/b/"
	absent b exit_code
	absent b stdout
	absent b result.json
	state_is b draft
}

@test "tar of a finished job unpacks into a new job and into a plain directory" {
	job_run a $'out x\nwrite d/f 1\nexit 3'
	tar cf "$BATS_TEST_TMPDIR/a.tar" -C "$MNT" a
	mkdir "$BATS_TEST_TMPDIR/plain"
	tar xf "$BATS_TEST_TMPDIR/a.tar" -C "$BATS_TEST_TMPDIR/plain"
	assert_equal "$(cat "$BATS_TEST_TMPDIR/plain/a/exit_code")" 3
	assert_equal "$(cat "$BATS_TEST_TMPDIR/plain/a/output/d/f")" 1
	rm -r "$MNT/a"
	tar xf "$BATS_TEST_TMPDIR/a.tar" -C "$MNT"
	assert_equal "$(job_wait a)" 3
	stdout_is a x
}

@test "mv of a job to another file system takes the results with it" {
	job_run a $'out x\nwrite d/f 1'
	mv "$MNT/a" "$BATS_TEST_TMPDIR/saved"
	absent . a
	assert_equal "$(cat "$BATS_TEST_TMPDIR/saved/stdout")" x
	assert_equal "$(cat "$BATS_TEST_TMPDIR/saved/output/d/f")" 1
	nothing_left
}

@test "files move between jobs, into them and out of them" {
	mkdir "$MNT/a" "$MNT/b"
	job_put a data payload
	mkdir "$MNT/a/dir"
	job_put a dir/f deep
	mv "$MNT/a/data" "$MNT/b/data"
	mv "$MNT/a/dir" "$MNT/b/dir"
	absent a data
	absent a dir
	job_put b code.sh $'show data\nshow dir/f'
	job_put b config.json '{}'
	job_wait b
	stdout_is b $'payload\ndeep'
	mv "$MNT/b/data" "$BATS_TEST_TMPDIR/data"
	assert_equal "$(cat "$BATS_TEST_TMPDIR/data")" payload
	fails EPERM mv -T "$BATS_TEST_TMPDIR/data" "$MNT/data"
}

@test "a directory cannot be moved into itself, nor a file become a job" {
	mkdir -p "$MNT/a/d/e"
	run mv "$MNT/a/d" "$MNT/a/d/e/f"
	assert_failure
	exists a d/e
	job_put a f x
	run mv -T "$MNT/a/f" "$MNT/f"
	assert_failure
	run mv -T "$MNT/a" "$MNT/b/c"
	assert_failure
}

@test "rename with exchange or noreplace says what it cannot do" {
	check rename-flags "$MNT"
}

# renames FROM TO — rename(2) alone, which mv would try again.
renames() {
	/usr/bin/python3 -I -S -c 'import os, sys
try:
    os.rename(*sys.argv[1:])
    print(0)
except OSError as e:
    print(os.strerror(e.errno))' "$MNT/$1" "$MNT/$2"
}

# refused_jobs — a name, a program, and a config for each reason to refuse it.
refused_jobs() {
	cat <<-'end'
	environment	out x	{"environment": "nosuch"}
	id	out x	{"environment": "nosuch@0123456789ab"}
	packages	out x	{"packages": ["nosuch==1"]}
	npm	out x	{"packages": ["npm:nosuch@1"]}
	timeout	out x	{"timeout": -1}
	key	out x	{"tiemout": 1}
	json	out x	{"timeout": 1
	memory	out x	{"memory_mb": 99999999}
	sandbox	out x	{"sandbox": "nosuch"}
	main	out x	{"main": "nosuch.sh"}
	code	out x	{"code": "out y"}
	empty		{}
	call	out x	{"mode": "call"}
	end
}

@test "a job that is refused for what it says is renamed all the same, whatever the reason" {
	local name code config
	while IFS=$'\t' read -r name code config; do
		[ "$name" != empty ] || code=' '
		mkdir "$MNT/.$name" "$MNT/$name-last"
		job_put ".$name" code.sh "$code"
		job_put "$name-last" code.sh "$code"
		job_put ".$name" config.json "$config" 2>&- || true
		job_put "$name-last" tmp "$config"
		echo "$name $(renames ".$name" "$name") $(job_state "$name")"
		echo "$name $(renames "$name-last/tmp" "$name-last/config.json") $(job_state "$name-last")"
		[ -s "$MNT/$name/error" ] && [ ! -e "$MNT/.$name" ]
		[ -s "$MNT/$name-last/error" ] && [ ! -e "$MNT/$name-last/tmp" ]
	done < <(refused_jobs) >"$BATS_TEST_TMPDIR/told"
	run cat "$BATS_TEST_TMPDIR/told"
	assert_equal "$(grep -vc ' 0 refused$' "$BATS_TEST_TMPDIR/told")" 0
	assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/told")" 26
}

# in_the_way NAME — two programs, and an environment that is not here.
in_the_way() {
	mkdir "$MNT/$1"
	job_put "$1" code.sh 'out x'
	job_put "$1" config.json '{"environment": "nosuch", "start": "manual"}' 2>&- || true
	job_put "$1" config.json '{"environment": "nosuch"}' 2>&- || true
}

@test "nor does a refusal fail another call that completes a job: a close, a removal, a link" {
	in_the_way a
	job_put a code 'x'
	rm "$MNT/a/code"
	refused a nosuch
	mkdir "$MNT/b" "$MNT/b/d"
	job_put b config.json '{"environment": "nosuch", "inputs": ["l"]}' 2>&- || true
	job_put b code.sh 'out x'
	ln -s code.sh "$MNT/b/l"
	refused b nosuch
	rmdir "$MNT/b/d"
	refused b nosuch
	mkdir "$MNT/c"
	job_put c tmp '{"environment": "nosuch"}'
	mv "$MNT/c/tmp" "$MNT/c/config.json"
	job_put c code.sh 'out x'
	refused c nosuch
}

# fails_at CALL — of a draft, and of one whose config.json is its last file.
fails_at() {
	mkdir "$MNT/.a" "$MNT/b"
	job_put .a code.sh 'out a'
	job_put .a config.json '{}'
	job_put b code.sh 'out b'
	job_put b tmp '{}'
	gate "fail:ENOSPC:$1:jobs/*/meta"
	assert_equal "$(renames .a a)" 'No space left on device'
	gate_end
	[ -e "$MNT/.a" ] && [ ! -e "$MNT/a" ]
	state_is .a draft
	gate "fail:ENOSPC:$1:jobs/*/meta"
	assert_equal "$(renames b/tmp b/config.json)" 'No space left on device'
	gate_end
	[ -e "$MNT/b/tmp" ] && [ ! -e "$MNT/b/config.json" ]
	state_is b draft
}

@test "a rename that the disk does not take has renamed nothing, also for the next server, and succeeds later" {
	expect_log 'No space left'
	fails_at fdatasync
	mount_stop
	mount_start
	[ -e "$MNT/.a" ] && [ ! -e "$MNT/a" ] && [ -e "$MNT/b/tmp" ]
	assert_equal "$(renames .a a) $(renames b/tmp b/config.json)" '0 0'
	assert_equal "$(job_wait a) $(job_wait b)" '0 0'
	rm -r "$MNT/a" "$MNT/b"
	fails_at pwrite64
	assert_equal "$(renames .a a) $(renames b/tmp b/config.json)" '0 0'
	assert_equal "$(job_wait a) $(job_wait b)" '0 0'
}

@test "a file that a failed rename did not replace is what it was" {
	local stored
	mkdir "$MNT/a"
	job_put a x new
	job_put a b old
	stored=$(echo "$STATE"/jobs/*/files)
	exec 7<"$MNT/a/b"
	mv "$stored/x" "$STATE/kept" # so that it fails
	# shellcheck disable=SC2016
	fails ENOENT /usr/bin/python3 -I -S -c \
		'import os, sys; os.rename(*sys.argv[1:])' "$MNT/a/x" "$MNT/a/b"
	mv "$STATE/kept" "$stored/x"
	chmod 755 "$MNT/a/b"
	assert_equal "$(stat -c '%a %s' "$stored/b")" '755 4'
	exec 7<&-
}

@test "whatever is asked of what is open of a job that is gone ends no server" {
	local how
	for how in unlink rm again; do
		bounded 60 python3 "$TESTS/lib/gone.py" "$MNT" "$how"
		rm -rf "$MNT/other"
	done
}

@test "a tree that is moved is no deeper than one that is made" {
	local deep
	deep=$(printf 'd/%.0s' {1..30})
	mkdir -p "$MNT/a/x/$deep" "$MNT/a/y/$deep" "$MNT/a/z/$deep"
	touch "$MNT/a/y/${deep}file"
	mv -T "$MNT/a/x" "$MNT/a/y/${deep}x"
	fails ENAMETOOLONG timeout -k 5 $((20 * SLOW)) mv -T "$MNT/a/y" "$MNT/a/z/${deep}y"
	grep -q 'y: a path in a job has at most 64 names' "$MNT/.fsd/last_error"
	mv -T "$MNT/a/y" "$MNT/a/z/y"
	rm "$MNT/a/z/y/${deep}file"
	rmdir "$MNT/a/z/y/${deep}x/$deep"
}

@test "a tree that is moved after a restart is no deeper, though the server has not read it" {
	local deep
	deep=$(printf 'd/%.0s' {1..30})
	mkdir -p "$MNT/a/y/${deep}$deep" "$MNT/a/z/$deep"
	mount_stop
	mount_start
	# one system call; mv(1) would look first
	fails ENAMETOOLONG /usr/bin/python3 -I -S -c \
		'import os, sys; os.rename(*sys.argv[1:])' "$MNT/a/y" "$MNT/a/z/${deep}y"
}

@test "a file that was moved out of a job that is gone is closed, with a full queue too" {
	mount_stop
	mount_start --quota-running 1 --quota-queued 1
	job_start running 'sleep 600000'
	job_start queued 'out x'
	mkdir "$MNT/a" "$MNT/b"
	exec 5>"$MNT/a/data"
	echo x >&5
	mv "$MNT/a/data" "$MNT/b/data"
	rmdir "$MNT/a"
	exec 5>&-
	assert_equal "$(server_pid)" "$SERVER"
	assert_equal "$(cat "$MNT/b/data")" x
}
