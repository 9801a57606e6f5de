#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# .fsd/sandboxes: how a sandbox is made, configured and ended, and what its files
# say. What runs in one is in 35_sandbox_jobs.bats.

load ../lib/common

setup() { mount_start; S=$MNT/.fsd/sandboxes; }
teardown() { mount_done; }

# state_of NAME WORD
state_of() {
	assert_equal "$(cat "$S/$1/state")" "$2"
}

# moves FROM TO — mv has words of its own for EINVAL.
moves() {
	/usr/bin/python3 -I -S -c 'import os, sys; os.rename(sys.argv[1], sys.argv[2])' "$1" "$2"
}
export -f moves

# config NAME TEXT — replaces it by a rename.
config() {
	printf '%s' "$2" >"$S/$1/.config.new" && mv "$S/$1/.config.new" "$S/$1/config.json"
}

# bats test_tags=smoke
@test "fsd sandbox makes, lists, pauses and ends sandboxes" {
	export FSD_MOUNT=$MNT
	assert_equal "$("$FSD" sandbox new -m 128 -e A=b --idle 50 --life 9000 box)" "$S/box"
	assert_equal "$(jq -cS . "$S/box/config.json")" '{"env":{"A":"b"},"idle":50,"life":9000,"memory_mb":128}'
	"$FSD" sandbox new plain
	run "$FSD" sandbox ls
	assert_line --index 0 --regexp '^new +20[0-9T:.Z-]+ +box$'
	assert_line --index 1 --regexp '^new +- +plain$'
	run "$FSD" sandbox new box
	assert_failure 1
	assert_output 'fsd sandbox new: there is a sandbox box already'
	run "$FSD" sandbox new .
	assert_failure 2
	assert_output 'fsd sandbox new: "." cannot be a sandbox'"'s name"
	run "$FSD" sandbox new -m 12 bad
	assert_failure 2
	assert_output --partial 'fsd sandbox new: bad: config.json: "memory_mb" is 12; it must be'
	[ ! -e "$S/bad" ] || fail 'it stays'
	assert_equal "$(bounded 30 "$FSD" run --sandbox box -l bash -c 'out in' </dev/null)" in
	# each way to give a program
	cd "$BATS_TEST_TMPDIR" || return
	echo 'out file' >hello.py
	mkdir -p project
	echo 'out main' >project/other.js
	assert_equal "$(bounded 30 "$FSD" run -n --sandbox box hello.py)" file
	assert_equal "$(bounded 30 "$FSD" run -n --sandbox box -c 'out text')" text
	assert_equal "$(bounded 30 "$FSD" run -n --sandbox box -C project --main other.js)" main
	assert_equal "$(bounded 30 "$FSD" run --sandbox box -l python - <<<'out piped')" piped
	"$FSD" submit --sandbox box hello.py
	assert_equal "$(job_wait hello)" 0
	"$FSD" sandbox pause box
	state_of box paused
	"$FSD" sandbox resume box
	run "$FSD" sandbox rm box nosuch plain
	assert_failure 1
	assert_output "fsd sandbox rm: there is no sandbox nosuch in $MNT; \`fsd sandbox ls\` lists them"
	assert_equal "$("$FSD" sandbox ls)" ''
	run "$FSD" sandbox nothing
	assert_failure 2
	assert_output 'fsd sandbox: there is no command "nothing"; `fsd help sandbox` lists them'
}

# bats test_tags=smoke
@test "mkdir makes a sandbox, without a machine, and rmdir ends it" {
	mkdir "$S/a"
	state_of a new
	assert_equal "$(cat "$S/a/config.json")" '{}'
	assert_equal "$(ls "$S/a" | paste -sd ' ')" 'config.json ctl error files network processes root sessions state until'
	assert_equal "$(cat "$S/a/until" "$S/a/processes")" ''
	assert_equal "$(ls "$S/a/sessions")" ''
	fails EEXIST mkdir "$S/a"
	rmdir "$S/a"
	fails ENOENT cat "$S/a/state"
	mkdir "$S/a"
	state_of a new
}

@test "names that are none, and what is not to be made here" {
	fails EINVAL mkdir "$S/.a"
	fails EPERM bash -c ': >"$1"' - "$S/file"
	mkdir "$S/a"
	fails EPERM mkdir "$S/a/dir"
	fails EPERM mkdir "$S/a/sessions/s"
	fails EPERM rm "$S/a/config.json"
	fails EPERM bash -c 'echo idle >"$1"' - "$S/a/state"
	fails EPERM mv "$S/a" "$S/b"
	run cat "$MNT/.fsd/last_error"
	assert_output --partial "only a file beside a sandbox's config.json can be renamed"
}

