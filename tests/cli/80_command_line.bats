#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The command: its options, exit codes, and jobs from the shell.

load ../lib/common

setup() { cd "$BATS_TEST_TMPDIR" || return; }
teardown() { mount_done; }

program() {
	printf '%s\n' "$1" >"$BATS_TEST_TMPDIR/code.sh"
}

# fsd's own `run` through the mount of the test.
fsd_run() {
	bounded 30 "$FSD" run --mount "$MNT" "$@"
}

# client_up PID — until the program of an `fsd run` under timeout, which is PID,
# has printed its line "up" into out; then CLIENT is the client's process.
client_up() {
	bounded 20 tail -F --pid="$1" out 2>/dev/null 3>&- | grep -q -m1 up
	CLIENT=$(ps -o pid= --ppid "$1")
	CLIENT=${CLIENT// /}
}

# bats test_tags=smoke
@test "version, help and no arguments" {
	run "$FSD" version
	assert_success
	assert_output --regexp '^fsd [0-9]+\.[0-9]+\.[0-9]+$'
	run "$FSD" help
	assert_success
	assert_output --partial 'fsd mount'
	assert_output --partial 'fsd run'
	run "$FSD" --help
	assert_success
	run "$FSD"
	assert_equal "$status" 2
}

@test "each command explains itself when asked, on standard output" {
	local command option
	for command in mount umount upgrade run image doctor version; do
		for option in --help -h; do
			run bash -c "'$FSD' $command $option 2>/dev/null"
			assert_success
			assert_output --partial "fsd $command"
		done
	done
}

@test "a /dev/null that cannot be opened is named" {
	[ "$(id -u)" = 0 ] || need root
	touch null
	run unshare --mount bash -c 'mount --bind null /dev/null &&
		mount -o remount,bind,ro /dev/null && exec "$1" version' _ "$FSD"
	assert_failure 1
	assert_output 'fsd: /dev/null cannot be opened for reading and writing: Read-only file system'
}

# bats test_tags=smoke
@test "a wrong command or option is 2 and says so" {
	local args
	for args in nonsense 'mount' 'mount a b' 'mount --nonsense x' 'umount' \
		'run' 'run -t' 'mount --pool x m' 'mount --pool -1 m' \
		'mount --max-machines 0 m' 'mount --accel xen m' \
		'mount --policy lax m' 'mount --log-level loud m' 'image nonsense'; do
		mkdir -p m
		# shellcheck disable=SC2086
		run bounded 10 "$FSD" $args </dev/null
		assert_equal "$status $args" "2 $args"
		[ -n "$output" ] || fail "fsd $args says nothing"
	done
}

@test "an option that a command does not have is told by the command and its program" {
	local command
	for command in run submit ls status wait logs kill rm top mount umount upgrade template \
		doctor 'env list' 'sandbox ls' 'sandbox new' 'sandbox rm'; do
		# shellcheck disable=SC2086
		run -2 bounded 10 "$FSD" $command --nonsense
		assert_line --index 0 "fsd $command: unrecognized option '--nonsense'"
	done
}

@test "umount and upgrade by another user say whose mount it is" {
	[ "$(id -u)" = 0 ] || need root
	mount_public
	cp "$FSD" "$PUBLIC/fsd"
	local command
	for command in umount upgrade; do
		run -1 bounded 20 setpriv --reuid 65534 --regid 65534 --clear-groups \
			"$PUBLIC/fsd" "$command" "$MNT"
		assert_output "fsd $command: $MNT is the mount of uid 0: that user or root has to do this"
	done
}

@test "make install puts what make uninstall takes away, and nothing else goes" {
	local tree=$BATS_TEST_TMPDIR/tree to=$BATS_TEST_TMPDIR/to
	mkdir -p "$tree/build/image" "$tree/guest" "$tree/vm"
	(cd "$TESTS/.." && cp -r Makefile LICENSE README.md layout fsd "$tree" &&
		cp -r guest/environment "$tree/guest" && cp -r vm/qemu "$tree/vm")
	touch "$tree"/build/{fsd,fsd-gateway,fsd-door} "$tree/build/image/manifest.json"
	make -s -C "$tree" -o all DESTDIR="$to" install
	[ -e "$to/usr/local/share/doc/fsd/LICENSE" ]
	[ -e "$to/usr/local/share/fsd/image/manifest.json" ]
	touch "$to/usr/local/share/fsd/env/stock/mine.json"
	make -s -C "$tree" DESTDIR="$to" uninstall
	assert_equal "$(find "$to" -type f)" "$to/usr/local/share/fsd/env/stock/mine.json"
	run make -s -C "$tree" help
	assert_line --regexp '^  make uninstall +removes'
}

@test "mount on what is not there, or is no directory, is 1 with a sentence" {
	run bounded 10 "$FSD" mount --state s "$BATS_TEST_TMPDIR/missing/too"
	assert_equal "$status" 1
	assert_output --partial missing
	touch file
	run bounded 10 "$FSD" mount --state s "$BATS_TEST_TMPDIR/file"
	assert_equal "$status" 1
	refute_output ''
}

@test "a /dev/fuse that this user may not open is no missing module" {
	# shellcheck disable=SC2034 # mount_done removes it
	PUBLIC=$(mktemp -d /tmp/fsd-test.XXXXXX)
	chmod 755 "$PUBLIC"
	mkdir "$PUBLIC/m"
	chown 65534 "$PUBLIC" "$PUBLIC/m"
	mknod -m 600 "$PUBLIC/fuse" c 10 229 || need 'devices can be made'
	# shellcheck disable=SC2016 # for the other shell
	run bounded 10 unshare -m bash -c 'mount --bind "$2/fuse" /dev/fuse &&
		exec setpriv --reuid 65534 --regid 65534 --clear-groups \
			"$1" mount --state "$2/s" "$2/m"' x "$FSD" "$PUBLIC"
	assert_equal "$status" 1
	assert_output --partial 'run `chmod 666 /dev/fuse` as root'
}

@test "fewer open files than a mount needs are 1 with a sentence that says how many" {
	mkdir mnt
	run -1 bash -c 'ulimit -n 255 && exec "$1" mount --state state mnt' _ "$FSD"
	assert_output 'fsd mount: only 255 files may be open at once (RLIMIT_NOFILE), and 256 are needed at least: see ulimit -n, or LimitNOFILE= of a systemd unit'
	[ ! -e state ]
}

@test "with as few open files as are allowed jobs run" {
	local i
	mkdir m
	MNT=$BATS_TEST_TMPDIR/m STATE=$BATS_TEST_TMPDIR/state LOG=$BATS_TEST_TMPDIR/log
	(
		ulimit -n 256
		bounded 20 "$FSD" mount --daemon --state "$STATE" "$MNT" 2>"$LOG" 3>&- 4>&-
	)
	for i in {1..30}; do
		job_start "j$i" $'sleep 300\nout x'
	done
	for i in {1..30}; do
		assert_equal "$(job_wait "j$i")" 0
	done
	bounded 30 "$FSD" umount "$MNT"
}

@test "a state directory that cannot be used is 1 with a sentence" {
	mkdir m
	touch file
	run bounded 10 "$FSD" mount --state "$BATS_TEST_TMPDIR/file" m
	assert_equal "$status" 1
	assert_output --partial file
	run bounded 10 "$FSD" mount --state /proc/nonsense m
	assert_equal "$status" 1
	run mountpoint -q m
	assert_failure
}

@test "a state directory with a file in a directory's place is named" {
	mkdir -p m state
	touch state/jobs
	run bounded 10 "$FSD" mount --state state m
	assert_equal "$status" 1
	assert_output --partial 'the state directory state: cannot open jobs: Not a directory'
}

@test "a state directory, an image or templates behind the mount are refused" {
	mkdir -p m state/jobs real
	ln -s m link
	local option
	for option in '--state m' '--state m/' '--state ./m/deep/er' \
		'--state link/x' '--state s --image m/image' \
		'--state s --cache m/x'; do
		# shellcheck disable=SC2086
		run bounded 10 "$FSD" mount --daemon $option m
		assert_equal "$status $option" "1 $option"
		assert_output --partial 'lies in the mount point'
		assert_equal "$(ls -A m)" ''
	done
	run bounded 10 "$FSD" mount --daemon --state state state/jobs
	assert_equal "$status" 1
	assert_output --partial 'is a part of the state directory state'
	mkdir state/mnt mm
	MNT=$PWD/state/mnt STATE=$PWD/state mount_start
	mount_stop
	MNT=$PWD/m STATE=$PWD/mm mount_start
}

@test "a state directory that others can write, or its parent, is refused" {
	mkdir -p m own open/s foreign/s sticky/s sticky/foreign group group/s
	chmod 777 open
	chmod 770 group
	chgrp 65534 group
	chmod 1777 sticky
	chown 65534 foreign sticky/foreign || need 'root may give a directory away'
	local dir
	for dir in own/new/er sticky/s sticky/new; do
		run bounded 20 "$FSD" mount --daemon --state $dir m
		assert_success
		refute_output --partial warn
		bounded 20 "$FSD" umount m
	done
	for dir in open open/s open/new foreign foreign/s sticky/foreign group group/s; do
		run bounded 20 "$FSD" mount --daemon --state $dir m
		assert_equal "$status $dir" "1 $dir"
		case $dir in
		open*) assert_output --partial '/open can be written by others, mode 777' ;;
		group*) assert_output --partial '/group can be written by others, mode 770' ;;
		*) assert_output --partial 'foreign belongs to uid 65534' ;;
		esac
		assert_output --partial '--policy permissive'
	done
	run bounded 20 "$FSD" mount --daemon --policy permissive --state open/s m
	assert_success
	assert_output --partial 'warn the state directory'
	bounded 20 "$FSD" umount m
}

