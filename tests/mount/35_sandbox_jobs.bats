#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Jobs in a sandbox: programs beside each other, sessions, what they share, and what
# becomes of them when it ends or is lost.

load ../lib/common

teardown() { mount_done; }

start() {
	mount_start "$@"
	S=$MNT/.fsd/sandboxes
	mkdir "$S/a"
}

# job NAME PROGRAM [MORE [SANDBOX]] — one job in it, started.
job() {
	job_start "$1" "$2" "{\"sandbox\": \"${4:-a}\"${3:+, $3}}"
}

# bats test_tags=smoke
@test "programs run beside each other, in one home" {
	start
	job first $'out up\nsleep 20000'
	job_follow first up
	job second $'write shared.txt text\nleave 1\nexit 3'
	job_wait second
	ended second 3 exited
	assert_equal "$(cat "$S/a/files/shared.txt")" text
	assert_equal "$(ls "$MNT/second/output")" ''
	job third 'show shared.txt'
	job_wait third
	stdout_is third text
	assert_equal "$(cat "$S/a/state")" busy
	# What a program has left belongs to no job.
	grep -Eq '^[0-9]+ first ' "$S/a/processes"
	grep -Eq '^[0-9]+ - left' "$S/a/processes"
	echo kill >"$MNT/first/ctl"
	job_wait first
	ended first 137 cancelled
	assert_equal "$(cat "$S/a/state")" idle
}

@test "sessions keep their order, each for itself" {
	start
	job s1 $'out up\nsleep 20000\nremember s' '"session": "s"'
	job_follow s1 up
	job s2 'recall' '"session": "s"'
	job t1 $'remember t' '"session": "t"'
	job_wait t1
	job t2 'recall' '"session": "t"'
	job_wait t2
	stdout_is t2 t
	result_is t2 .session t
	result_is t2 .session_state kept
	state_is s2 queued
	assert_equal "$(cat "$S/a/sessions/s/state" "$S/a/sessions/t/state" | paste -sd ' ')" 'busy idle'
	assert_equal "$(cat "$S/a/sessions/t/steps" "$S/a/sessions/t/language" | paste -sd ' ')" '2 bash'
	# A session is the sandbox's: the same name elsewhere is another one.
	job_run other 'recall' '{"session": "t"}'
	stdout_is other ''
	rmdir "$S/a/sessions/s"
	job_wait s1
	job_wait s2
	ended s1 137 cancelled
	ended s2 137 cancelled
	assert_equal "$(ls "$S/a/sessions")" t
	job t3 'recall' '"session": "t"'
	job_wait t3
	stdout_is t3 t
}

@test "env and cwd" {
	start
	echo '{"env": {"A": "of the sandbox", "B": "of the sandbox", "LANG": "C"}}' >"$S/a/config.json"
	job j $'env\npwd' '"env": {"B": "of the job"}, "cwd": "some/where"'
	job_wait j
	grep -qx 'A=of the sandbox' "$MNT/j/stdout"
	grep -qx 'B=of the job' "$MNT/j/stdout"
	assert_equal "$(grep -c '^B=' "$MNT/j/stdout")" 1
	assert_equal "$(grep '^LANG=' "$MNT/j/stdout")" LANG=C
	assert_equal "$(tail -n 1 "$MNT/j/stdout")" /home/user/some/where
	# It may be changed while the machine lives.
	echo '{"env": {"A": "new"}}' >"$S/a/config.json"
	job k env '"cwd": "/tmp"'
	job_wait k
	grep -qx 'A=new' "$MNT/k/stdout"
}

@test "the running line of events has the pid" {
	start
	job j $'out up\nsleep 20000'
	local pid
	pid=$(head -n 3 "$MNT/j/events" | jq -r 'select(.state == "running") | .pid')
	[[ $pid =~ ^[1-9][0-9]*$ ]] || fail "pid is $pid"
	grep -q "^$pid j " "$S/a/processes"
	echo kill >"$MNT/j/ctl"
	job_wait j
	assert_equal "$(jq -r 'select(.event == "state") | .state' "$MNT/j/events" | paste -sd ' ')" \
		'queued running done'
}