@test "config.json is taken when it is closed, or by a rename, or not at all" {
	mkdir "$S/a"
	echo '{"memory_mb": 64, "meta": {"a": [1, null]}}' >"$S/a/config.json"
	assert_equal "$(jq -c .meta "$S/a/config.json")" '{"a":[1,null]}'
	config a '{"idle": 60}'
	assert_equal "$(cat "$S/a/config.json")" '{"idle": 60}'
	[ ! -e "$S/a/.config.new" ]
	# What is wrong is refused by write or by close, and the old one stays.
	fails EINVAL bash -c 'printf %s "$2" >"$1"' - "$S/a/config.json" '{"memory": 64}'
	run cat "$MNT/.fsd/last_error"
	assert_output 'a: config.json: "memory" is not a key; did you mean "memory_mb"?'
	fails EINVAL cp /etc/hostname "$S/a/config.json"
	printf '{"idle":' >"$S/a/half"
	fails EINVAL bash -c 'moves "$@"' - "$S/a/half" "$S/a/config.json"
	assert_equal "$(cat "$S/a/half")" '{"idle":'
	assert_equal "$(cat "$S/a/config.json")" '{"idle": 60}'
	rm "$S/a/half"
	# Several commands write one file.
	(/bin/echo '{"idle":'; /bin/echo '61}') >"$S/a/config.json"
	assert_equal "$(jq .idle "$S/a/config.json")" 61
	: >"$S/a/config.json" # empty is complete
	assert_equal "$(cat "$S/a/config.json")" ''
}

@test "each key has its bounds" {
	mkdir "$S/a"
	local bad
	for bad in '{"life": -1}' '{"idle": "1"}' '{"env": {"PATH": "/"}}' '{"cpus": 0}' \
		'{"environment": "no-such"}' '{"processes": 0}' '{"timeout": 1}' '[]' '{} {}'; do
		fails EINVAL bash -c 'printf %s "$2" >"$1"' - "$S/a/config.json" "$bad"
	done
	/usr/bin/python3 -I -S -c 'print("{\"meta\": \"%s\"}" % ("x" * 65535))' >"$BATS_TEST_TMPDIR/big"
	fails EINVAL cp "$BATS_TEST_TMPDIR/big" "$S/a/config.json"
	run cat "$MNT/.fsd/last_error"
	assert_output --partial '"meta" has 65537 bytes of JSON; at most 65536 are allowed'
	assert_equal "$(cat "$S/a/config.json")" '{}'
	local i
	for i in 1 2 3 4 5 6 7 8; do : >"$S/a/$i"; done
	fails EDQUOT bash -c ': >"$1"' - "$S/a/9"
}

@test "until is the time of its end" {
	mkdir "$S/a"
	echo 2030-01-02T03:04:05+02:00 >"$S/a/until"
	assert_equal "$(cat "$S/a/until")" 2030-01-02T01:04:05.000Z
	echo >"$S/a/until"
	assert_equal "$(cat "$S/a/until")" ''
	fails EINVAL bash -c 'echo tomorrow >"$1"' - "$S/a/until"
	run cat "$MNT/.fsd/last_error"
	assert_output --partial 'until: "tomorrow" is no time'
	local time
	for time in 2030-13-01T00:00:00Z 2030-01-31T-1:00:00Z '2030-01-31T 1:00:00Z' \
		2030-01-31T01:00:00+99:00 2030-01-31T01:00:00+-1:00; do
		fails EINVAL bash -c 'echo "$2" >"$1"' - "$S/a/until" "$time"
	done
	fails EINVAL bash -c 'echo 99999999999 >"$1"' - "$S/a/until"
	# Its life begins at its making; the same life again moves nothing.
	echo '{"life": 1000}' >"$S/a/config.json"
	local at
	at=$(cat "$S/a/until")
	[ -n "$at" ]
	echo 5000 >"$S/a/until"
	[ "$(cat "$S/a/until")" != "$at" ]
	at=$(cat "$S/a/until")
	echo '{"life": 1000, "meta": 1}' >"$S/a/config.json"
	assert_equal "$(cat "$S/a/until")" "$at"
	: >"$S/a/until"
	await becomes 20 bash -c '[ -z "$(cat "$1")" ]' - "$S/a/until"
}

