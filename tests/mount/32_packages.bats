#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# "packages" of config.json: which environment serves a job, and what refuses it.
# The sets are made by hand; the machines are fake.

load ../lib/common
load ../lib/environment

setup() {
	ENVIRONMENTS=$BATS_TEST_TMPDIR/environments
	mkdir "$ENVIRONMENTS" "$BATS_TEST_TMPDIR/image"
	printf 'format 1\nabi %s\n' 'debian-13-amd64 python-3.13 node-20' \
		>"$BATS_TEST_TMPDIR/image/manifest"
	echo 'python3 3.13.5-1' >"$BATS_TEST_TMPDIR/image/packages.list"
	MOUNT_OPTIONS="--environments $ENVIRONMENTS --image $BATS_TEST_TMPDIR/image"
	MADE="fsd env build %s --environments $ENVIRONMENTS"
	lock pypi pandas 2.2.3
	DATA=$(environment_make data)
}
teardown() { mount_done; }

# lock SOURCE NAME VERSION... — the packages of the next environment.
lock() {
	local text='' sum
	sum=$(printf '0%.0s' {1..64})
	while [ $# -gt 0 ]; do
		text+="${text:+, }{\"source\": \"$1\", \"name\": \"$2\", \"version\": \"$3\", \"file\": \"f\", \"sha256\": \"$sum\"}"
		shift 3
	done
	export LOCK="{\"packages\": [$text]}"
}

# wrong CONFIG TEXT [SED] — writing it fails, and the job is refused with that
# sentence, once SED has changed it.
wrong() {
	rm -rf "$MNT/w"
	mkdir "$MNT/w"
	job_put w code.sh 'out x'
	run job_put w config.json "$1"
	assert_failure
	state_is w refused
	assert_equal "$(sed "${3:-}" "$MNT/w/error")" "config.json: $2"
}

# has JOB NAME — it ended well in that environment.
has() {
	ended "$1" 0 exited
	result_is "$1" .environment.name "$2"
}

@test "packages: a job has the environment that has them" {
	mount_start
	job_run a 'out x' '{"packages": ["Pandas==2.2.3"]}'
	has a data
	result_is a .environment.id "$DATA"
	job_run b 'out x' '{"packages": ["deb:python3=3.13.5-1"]}'
	has b base
	job_run c 'out x' '{"packages": []}'
	has c base
	job_run d 'out x' '{"environment": "data", "packages": ["deb:python3=3.13.5-1"]}'
	has d data
}

@test "packages: what is no package with one version is refused when it is written" {
	mount_start
	wrong '{"packages": ["pandas"]}' \
		'"packages" has "pandas"; it must name one version, as pandas==2.2.3'
	wrong '{"packages": ["../x==1"]}' \
		'"packages" has "../x==1"; a name has letters, digits, ".", "-" and "_" only'
	wrong '{"packages": ["a==1", "A==2"]}' \
		'"packages" has a 1 and 2; it must have one version of a package'
	wrong '{"packages": ["a==1", "A==1"]}' \
		'"packages" has a 1 twice; name it once'
}

@test "packages: what no environment has is refused with the command that makes one" {
	mount_start
	wrong '{"packages": ["npm:lodash@4.17.21", "pandas==2.2.3"]}' \
		"\"packages\" needs pandas==2.2.3 and lodash@4.17.21, which no environment here has; to make one: $(printf "$MADE" p-1966bbfc) --pypi pandas==2.2.3 --npm lodash@4.17.21"
	wrong '{"environment": "data", "packages": ["six==1.0"]}' \
		"\"packages\" needs six==1.0, which no environment here has; to make one: $(printf "$MADE" p-ID) --from data --pypi six==1.0" \
		's/p-[0-9a-f]\{8\} /p-ID /'
	wrong '{"environment": "dat", "packages": ["six==1.0"]}' \
		'"environment" is "dat"; it must be one of base, data'
}

@test "packages: the environment that the sentence names serves the same job" {
	local name
	mount_start
	rm -rf "$MNT/w"
	mkdir "$MNT/w"
	job_put w code.sh 'out x'
	run job_put w config.json '{"packages": ["six==1.0-rc1"]}'
	assert_failure
	name=$(grep -o 'p-[0-9a-f]*' "$MNT/w/error")
	lock pypi six 1.0rc1
	RECIPE='{"arguments": ["--pypi", "six==1.0-rc1"]}' environment_make "$name"
	echo start >"$MNT/w/ctl"
	job_wait w
	has w "$name"
}

@test "packages: a job that waits fails when the environment has gone" {
	MOUNT_OPTIONS+=' --max-machines 1'
	mount_start
	job_start first $'out up\nsleep 60000'
	job_follow first up
	job_start second 'out x' '{"packages": ["pandas==2.2.3"]}'
	state_is second queued
	rm "$ENVIRONMENTS/names/data"
	echo kill >"$MNT/first/ctl"
	job_wait second
	ended second 125 failed
	assert_equal "$(cut -c1-76 "$MNT/second/error")" \
		'config.json: "packages" needs pandas==2.2.3, which no environment here has; '
}

@test "packages: a session's later steps ask for what its environment has" {
	mount_start
	job_run a 'remember 1' '{"session": "s", "packages": ["pandas==2.2.3"]}'
	job_run b 'recall' '{"session": "s", "packages": ["pandas==2.2.3"]}'
	job_run c 'recall' '{"session": "s", "packages": ["deb:python3=3.13.5-1"]}'
	has a data
	has b data
	has c data
	stdout_is c 1
	lock pypi six 1.0
	environment_make other
	mkdir "$MNT/d"
	job_put d code.sh 'recall'
	job_put d config.json '{"session": "s", "packages": ["six==1.0"]}'
	refused d 'config.json: "packages" has what the session "s" in data has not: use another name, or end it by rmdir .fsd/sessions/s'
}

@test "packages: fsd env build takes each that config.json takes" {
	cd "$BATS_TEST_DIRNAME/../.."
	/usr/bin/python3 -B -c '
import sys
sys.path.insert(0, "fsd/env")
import recipe
names = ["a", "A_b.c", "typing-extensions"]
for name in names:
    for version in ["1", "1!2.0+cu12", "2024a", "1.0.post1", "1.0_x-y"]:
        found = recipe.pypi("%s==%s" % (name, version), False)
        assert found == "%s==%s" % (recipe.normal(name), version), found
for text in ["lodash@4.17.21", "@babel/core@7.26.0-rc.1+x", "A.b_c-d@0"]:
    assert recipe.npm(text) == text
for text in ["jq=1.7.1-6", "g++=4:14.2.0-1", "x11-utils=7.7+7~rc1-b1"]:
    assert recipe.debian(text) == text
'
}
