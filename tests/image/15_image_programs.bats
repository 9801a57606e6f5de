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
	run -1 "$PROGRAMS/pip" install -r needs.txt
	assert_line --partial 'pip: no-such is not in this machine'
	assert_line --partial 'satisfied: json'
}

@test "pip -q says what is missing, and nothing else" {
	local quiet
	for quiet in '-q install' 'install --quiet' 'install -qq' 'install -Uq'; do
		# shellcheck disable=SC2086
		run -0 "$PROGRAMS/pip" $quiet json
		assert_output ''
		# shellcheck disable=SC2086
		run -1 "$PROGRAMS/pip" $quiet json no-such
		assert_output --partial 'pip: no-such is not in this machine'
		refute_output --partial satisfied
	done
}

@test "pip install -r takes a file of whatever system, as pip does" {
	local code file
	printf 'json\r\n# Größe\r\nxml \\\r\n    --hash=sha256:00\r\n-rsub/more.txt' >crlf.txt
	printf 'calendar  # last' >sub/more.txt
	{ printf '\xef\xbb\xbf' && cat crlf.txt; } >marked.txt
	tr -d '\n' <crlf.txt | sed 's/\\\r/\\\n/' >cr.txt
	for code in UTF-16LE:'\xff\xfe' UTF-16BE:'\xfe\xff' UTF-32LE:'\xff\xfe\0\0'; do
		# shellcheck disable=SC2059
		{ printf "${code#*:}" && iconv -f UTF-8 -t "${code%:*}" crlf.txt; } >"${code%:*}.txt"
	done
	for file in crlf marked cr UTF-16LE UTF-16BE UTF-32LE; do
		run -0 "$PROGRAMS/pip" install "-r$file.txt"
		assert_output "$(printf 'Requirement already satisfied: %s in this Python\n' json xml calendar)"
	done
	printf '\xff\xfe\x00\xd8x' >broken.txt
	run -1 "$PROGRAMS/pip" install -r broken.txt
	assert_output 'pip: broken.txt: it is no text in UTF-16; save it as UTF-8'
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
	assert_output 'npm: "frob" is not there; there are exec, init, install, list, run, start, test'
}

@test "npx runs a command that is there, else says why in one sentence" {
	mkdir -p node_modules/.bin node_modules/semver node_modules/two sub/deep
	printf '{"name": "semver", "version": "7.6.3", "bin": {"semver": "bin.js"}}' \
		>node_modules/semver/package.json
	printf '\xef\xbb\xbf{"version":"1.0.0","bin":{"a":"a.js","b":"b.js"}}' \
		>node_modules/two/package.json
	echo 'console.log("semver", ...process.argv.slice(2))' >node_modules/semver/bin.js
	echo 'console.log("b of two")' >node_modules/two/b.js
	printf '#!/bin/sh\necho linked "$@"\n' >node_modules/.bin/tool
	chmod +x node_modules/.bin/tool
	printf '#!/bin/sh\ntool again\n' >node_modules/.bin/caller
	chmod +x node_modules/.bin/caller
	ln -s "$PROGRAMS/npm" npx
	npx=$PWD/npx
	cd sub/deep || return
	run -0 "$npx" tool -y 'a b'
	assert_output 'linked -y a b'
	run -0 "$npx" caller
	assert_output 'linked again'
	run -0 "$npx" --yes semver@^7 1.2.3 -i patch
	assert_output 'semver 1.2.3 -i patch'
	run -0 "$npx" -p semver -c 'tool "$PATH"'
	assert_output --regexp 'node_modules/.bin:'
	run -0 "$PROGRAMS/npm" exec -- semver -h
	assert_output 'semver -h'
	run -0 bash -c 'echo in | "$1" --package=semver -c cat' bash "$npx"
	assert_output in
	run -0 "$npx" -p semver@7 node -p 6
	assert_output 6
	run -1 "$npx" --no two
	assert_output 'npx: two has no command that could be run'
	run -1 "$npx" semver@6 1
	assert_output --partial 'npx: semver is 7.6.3 in this machine, which has no network, and "6" was asked for'
	run -1 "$npx" -y cowsay hello
	[ "${#lines[@]}" = 1 ] || fail "$output"
	assert_output --partial "npx: cowsay is not in this machine, which has no network: packages come with the job's environment"
	run -1 "$npx"
	assert_output --partial 'npx NAME'
}
