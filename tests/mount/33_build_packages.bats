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
		LOCK='{"packages": [{"source": "pypi", "name": "six", "version": "1.0", "file": "f", "sha256": "$(printf '0%.0s' {1..64})"}]}'
		shift 2
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
	[[ $(result a .environment.name) == p-???????? ]]
	state_is c queued
	assert_equal "$(grep -o 'builds .*' "$MNT/a/log")" \
		$'builds an environment for 1 package (0 ahead)\nbuilds its environment: resolved 1 wheels'
	[[ $(cat "$MNT/c/log") == *'builds an environment for 2 packages (1 ahead)'* ]]
	go 'no wheel'
	job_wait c
	run sed 's/^p-[0-9a-f]*//; s/ --image.*//' "$BATS_TEST_TMPDIR/asked"
	assert_output $' --pypi six==1.0\n --pypi six==2.0 --npm a@1'
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
	run "$FSD" mount --build-sources pip "$BATS_TEST_TMPDIR/other"
	assert_failure 2
	assert_output --partial '--build-sources is "pip"; it must be some of debian, pypi, npm, wheelhouse=DIR and npm-dir=DIR'
}
