#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# --build-packages: what "packages" asks for is built while the job waits. The
# program that builds is the test's: it waits for a word in a FIFO, and makes a set
# by hand, or fails.

load ../lib/common
load ../lib/environment

setup() {
	ENVIRONMENTS=$BATS_TEST_TMPDIR/environments
	mkdir "$ENVIRONMENTS" "$BATS_TEST_TMPDIR/image"
	printf 'format 1\nabi %s\n' 'debian-13-amd64 python-3.13 node-20' \
		>"$BATS_TEST_TMPDIR/image/manifest"
	echo 'python3 3.13.5-1' >"$BATS_TEST_TMPDIR/image/packages.list"
	mkfifo "$BATS_TEST_TMPDIR/go"
	cat >"$BATS_TEST_TMPDIR/builder" <<-END
		#!/bin/bash
		. "$TESTS/lib/environment.bash"
		ENVIRONMENTS=$ENVIRONMENTS
		shift 2
		[[ "\$*" =~ six==([0-9.]+) ]]
		LOCK='{"packages": [{"source": "pypi", "name": "six", "version": "'\${BASH_REMATCH[1]}'", "file": "f", "sha256": "$(printf '0%.0s' {1..64})"}]}'
		echo "\$*" >>"$BATS_TEST_TMPDIR/asked"
		echo '{"step": "resolve", "text": "resolved 1 wheels"}'
		read -r how <"$BATS_TEST_TMPDIR/go"
		[ "\$how" = make ] && environment_make "\$1" >&2 && exit
		echo "fsd env: \$how" >&2
		exit 1
	END
	chmod +x "$BATS_TEST_TMPDIR/builder"
	export FSD_BUILDER=$BATS_TEST_TMPDIR/builder
	export MOUNT_OPTIONS="--environments $ENVIRONMENTS --image $BATS_TEST_TMPDIR/image --build-packages yes"
}
teardown() { mount_done; }

# go WORD — the build that runs ends so.
go() {
	# shellcheck disable=SC2016 # of the inner shell
	bounded 20 bash -c 'echo "$1" >"$2"' bash "$1" "$BATS_TEST_TMPDIR/go"
}

@test "build: a job waits for its environment, and so does another that asks for it" {
	mount_start
	job_start a 'out x' '{"packages": ["six==1.0"]}'
	state_is a queued
	job_start b 'out y' '{"packages": ["Six==1.0"]}'
	job_start c 'out z' '{"packages": ["six==2.0", "npm:a@1"]}'
	go make
	job_wait a
	job_wait b
	ended a 0 exited
	ended b 0 exited
	[[ $(result a .environment.name) == p-????????.0 ]]
	state_is c queued
	assert_equal "$(grep -o 'builds .*' "$MNT/a/log")" \
		$'builds an environment for 1 package (0 ahead)\nbuilds its environment: resolved 1 wheels'
	[[ $(cat "$MNT/c/log") == *'builds an environment for 2 packages (1 ahead)'* ]]
	go 'no wheel'
	job_wait c
	run sed 's/^p-[0-9a-f.]*//; s/ --image.*//' "$BATS_TEST_TMPDIR/asked"
	assert_output $' --pypi six==1.0\n --pypi six==2.0 --npm a@1'
}

@test "build: a job that asks while it is built is told the newest step" {
	mount_start
	job_start a 'out x' '{"packages": ["six==1.0"]}'
	await becomes 20 grep -q 'resolved 1 wheels' "$MNT/a/log"
	job_start b 'out y' '{"packages": ["six==1.0"]}'
	await becomes 20 grep -q 'resolved 1 wheels' "$MNT/b/log"
	go make
	job_wait b
	ended b 0 exited
}

@test "build: what cannot be built ends all that wait for it, and is not tried again at once" {
	mount_start
	job_start a 'out x' '{"packages": ["six==1.0"]}'
	job_start b 'out x' '{"packages": ["six==1.0"], "retry": 3}'
	go 'six 1.0: no wheel for python 3.13'
	job_wait a
	job_wait b
	ended a 125 failed
	ended b 125 failed
	assert_equal "$(cat "$MNT/a/error")" \
		'config.json: "packages": the environment cannot be built: six 1.0: no wheel for python 3.13'
	mkdir "$MNT/c"
	job_put c code.sh 'out x'
	job_put c config.json '{"packages": ["six==1.0"]}'
	state_is c refused
	assert_equal "$(cat "$MNT/c/error")" "$(cat "$MNT/a/error")"
	assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/asked")" 1
}

