#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The image's pip and npm, on the host: they say what is there, and install nothing.

load ../lib/common

setup() {
	PROGRAMS=$(cd "$TESTS/../guest/image/programs" && pwd)
	cd "$BATS_TEST_TMPDIR" || return
	mkdir -p node_modules/lodash node_modules/@a/b sub
	printf '{\n  "name": "lodash",\n  "version": "4.17.21"\n}\n' \
		>node_modules/lodash/package.json
	echo '{"version":"0.3.1","name":"@a/b"}' >node_modules/@a/b/package.json
}

# has PROGRAM NAME... — all of them are said to be there, a line each.
has() {
	run -0 "$PROGRAMS/$1" install --save "${@:2}"
	[ "${#lines[@]}" = $(($# - 1)) ] || fail "$output"
}

# has_not PROGRAM NAME TEXT — it is refused in one sentence.
has_not() {
	run -1 "$PROGRAMS/$1" install "$2"
	[ "${#lines[@]}" = 1 ] || fail "$output"
	assert_output --partial "$3"
	assert_output --partial "packages come with the job's environment, so name one"
}

@test "pip install of what is there succeeds, else says why" {
	has pip pip json xml
	assert_line 'Requirement already satisfied: json in this Python'
	has_not pip no-such-package 'no-such-package is not in this machine, which has no network'
	has_not pip ./here '"./here" is not taken'
	printf '%s\n' '# needed' json 'no-such==1.2  # another' >needs.txt
	run -1 "$PROGRAMS/pip" install -q -r needs.txt
	assert_line --partial 'pip: no-such is not in this machine'
	assert_line --partial 'satisfied: json'
}

@test "pip compares versions" {
	mkdir -p lib/A_Thing-1.10.2.dist-info
	printf 'Name: A.Thing\nVersion: 1.10.2\n\nText\n' >lib/A_Thing-1.10.2.dist-info/METADATA
	sed "s|^places=.*|places=('$PWD/lib')|" "$PROGRAMS/pip" >pip
	local spec
	for spec in '==1.10.2' '==1.10.*' '>=1.9,<2' '~=1.10.0' '!=1.10' '>1.2' '[x]<=1.10.2'; do
		run -0 bash pip install "a-thing$spec"
	done
	for spec in '==1.10' '>=1.11' '<1.10.2' '~=1.9.0' '!=1.10.*' '>=1,<1.3'; do
		run -1 bash pip install "a.thing $spec"
		assert_output --partial "a.thing is 1.10.2 in this machine, which has no network, and \"${spec}\" was asked for"
	done
	run -0 bash pip freeze
	assert_output A_Thing==1.10.2
	run -0 bash pip show a-thing
	assert_line 'Version: 1.10.2'
	refute_line Text
}

@test "npm install of what is there succeeds, else says why" {
	has npm lodash @a/b fs
	assert_line 'up to date: @a/b@0.3.1'
	has_not npm no-such 'no-such is not in this machine, which has no network'
	has_not npm https://a/b.tgz 'is not taken'
	cd sub || return
	local spec
	for spec in 4 4.17 4.17.21 '^4.2.0' '~4.17.1' latest 4.x '>=4'; do
		has npm "lodash@$spec"
	done
	for spec in 5 4.1 '^5.0.0' '~4.1.0' 4.17.2; do
		has_not npm "lodash@$spec" "lodash is 4.17.21 in this machine, which has no network, and \"$spec\""
	done
	has npm '@a/b@^0.3.0'
	has_not npm '@a/b@^0.2.0' '@a/b is 0.3.1'
}

@test "npm knows package.json" {
	run -0 "$PROGRAMS/npm" install
	assert_output 'up to date'
	echo '{"dependencies": {"lodash": "^4.0.0"}, "devDependencies": {"no-such": "1"},
		"scripts": {"say": "echo said"}}' >package.json
	run -1 "$PROGRAMS/npm" install
	assert_line 'up to date: lodash@4.17.21'
	assert_line --partial 'npm: no-such is not in this machine'
	run -0 "$PROGRAMS/npm" run say -- more words
	assert_output 'said more words'
	run -1 "$PROGRAMS/npm" run other
	assert_output 'npm: package.json has no script "other"'
	run -0 "$PROGRAMS/npm" ls
	assert_line lodash@4.17.21
	assert_line @a/b@0.3.1
}

@test "pip and npm name the commands that there are" {
	run -1 "$PROGRAMS/pip" frob
	assert_output --partial '"frob" is not there; there are download,'
	run -1 "$PROGRAMS/pip" uninstall -y json
	assert_output --partial 'nothing is removed'
	run -1 "$PROGRAMS/npm" frob
	assert_output 'npm: "frob" is not there; there are init, install, list, run, start, test'
}
