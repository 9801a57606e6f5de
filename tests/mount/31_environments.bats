#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# "environment" of config.json: which names are taken, what refuses a job, and what
# .fsd/templates tells. The sets are made by hand; the machines are fake.

load ../lib/common
load ../lib/environment

setup() {
	ENVIRONMENTS=$BATS_TEST_TMPDIR/environments
	mkdir "$ENVIRONMENTS" "$BATS_TEST_TMPDIR/image"
	printf 'format 1\nabi %s\n' 'debian-13-amd64 python-3.13 node-20' \
		>"$BATS_TEST_TMPDIR/image/manifest"
	echo 'python3 3.13.5-1' >"$BATS_TEST_TMPDIR/image/packages.list"
	MOUNT_OPTIONS="--environments $ENVIRONMENTS --image $BATS_TEST_TMPDIR/image"
}
teardown() { mount_done; }

# started [OPTION...] — an environment data, and the mount.
started() {
	ID=$(ENVIRONMENT_HEAP=63963136 environment_make data '' \
		'{"python": ["numpy", "pandas"], "env": {"MPLBACKEND": "Agg"}}')
	MOUNT_OPTIONS+=" $*"
	mount_start
}

# wrong CONFIG TEXT — writing it fails, and the job is refused with that sentence.
wrong() {
	rm -rf "$MNT/w"
	mkdir "$MNT/w"
	job_put w code.sh 'out x'
	run job_put w config.json "$1"
	assert_failure
	state_is w refused
	assert_equal "$(cat "$MNT/w/error")" "config.json: $2"
}

# has JOB NAME — it ended well in that environment.
has() {
	ended "$1" 0 exited
	result_is "$1" .environment.name "$2"
}

@test "environment: a job's result tells the name and the id" {
	started
	job_run a 'out x' '{"environment": "data"}'
	has a data
	result_is a .environment.id "$ID"
	result_is a .environment.warm true
	job_run b 'out x' "{\"environment\": \"data@${ID:0:12}\", \"warm\": false}"
	has b data
	result_is b .environment.warm false
	result_is b .environment.why '"warm" is false in config.json'
	job_run c 'out x'
	has c base
	result_is c .environment.id null
	job_run d 'out x' '{"environment": "base"}'
	has d base
}

@test "environment: what is no name, or another id, is refused with a sentence" {
	started
	wrong '{"environment": "dat"}' \
		'"environment" is "dat"; it must be one of base, data'
	wrong '{"environment": "../data"}' \
		'"environment" is "../data"; it must be one of base, data'
	wrong '{"environment": "d\u001b[1m\"\u0085"}' \
		'"environment" is "d\u001b[1m\"\u0085"; it must be one of base, data'
	wrong '{"environment": "data@0f3e"}' \
		'"environment" is "data@0f3e"; it must have 12 to 64 digits of the id behind the @'
	wrong '{"environment": "data@0f3e11aa22bb"}' \
		"\"environment\" is \"data@0f3e11aa22bb\"; \"data\" is ${ID:0:12} now"
	wrong '{"environment": 3}' \
		'"environment" is 3; it must be a name of fsd env list'
}

@test "environment: one that another image was made for is refused with its remedy" {
	ENVIRONMENT_ABI='debian-13-amd64 python-3.11 node-20' environment_make old
	started
	wrong '{"environment": "old"}' \
		'"environment" is "old"; it was made for python-3.11 and this image has python-3.13: run fsd env build old'
	assert_equal "$(cat "$MNT/.fsd/templates/old/state")" \
		'stale: it was made for python-3.11 and this image has python-3.13: run fsd env build old'
}

@test "environment: a job has at least the memory that its modules take" {
	started
	wrong '{"environment": "data", "memory_mb": 64}' \
		'"memory_mb" is 64; it must be at least 128 in environment data, whose modules take 61 MB'
	job_run a 'out x' '{"environment": "data", "memory_mb": 128}'
	has a data
	assert_equal "$(cat "$MNT/.fsd/templates/data/memory_mb")" 128
	assert_equal "$(cat "$MNT/.fsd/templates/base/memory_mb")" 32
}