@test "what is refused" {
	start
	job no 'out x' '' nowhere
	refused no 'config.json: "sandbox" is "nowhere", and there is none of that name; to make one: mkdir .fsd/sandboxes/nowhere'
	mkdir "$S/nowhere" # mended, it starts
	echo start >"$MNT/no/ctl"
	job_wait no
	stdout_is no x
	job s 'out x' '"session": "s"'
	job_wait s
	mkdir "$MNT/t"
	echo '{"sandbox": "a", "session": "s", "language": "python", "code": "out x"}' >"$MNT/t/config.json"
	refused t 'speaks bash; this program is python: use another name, or end it by rmdir .fsd/sandboxes/a/sessions/s'
	local key
	for key in '"environment": "base"' '"memory_mb": 64' '"cpus": 1' '"processes": 1' '"retry": 1' '"packages": []'; do
		rm -rf "$MNT/r"
		mkdir "$MNT/r"
		job_put r code.sh 'out x'
		fails EINVAL bash -c 'printf %s "$2" >"$1"' - "$MNT/r/config.json" "{\"sandbox\": \"a\", $key}"
		refused r 'leave the key out'
	done
	job c 'out x' '"mode": "call", "session": "s"' 2>"$BATS_TEST_TMPDIR/err" || true
	refused c 'in a session it must be'
}

@test "a timeout, none, and memory" {
	start
	job j 'sleep 60000' "\"timeout\": $(patient 300)"
	job k $'out up\nsleep 60000' '"timeout": 0'
	job_wait j
	ended j 124 timeout
	job o 'oom'
	job_wait o
	ended o 137 out_of_memory
	result_is o .message 'needed more than 256 MiB (memory_mb)'
	job_follow k up
	state_is k running
	rmdir "$S/a"
	job_wait k
	ended k 137 cancelled
	result_is k .message 'its sandbox was ended'
}

@test "an interrupt and a timeout end a step of one interpreter, and none is lost" {
	start
	job other $'out up\nsleep 20000'
	job_follow other up
	job one 'remember it' '"session": "s"'
	job_wait one
	job two $'out up\nsleep 20000' '"session": "s"'
	job_follow two up
	echo interrupt >"$MNT/two/ctl"
	job_wait two
	ended two 130 exited
	job three 'sleep 20000' '"session": "s", "timeout": 0.2, "grace": 60'
	job_wait three
	ended three 124 timeout
	result_is three .session_state kept
	job four 'recall' '"session": "s"'
	job_wait four
	stdout_is four it
	echo interrupt >"$MNT/other/ctl"
	job_wait other
	ended other 130 signaled
}

@test "rmdir cancels what runs, waits, and is yet to come" {
	start
	job j $'out up\nsleep 20000' '"session": "s"'
	job_follow j up
	job k 'out x' '"session": "s"'
	job p $'out up\nsleep 20000'
	job_follow p up
	rmdir "$S/a"
	local name
	for name in j k p; do
		job_wait "$name"
		ended "$name" 137 cancelled
		result_is "$name" .message 'its sandbox was ended'
	done
	job late 'out x'
	refused late 'there is none of that name'
}

@test "a machine that dies makes it lost, and nothing goes on with an empty home" {
	start
	expect_log 'machine|sandbox'
	job j $'out up\nsleep 20000' '"session": "s"'
	job_follow j up
	echo kept >"$S/a/files/x"
	job k 'out x' '"session": "s"'
	exec 5<"$S/a/files/x"
	job bad 'crash'
	local name
	for name in j k bad; do
		job_wait "$name"
		ended "$name" 125 failed
		[[ $(result "$name" .message) == *'its sandbox is lost: '* ]] || fail "$(result "$name" .message)"
	done
	assert_equal "$(cat "$S/a/state")" lost
	fails ESTALE cat <&5
	exec 5<&-
	fails ESTALE ls "$S/a/files"
	fails ESTALE cat "$S/a/files/x"
	run cat "$MNT/.fsd/last_error"
	assert_output --partial 'the sandbox is lost'
	job late 'out x'
	refused late '"sandbox" is "a", which is lost'
	assert_equal "$(cat "$S/a/sessions/s/state")" lost
	rmdir "$S/a"
	mkdir "$S/a"
	echo start >"$MNT/late/ctl"
	job_wait late
	stdout_is late x
}

@test "an interpreter that ends is begun anew, and the others stay" {
	start
	job j $'remember one\nexit 0' '"session": "s"'
	job_wait j
	job o 'oom' '"session": "s"'
	job_wait o
	ended o 137 out_of_memory
	result_is o .session_state lost
	job k $'recall\nremember two' '"session": "s"'
	job_wait k
	stdout_is k ''
	assert_equal "$(cat "$S/a/state")" idle
}