@test "a second daemon on the same mount or state is refused and harms nothing" {
	mount_start
	mkdir "$MNT/a" other
	run bounded 10 "$FSD" mount --state "$BATS_TEST_TMPDIR/s2" "$MNT"
	assert_equal "$status" 1
	refute_output ''
	refute_output --partial warning # it would hide nothing
	run bounded 10 "$FSD" mount --state "$STATE" other
	assert_equal "$status" 1
	assert_output --partial "$STATE"
	job_run b 'out fine'
	exists . a
}

@test "mount --daemon returns when the mount answers, umount when it is gone" {
	mkdir m
	MNT=$BATS_TEST_TMPDIR/m STATE=$BATS_TEST_TMPDIR/state LOG=$BATS_TEST_TMPDIR/log
	bounded 20 "$FSD" mount --daemon --state "$STATE" "$MNT" 2>"$LOG" 3>&- 4>&-
	health_is_ok
	local pid
	pid=$(getfattr --only-values -n user.fsd.pid "$MNT")
	job_run a 'out x'
	bounded 20 "$FSD" umount "$MNT"
	run mountpoint -q "$MNT"
	assert_failure
	await exit "$pid" 1
	await unused "$pid" "$STATE"
}

@test "the log of mount --daemon is begun anew at 8 MiB, and when somebody moves it" {
	mkdir m state
	MNT=$BATS_TEST_TMPDIR/m STATE=$BATS_TEST_TMPDIR/state LOG=$BATS_TEST_TMPDIR/log
	truncate -s 8M state/fsd.log
	echo two >state/fsd.log.1
	echo three >state/fsd.log.2
	echo four >state/fsd.log.3
	bounded 20 "$FSD" mount --daemon --state "$STATE" "$MNT" 2>"$LOG" 3>&- 4>&-
	# the daemon has given up its rights when it says this
	echo drain >"$MNT/.fsd/ctl"
	grep -q ' info draining' state/fsd.log
	assert_equal "$(stat -c %s state/fsd.log.1)" $((8 << 20))
	assert_equal "$(cat state/fsd.log.2 state/fsd.log.3)" $'two\nthree'
	[ ! -e state/fsd.log.4 ]
	mv state/fsd.log moved
	echo resume >"$MNT/.fsd/ctl"
	grep -q ' info resumed' state/fsd.log
	bounded 20 "$FSD" umount "$MNT"
	grep -q ' info ended' state/fsd.log
	assert_equal "$(stat -c %a state/fsd.log)" 600
}