@test "environment: a default that is too small grows with the modules" {
	ENVIRONMENT_HEAP=$((400 << 20)) environment_make large
	started
	job_run a 'limits' '{"environment": "large"}'
	has a large
	assert_equal "$(cat "$MNT/.fsd/templates/large/memory_mb")" 448
}

@test "environment: one that comes while the mount serves is taken, one that went is not" {
	started
	wrong '{"environment": "later"}' \
		'"environment" is "later"; it must be one of base, data'
	environment_make later
	echo start >"$MNT/w/ctl"
	job_wait w
	has w later
	rm "$ENVIRONMENTS/names/later"
	wrong '{"environment": "later"}' \
		'"environment" is "later"; it must be one of base, data'
	! exists "$MNT/.fsd/templates/later"
}

@test "environment: a job that waits ends as failed when its environment has gone" {
	started --max-machines 1
	job_start first $'out up\nsleep 60000'
	job_follow first up
	job_start second 'out x' '{"environment": "data"}'
	state_is second queued
	rm "$ENVIRONMENTS/names/data"
	echo kill >"$MNT/first/ctl"
	job_wait second
	ended second 125 failed
	assert_equal "$(cat "$MNT/second/error")" \
		'config.json: "environment" is "data"; it must be one of base'
}

@test "environment: a job that waits has it from the next server too" {
	started --max-machines 1
	job_start first $'out up\nsleep 60000'
	job_follow first up
	job_start second 'out x' '{"environment": "data"}'
	state_is second queued
	server_kill
	echo kill >"$MNT/first/ctl"
	job_wait second
	has second data
	result_is second .environment.id "$ID"
}

@test "environment: a job that runs goes on when its environment is removed" {
	started
	job_start a $'out up\nawait\nout end' '{"environment": "data"}'
	job_follow a up
	rm -r "$ENVIRONMENTS/names/data" "$ENVIRONMENTS/sets/$ID"
	goes_on a
	job_wait a
	has a data
	result_is a .environment.id "$ID"
}

@test "environment: the operator's default is that of jobs that name none" {
	started --default-environment data
	job_run a 'out x'
	has a data
	job_run b 'out x' '{"environment": "base"}'
	has b base
	wrong '{"memory_mb": 32}' \
		'"memory_mb" is 32; it must be at least 128 in environment data, whose modules take 61 MB'
}

@test "environment: a default that is not there is no mount" {
	environment_make data
	run bounded 60 "$FSD" mount --state "$BATS_TEST_TMPDIR/s" --environments \
		"$ENVIRONMENTS" --default-environment dat "$BATS_TEST_TMPDIR/m"
	assert_failure 2
	assert_output 'fsd mount: --default-environment: "environment" is "dat"; it must be one of base, data'
}

@test "environment: a job that waits for its template is told so" {
	export FSD_FAKE_START_MS=$((500 * SLOW))
	started
	job_start a 'out x' '{"environment": "data"}'
	job_wait a
	has a data
	run cat "$MNT/a/log"
	assert_output --partial 'makes the template of environment data (0 s)'
}

@test "environment: a job that waits for its template is told how long that takes" {
	local cache=$BATS_TEST_TMPDIR/state/templates
	export FSD_FAKE_START_MS=600000 # the mount is stopped before
	mkdir -p "$cache"
	echo 20000 >"$cache/took-tcg"
	started --default-environment data
	job_start a 'out x'
	await becomes 20 grep -q 's so far, about 51 s in all' "$MNT/a/log"
	mount_stop
	echo 42000 >"$cache/took-tcg-${ID:0:16}"
	mount_start
	await becomes 20 grep -q 's so far, about 42 s in all' "$MNT/a/log"
}

@test "environment: templates of --warm-environments are made without a job" {
	environment_make web
	started --warm-environments data,web,gone
	await becomes 20 grep -qx ready "$MNT/.fsd/templates/data/state"
	await becomes 20 grep -qx ready "$MNT/.fsd/templates/web/state"
	grep -q 'the template of environment gone is not made: .*must be one of base, data, web' "$LOG"
}