@test "a step whose interpreter had ended is sent to a new one, and ends with that" {
	start
	job j 'out one' '"session": "s"'
	job_wait j
	# FAILED, ended, "gone"
	job k 'out two' '"session": "s", "env": {"FAKE_AT_JOB": "080000000ff52b0104000000676f6e65"}'
	job_wait k
	run cat "$MNT/k/log"
	assert_output --partial "its interpreter had ended; begun anew"
	result_is k .status failed
	job l 'out three' '"session": "s"'
	job_wait l
	stdout_is l three
}

@test "a sandbox is one run: it waits for a machine, and its jobs for nothing else" {
	start --max-machines 1 --max-queued 1
	mkdir "$S/b"
	job a1 $'out up\nsleep 60000' '"timeout": 0'
	job_follow a1 up
	job b1 'out x' '' b # it has the place in the queue
	state_is b1 queued
	await becomes 20 grep -q 'its sandbox waits for a machine: all 1 are in use' "$MNT/b1/log"
	assert_equal "$(cat "$S/b/state")" busy
	# Those of one that runs do not wait behind it.
	job a2 'out x'
	job_wait a2
	stdout_is a2 x
	job b2 'out y' '' b
	rmdir "$S/a"
	job_wait b1
	job_wait b2
	stdout_is b2 y
}

@test "others do not see it" {
	mount_public --allow-other
	S=$MNT/.fsd/sandboxes
	local user='setpriv --reuid 65534 --regid 65534 --clear-groups'
	mkdir "$S/mine"
	$user mkdir "$S/mine" "$S/theirs"
	assert_equal "$($user ls "$S" | paste -sd ' ')" 'mine theirs'
	[ "$(stat -c %u "$S/mine")" != "$($user stat -c %u "$S/mine")" ]
	rmdir "$S/mine"
	assert_equal "$($user cat "$S/mine/state")" new
	mkdir "$S/rooms"
	fails ENOENT $user cat "$S/rooms/state"
	$user mkdir "$MNT/j"
	$user sh -c 'echo "{\"sandbox\": \"rooms\", \"language\": \"bash\", \"code\": \"out x\"}" >"$1"' - "$MNT/j/config.json"
	await becomes 20 grep -q 'there is none of that name' "$MNT/j/error"
	state_is j refused
}

# bats test_tags=release
@test "a hundred sandboxes at once" {
	echo '100000 100000' >"$BATS_TEST_TMPDIR/memory" # of which each is promised 384
	export FSD_FAKE_MEMORY=$BATS_TEST_TMPDIR/memory
	mount_start --max-machines 110
	/usr/bin/python3 -I -S - "$MNT" <<-'END'
		import os, sys
		mnt = sys.argv[1]
		box = mnt + "/.fsd/sandboxes/"
		def job(name, text):
		    os.mkdir(mnt + "/" + name)
		    with open(mnt + "/" + name + "/config.json", "w") as f:
		        f.write(text)
		for i in range(100):
		    os.mkdir(box + str(i))
		    for s in "st":
		        job("%d-%s" % (i, s), '{"sandbox": "%d", "session": "%s", "language": "bash",'
		            ' "code": "remember %d%s\\nrecall"}' % (i, s, i, s))
		    job("%d-p" % i, '{"sandbox": "%d", "language": "bash", "code": "write x %d"}' % (i, i))
		for i in range(100):
		    for s in "st":
		        assert open("%s/%d-%s/wait" % (mnt, i, s)).read() == "0\n", (i, s)
		        assert open("%s/%d-%s/stdout" % (mnt, i, s)).read() == "%d%s\n" % (i, s)
		    assert open("%s/%d-p/wait" % (mnt, i)).read() == "0\n", i
		    assert open("%s%d/files/x" % (box, i)).read().strip() == str(i)
		    assert open("%s%d/state" % (box, i)).read() == "idle\n"
		for i in range(100):
		    os.rmdir(box + str(i))
		assert not os.listdir(box)
	END
}