@test "mount --daemon that fails says why and is 1" {
	run bounded 20 "$FSD" mount --daemon --state s "$BATS_TEST_TMPDIR/missing/too"
	assert_equal "$status" 1
	assert_output --partial missing
}

@test "umount lets a running job finish" {
	mount_start
	job_start a $'out up\nawait\nexit 3'
	job_follow a up
	bounded 20 "$FSD" umount "$MNT" &
	local umount=$!
	await becomes 20 grep -q 'stopping when 1 running job has ended' "$LOG"
	goes_on a
	wait $umount
	wait "$DAEMON"
	DAEMON=
	mount_start
	ended a 3 exited
}

@test "umount does not wait for the queue, which the next mount runs" {
	mount_start --max-machines 1
	job_start a $'out up\nawait\nexit 3'
	job_follow a up
	job_start b 'exit 4'
	job_start c $'sleep 600000'
	bounded 20 "$FSD" umount "$MNT" &
	local umount=$!
	await becomes 20 grep -q 'stopping when 1 running job has ended' "$LOG"
	goes_on a
	wait $umount
	wait "$DAEMON"
	DAEMON=
	mount_start
	ended a 3 exited
	job_wait b
	ended b 4 exited
	assert_equal "$(cat "$MNT/c/state")" running
}