@test "environment: fsd run names one" {
	started
	run "$FSD" run --mount "$MNT" --keep --environment data -l bash -c 'out x'
	assert_success
	result_is "$(ls "$MNT" | head -n 1)" .environment.name data
	run "$FSD" run --mount "$MNT" --environment dat -l bash -c 'out x'
	assert_output 'fsd run: --environment is "dat"; it must be one of base, data'
}

@test "environment: a session has that of its first step" {
	started
	job_run a 'remember 1' '{"session": "s", "environment": "data"}'
	job_run b 'recall' '{"session": "s"}'
	has a data
	has b data
	stdout_is b 1
	job_run c 'recall' '{"session": "s", "environment": "data"}'
	has c data
	mkdir "$MNT/d"
	job_put d code.sh 'recall'
	job_put d config.json '{"session": "s", "environment": "base"}'
	refused d 'config.json: "environment" is "base", and the session "s" has data: use another name, or end it by rmdir .fsd/sessions/s'
}

@test "environment: .fsd/templates has a directory for each" {
	local dir
	LOCK='{"packages": [{"source": "debian", "name": "python3-numpy", "version": "2.2", "file": "n.deb", "sha256": "'$(printf '0%.0s' {1..64})'"}]}' \
		FSD_FAKE_COLD=$'pandas: it draws numbers\nnpm:a: b\nnpm:a: b' started
	dir=$MNT/.fsd/templates
	assert_equal "$(cd "$dir" && echo *)" 'base bash data javascript python typescript'
	assert_equal "$(cd "$dir/data" && echo *)" \
		'abi cold env id imported memory_mb packages parent size state'
	assert_equal "$(cat "$dir/data/id")" "$ID"
	assert_equal "$(cat "$dir/data/abi")" 'debian-13-amd64 python-3.13 node-20'
	assert_equal "$(cat "$dir/data/parent")" base
	assert_equal "$(cat "$dir/data/packages")" 'debian python3-numpy 2.2'
	assert_equal "$(cat "$dir/base/packages")" 'debian python3 3.13.5-1'
	assert_equal "$(cat "$dir/data/imported")" $'numpy\npandas'
	assert_equal "$(cat "$dir/data/env")" MPLBACKEND=Agg
	assert_equal "$(cat "$dir/data/size")" \
		"$(stat -c %s "$ENVIRONMENTS/sets/$ID/layer.erofs")"
	assert_equal "$(cat "$dir/data/state")" 'not used yet'
	assert_equal "$(cat "$dir/data/cold")" ''
	job_run a 'out x' '{"environment": "data"}'
	assert_equal "$(cat "$dir/data/state")" ready
	assert_equal "$(cat "$dir/data/cold")" $'pandas: it draws numbers\nnpm:a: b'
	assert_equal "$(cat "$dir/base/cold")" ''
	truncate -s 1 "$ENVIRONMENTS/sets/$ID/layer.erofs"
	run cat "$dir/data/state"
	assert_output --regexp '^damaged: layer.erofs has 1 bytes'
}

@test "fsd run says why an interpreter was begun anew, if the run was over its time" {
	started
	local slow=(bounded 30 "$FSD" run --mount "$MNT" -n --environment data -t 0.2)
	run --separate-stderr "${slow[@]}" -e LC_ALL=C -c 'sleep 60000'
	assert_failure 124
	# shellcheck disable=SC2154 # run sets it
	[[ $stderr == *'it began without the modules that data keeps imported, which takes longer: "env" has LC_ALL, which is read at the start'* ]] ||
		fail "$stderr"
	# not when it was warm, and not of a shell
	run --separate-stderr "${slow[@]}" -c 'sleep 60000'
	[[ $stderr != *'keeps imported'* ]] || fail "$stderr"
	run --separate-stderr "${slow[@]}" -l bash -c 'sleep 60000' argument
	[[ $stderr != *'keeps imported'* ]] || fail "$stderr"
}
