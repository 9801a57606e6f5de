#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The commands that name jobs: fsd ls, status, wait, logs, kill.

load ../lib/common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	mount_start
	export FSD_MOUNT=$MNT
}
teardown() { mount_done; }

# fsd COMMAND... — within bounds.
fsd() { bounded 30 "$FSD" "$@"; }

# bats test_tags=smoke
@test "ls lists the jobs of \$FSD_MOUNT by name, and -a those that are prepared" {
	job_run b 'out x'
	mkdir "$MNT/a" "$MNT/.c"
	run fsd ls
	assert_success
	assert_output $'a\nb'
	run fsd ls -a
	assert_output $'.c\na\nb'
	unset FSD_MOUNT
	run fsd ls "$MNT"
	assert_output $'a\nb'
}

@test "ls -l tells state, exit code, owner and reason of each" {
	job_run a 'exit 3'
	mkdir "$MNT/b"
	job_put b code.sh 'out x'
	run writes "$MNT/b/config.json" <<<'{"timeout": -3}'
	assert_failure
	run fsd ls -l
	assert_success
	assert_line --regexp "^done +3 +$(id -un) .* a\$"
	assert_line --regexp '^refused +- .* b: config.json: "timeout" is -3; it must be'
}

@test "status reads a result whose value has a number beyond a double" {
	job_run a $'result {"value": [1e999, {"\\u0000": 18446744073709551616}]}\nexit 3'
	run fsd status --json a
	assert_equal "$(jq -r '[.exit_code, .status, .language] | @csv' <<<"$output")" '3,"exited","bash"'
}

@test "--json of ls, status and wait is an object a line" {
	job_run a $'exit 3'
	local command
	for command in 'ls --json' 'status --json a' 'wait --json a'; do
		# shellcheck disable=SC2086
		run fsd $command
		assert_equal "$(jq -r '[.job, .path, .state, .exit_code, .status, .language, .error] | @csv' <<<"$output")" \
			"\"a\",\"$MNT/a\",\"done\",3,\"exited\",\"bash\","
	done
}

@test "a job is named by its path in any mount, by its name, or from where one is" {
	job_run hello 'out x'
	local job
	for job in hello "$MNT/hello" "$MNT/hello/" "$MNT/./hello"; do
		run fsd status "$job"
		assert_success
		assert_output --regexp '^hello: done, exit code 0 \(exited\), ran '
	done
	unset FSD_MOUNT
	cd "$MNT"
	run fsd status hello
	assert_success
	cd hello
	run fsd status .
	assert_success
	assert_output --partial 'hello: done'
	cd /
}

@test "a wrong name of a job is told with what is there, and what to do" {
	job_run hello 'out x'
	run fsd status helo
	assert_failure 1
	assert_output "fsd status: there is no job helo in $MNT; the nearest name is hello"
	run fsd status "$MNT/hallo"
	assert_output "fsd status: there is no job hallo in $MNT; the nearest name is hello"
	run fsd status something-else
	assert_output --partial "there is no job something-else in $MNT; \`fsd ls --mount $MNT\` lists"
	run fsd status "$MNT"
	assert_output --partial 'is a mount and no job'
	run fsd status "$MNT/hello/output"
	assert_output --partial "lies in the job $MNT/hello; name that"
	run fsd status "$MNT/.fsd"
	assert_output --partial 'no job'
	run fsd status /etc/passwd
	assert_output --partial '/etc/passwd is not in a mount of fsd'
	run fsd status ./missing
	assert_failure 1
	assert_output 'fsd status: ./missing: No such file or directory'
	run fsd status --mount /etc hello
	assert_output 'fsd status: /etc is not a mount of fsd'
	unset FSD_MOUNT
	[ ! -e /run/fsd/jobs ] || return 0
	run fsd status hello
	assert_failure 1
	assert_output --partial 'there is no mount: give one by --mount or $FSD_MOUNT'
}

@test "another user's mount is told from no mount" {
	[ "$(id -u)" = 0 ] || need root
	mount_public ''
	cp "$FSD" "$PUBLIC/fsd"
	run bounded 20 setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$PUBLIC/fsd" ls "$MNT"
	assert_failure 1
	assert_output --partial 'if it is a mount of another user, that one must mount it with --allow-other'
}

