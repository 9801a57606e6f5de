#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# fsd gateway: the dashboard, its page, what it shows and what may be done there.

load ../lib/common
load ../lib/gateway

setup() { mount_start; }
teardown() {
	gateway_done || { mount_done; return 1; }
	mount_done
}

# ui FILTER — of the state, through jq.
ui() {
	ask /ui/state | head -n 1 | jq -c "$1"
}

# job NAME CODE [MORE] — one that is started by hand.
job() {
	mkdir "$MNT/$1"
	jq -nc --arg c "$2" "{language: \"python\", code: \$c} + (${3:-{\}})" \
		>"$MNT/$1/config.json"
}

# running NAME
running() {
	await becomes 20 grep -q running "$MNT/$1/state"
}

# sum_of ELEMENT — of what is in it, as a policy names it.
sum_of() {
	python3 -c 'import base64, hashlib, re, sys
text = open(sys.argv[1]).read()
inner = re.search("<%s>(.*?)</%s>" % (sys.argv[2], sys.argv[2]), text, re.S).group(1)
print("sha256-" + base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode())' \
		"$BATS_TEST_TMPDIR/page" "$1"
}

# bats test_tags=smoke
@test "the page has what its policy lets it run, and names no other host" {
	gateway_start
	curl -s -D "$BATS_TEST_TMPDIR/head" "$URL/ui" >"$BATS_TEST_TMPDIR/page"
	tr -d '\r' <"$BATS_TEST_TMPDIR/head" >"$BATS_TEST_TMPDIR/lines"
	run cat "$BATS_TEST_TMPDIR/lines"
	assert_line 'Content-Type: text/html; charset=utf-8'
	assert_line 'X-Content-Type-Options: nosniff'
	assert_line 'Referrer-Policy: no-referrer'
	assert_output --partial "Content-Security-Policy: default-src 'none'; script-src '$(sum_of script)'; style-src '$(sum_of style)'; connect-src 'self';"
	assert_output --partial "frame-ancestors 'none'"
	[ "$(stat -c %s "$BATS_TEST_TMPDIR/page")" -le 65536 ]
	run grep -cE '://|innerHTML|insertAdjacent|document\.write|[^.]eval\(| on[a-z]+=' "$BATS_TEST_TMPDIR/page"
	assert_output 0
}

@test "the state has health, walls, machines, sandboxes, jobs and runs" {
	gateway_start
	mkdir "$MNT/.fsd/sandboxes/box"
	job sleeper $'out <b>\\"hi\\"</b>\nsleep 600000' '{sandbox: "box"}'
	job bad 'exit 3'
	running sleeper
	assert_equal "$(cat "$MNT/bad/wait")" 3
	run ui '.health, (.walls[0] | [.name, .state]),
		(.machines | .running > 0 and .most > 0),
		(.sandboxes[] | [.name, .state, .until, .memory_mb, .commands]),
		(.jobs[] | [.name, .state, .sandbox]),
		(.runs[] | [.name, .language, .status, .exit_code]),
		(.figures | [.runs, .failures])'
	assert_line --index 0 '{"ok":true,"text":"ok"}'
	assert_line --index 1 '["machine","active"]'
	assert_line --index 2 true
	assert_line --index 3 '["box","busy",0,256,1]'
	assert_line --index 4 '["sleeper","running","box"]'
	assert_line --index 5 '["bad","python","exited",3]'
	assert_line --index 6 '[1,1]'
	# a run of the gateway's own is told of when its job has gone
	ask -d '{"code_b64": "b3V0IGhp", "language": "python"}' /run
	# shellcheck disable=SC2016
	await becomes 20 bash -c '! compgen -G "$0/gw.*"' "$MNT"
	assert_equal "$(ui '(.figures | [.runs, .failures]) + (.runs[0] | [.name[:3], .status])')" \
		'[2,1,"gw.","exited"]'
}

@test "output is data: a tail of each stream of what runs in the sandbox" {
	gateway_start
	mkdir "$MNT/.fsd/sandboxes/box"
	job loud $'outn </script><img src=x>"\\\nerr \x01oops\nbytes 40000\nout end\nsleep 600000' \
		'{sandbox: "box"}'
	await becomes 20 grep -q end "$MNT/loud/stdout"
	run ask /ui/sandboxes/box
	assert_line 200
	assert_equal "$(head -n 1 <<<"$output" | jq -c '[.name, .state, .running,
		.jobs[0].name, .jobs[0].stderr, .jobs[0].stdout_bytes > 40000,
		(.jobs[0].stdout | length), (.jobs[0].stdout | endswith("end\n"))]')" \
		'["box","busy",1,"loud","\u0001oops\n",true,16384,true]'
	run curl -s -o "$BATS_TEST_TMPDIR/none" -w '%{content_type}' "$URL/ui/sandboxes/box"
	assert_output application/json
	assert_equal "$(status_of /ui/sandboxes/none)" 404
	assert_equal "$(status_of /ui/sandboxes/..%2f..)" 404
}