@test "umount --now ends a running job as interrupted" {
	mount_start
	job_start a $'out up\nsleep 600000'
	job_follow a up
	bounded 20 "$FSD" umount --now "$MNT"
	wait "$DAEMON"
	DAEMON=
	mount_start
	ended a 125 interrupted
	stdout_is a up
}

@test "umount of what is no mount of fsd is 1" {
	mkdir d
	run bounded 10 "$FSD" umount d
	assert_equal "$status" 1
	refute_output ''
	run bounded 10 "$FSD" umount missing
	assert_equal "$status" 1
}

@test "the daemon ends on SIGINT and SIGTERM with 0 and leaves nothing" {
	mount_start
	job_run a 'out x'
	mount_stop INT
	mount_start
	stdout_is a x
	mount_stop TERM
}

@test "run: the job's streams and exit code are the command's" {
	mount_start
	program $'out to stdout\nerr to stderr\nexit 7'
	run --separate-stderr fsd_run code.sh
	assert_equal "$status" 7
	assert_equal "$output" 'to stdout'
	# shellcheck disable=SC2154
	assert_equal "$stderr" 'to stderr'
	assert_equal "$(ls -A "$MNT")" .fsd
}

@test "run: arguments, environment, standard input" {
	mount_start
	program $'args\nenv\ncat'
	run bash -c "printf 'from stdin' | timeout 30 '$FSD' run --mount '$MNT' -e A=1 -e 'B=two words' -e E= code.sh x '' 'y \"z\\' -t"
	assert_success
	assert_line x
	assert_line 'y "z\'
	assert_line -- -t
	assert_line A=1
	assert_line 'B=two words'
	assert_line E=
	assert_line 'from stdin'
}

@test "run -: the program comes from standard input" {
	mount_start
	run bash -c "echo 'out piped' | timeout 30 '$FSD' run --mount '$MNT' -l bash -"
	assert_success
	assert_output piped
}

@test "run -t and -m reach the job" {
	mount_start
	program $'out x\nsleep 600000'
	run --separate-stderr fsd_run -t 0.2 code.sh
	assert_equal "$status" 124
	assert_equal "$output" x
	run fsd_run -t soon code.sh
	assert_equal "$status" 2
	run fsd_run -m 1 code.sh
	assert_equal "$status" 2
	assert_output --partial '-m is 1; it must be an integer of MiB from 32 to'
	assert_equal "$(ls -A "$MNT")" .fsd
}

@test "run --json prints result.json" {
	mount_start
	program $'out x\nexit 3'
	run --separate-stderr fsd_run --json code.sh
	assert_equal "$status" 3
	assert_equal "$(jq -r .exit_code <<<"$output")" 3
}

@test "run: a file that is not there is 2, an unknown language too" {
	mount_start
	run fsd_run missing.py
	assert_equal "$status" 2
	assert_output --partial missing.py
	program 'out x'
	run fsd_run -l cobol code.sh
	assert_equal "$status" 2
	assert_output --partial cobol
	assert_equal "$(ls -A "$MNT")" .fsd
}

@test "run: SIGINT goes to the program, and the command ends with it" {
	mount_start
	program $'out up\nsleep 600000'
	fsd_run code.sh >out 2>err 3>&- &
	local pid=$! client
	await becomes 20 grep -q up out
	client=$(ps -o pid= --ppid "$pid")
	kill -INT "${client// /}"
	local status=0
	wait $pid || status=$?
	assert_equal $status 130
	assert_equal "$(ls -A "$MNT")" .fsd
}

@test "run: SIGINT is for all that runs in front, SIGTERM for the program alone" {
	mount_start
	program $'ignoreterm\nout up\nsleep 600000'
	# timeout would pass only the first SIGINT on
	timeout --foreground $((30 * SLOW)) \
		"$FSD" run --mount "$MNT" code.sh >out 2>err 3>&- &
	local pid=$! job
	client_up $pid
	job=$(ls "$MNT")
	kill -INT "$CLIENT"
	await becomes 20 grep -q 'interrupted by ctl' "$MNT/$job/log"
	kill -INT "$CLIENT"
	local status=0
	wait $pid || status=$?
	assert_equal $status 130
}

