#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What the manuals say, and what .fsd shows, against the real mount.

load ../lib/common

setup() { mount_start; }
teardown() { mount_done; }

PAGES=$TESTS/..

# says TEXT — .fsd/README has it. Each test below begins with what it is about;
# the last one looks that no sentence is left over.
says() {
	[[ "$(readme)" == *"$1"* ]] || fail "README does not say: $1"
}

readme() {
	tr -s ' \n' ' ' <"$MNT/.fsd/README"
}

# bats test_tags=smoke
@test "fsd(8) has every option of fsd help and no other" {
	local command
	# other pages have those of the gateway, of batch and of spool
	for command in $("$FSD" help | sed -n 's/^  fsd \([a-z]*\) .*/\1/p' | grep -vxE 'gateway|mcp|batch|spool'); do
		"$FSD" help "$command"
	done | cat - <("$FSD" help sandbox new) | grep -oE '(^|[^[:alnum:]-])--?[[:alpha:]][a-z-]*' | grep -oE -- '--?[[:alpha:]].*' | LC_ALL=C sort -u >"$BATS_TEST_TMPDIR/help"
	sed 's/\\-/-/g; /^\.SH EXAMPLES/,/^\.SH DESCRIPTION/d' "$PAGES/fsd/fsd.8" | grep -vE '^\.SH|systemd-run' | grep -oE '(^|[^[:alnum:]-])--?[[:alpha:]][a-z-]*' | grep -oE -- '--?[[:alpha:]].*' | LC_ALL=C sort -u >"$BATS_TEST_TMPDIR/page"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/help")" -ge 14 ]
	diff -u "$BATS_TEST_TMPDIR/help" "$BATS_TEST_TMPDIR/page"
}

@test "fsd-spool(8) has every option of fsd help spool and no other" {
	"$FSD" help spool | grep -oE '(^|[^[:alnum:]-])--?[[:alpha:]][a-z-]*' | grep -oE -- '--?[[:alpha:]].*' | LC_ALL=C sort -u >"$BATS_TEST_TMPDIR/help"
	sed 's/\\-/-/g; s/\\~/ /g; /^\.SH EXAMPLES/,/^\.SH DESC/d' "$PAGES/fsd/fsd-spool.8" | grep -vE '^\.SH' | grep -oE '(^|[^[:alnum:]-])--?[[:alpha:]][a-z-]*' | grep -oE -- '--?[[:alpha:]].*' | LC_ALL=C sort -u >"$BATS_TEST_TMPDIR/page"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/help")" -ge 14 ]
	diff -u "$BATS_TEST_TMPDIR/help" "$BATS_TEST_TMPDIR/page"
}

@test "fsd-batch(8) has every option of fsd help batch and no other" {
	options() {
		grep -oE '(^|[^[:alnum:]-])--?[[:alnum:]][a-z-]*' | grep -oE -- '--?[[:alnum:]].*' | grep -vxE -- '-(1|print)' | LC_ALL=C sort -u
	}
	"$FSD" help batch | sed -n '/^  -/p' | options >"$BATS_TEST_TMPDIR/help"
	sed 's/\\-/-/g; /^\.SH EXAMPLES/,/^\.SH DESCRIPTION/d; /^\.SH BESIDE/,/^\.SH SIGNALS/d' "$PAGES/fsd/fsd-batch.8" | grep -vE '^\.(SH|TH)' | sed 's/\\f[BIRP]//g' | options >"$BATS_TEST_TMPDIR/page"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/help")" -ge 50 ]
	diff -u "$BATS_TEST_TMPDIR/help" "$BATS_TEST_TMPDIR/page"
}

@test "fsd(8) has every command of fsd help and its variables" {
	local name
	for name in $("$FSD" help | sed -n 's/^  fsd \([a-z]*\) .*/\1/p'); do
		grep -q "^\.B fsd $name" "$PAGES/fsd/fsd.8" || fail "fsd $name"
	done
	for name in $(sed -n '/^\.SH ENVIRONMENT/,/^\.SH FILES/p' "$PAGES/fsd/fsd.8" | grep -oE '\b[A-Z_]{4,}\b' | grep -vE "ENVIRONMENT|FILES" | sort -u); do
		grep -qF "$name" "$FSD" || fail "$name"
	done
}