# bats test_tags=smoke
@test "wait is 0 when all are well, and names those that are not" {
	job_start a 'sleep 100'
	job_start b 'exit 3'
	run fsd wait a
	assert_success
	assert_output ''
	run fsd wait a b
	assert_failure 1
	assert_output --regexp '^b: done, exit code 3 \(exited\), ran [0-9.]+ m?s$'
}

@test "wait ends with a job that is refused, a draft or removed, and names it" {
	mkdir "$MNT/draft" "$MNT/bad"
	job_put bad code.sh 'out x'
	run writes "$MNT/bad/config.json" <<<'[]'
	assert_failure
	run fsd wait draft bad
	assert_failure 1
	assert_line --index 0 --partial 'draft: draft'
	assert_line --index 1 --partial 'bad: refused: config.json'
	job_start gone $'out up\nsleep 600000'
	fsd wait gone >out 3>&- &
	local pid=$! status=0
	job_follow gone up
	# until it waits
	await becomes 20 bash -c "ls -l /proc/*/fd 2>/dev/null | grep -q '$MNT/gone/wait'"
	rm -r "$MNT/gone"
	wait $pid || status=$?
	assert_equal "$status $(cat out)" '1 gone: was removed'
}

@test "wait tells a wrong name before it waits, and waits for the others" {
	job_start a $'out up\nawait'
	fsd wait a nosuch >out 2>err 3>&- &
	local pid=$! status=0
	await becomes 20 grep -q 'there is no job nosuch' err
	job_follow a up
	await becomes 20 bash -c "ls -l /proc/*/fd 2>/dev/null | grep -q '$MNT/a/wait'"
	goes_on a
	wait $pid || status=$?
	assert_equal "$status $(cat out)" '1 '
}

@test "wait -t is 124 when the time is over, one limit for all" {
	job_start a $'out up\nsleep 600000'
	job_start b $'out up\nsleep 600000'
	run fsd wait -t 0.3 a b
	assert_failure 124
	assert_line --index 0 --partial 'a: running for'
	assert_line --index 1 --partial 'b: running for'
	run fsd wait -t 0 a
	assert_failure 124
	run fsd wait -t never a
	assert_failure 2
	assert_output --partial '-t is "never"; it must be a number of seconds'
}

# shellcheck disable=SC2154 # run sets stderr
@test "logs prints both streams, each where it belongs" {
	job_run a $'out one\nerr two\nbytes 300000'
	run --separate-stderr fsd logs a
	assert_success
	assert_equal "$stderr" two
	fsd logs a 2>/dev/null | cmp - "$MNT/a/stdout"
}

@test "logs -f follows to the end, from before the start" {
	job_start a $'out up\nsleep 600000' '{"start": "manual"}'
	fsd logs -f a >out 2>err 3>&- &
	local pid=$! status=0
	echo start >"$MNT/a/ctl"
	job_follow a up
	fsd kill a
	wait $pid || status=$?
	assert_equal "$status $(cat out err)" '0 up'
	run fsd logs -f a
	assert_output up
}

@test "logs of what has written nothing says why" {
	mkdir "$MNT/a"
	run --separate-stderr fsd logs a
	assert_failure 1
	assert_equal "$output" ''
	[[ $stderr == 'fsd logs: a: draft'* ]] || fail "$stderr"
}

@test "logs of several jobs come one after the other, each below its name" {
	job_run a $'out one\nerr bad'
	job_run b 'outn two'
	run --separate-stderr fsd logs a nosuch b
	assert_failure 1
	assert_equal "$output" $'==> a <==\none\n==> b <==\ntwo'
	assert_line --index 0 '==> a <=='
	[[ $stderr == *bad*'there is no job nosuch'* ]] || fail "$stderr"
}