@test "it ends at its time, after its life, and when it is idle" {
	mkdir "$S/a" "$S/b" "$S/c" "$S/d"
	echo '{"idle": 0}' >"$S/d/config.json"
	echo '{"life": 0.3}' >"$S/b/config.json"
	echo '{"idle": 0.3}' >"$S/c/config.json"
	echo 0 >"$S/a/until"
	await becomes 20 test ! -e "$S/a"
	await becomes 20 test ! -e "$S/b"
	await becomes 20 test ! -e "$S/c"
	state_of d new
}

@test "who holds a sandbox takes it along, by close or by death" {
	mkdir "$S/a"
	echo '{"idle": 0}' >"$S/a/config.json"
	[[ $(ls "$S/a") != *hold* ]]
	# Two hold it, one for writing; the last one counts.
	exec 5<"$S/a/hold"
	sleep 60 >/dev/null 2>&1 3>&- &
	local holder=$!
	exec 5<&-
	exec 4>"$S/a/hold"
	exec 4>&-
	assert_equal "$(cat "$S/a/hold")" '' # which holds it as well
	state_of a new
	# An open file outlives the server.
	server_kill
	state_of a new
	kill -9 "$holder"
	wait "$holder" || true
	await becomes 20 test ! -e "$S/a"
	# By the last close it is gone, with what runs in it; who waits is told.
	mkdir "$S/b"
	exec 4<"$S/b/hold"
	job_start j $'out up\nsleep 600000' '{"sandbox": "b", "timeout": 0}'
	job_follow j up
	exec 4<&-
	await becomes 20 test ! -e "$S/b"
	job_wait j
	ended j 137 cancelled
	# Nobody holds it who only looks.
	mkdir "$S/c"
	stat "$S/c/hold" >/dev/null
	state_of c new
}

@test "files begin the machine, and are the machine's" {
	mkdir "$S/a"
	ls -ld "$S/a/files" "$S/a/root"
	state_of a new
	echo text >"$S/a/files/x"
	state_of a idle
	mkdir "$S/a/files/d"
	mv "$S/a/files/x" "$S/a/files/d/y"
	assert_equal "$(cat "$S/a/files/d/y")" text
	assert_equal "$(ls "$S/a/files")" d
	assert_equal "$(ls "$S/a/root" | paste -sd ' ')" 'code etc home tmp workspace'
	fails EROFS bash -c 'echo x >"$1"' - "$S/a/root/etc/x"
	fails EXDEV bash -c 'moves "$@"' - "$S/a/files/d/y" "$S/a/root/tmp/y"
	mkdir "$S/a/root/workspace/p"
	echo x >"$S/a/root/code/x"
	# What the machine has begun with is fixed now; the rest is not.
	fails EBUSY bash -c 'echo "{\"memory_mb\": 64}" >"$1"' - "$S/a/config.json"
	run cat "$MNT/.fsd/last_error"
	assert_output --partial '"memory_mb" cannot be changed, since the machine has begun'
	echo '{"env": {"A": "1"}, "idle": 5, "life": 100, "meta": []}' >"$S/a/config.json"
	# An open file is stale when its sandbox has ended.
	exec 5<"$S/a/files/d/y"
	rmdir "$S/a"
	fails ESTALE cat <&5
	exec 5<&-
}