@test "build: a job that goes while it waits leaves the others" {
	mount_start
	job_start a 'out x' '{"packages": ["six==1.0"]}'
	job_start b 'out x' '{"packages": ["six==1.0"]}'
	job_start c 'out x' '{"packages": ["six==2.0"]}'
	rm -r "$MNT/c"
	echo kill >"$MNT/a/ctl"
	job_wait a
	status_is a cancelled
	go make
	job_wait b
	ended b 0 exited
	assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/asked")" 1
}

@test "build: the next server builds what jobs still wait for" {
	mkfifo "$BATS_TEST_TMPDIR/never"
	printf '#!/bin/bash\nread -r _ <"%s"\n' "$BATS_TEST_TMPDIR/never" \
		>"$BATS_TEST_TMPDIR/stuck"
	chmod +x "$BATS_TEST_TMPDIR/stuck"
	FSD_BUILDER=$BATS_TEST_TMPDIR/stuck mount_start
	job_start a 'out x' '{"packages": ["six==1.0"]}'
	mount_stop
	mount_start
	state_is a queued
	go make
	job_wait a
	ended a 0 exited
}

@test "build: --build-sources says from where" {
	mount_start --build-sources debian
	job_start a 'out x' '{"packages": ["six==1.0"]}'
	job_wait a
	assert_equal "$(cat "$MNT/a/error")" \
		'config.json: "packages": the environment cannot be built: this server builds nothing from pypi (--build-sources), and six==1.0 is from there'
	run bounded 60 "$FSD" mount --build-sources pip "$BATS_TEST_TMPDIR/other"
	assert_failure 2
	assert_output --partial '--build-sources is "pip"; it must be some of debian, pypi, npm, wheelhouse=DIR and npm-dir=DIR'
}

@test "build: the steps of a session that has not begun wait together, in order" {
	mount_start
	job_start a 'remember 1' '{"session": "s", "packages": ["six==1.0"]}'
	state_is a queued
	job_start b 'recall' '{"session": "s"}'
	state_is b queued
	job_run other 'out x' '{"session": "t"}'
	go make
	job_wait b
	stdout_is b 1
	result_is a .step 1
	result_is b .step 2
	[[ $(result b .environment.name) == p-????????.0 ]]
	assert_equal "$(grep -o 'builds .*' "$MNT/b/log")" \
		"$(grep -o 'builds .*' "$MNT/a/log")"
	mkdir "$MNT/c"
	job_put c code.sh 'recall'
	job_put c config.json '{"session": "s", "packages": ["six==2.0"]}'
	refused c "config.json: \"packages\" has what the session \"s\" in $(result b .environment.name) has not: use another name, or end it by rmdir .fsd/sessions/s"
}

@test "build: a session whose first step gets no environment begins with the next" {
	mount_start
	job_start a 'remember 1' '{"session": "s", "packages": ["six==1.0"]}'
	job_start b $'recall\nout b' '{"session": "s"}'
	go 'no wheel'
	job_wait a
	job_wait b
	ended a 125 failed
	ended b 0 exited
	stdout_is b b
	result_is b .environment.name base
}

@test "build: a sandbox waits for its environment, and tells its jobs" {
	local s
	mount_start
	s=$MNT/.fsd/sandboxes
	mkdir "$s/a"
	echo '{"packages": ["six==1.0"]}' >"$s/a/config.json"
	job_start a 'out x' '{"sandbox": "a"}'
	state_is a queued
	run -1 bash -c 'echo "{\"packages\": [\"six==2.0\"]}" >"$1"' - "$s/a/config.json"
	job_start b 'out y' '{"sandbox": "a"}'
	go make
	job_wait a
	job_wait b
	ended a 0 exited
	ended b 0 exited
	[[ $(result b .environment.name) == p-????????.0 ]]
	assert_equal "$(result a .environment.name)" "$(result b .environment.name)"
	[[ $(cat "$MNT/a/log") == *'its sandbox builds an environment for 1 package (0 ahead)'* ]]
	[[ $(cat "$MNT/a/log") == *'its sandbox builds its environment: resolved 1 wheels'* ]]
	assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/asked")" 1
}

@test "build: a sandbox whose environment cannot be built says so, and stays" {
	local s
	mount_start
	s=$MNT/.fsd/sandboxes
	mkdir "$s/a"
	echo '{"packages": ["six==1.0"]}' >"$s/a/config.json"
	job_start a 'out x' '{"sandbox": "a"}'
	go 'six 1.0: no wheel'
	job_wait a
	ended a 125 failed
	assert_equal "$(cat "$MNT/a/error")" \
		'the program never ran: config.json: "packages": the environment cannot be built: six 1.0: no wheel'
	assert_equal "$(cat "$s/a/state")" new
	echo '{}' >"$s/a/config.json"
	job_run b 'out x' '{"sandbox": "a"}'
	ended b 0 exited
	mkdir "$s/b"
	echo '{"packages": ["six==2.0"]}' >"$s/b/config.json"
	job_start c 'out x' '{"sandbox": "b"}'
	rmdir "$s/b"
	job_wait c
	status_is c cancelled
}

