#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A job that does not start says what it waits for.

load ../lib/common

setup() { mount_start; }
teardown() { mount_done; }

# says JOB SENTENCE — the last line of its log does, within seconds.
says() {
	await becomes 20 awk -v want="$2" '
		{ line = substr($0, index($0, " ") + 1) }
		END { exit line != want }' "$MNT/$1/log" || {
		cat "$MNT/$1/log" >&2
		return 1
	}
}

# told JOB — how often it has said what it waits for.
told() {
	# a job that is no draft any more may wait for its machine's template
	grep ' waits for ' "$MNT/$1/log" | grep -vc ' waits for the template' || true
}

PROGRAM='a program (code.py, code.js, ...)'
CONFIG='config.json ({} is enough)'

# bats test_tags=smoke
@test "a draft says what is missing and the nearest thing that is there" {
	mkdir "$MNT"/{a,b,c,d,e,f,g,h,i,k}
	job_put a main.py 'out x'
	job_put a config.json '{}'
	job_put b code.sh 'out x'
	job_put b config.jsn '{}'
	job_put c code.sh 'out x'
	job_put c Config.json '{}'
	job_put d code.sh 'out x'
	job_put d Data.csv 1
	job_put d config.json '{"inputs": ["data.csv", "sub/x", "y"]}'
	mkdir "$MNT/e/proj"
	job_put e proj/code.sh 'out x'
	job_put e proj/config.json '{}'
	job_put f code.sh 'out x'
	job_put f code.py 'out y'
	job_put f config.yaml '{}'
	job_put g code.sh 'out x'
	job_put g config.json '{"start": "manual"}'
	mkdir "$MNT/i/code.py" "$MNT/i/config.json"
	job_put k code.PY 'out x'
	says a "waits for $PROGRAM; there is main.py"
	says b "waits for $CONFIG; there is config.jsn"
	says c "waits for $CONFIG; there is Config.json"
	says d 'waits for the input data.csv; there is Data.csv; and for the input sub/x; and for the input y'
	says e "waits for $PROGRAM; there is proj/code.sh, one directory too deep; and for $CONFIG; there is proj/config.json, one directory too deep"
	says f "waits for a single program; there are code.sh and code.py; and for $CONFIG; there is config.yaml"
	says g 'waits for start in ctl ("start" is "manual")'
	says h "waits for $PROGRAM; and for $CONFIG"
	says i "waits for $PROGRAM; code.py is a directory; and for $CONFIG; config.json is a directory"
	says k "waits for $PROGRAM; there is code.PY; and for $CONFIG"
	job_put k config.json '{}'
	refused k 'in capital letters'
	mv "$MNT/a/main.py" "$MNT/a/code.sh"
	job_wait a
}

@test "a draft waits for the file that main names" {
	mkdir "$MNT/a"
	job_put a config.json '{"main": "hello.sh"}'
	says a 'waits for the program hello.sh'
	job_put a Hello.sh 'out x'
	says a 'waits for the program hello.sh; there is Hello.sh'
	mv "$MNT/a/Hello.sh" "$MNT/a/hello.sh"
	job_wait a
	stdout_is a x
}

@test "a draft says which file is still open for writing, and by how many" {
	mkdir "$MNT/a" "$MNT/b"
	exec 8>"$MNT/a/code.sh" 9>>"$MNT/a/code.sh" 7>"$MNT/b/data"
	job_put a config.json '{}'
	job_put b code.sh 'show data'
	job_put b config.json '{"inputs": ["data"]}'
	says a 'waits for code.sh to be closed: 2 writers have it open'
	says b 'waits for data to be closed: 1 writer has it open'
	echo 'out x' >&8
	exec 8>&-
	says a 'waits for code.sh to be closed: 1 writer has it open'
	exec 9>&- 7>&-
	job_wait a
	job_wait b
}

@test "it says so again when that changes, and never the same twice in a row" {
	mkdir "$MNT/a" "$MNT/z"
	job_put a main.py 'out x'
	says a "waits for $PROGRAM; there is main.py; and for $CONFIG"
	assert_equal "$(told a)" 1
	job_put a data 1
	touch "$MNT/a/data2"
	job_put z main.py 'out x' # changed later, so it is told later
	says z "waits for $PROGRAM; there is main.py; and for $CONFIG"
	assert_equal "$(told a)" 1
	server_kill
	job_put a data 2
	job_put z config.json '{}'
	says z "waits for $PROGRAM; there is main.py"
	assert_equal "$(told a)" 1
	job_put a config.json '{}'
	says a "waits for $PROGRAM; there is main.py"
	assert_equal "$(told a)" 2
}

@test "a job that is being prepared says nothing until it has its name" {
	mkdir "$MNT/.a" "$MNT/z"
	job_put .a config.json '{}'
	says z "waits for $PROGRAM; and for $CONFIG"
	assert_equal "$(cat "$MNT/.a/log")" ''
	mv "$MNT/.a" "$MNT/a"
	says a "waits for $PROGRAM"
}

@test "a draft that its server died over is told by the next one" {
	mkdir "$MNT/a" "$MNT/b"
	job_put a index.js 'out x'
	job_put b code.sh 'out x'
	job_put b config.json '{}'
	server_kill
	says a "waits for $PROGRAM; there is index.js; and for $CONFIG"
	job_wait b
	assert_equal "$(told b)" 0
}

@test "a job that ran and is asked for again says what it lacks" {
	job_start a 'show late' '{"inputs": ["late"]}'
	job_put a late one
	job_wait a
	rm "$MNT/a/late"
	job_put a config.json '{"inputs": ["late"]}'
	says a 'waits for the input late'
	job_put a late two
	job_wait a
	stdout_is a two
}