@test "a paused sandbox does nothing and takes nothing, and goes on where it was" {
	start
	fails EINVAL bash -c 'echo stop >"$1"' - "$S/a/ctl"
	run cat "$MNT/.fsd/last_error"
	assert_output --partial 'takes "pause", "resume" and "port N"'
	echo 1000 >"$S/a/until"
	job j $'out up\ncat\nout down' '"stdin_open": true'
	job_follow j up
	echo pause >"$S/a/ctl"
	assert_equal "$(cat "$S/a/state")" paused
	fails EAGAIN cat "$S/a/processes"
	fails EAGAIN ls "$S/a/files/x"
	job k 'out never' || true
	refused k 'is paused'
	echo pause >"$S/a/ctl"
	echo hello >"$MNT/j/stdin.feed"
	echo eof >"$MNT/j/ctl"
	assert_equal "$(cat "$MNT/j/state" "$MNT/j/stdout")" $'running\nup'
	echo resume >"$S/a/ctl"
	job_wait j
	stdout_is j $'up\nhello\ndown'
	assert_equal "$(cat "$S/a/state")" idle
	# one without a machine gets none
	mkdir "$S/b"
	echo pause >"$S/b/ctl"
	fails EAGAIN ls "$S/b/files/x"
	echo resume >"$S/b/ctl"
	assert_equal "$(cat "$S/b/state")" new
}

@test "a sandbox that pauses at its end has its life anew when it goes on" {
	start
	echo '{"life": 1000, "at_end": "pause"}' >"$S/a/config.json"
	job j 'remember x' '"session": "s"'
	job_wait j
	echo 0 >"$S/a/until"
	await becomes 20 grep -qx paused "$S/a/state"
	job k 'out never' || true
	refused k 'is paused'
	echo resume >"$S/a/ctl"
	[ "$(date -d "$(cat "$S/a/until")" +%s)" -gt "$(($(date +%s) + 900))" ]
	job l recall '"session": "s"'
	job_wait l
	stdout_is l x
	# the end that was written meanwhile counts
	echo 0 >"$S/a/until"
	await becomes 20 grep -qx paused "$S/a/state"
	echo 100 >"$S/a/until"
	echo resume >"$S/a/ctl"
	[ "$(date -d "$(cat "$S/a/until")" +%s)" -lt "$(($(date +%s) + 200))" ]
	# without a life it has no end any more
	mkdir "$S/b"
	echo '{"at_end": "pause"}' >"$S/b/config.json"
	echo 0 >"$S/b/until"
	await becomes 20 grep -qx paused "$S/b/state"
	echo resume >"$S/b/ctl"
	assert_equal "$(cat "$S/b/state" "$S/b/until")" new
}

@test "the end of a sandbox waits while it is paused" {
	start
	local before
	echo 1 >"$S/a/until"
	echo pause >"$S/a/ctl"
	before=$(cat "$S/a/until")
	await becomes 20 bash -c '[ "$(cat "$0")" \> "$1" ]' "$S/a/until" "$before"
	await becomes 20 bash -c '[ "$(date +%s)" -gt "$1" ]' - "$(($(date -d "$before" +%s) + 1))"
	assert_equal "$(cat "$S/a/state")" paused
	echo resume >"$S/a/ctl"
	await becomes 20 bash -c '[ ! -d "$0" ]' "$S/a"
}

@test "a sandbox ends after it was paused for as long as it may be" {
	start
	echo '{"life": 1000, "at_end": "pause", "pause_life": 0.3}' >"$S/a/config.json"
	job j 'remember x' '"session": "s"'
	job_wait j
	echo 0 >"$S/a/until"
	await becomes 20 bash -c '[ ! -d "$0" ]' "$S/a"
	# The same of one that is paused by hand, whatever server sees it end.
	mkdir "$S/b"
	echo '{"idle": 0, "pause_life": 1000}' >"$S/b/config.json"
	echo pause >"$S/b/ctl"
	server_kill
	assert_equal "$(cat "$S/b/state")" paused
	echo '{"idle": 0, "pause_life": 0.3}' >"$S/b/config.json"
	await becomes 20 bash -c '[ ! -d "$0" ]' "$S/b"
	# Not one that goes on.
	mkdir "$S/c"
	echo '{"idle": 0, "pause_life": 0.5}' >"$S/c/config.json"
	: >"$S/c/files/x"
	echo pause >"$S/c/ctl"
	echo resume >"$S/c/ctl"
	assert_equal "$(cat "$S/c/state")" idle
}