@test "what somebody has open takes no more memory than one may have, and is let go" {
	mkdir "$S/a" "$S/b"
	/usr/bin/python3 -I -S - "$S" <<-'END'
		import ctypes, errno, os, sys
		box, libc = sys.argv[1], ctypes.CDLL(None, use_errno=True)
		libc.fdopendir.restype = libc.readdir.restype = ctypes.c_void_p
		libc.readdir.argtypes = [ctypes.c_void_p]
		def taken(fn):
		    fds = []
		    try:
		        while len(fds) < 400:
		            fds.append(fn())
		    except OSError as e:
		        assert e.errno == errno.EMFILE, e
		        return fds
		    raise AssertionError("no end")
		def close(fds):
		    for fd in fds:
		        os.close(fd)
		def names(): # reads the beginning, and leaves the rest
		    fd = os.open(box + "/a/files", os.O_RDONLY)
		    ctypes.set_errno(0)
		    if not libc.readdir(libc.fdopendir(fd)):
		        raise OSError(ctypes.get_errno(), "readdir")
		    return fd
		for i in range(1000):
		    os.mkdir("%s/a/files/%s%d" % (box, "n" * 250, i))
		first = taken(names)
		assert 200 < len(first) < 300, len(first)
		text = open(box + "/../last_error").read()
		assert "bytes of memory, and this would take" in text, text
		close(first)
		again = taken(names)
		assert len(again) >= len(first) - 1, (len(again), len(first))
		close(again)
		# Texts of open files are the same.
		with open(box + "/b/config.json", "w") as f:
		    f.write("{}" + " " * 1000000)
		for how in os.O_RDONLY, os.O_RDWR:
		    fds = taken(lambda: os.open(box + "/b/config.json", how))
		    assert 60 < len(fds) < 70, len(fds)
		    close(fds)
		# Files beside it stay without being open.
		def beside():
		    made[0] += 1
		    at = "%s/c%d" % (box, made[0] // 8)
		    if not made[0] % 8:
		        os.mkdir(at)
		    with open("%s/f%d" % (at, made[0]), "wb", buffering=0) as f:
		        f.write(b" " * 1000000)
		    return -1
		made = [-1]
		assert 60 < len(taken(beside)) < 70, made
		for i in range(made[0] // 8 + 1):
		    os.rmdir("%s/c%d" % (box, i))
		close([os.open(box + "/b/config.json", os.O_RDWR)])
	END
}

@test "directories tell how many of their entries are not shown" {
	mkdir "$S/a"
	job_run plant 'plant link' '{"sandbox": "a"}'
	exit_is plant 0
	run getfattr --absolute-names --only-values -n user.fsd.hidden "$S/a/files"
	assert_success
	[[ $output =~ ^[0-9]+$ ]] || fail "$output"
	echo >"$S/a/files/x"
	fails ENODATA getfattr --absolute-names -n user.fsd.hidden "$S/a/files/x"
}

@test "poll tells a new state" {
	mkdir "$S/a"
	/usr/bin/python3 -I -S - "$S/a" "$MNT" <<-'END'
		import os, select, sys
		fd = os.open(sys.argv[1] + "/state", os.O_RDONLY)
		p = select.poll()
		p.register(fd, select.POLLPRI)
		def word():
		    return os.pread(fd, 64, 0).decode().strip()
		assert word() == "new", word()
		assert not p.poll(0)
		open(sys.argv[1] + "/files/x", "w").close()
		assert p.poll(10000)
		assert word() in ("idle", "busy")
		os.mkdir(sys.argv[2] + "/j")
		with open(sys.argv[2] + "/j/config.json", "w") as f:
		    f.write('{"sandbox": "a", "language": "bash", "code": "sleep 20000"}')
		while word() != "busy":
		    assert p.poll(10000)
		with open(sys.argv[2] + "/j/ctl", "w") as f:
		    f.write("kill")
		while word() != "idle":
		    assert p.poll(10000)
	END
}

# bats test_tags=release
@test "a server that stops does not wait for a job without a timeout" {
	mkdir "$S/a"
	job_start j $'out up\nsleep 20000' '{"sandbox": "a", "timeout": 0}'
	job_start k $'out up\nsleep 300' '{"sandbox": "a"}'
	job_follow j up
	job_follow k up
	mount_stop USR1
	mount_start
	ended k 0 exited
	ended j 125 interrupted
	assert_equal "$(ls "$S")" ''
}

@test "a sandbox whose machine dies with the server is lost, and says so" {
	mkdir "$S/a" "$S/b"
	echo '{"meta": 1}' >"$S/a/config.json"
	job_start j $'out up\nsleep 20000' '{"sandbox": "a", "timeout": 0}'
	job_follow j up
	exec 5<"$S/a/config.json"
	server_kill
	await becomes 20 grep -q "done" "$MNT/j/state"
	ended j 125 interrupted
	assert_equal "$(cat "$S/a/state")" lost
	assert_equal "$(cat <&5)" '{"meta": 1}'
	exec 5<&-
	assert_equal "$(cat "$S/b/state")" new
	job_start k 'out k' '{"sandbox": "b"}'
	cat "$MNT/k/wait" >/dev/null
	ended k 0 exited
	server_kill
	assert_equal "$(cat "$S/a/state")" lost
	rmdir "$S/a"
	assert_equal "$(ls "$S")" b
}