@test "logs -n prints the last lines of each stream, also of one that goes on" {
	job_start a $'out 1\nout 2\nout 3\nerr x\nerr y\nout up\nawait\noutn end'
	await becomes 20 grep -q up "$MNT/a/stdout"
	run --separate-stderr fsd logs -n 2 a
	assert_equal "$output" $'3\nup'
	assert_equal "$stderr" $'x\ny'
	fsd logs -f --tail 1 a >out 2>err 3>&- &
	local pid=$!
	await becomes 20 grep -q up out
	goes_on a
	wait $pid
	assert_equal "$(cat out err)" $'up\nendy'
	run --separate-stderr fsd logs -n 2 a
	assert_equal "$output" $'up\nend'
	run --separate-stderr fsd logs -n 0 a
	assert_equal "$output$stderr" ''
	job_run large $'bytes 300000\nout\nout last'
	assert_equal "$(fsd logs -n 1 large)" last
	fsd logs -n 99 large | cmp - "$MNT/large/stdout"
	run fsd logs -n x a
	assert_failure 2
	assert_output --partial '-n is "x"; it must be a number of lines'
}

@test "logs whose reader has gone ends" {
	job_run a 'bytes 3000000'
	run bash -c "timeout 20 '$FSD' logs a | head -c 3; echo \" \${PIPESTATUS[0]}\""
	assert_output 'abc 141'
}

# bats test_tags=smoke
@test "kill ends jobs, and says of which nothing runs" {
	job_start a $'out up\nsleep 600000'
	job_follow a up
	run fsd kill a
	assert_success
	assert_equal "$(job_wait a)" 137
	status_is a cancelled
	run fsd kill a
	assert_failure 1
	assert_output 'fsd kill: a is done: nothing of it runs'
}

@test "kill -s sends the program that signal" {
	job_start a $'out up\nsleep 600000'
	job_follow a up
	run fsd kill -s USR1 a
	assert_success
	assert_equal "$(job_wait a)" $((128 + 10))
	run fsd kill -s NONE a
	assert_failure 2
	assert_output --partial '-s is "NONE"; it must be a signal'
}

# bats test_tags=smoke
@test "rm removes whole jobs whatever their state, and says which are not there" {
	job_run ended_one $'write f x\nmkdir d'
	job_start runs $'out up\nsleep 600000'
	job_follow runs up
	mkdir -p "$MNT/draft/d"
	echo x >"$MNT/draft/d/f"
	mkdir "$MNT/.hidden"
	run fsd rm ended_one runs nosuch draft "$MNT/.hidden"
	assert_failure 1
	assert_output --partial 'fsd rm: there is no job nosuch in'
	assert_equal "$(ls -A "$MNT")" .fsd
	# also one that somebody else holds
	job_start held $'out up\nsleep 600000'
	exec 7<"$MNT/held/hold"
	run fsd rm held
	assert_success
	exec 7<&-
	absent held
	run fsd rm
	assert_failure 2
}

@test "rm of a job with many files asks the mount less than once a file" {
	mkdir -p project/d
	echo 'out x' >project/code.sh
	(cd project/d && seq 2000 | xargs touch)
	fsd submit --mount "$MNT" project big
	job_wait big
	ASAN_OPTIONS=detect_leaks=0 strace -f -c -o calls "$FSD" rm --mount "$MNT" big
	[ "$(awk 'END { print $4 }' calls)" -lt 1500 ] || fail "$(cat calls)"
	absent big
}

@test "the daemon's log names each job at its start and at its end" {
	job_run a $'exit 3'
	local id
	id=$(result a .id)
	await becomes 20 grep -qE "info job $MNT/a of user $(id -u) \($id\): exited, exit code 3, bash, [0-9]+ ms\$" "$LOG"
	assert_equal "$(grep -c "info job $MNT/a of user $(id -u) ($id): starts, bash\$" "$LOG")" 1
	assert_equal "$(grep -c "info job $MNT/a" "$LOG")" 2
}

@test "top --batch tells health, jobs by state, machines, and each job that has not ended" {
	job_run ended 'out x'
	mkdir "$MNT/draft"
	job_start long $'out up\nsleep 600000' '{"memory_mb": 300, "priority": 7, "timeout": 900}'
	job_follow long up
	run fsd top --batch -n 1
	assert_success
	assert_line --index 0 "fsd top   $MNT   health: ok"
	assert_line 'jobs      1 running   0 queued   0 refused   1 draft   1 done'
	assert_line --regexp '^machines  1 in use +[0-9]+ warm'
	assert_line --regexp "^long +$(id -un) +running +[0-9.]+ m?s +[0-9.]+ m?s +300 +7\$"
	assert_line --regexp "^draft +$(id -un) +draft "
	refute_line --regexp '^ended'
	assert_equal "$(awk 'length > 80' <<<"$output" | grep -v '^fsd top')" ''
	# a second look tells the rate
	run fsd top --batch -n 2 -d 0.1 "$MNT"
	assert_line --regexp '^rate +[0-9.]+ jobs/s in the last [0-9]+ s$'
	run fsd top -d 0 "$MNT"
	assert_failure 2
}