@test "a job opens: its code, streams, log and error, also when the gateway has removed it" {
	local gone

	gateway_start
	job sleeper $'out up\nsleep 600000'
	running sleeper
	await becomes 20 grep -q up "$MNT/sleeper/stdout"
	run ask /ui/jobs/sleeper
	assert_line 200
	assert_equal "$(head -n 1 <<<"$output" | jq -c '[.name, .code[:6], .stdout, .stderr_bytes]')" \
		'["sleeper","out up","up\n",0]'
	assert_equal "$(head -n 1 <<<"$output" | jq -c '.log | contains("running")')" true
	# the gateway's own, of which nothing is in the mount any more
	ask -d "$(jq -nc --arg c "$(printf 'out <b>\nerr oops\nexit 3' | base64)" '{code_b64: $c, language: "python"}')" /run
	# shellcheck disable=SC2016
	await becomes 20 bash -c '! compgen -G "$0/gw.*"' "$MNT"
	gone=$(ui '.runs[0].name' | tr -d '"')
	# shellcheck disable=SC2016
	await becomes 20 bash -c 'curl -sf "$0" >/dev/null' "$URL/ui/jobs/$gone"
	run ask "/ui/jobs/$gone"
	assert_line 200
	assert_equal "$(head -n 1 <<<"$output" | jq -c '[.code, .stdout, .stderr, .stdout_bytes]')" \
		'["out <b>\nerr oops\nexit 3","<b>\n","oops\n",4]'
	assert_equal "$(status_of /ui/jobs/none)" 404
	assert_equal "$(status_of /ui/jobs/..%2f..)" 404
}

@test "a command that runs is named so in the state" {
	gateway_start
	mkdir "$MNT/c"
	echo '{"mode": "command", "command": ["sleep", "600"], "env": {"FAKE": "sleep 600000"}}' >"$MNT/c/config.json"
	await becomes 20 grep -qE 'running|done' "$MNT/c/state"
	assert_equal "$(ui '[(.jobs[], .runs[]) | select(.name == "c") | .language]')" '["command"]'
}

@test "a look at one sandbox reads no job again that has not changed" {
	local n

	gateway_start
	mkdir "$MNT/.fsd/sandboxes/box"
	for ((n = 0; n < 60; n++)); do mkdir "$MNT/draft$n"; done
	assert_equal "$(status_of /ui/sandboxes/box)" 200
	strace -f -e trace=openat2 -o "$BATS_TEST_TMPDIR/calls" -p "$GATEWAY" \
		2>"$BATS_TEST_TMPDIR/strace" 3>&- 4>&- &
	await becomes 20 grep -q attached "$BATS_TEST_TMPDIR/strace"
	assert_equal "$(status_of /ui/sandboxes/box)" 200
	kill -INT $!
	wait $! || true
	# one call for each; with its state and its config.json it would be three
	run grep -c openat2 "$BATS_TEST_TMPDIR/calls"
	[ "$output" -ge 60 ] || fail "$output calls"
	[ "$output" -lt 120 ] || fail "$output calls"
}

@test "events: a snapshot, then what changes" {
	local line
	gateway_start
	coproc CURL { exec curl -sN "$URL/ui/events" 3>&- 4>&-; }
	# shellcheck disable=SC2034
	next() {
		while IFS= read -r -t $((20 * SLOW)) line <&"${CURL[0]}"; do
			case $line in
			"event: $1") IFS= read -r -t $((20 * SLOW)) line <&"${CURL[0]}" &&
				line=${line#data: } && return ;;
			esac
		done
		return 1
	}
	next snapshot
	assert_equal "$(jq -c '[.health.ok, .jobs]' <<<"$line")" '[true,[]]'
	job one 'sleep 600000'
	until [ "$(jq -c '.jobs[0].name' <<<"$line")" = '"one"' ]; do
		next change
	done
	assert_equal "$(jq -c 'has("walls")' <<<"$line")" false
	assert_equal "$(status_of -H 'X-Fsd-Ui: 1' -X POST /ui/jobs/one/kill)" 204
	until [ "$(jq -c '[.jobs, .runs[0].status]' <<<"$line")" = '[[],"cancelled"]' ]; do
		next change
	done
	gateway_stop # with a stream that is open
}