# ended_by SIGNAL... — the code of a client that ignored the first when it
# started, and then got them all.
ended_by() {
	local signal pid status=0
	# timeout would have it as it is by default
	timeout --foreground $((30 * SLOW)) env --ignore-signal="$1" \
		"$FSD" run --mount "$MNT" code.sh </dev/null >out 2>&1 3>&- &
	pid=$!
	client_up "$pid"
	for signal; do
		kill -"$signal" "$CLIENT"
	done
	wait "$pid" || status=$?
	rm out
	assert_equal "$(ls -A "$MNT")" .fsd
	return $status
}

@test "run: under nohup a SIGHUP does not end it" {
	mount_start
	program $'out up\nsleep 600000'
	run -143 ended_by HUP TERM
}

@test "run: a script's background command is ended by SIGINT, though its shell has that ignored" {
	mount_start
	program $'out up\nsleep 600000'
	run -130 ended_by INT
}

# client_in STATE — starts one in the background; once its job is in that state
# CLIENT is the client's process, and $! the timeout it runs under.
client_in() {
	env --default-signal=INT,QUIT timeout --foreground $((30 * SLOW)) \
		"$FSD" run --mount "$MNT" code.sh </dev/null >out 2>&1 3>&- &
	await becomes 20 \
		sh -c 'grep -qsx "$1" "$2"/run-*/state' - "$1" "$MNT"
	CLIENT=$(ps -o pid= --ppid $!)
	CLIENT=${CLIENT// /}
}

@test "run: a signal while the job waits for a machine is its end, 128 + N" {
	local signal status
	mount_start --max-machines 1
	job_start a $'out up\nsleep 600000'
	job_follow a up
	program 'out x'
	for signal in INT TERM HUP QUIT; do
		client_in queued
		kill -"$signal" "$CLIENT"
		status=0
		wait $! || status=$?
		assert_equal $status $((128 + $(kill -l $signal)))
		assert_equal "$(names "$MNT")" '.fsd a'
	done
	# Not if somebody else ends it.
	client_in queued
	echo kill | tee "$MNT"/run-*/ctl
	status=0
	wait $! || status=$?
	assert_equal $status 137
}

@test "run: a signal to a machine that has not begun the program is the end, too" {
	local status=0
	mount_start
	program $'nostart\nmute'
	client_in running
	kill -TERM "$CLIENT"
	wait $! || status=$?
	assert_equal $status 143
	assert_equal "$(ls -A "$MNT")" .fsd
}

@test "run finds the mount by itself" {
	mount_start
	program 'out x'
	run env FSD_MOUNT="$MNT" timeout 30 "$FSD" run code.sh
	assert_success
	assert_output x
}

@test "run without a mount uses a private one and leaves nothing" {
	program $'out private\nexit 4'
	mkdir "$BATS_TEST_TMPDIR/own"
	export TMPDIR=$BATS_TEST_TMPDIR/own # others' private mounts are elsewhere
	# Whatever else is mounted on this host, here it is not.
	# shellcheck disable=SC2016 # expanded inside
	run --separate-stderr bounded 30 unshare --mount bash -c '
		umount -l -a -t fuse.fsd
		exec "$@"' _ "$FSD" run code.sh
	assert_equal "$status" 4
	assert_equal "$output" private
	run ls -A "$TMPDIR"
	assert_output ''
	run grep "$TMPDIR" /proc/self/mounts
	assert_failure
}

# struck SIGNAL — `fsd run` with a private mount gets it at sixty moments of its
# start. All that is left then is a process of ours or a mount, and here there
# are no others; this process is the first of its kind, which inherits them.
struck() {
	program $'out up\nsleep 600000'
	cp "$FSD" fsd # /tmp is hidden
	bounded 60 unshare --mount --pid --fork --mount-proc --kill-child \
		/usr/bin/python3 - "$1" "$SLOW" <<-'END'
		import os, signal, subprocess, sys, time
		sent, slow = signal.Signals["SIG" + sys.argv[1]], int(sys.argv[2])
		subprocess.run(["umount", "-l", "-a", "-t", "fuse.fsd"],
		               stderr=subprocess.DEVNULL)
		subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/tmp"], check=True)
		for i in range(60):
		    p = subprocess.Popen(
		        ["./fsd", "run", "code.sh"], stdin=subprocess.DEVNULL,
		        stdout=subprocess.PIPE,
		        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
		    time.sleep(i * slow / 5000)
		    if i == 59: # and when the program runs
		        p.stdout.readline()
		    p.send_signal(sent)
		    if p.wait() not in (-sent, 128 + sent):
		        print("status", p.returncode)
		    if sent != signal.SIGKILL and os.listdir("/tmp"):
		        print("/tmp has", *os.listdir("/tmp"))
		try:
		    while True:
		        os.wait()
		except ChildProcessError:
		    pass
		if os.listdir("/tmp"):
		    print("/tmp has", *os.listdir("/tmp"))
		with open("/proc/self/mounts") as f:
		    print("".join(line for line in f if "fsd-run-" in line), end="")
		print("nothing is left")
	END
}

@test "run: SIGINT at any moment of a private mount's start leaves nothing" {
	run --separate-stderr struck INT
	assert_output 'nothing is left'
	[[ $stderr != *ERROR:* ]] || fail "$stderr"
}

@test "run: SIGKILL at any moment of a private mount's start leaves nothing" {
	run --separate-stderr struck KILL
	assert_output 'nothing is left'
	[[ $stderr != *ERROR:* ]] || fail "$stderr"
}

@test "run with its reader gone does not hang" {
	mount_start
	program $'bytes 3000000\nout end'
	fsd_run code.sh | head -c 10 >/dev/null
	assert_equal "$(ls -A "$MNT")" .fsd
}

@test "run ends with its reader, as any writer of a pipe" {
	mount_start
	program $'bytes 3000000\nsleep 600000'
	run bash -c "timeout 20 '$FSD' run --mount '$MNT' -t 600 code.sh | head -c 10; echo \" \${PIPESTATUS[0]}\""
	assert_output 'abcdefghij 141'
	assert_equal "$(ls -A "$MNT")" .fsd
}

@test "run: what ends it while it reads its program leaves no draft" {
	local signal status
	mount_start
	mkfifo in
	for signal in INT TERM HUP QUIT; do
		# A shell's background jobs ignore SIGINT.
		env --default-signal="$signal" timeout --foreground 30 \
			"$FSD" run --mount "$MNT" -l bash - <in >out 2>&1 3>&- &
		exec 9>in
		echo first >&9
		bounded 20 bash -c "until compgen -G '$MNT/.run-*/code'; do :; done"
		kill -"$signal" "$(ps -o pid= --ppid $! | tr -d ' ')"
		status=0
		wait $! || status=$?
		exec 9>&-
		assert_equal "$status" $((128 + $(kill -l $signal)))
		assert_equal "$(ls -A "$MNT")" .fsd
	done
}

@test "run: a job that the full queue does not take leaves no draft" {
	mount_start --max-machines 1 --max-queued 1
	job_start a $'out up\nsleep 600000'
	job_follow a up
	job_start b 'out x'
	program 'out x'
	run fsd_run code.sh </dev/null
	assert_failure
	assert_output --partial 'Resource temporarily unavailable'
	assert_equal "$(names "$MNT")" '.fsd a b'
}

@test "run: streams that are nonblocking lose nothing" {
	mount_start
	program $'cat\nbytes 3000000'
	run bounded 30 /usr/bin/python3 - "$FSD" "$MNT" <<-'END'
		import os, subprocess, sys
		r0, w0 = os.pipe()
		r1, w1 = os.pipe()
		os.set_blocking(r0, False)
		os.set_blocking(w1, False)
		p = subprocess.Popen([sys.argv[1], "run", "--mount", sys.argv[2],
		                      "code.sh"], stdin=r0, stdout=w1)
		os.close(w1)
		while not any(n.startswith((".run-", "run-")) for n in os.listdir(sys.argv[2])):
		    pass
		os.write(w0, b"late")
		os.close(w0)
		got = b""
		while part := os.read(r1, 4096):
		    got += part
		print(len(got), got[:4], p.wait())
	END
	assert_output "3000004 b'late' 0"
}

# paused STREAM PROGRAM [OPTION...] — `fsd run` writes to what nobody reads and
# is told to end once the program has printed 400,000 bytes: twice if that sleeps
# then, once if it has ended; prints how it ended itself.
paused() {
	program "$2"
	# what another user has made cannot be opened a second time
	chmod 755 . && chmod 644 code.sh
	# nor can that user reach our build, as a rule
	cp "$FSD" "$PUBLIC/fsd"
	bounded 60 /usr/bin/python3 - "$PUBLIC/fsd" "$MNT" "$SLOW" "$1" "${@:3}" <<-'END'
		import glob, os, pty, signal, socket, subprocess, sys, termios
		fsd, mnt, slow, kind, *options = sys.argv[1:]
		if kind == "socket":
		    pair = socket.socketpair()
		    r, w = (s.fileno() for s in pair)
		elif kind in ("terminal", "stopped"):
		    r, w = pty.openpty()
		else:
		    r, w = os.pipe()
		if kind == "stopped":
		    termios.tcflow(w, termios.TCOOFF)
		p = subprocess.Popen(
		    [fsd, "run", "--mount", mnt, *options, "code.sh"],
		    stdin=subprocess.DEVNULL, stdout=w,
		    stderr=w if kind == "both" else None,
		    user=65534 if kind == "foreign" else None,
		    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
		while not (found := glob.glob(mnt + "/run-*/stdout")):
		    pass
		job = os.path.dirname(found[0])
		while os.path.getsize(found[0]) < 400000:
		    pass
		ended = "sleep" not in open("code.sh").read()
		if ended:
		    open(job + "/wait").read()
		p.send_signal(signal.SIGTERM)
		while not ended and \
		        " signal SIGTERM by ctl" not in open(job + "/log").read() and \
		        open(job + "/state").read() != "done\n":
		    pass
		if not ended:
		    p.send_signal(signal.SIGINT)
		try:
		    print(p.wait(20 * int(slow)))
		except subprocess.TimeoutExpired:
		    p.kill()
		    print("it goes on")
	END
}

@test "run: two signals end it while its reader pauses" {
	local stream
	mount_public
	for stream in pipe both socket terminal stopped foreign; do
		run paused $stream $'bytes 400000\nsleep 600000'
		assert_output -- -15
		assert_equal "$stream $(ls -A "$MNT")" "$stream .fsd"
	done
}

@test "run: the second one also ends a program that ignores the first" {
	mount_public
	run paused both $'ignoreterm\nbytes 400000\nsleep 600000'
	assert_output -- -2
	assert_equal "$(ls -A "$MNT")" .fsd
}

@test "run: one signal is enough once the program has ended, and what is left out then is no success" {
	mount_public
	run paused pipe 'bytes 400000'
	assert_output 1
	assert_equal "$(ls -A "$MNT")" .fsd
}

@test "run: a stream that is closed is an empty input and no program's text" {
	mount_start
	program $'cat\nout end'
	run --separate-stderr bash -c "timeout 30 '$FSD' run --mount '$MNT' code.sh <&-"
	assert_success
	assert_equal "$output" end
	run bash -c "timeout 30 '$FSD' run --mount '$MNT' code.sh <&- >&- 2>&-"
	assert_success
}

@test "run: output that finds no room is told, and is a failure" {
	mount_start
	program 'out x'
	run bash -c "timeout 30 '$FSD' run --mount '$MNT' code.sh </dev/null >/dev/full"
	assert_equal "$status" 1
	assert_output 'fsd run: standard output: No space left on device'
	program $'out x\nexit 3'
	run bash -c "timeout 30 '$FSD' run --mount '$MNT' code.sh </dev/null >/dev/full"
	assert_equal "$status" 3
}

@test "run: of a name that is given twice by -e the last value counts" {
	mount_start
	program 'env'
	run fsd_run -e A=1 -e AB=2 -e A=3 -e A_=4 code.sh </dev/null
	assert_success
	assert_equal "$(grep ^A <<<"$output" | LC_ALL=C sort | xargs)" 'A=3 AB=2 A_=4'
}

@test "run through what is no mount of fsd says so and makes nothing there" {
	local dir
	mkdir plain
	program 'out x'
	for dir in plain missing; do
		run bounded 10 "$FSD" run --mount "$dir" code.sh </dev/null
		assert_equal "$status" 1
		assert_output --partial "fsd run: $dir is not a mount of fsd"
	done
	run env FSD_MOUNT=plain timeout 10 "$FSD" run code.sh </dev/null
	assert_output "fsd run: plain is not a mount of fsd"
	assert_equal "$(ls -A plain)" ''
}

@test "run of a directory names it" {
	mount_start
	run fsd_run "$BATS_TEST_TMPDIR" </dev/null
	assert_equal "$status" 2
	assert_output "fsd run: $BATS_TEST_TMPDIR is a directory; -C runs the program of a directory"
	assert_equal "$(ls -A "$MNT")" .fsd
}

@test "run: when the mount goes under it, that is told and is 125" {
	mount_start
	program $'out up\nsleep 600000'
	fsd_run code.sh >out 2>err 3>&- </dev/null &
	local pid=$! status=0
	await becomes 20 grep -q up out
	bounded 20 "$FSD" umount --now "$MNT"
	DAEMON=
	wait $pid || status=$?
	assert_equal "$status" 125
	# Its last moments decide how much it has learnt.
	run cat err
	assert_output --regexp 'does not answer any more|the daemon was stopped|interrupted'
}

@test "run: when its job is removed, that is told and is 137" {
	mount_start
	program $'out up\nsleep 600000'
	fsd_run code.sh >out 2>err 3>&- </dev/null &
	local pid=$! status=0
	await becomes 20 grep -q up out
	rm -r "$MNT"/run-*
	wait $pid || status=$?
	assert_equal "$status" 137
	assert_equal "$(cat err)" 'fsd run: the job was removed'
}

@test "five megabytes through run are exact" {
	mount_start
	program 'bytes 5000000'
	fsd_run code.sh >out
	assert_equal "$(stat -c %s out)" 5000000
	/usr/bin/python3 -c 'import sys; b = bytes(97 + i % 26 for i in range(65536)); d = open("out", "rb").read(); sys.exit(d != (b * 77)[:5000000])'
}

# as_nobody SETUP COMMAND... — as a user who may do nothing else, after a shell has done
# SETUP in a mount namespace.
as_nobody() {
	[ "$(id -u)" = 0 ] || need root
	# shellcheck disable=SC2034 # mount_done removes it
	PUBLIC=$(mktemp -d /tmp/fsd-test.XXXXXX)
	chmod 755 "$PUBLIC"
	cp "$FSD" "$PUBLIC/fsd"
	# shellcheck disable=SC2016 # for the other shell
	run bounded 60 unshare -m bash -ec 'cd "$1"; eval "$2"; shift 2
		exec setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/nowhere "$@"' \
		x "$PUBLIC" "$1" "$PUBLIC/fsd" "${@:2}"
}

@test "doctor names a setting that forbids user namespaces, and the remedy" {
	as_nobody 'echo 0 >zero; mount --bind zero /proc/sys/user/max_user_namespaces' doctor
	assert_line --regexp '^userns +MISSING +/proc/sys/user/max_user_namespaces is 0: .*`sysctl user\.max_user_namespaces=10000`$'
}

@test "doctor names a /dev/kvm that this user may not open, and the remedy" {
	as_nobody 'mount -t tmpfs tmpfs /dev; mknod -m 600 /dev/kvm c 10 232
		mknod -m 666 /dev/null c 1 3' doctor
	assert_line --regexp '^accel +note +/dev/kvm is there, and this user may not open it: .*`usermod -aG kvm USER`'
}

@test "doctor names what works and what does not" {
	run bounded 60 "$FSD" doctor
	assert_line --regexp '^qemu +(ok|note) +QEMU [0-9.]+, /.*: '
	[ "$status" = 0 ] || [ "$status" = 1 ]
	[ "${#lines[@]}" -ge 3 ]
}

@test "the manual's example in README works as it is written" {
	mount_start
	echo 'out from readme' >program.py
	sed -n 's/^    \(mkdir\|cp\|echo\|cat\)/\1/p' "$MNT/.fsd/README" >steps
	grep -q mkdir steps
	(cd "$MNT" && cp "$OLDPWD/program.py" . 2>/dev/null || true)
	sed -i "s|program.py|$BATS_TEST_TMPDIR/program.py|" steps
	run bash -c "cd '$MNT' && head -n 5 '$BATS_TEST_TMPDIR/steps' | timeout 30 bash -e"
	assert_success
	assert_line 0
	assert_line 'from readme'
}

@test "template removes a retired template that nobody has open, and nothing else of such a name" {
	cd "$BATS_TEST_TMPDIR"
	mkdir -p t/.old-{88,99,77,backup}
	touch t/.old-{88,99,backup}/{meta,ram,state} t/.old-77/notes
	HOME=$PWD run bounded 30 flock t/.old-99 "$FSD" template t
	assert_equal "$(names t)" '.old-77 .old-99 .old-backup'
	assert_equal "$(names t/.old-backup)" 'meta ram state'
}