@test "top tells a user who is not the operator of that user's jobs and of nothing else, also no zeros" {
	[ "$(id -u)" = 0 ] || need root
	mount_stop
	mount_public --allow-other
	job_start long $'out up\nsleep 600000'
	job_follow long up
	cp "$FSD" "$PUBLIC/fsd"
	run bounded 20 setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$PUBLIC/fsd" top --batch -n 1 "$MNT"
	assert_success
	assert_line 'jobs      0 running   0 queued   0 refused   0 draft   0 done'
	refute_line --regexp '^(machines|memory|idle|rate|waiting)'
	run fsd top --batch -n 1 "$MNT"
	assert_line --regexp '^waiting   0 in the queue   0 whose machine starts$'
}

@test "top on a terminal obeys its keys, for the job that the arrows choose" {
	for job in first long last; do
		job_start $job $'out up\nsleep 600000' '{"timeout": 3600}'
		job_follow $job up
	done
	run bounded 60 /usr/bin/python3 - "$FSD" "$MNT" <<-'END'
		import fcntl, os, pty, struct, sys, termios
		pid, fd = pty.fork()
		if pid == 0:
		    os.execv(sys.argv[1], ["fsd", "top", "-d", "0.3", sys.argv[2]])
		seen = b""
		def until(what):
		    global seen
		    while what not in seen:
		        seen += os.read(fd, 65536)
		    seen = seen.split(what, 1)[1]
		up, down, mark = b"\033[A", b"\033OB", b"\033[7m"
		until(mark + b"first "); until(b"q end")
		os.write(fd, down); until(mark + b"long "); until(b"q end")
		os.write(fd, down); until(mark + b"last "); until(b"q end")
		os.write(fd, down + b"x"); os.write(fd, up); until(mark + b"long "); until(b"q end")
		os.write(fd, b"l"); until(b" running"); until(b"long: any key")
		os.write(fd, b"x"); until(mark + b"long "); until(b"q end")
		os.write(fd, b"k"); until(b"end long, really")
		os.write(fd, b"n"); until(b"3 running"); until(b"q end")
		os.write(fd, b"k"); until(b"end long, really")
		# its row is the next one's then
		os.write(fd, b"y"); until(b"2 running"); until(mark + b"last "); until(b"q end")
		# on a small terminal the row of the cursor is shown
		fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 80, 0, 0))
		os.write(fd, up); until(mark + b"first "); until(b"and 1 more"); until(b"q end")
		os.write(fd, down); until(mark + b"last "); until(b"and 1 more"); until(b"q end")
		os.write(fd, b"q")
		try:
		    while os.read(fd, 65536): pass
		except OSError: pass
		print("ended", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	END
	assert_output 'ended 0'
	assert_equal "$(job_wait long)" 137
	state_is first running
}

# network_of [COMMAND...] — the line that doctor has of the network.
network_of() {
	local without='s/; it could open files: [^;]*$//'
	sanitized || without=
	"$@" | grep '^network ' | sed "$without"
}