@test "build: a job that waits for one counts in the queue" {
	mount_start --max-queued 2
	job_start a 'out x' '{"packages": ["six==1.0"]}'
	job_start b 'out x' '{"packages": ["six==2.0"]}'
	mkdir "$MNT/c"
	job_put c code.sh 'out x'
	run job_put c config.json '{"packages": ["six==3.0"]}'
	[[ $(cat "$MNT/c/error") == 'the queue is full: 2 jobs wait, as many as --max-queued allows;'* ]]
	go make
	job_wait a
	echo start >"$MNT/c/ctl"
	go make
	job_wait b
	go make
	job_wait c
	ended c 0 exited
}

# as UID COMMAND...
as() {
	local uid=$1
	shift
	setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
}

# theirs UID NAME [PACKAGE] — a job of that user, which asks for it.
theirs() {
	as "$1" bash -c 'mkdir "$1" && echo "out x" >"$1/code.sh" &&
		echo "{\"packages\": [\"$2\"]}" >"$1/config.json"' \
		- "$MNT/$2" "${3:-six==1.0}"
}

@test "build: what was built for a user is not there for another" {
	local name
	mount_public --allow-other
	theirs 65534 a
	theirs 65534 b six==2.0
	theirs 65533 c
	# Users take turns.
	[[ $(cat "$MNT/c/log") == *'builds an environment for 1 package (1 ahead)'* ]]
	go make
	job_wait a
	go make
	job_wait c
	go 'no wheel'
	job_wait b
	run sed 's/ --image.*//' "$BATS_TEST_TMPDIR/asked"
	assert_line --index 0 --regexp '^p-[0-9a-f]{8}\.65534 --pypi six==1\.0$'
	assert_line --index 1 --regexp '^p-[0-9a-f]{8}\.65533 --pypi six==1\.0$'
	assert_line --index 2 --regexp '^p-[0-9a-f]{8}\.65534 --pypi six==2\.0$'
	name=$(result a .environment.name)
	assert_equal "$name" "$(basename "$ENVIRONMENTS"/names/*.65534)"
	as 65534 ls "$MNT/.fsd/templates/$name" >/dev/null
	as 65533 bash -c '! ls "$1"' - "$MNT/.fsd/templates/$name"
	[[ $(as 65533 ls "$MNT/.fsd/templates") != *65534* ]]
	as 65533 bash -c 'mkdir "$1" && echo "out x" >"$1/code.sh" &&
		! echo "{\"environment\": \"$2\"}" >"$1/config.json"' \
		- "$MNT/d" "$name"
	assert_equal "$(cat "$MNT/d/error")" \
		"config.json: \"environment\" is \"$name\"; it must be one of base, $(basename "$ENVIRONMENTS"/names/*.65533)"
	# The operator may give it a name that all may use.
	ln -s "$(readlink "$ENVIRONMENTS/names/$name")" "$ENVIRONMENTS/names/six"
	theirs 65532 e
	job_wait e
	result_is e .environment.name six
}

@test "build: what was built counts for its user's quota of bytes" {
	local size
	mount_public "--allow-other --quota-bytes 1M"
	theirs 65534 a
	go make
	job_wait a
	size=$(stat -Lc %s "$ENVIRONMENTS"/names/*.65534/layer.erofs)
	assert [ "$(figure 'fsd_user_bytes{uid="65534"}')" -gt "$size" ]
	grep -Eq ' --most [0-9]+ ' "$BATS_TEST_TMPDIR/asked"
	# What b is written with fits, and no byte more.
	size=$(($(figure 'fsd_user_bytes{uid="65534"}') + $(printf 'out x\n{"packages": ["six==2.0"]}\n' | wc -c)))
	mount_stop
	mount_public "--allow-other --quota-bytes $size"
	theirs 65534 b six==2.0
	[[ $(cat "$MNT/b/error") == 'config.json: "packages": the environment cannot be built: over the quota of bytes (--quota-bytes): user 65534 has '* ]]
	rm "$ENVIRONMENTS"/names/*.65534
	as 65534 rm -r "$MNT/a"
	echo start >"$MNT/b/ctl"
	go make
	job_wait b
	ended b 0 exited
}