@test "fsd(8) names what is in the state directory" {
	job_run a 'out x'
	local name
	for name in "$STATE"/*; do
		name=$(basename "$name")
		grep -qF "STATE/$name" "$PAGES/fsd/fsd.8" || fail "STATE/$name"
	done
}

@test "jobtree(5) names the members of result.json and no others" {
	job_run a $'write f x\nsymlink l f\nlink away\nresult {"error": {"name": "E", "value": "v", "traceback": "t"}, "results": [{"mime": "a/b", "data": 1}, {"mime": "a/b", "base64": "aGk="}, {"mime": "a/b", "path": "f"}]}' '{"mode": "cell"}'
	check manual-results "$PAGES/layout/jobtree.5" "$MNT/a/result.json"
}

@test "jobtree(5) names the events and their members" {
	job_run a $'out x\nerr x'
	job_start b x '[]' || true
	local word
	for word in $(cat "$MNT/a/events" "$MNT/b/events" | jq -r '.event, keys[]' | sort -u); do
		sed -n '/^\.\\" row job events/,/^\.\\" row job output/p' "$PAGES/layout/jobtree.5" | grep -qw "$word" || fail "$word"
	done
}

@test "stats is strictly what Prometheus reads, also after every end" {
	check prometheus "$MNT/.fsd/stats"
	job_run a 'exit 3'
	job_run b 'signal 9'
	job_start c x '[]' || true
	job_start d $'out up\nsleep 60000' '{"session": "s"}'
	job_follow d up
	check prometheus "$MNT/.fsd/stats"
	echo kill >"$MNT/d/ctl"
	job_wait d
}

@test "a figure that was renamed stands under its old name, too, and its HELP line says so" {
	local stats=$BATS_TEST_TMPDIR/stats old new value
	cat "$MNT/.fsd/stats" >"$stats"
	assert_equal "$(grep -c ' Old name of ' "$stats")" 7
	while read -r old new; do
		value=$(sed -n "s/^$new\\>//p" "$stats")
		if [[ $old == *_microseconds && $new == *_seconds ]]; then
			value=" $(awk '{ printf "%.0f", $1 * 1000000 }' <<<"$value")"
		fi
		assert_equal "$(sed -n "s/^$old\\>//p" "$stats")" "$value"
		grep -q "^$new\\>" "$stats" || fail "$new is not there"
	done < <(awk '/ Old name of / { sub(";", "", $7); print $3, $7 }' "$stats")
}

@test "the reader of stats refuses what is not strictly right" {
	local text good=$'# HELP a_total b\n# TYPE a_total counter\n'
	cd "$BATS_TEST_TMPDIR"
	right() { printf '%s' "$1" >stats && check prometheus stats; }
	wrong() { right "$1" 2>/dev/null && fail "taken: $1"; return 0; }
	right "$good"$'a_total 1\n'
	right $'# HELP a b\n# TYPE a histogram\na_bucket{le="1"} 1\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n'
	right "$good"$'a_total{x="1",y="\\"\\\\\\n"} 1\na_total{x="2"} 2.5e3\n'
	for text in 'a_total 1' $'a_total -1\n' $'a_total 1\na_total 1\n' \
		$'a_total{x="1"} 1\na_total{x="1"} 2\n' $'b_total 1\n' \
		$'a_total{x="1} 1\n' $'a_total{x=1} 1\n' $'a_total{1="x"} 1\n' \
		$'a_total{x="1",x="2"} 1\n' $'a_total  1\n' $'a_total one\n' \
		$'a-total 1\n' $'\na_total 1\n' '' $'a_total{x="\\d"} 1\n' \
		$'a_total 1\n# HELP a_total b\n'; do
		wrong "$good$text"
	done
	wrong $'a_total 1\n'
	wrong $'# HELP a b\n# TYPE a gauge\na_bucket{le="1"} 1\n'
	wrong $'# TYPE a_total counter\na_total 1\n'
	wrong $'# HELP a_total b\na_total 1\n'
	wrong $'# HELP a b\n# TYPE a counter\na 1\n'
	wrong $'# HELP a_total b\n# TYPE a_total gauge\na_total 1\n'
	wrong $'# HELP a b\n# TYPE a number\na 1\n'
	wrong $'# a remark\n'
}

@test "templates has one value a file" {
	local file
	for file in "$MNT"/.fsd/templates/{python,javascript,typescript,bash}/*; do
		check one-value "$file"
	done
	assert_equal "$(cat "$MNT/.fsd/templates/javascript/extensions")" '.js .mjs .cjs'
	assert_equal "$(cat "$MNT/.fsd/templates/bash/modes")" 'script cell'
	assert_equal "$(cat "$MNT/.fsd/templates/python/interpreter")" /usr/bin/python3
}

@test "ctl takes its verbs only, a line a write, and says which there are" {
	mkdir "$MNT/a"
	check ctl-refuses "$MNT/a/ctl" "$MNT/.fsd/last_error" start kill 'signal NAME'
	state_is a draft
	check ctl-refuses "$MNT/.fsd/ctl" "$MNT/.fsd/last_error" drain resume
	health_is_ok
}

# --- .fsd/README, sentence by sentence ----------------------------------------

@test "README fits a terminal" {
	[ "$(wc -l <"$MNT/.fsd/README")" -le 40 ]
	run grep -nE '.{81}' "$MNT/.fsd/README"
	assert_output ''
	says 'fsd runs programs that you write as files, each in a virtual machine of its own.'
}

@test "README: its example works, line by line" {
	says "mkdir hello # a job; its name is yours cp program.py hello/code.py # exactly one code.* file echo '{}' > hello/config.json # this starts it cat hello/wait # blocks; prints the exit code cat hello/stdout hello/stderr # grow while it runs ls hello/output # files that it made or changed cat hello/result.json # everything about the run rm -r hello # kills it if it still runs"
	sed -n 's/^    \([a-z]* [^#]*\)#.*/\1/p' "$MNT/.fsd/README" >"$BATS_TEST_TMPDIR/steps"
	assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/steps")" 8
	printf 'out from readme\nerr beside\nwrite made x\nexit 5\n' >"$BATS_TEST_TMPDIR/program.py"
	sed -i "s|program.py|$BATS_TEST_TMPDIR/program.py|" "$BATS_TEST_TMPDIR/steps"
	run bash -c "cd '$MNT' && timeout $((30 * SLOW)) bash -e '$BATS_TEST_TMPDIR/steps'"
	assert_success
	assert_line --index 0 5
	assert_line --index 1 'from readme'
	assert_line --index 2 beside
	assert_line --index 3 made
	assert_line --partial '"exit_code": 5'
	absent . hello
	job_start b $'out up\nsleep 60000'
	job_follow b up
	rm -r "$MNT/b"
	job_start c 'out one'
	job_wait c
	mkdir "$MNT/d"
	job_put d code.sh 'out one'
	job_put d code.py 'out two'
	job_put d config.json '{}' || true
	state_is d refused
}