@test "doctor tells whether programs can have a network, by which walls, and reads a policy" {
	[ "$(id -u)" = 0 ] || need 'only root has a door with a user id of its own'
	local policy=$BATS_TEST_TMPDIR/policy.json door
	door=$(dirname "$(readlink -f "$FSD")")/fsd-door
	run network_of unshare -m sh -c 'echo "nameserver 192.0.2.1" >"$1" && mount --bind "$1" /etc/resolv.conf && shift && exec "$@"' \
		- "$BATS_TEST_TMPDIR/resolv.conf" "$FSD" doctor
	if sanitized; then # its door has not all walls, network_of leaves that out
		assert_output --regexp '^network +note +fsd mount --network FILE can .* and has a user id of its own$'
	else
		assert_output --regexp '^network +ok +fsd mount --network FILE can .* opens no file and no listener, and has a user id of its own$'
	fi
	run network_of unshare -m sh -c 'mount --bind /dev/null /etc/resolv.conf && exec "$@"' - "$FSD" doctor
	assert_output --regexp '^network +note .*/etc/resolv.conf names no name server, .*: write `nameserver ADDRESS` into it$'
	echo '{"allow": ["example.org"]}' >"$policy"
	run network_of "$FSD" doctor --network "$policy"
	assert_output --partial "$policy is a policy that fsd mount takes"
	echo '{"allow": ["https://example.org"]}' >"$policy"
	run fsd doctor --network "$policy"
	assert_failure 1
	assert_line --regexp '^network +MISSING .*leave "https://" and the path out'
	chmod o+w "$policy"
	run network_of "$FSD" doctor --network "$policy"
	assert_output --regexp '^network +MISSING .*chmod go-w '
	# without the program
	cp "$(readlink -f "$FSD")" "$BATS_TEST_TMPDIR/fsd"
	run network_of "$BATS_TEST_TMPDIR/fsd" doctor
	assert_output --regexp '^network +note .*/fsd-door: No such file or directory; jobs can have no network: install the package fsd anew'
	# as another user
	mkdir "$BATS_TEST_TMPDIR/own"
	install -m 755 "$(readlink -f "$FSD")" "$BATS_TEST_TMPDIR/own/fsd"
	install -m 755 "$door" "$BATS_TEST_TMPDIR/own/fsd-door"
	chmod o+x "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/test "$BATS_TEST_TMPDIR"
	run network_of setpriv --reuid 65534 --regid 65534 --clear-groups "$BATS_TEST_TMPDIR/own/fsd" doctor
	assert_output --partial "it runs as fsd's user: to have an own one, run fsd as root"
}

@test "doctor of a mount tells version, health, walls, damage and free space" {
	run fsd doctor "$MNT"
	assert_success
	assert_line --regexp '^version +ok +it is served by fsd [0-9.]+, as this program is$'
	assert_line --regexp '^health +ok +jobs can run$'
	assert_line --regexp '^security +(ok|note) '
	assert_line --regexp '^network +ok +programs have none; .fsd mount --network FILE. gives'
	assert_line --regexp '^lost +ok +nothing was damaged$'
	assert_line --regexp '^room +(ok|note) +[0-9]+ MiB free'
	echo drain >"$MNT/.fsd/ctl"
	run fsd doctor "$MNT"
	assert_failure 1
	assert_line --regexp '^health +MISSING +draining: .*write resume to .fsd/ctl'
	run fsd doctor /etc
	assert_failure 1
	assert_output 'fsd doctor: /etc is not a mount of fsd'
}

@test "doctor of a state directory tells who serves it, its format and what was damaged" {
	mkdir "$MNT/a"
	run fsd doctor --state "$MNT"
	assert_line --regexp '^disk +note +it is on a network filesystem \(NFS, SMB, FUSE\)'
	run fsd doctor --state "$STATE"
	assert_line --regexp '^owner +ok '
	assert_line --regexp '^format +ok +format [0-9]+, 1 jobs$'
	assert_line --regexp '^daemon +ok +a daemon serves it$'
	mount_stop
	mkdir -p "$STATE/lost+found/1"
	chmod 777 "$STATE"
	run fsd doctor --state "$STATE"
	assert_failure 1
	assert_line --regexp "^owner +MISSING +others can write it, mode 777: .chmod go-w $STATE"
	assert_line --regexp '^daemon +ok +no daemon serves it; jobs that wait'
	assert_line --regexp '^lost +note +1 damaged entry was set aside; '
	chmod 700 "$STATE"
	echo 'format 999' >"$STATE/format"
	run fsd doctor --state "$STATE"
	assert_failure 1
	assert_line --regexp '^format +MISSING +format 999 is that of a newer fsd, and [0-9]+ the newest'
	run fsd doctor --state /dev/shm
	assert_line --regexp '^disk +note +it is in memory: .*use a directory on a disk$'
	run fsd doctor --state /usr
	assert_line --regexp '^disk +ok +jobs and results outlive'
	run fsd doctor --state missing
	assert_failure 1
	assert_output 'fsd doctor: the state directory missing: No such file or directory'
}