@test "a change needs its header, and is for a job or a sandbox that is there" {
	gateway_start
	mkdir "$MNT/.fsd/sandboxes/box"
	job one 'sleep 600000'
	running one
	assert_equal "$(status_of -X POST /ui/jobs/one/kill)" 403
	assert_equal "$(status_of -H 'X-Fsd-Ui: 1' -H 'Origin: http://evil.example' -X POST /ui/jobs/one/kill)" 403
	grep -q running "$MNT/one/state"
	assert_equal "$(status_of -H 'X-Fsd-Ui: 1' -X POST /ui/jobs/one/kill)" 204
	assert_equal "$(cat "$MNT/one/wait")" 137
	run ask -H 'X-Fsd-Ui: 1' -X POST /ui/jobs/one/kill
	assert_output --partial 'has ended already'
	assert_line 409
	assert_equal "$(status_of -H 'X-Fsd-Ui: 1' -X POST /ui/jobs/none/kill)" 404
	assert_equal "$(status_of -H 'X-Fsd-Ui: 1' -X POST /ui/jobs/.fsd/kill)" 404
	assert_equal "$(status_of -X DELETE /ui/sandboxes/box)" 403
	[ -d "$MNT/.fsd/sandboxes/box" ]
	assert_equal "$(status_of -H 'X-Fsd-Ui: 1' -X DELETE /ui/sandboxes/box)" 204
	[ ! -d "$MNT/.fsd/sandboxes/box" ]
	assert_equal "$(status_of -H 'X-Fsd-Ui: 1' -X DELETE /ui/sandboxes/box)" 404
}

@test "a key is needed, and shows what is its own" {
	local one=key-of-16-characters-1 two=key-of-16-characters-2 name id
	printf '%s one\n%s two\n' "$one" "$two" >"$BATS_TEST_TMPDIR/keys"
	chmod 600 "$BATS_TEST_TMPDIR/keys"
	gateway_start --api-key-file "$BATS_TEST_TMPDIR/keys"
	assert_equal "$(status_of /ui)" 200
	for path in /ui/state /ui/events /ui/sandboxes/box /ui/jobs/one; do
		assert_equal "$(status_of "$path")" 401
	done
	assert_equal "$(status_of -H 'X-Fsd-Ui: 1' -X POST /ui/jobs/one/kill)" 401
	job other 'sleep 600000'
	running other
	id=$(ask -H "X-API-Key: $one" -d '{"templateID": "base", "metadata": {"a": "b"}}' /sandboxes |
		head -n 1 | jq -r .sandboxID)
	assert_equal "$(ask -H "X-API-Key: $one" /ui/state | head -n 1 |
		jq -r '.sandboxes[0] | .id + " " + .metadata.a')" "$id b"
	coproc CURL { exec curl -sN -H "Authorization: Bearer $one" -d '{"jsonrpc": "2.0", "id": 1,
		"method": "tools/call", "params": {"name": "run_code", "arguments":
		{"code": "out up\nsleep 600000"}, "_meta": {"progressToken": 1}}}' "$URL/mcp" 3>&- 4>&-; }
	IFS= read -r -t $((20 * SLOW)) _ <&"${CURL[0]}"
	shown() { ask -H "X-API-Key: $1" /ui/state | head -n 1 |
		jq -c '[(.sandboxes | length), (.jobs | length)]'; }
	assert_equal "$(shown "$one")" '[1,1]'
	assert_equal "$(shown "$two")" '[0,0]'
	name=$(basename "$MNT"/gw.*)
	kill_as() { status_of -H "X-API-Key: $1" -H 'X-Fsd-Ui: 1' -X POST "/ui/jobs/$2/kill"; }
	assert_equal "$(kill_as "$two" "$name")" 404
	open_as() { status_of -H "X-API-Key: $1" "/ui/jobs/$2"; }
	assert_equal "$(open_as "$two" "$name") $(open_as "$one" other) $(open_as "$one" "$name")" '404 404 200'
	assert_equal "$(kill_as "$one" other)" 404
	assert_equal "$(kill_as "$one" "$name")" 204
	# shellcheck disable=SC2016
	await becomes 20 bash -c '[ ! -e "$0" ]' "$MNT/$name"
	# shellcheck disable=SC2016
	await becomes 20 bash -c 'curl -sf -H "X-API-Key: $1" "$0" >/dev/null' "$URL/ui/jobs/$name" "$one"
	assert_equal "$(open_as "$two" "$name")" 404
	assert_equal "$(status_of -H "X-API-Key: $two" /ui/sandboxes/"$(ls "$MNT/.fsd/sandboxes")")" 404
	assert_equal "$(status_of -H "X-API-Key: $one" /ui/sandboxes/"$(ls "$MNT/.fsd/sandboxes")")" 200
}

@test "--ui no: there is no such path" {
	gateway_start --ui no
	for path in /ui /ui/state /ui/events /ui/sandboxes/box; do
		assert_equal "$(status_of "$path")" 404
	done
	assert_equal "$(status_of -H 'X-Fsd-Ui: 1' -X POST /ui/jobs/one/kill)" 404
	assert_equal "$(status_of /health)" 200
}