@test "README: each kind of program it names runs, and each that runs is named" {
	says 'Programs: code.py code.js code.mjs code.cjs code.ts code.mts code.sh, or code with a #! line.'
	local file ending
	for file in $(grep -oE 'code\.[a-z]+' "$MNT/.fsd/README" | sort -u); do
		job_run "$file" 'out it runs' '{}' "$file"
		stdout_is "$file" 'it runs'
	done
	job_run bare $'#!/bin/sh\nout it runs' '{}' code
	exit_is bare 0
	for ending in $(cat "$MNT"/.fsd/templates/*/extensions); do
		grep -qF "code$ending" "$MNT/.fsd/README" || fail "$ending"
	done
}

@test "README: other files are the program's, stdin is what it reads" {
	says "Other files in the job's directory are copied into the program's working directory; the file stdin is its standard input."
	mkdir -p "$MNT/a/lib"
	job_put a lib/x 'in a directory'
	job_put a data.csv beside
	job_put a stdin 'read by it'
	job_put a code.sh $'show lib/x\nshow data.csv\ncat'
	job_put a config.json '{}'
	job_wait a
	stdout_is a $'in a directory\nbeside\nread by it'
}

@test "README: the keys that it shows are keys" {
	says 'config.json: {} or keys such as "args": ["a"], "env": {"K": "v"}, "timeout": 30, "memory_mb": 256, "inputs": ["data.csv"] (wait for these files), "start": "manual",'
	mkdir "$MNT/a"
	job_put a code.sh $'args\nenv'
	job_put a config.json '{"args": ["a"], "env": {"K": "v"}, "timeout": 30, "memory_mb": 256, "inputs": ["data.csv"], "start": "manual"}'
	state_is a draft
	run writes "$MNT/a/ctl" <<<start
	assert_failure
	assert_output --partial 'Invalid argument'
	job_put a data.csv x
	state_is a draft
	echo start >"$MNT/a/ctl"
	job_wait a
	run cat "$MNT/a/stdout"
	assert_line a
	assert_line K=v
}

@test "README: call, cell and session" {
	says '"mode": "call", "call": "main", "input": {...} (what it returns is the value in result.json), "mode": "cell" (its last value is), "session": "s" (the next job with it finds what this one has left).'
	job_run a 'result {"value": 42}' '{"mode": "call", "call": "main", "input": {"n": 1}}' code.py
	result_is a .value 42
	job_run b 'result {"text": "42", "results": []}' '{"mode": "cell"}'
	result_is b .text 42
	job_run c 'remember it' '{"session": "s"}'
	job_run d 'recall' '{"session": "s"}'
	stdout_is d it
}

@test "README: a name with a dot is being prepared" {
	says 'A name that begins with "." is being prepared and never starts; rename it to submit everything at once.'
	job_start .next 'out x'
	state_is .next draft
	mv "$MNT/.next" "$MNT/next"
	job_wait next
	stdout_is next x
}

@test "README: the states, and error" {
	says 'state is draft, queued, running, done or refused; error says why it was refused.'
	mount_stop
	mount_start --max-machines 1 --pool 1
	mkdir "$MNT/a"
	state_is a draft
	job_put a code.sh $'out up\nsleep 60000'
	job_put a config.json '{}'
	job_follow a up
	state_is a running
	job_start b 'out x'
	state_is b queued
	echo kill >"$MNT/a/ctl"
	job_wait b
	state_is b 'done'
	assert_equal "$(cat "$MNT/b/error")" ''
	job_start c 'out x' '{"no": 1}' || true
	refused c '"no" is not a key'
}

@test "README: exit_code comes last, and its numbers" {
	says 'exit_code appears last: when it exists, everything is final. 124 is a timeout, 137 killed (memory or by you), 125 a fault of this appliance.'
	check exit-code-last "$MNT" 3
	job_run a 'sleep 60000' '{"timeout": 0.1}'
	exit_is a 124
	job_run b oom
	exit_is b 137
	job_start c $'out up\nsleep 60000'
	job_follow c up
	echo kill >"$MNT/c/ctl"
	job_wait c
	exit_is c 137
	job_run d crash
	exit_is d 125
}

@test "README: ctl's verbs, and running again" {
	says 'ctl takes start, interrupt (Ctrl-C), kill, signal NAME. To run again: write config.json again.'
	job_start a $'out up\nsleep 60000' '{"start": "manual"}'
	echo start >"$MNT/a/ctl"
	job_follow a up
	echo signal USR1 >"$MNT/a/ctl"
	job_wait a
	result_is a .signal SIGUSR1
	job_put a code.sh 'out again'
	job_put a config.json '{}'
	job_wait a
	stdout_is a again
}

@test "README: what blocks is not listed" {
	says 'stdout.follow, stderr.follow, events (JSON lines: all that happens) and wait block until there is more; they are not listed, so grep -r never hangs.'
	local name readers=()
	mkdir "$MNT/a"
	for name in stdout.follow stderr.follow events wait; do
		bounded 20 cat "$MNT/a/$name" >"$BATS_TEST_TMPDIR/$name" 3>&- &
		readers+=($!)
		await reader $! "$MNT" 20
		run ls -a "$MNT/a"
		refute_line "$name"
	done
	run bounded 20 grep -r nothing-like-it "$MNT/a"
	job_put a code.sh $'out x\nerr y'
	job_put a config.json '{}'
	wait "${readers[@]}"
	assert_equal "$(cat "$BATS_TEST_TMPDIR/stdout.follow" "$BATS_TEST_TMPDIR/stderr.follow" "$BATS_TEST_TMPDIR/wait" | xargs)" 'x y 0'
	jq -e . "$BATS_TEST_TMPDIR/events" >/dev/null
}

@test "README: what .fsd has" {
	says '.fsd/health says whether jobs can run, .fsd/last_error why your last write failed, .fsd/templates what can be run, .fsd/sessions which sessions live (rmdir ends one), .fsd/sandboxes machines that jobs share (mkdir makes one). More: man jobtree.'
	health_is_ok
	mkdir "$MNT/.fsd/sandboxes/box"
	rmdir "$MNT/.fsd/sandboxes/box"
	echo drain >"$MNT/.fsd/ctl"
	run cat "$MNT/.fsd/health"
	assert_output --partial resume
	echo resume >"$MNT/.fsd/ctl"
	fails EPERM touch "$MNT/file"
	run cat "$MNT/.fsd/last_error"
	assert_output --partial 'mkdir first'
	run ls "$MNT/.fsd/templates"
	assert_output $'base\nbash\njavascript\npython\ntypescript'
	job_run a 'remember x' '{"session": "s"}'
	assert_equal "$(ls "$MNT/.fsd/sessions")" s
	rmdir "$MNT/.fsd/sessions/s"
	assert_equal "$(ls "$MNT/.fsd/sessions")" ''
	[ -e "$PAGES/layout/jobtree.5" ]
}

@test "README says nothing that no test above looks at" {
	local rest sentence
	rest=$(readme)
	while IFS= read -r sentence; do
		rest=${rest/"$sentence"/}
	done < <(sed -n "s/^	says ['\"]\(.*\)['\"]\$/\1/p" "$BATS_TEST_FILENAME")
	assert_equal "$(tr -d ' ' <<<"$rest")" ''
}
