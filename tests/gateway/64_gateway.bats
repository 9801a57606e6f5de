#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# fsd gateway: HTTP in front of a mount; E2B's control plane and its code service.

load ../lib/common
load ../lib/gateway

setup() { mount_start; }
teardown() {
	gateway_done || { mount_done; return 1; }
	mount_done
}

# bats test_tags=smoke
@test "a sandbox is made, runs a cell, and ends" {
	gateway_start
	sandbox_new '{"templateID": "code-interpreter-v1", "timeout": 60, "metadata": {"a": "b"}}'
	run cell $'out hello\nerr oops\nexit 3'
	assert_output $'number_of_executions 1\nstdout hello\nstderr oops\nerror 3\nend_of_execution '
	run cell 'out again'
	assert_line 'number_of_executions 2'
	run ask "/sandboxes/$ID"
	assert_line 200
	assert_output --partial '"templateID":"code-interpreter-v1"'
	assert_output --partial '"metadata":{"a":"b"}'
	[ -d "$MNT/.fsd/sandboxes/$H" ]
	run cell 'env'
	assert_output --partial 'E2B_SANDBOX=true'
	assert_output --partial "E2B_SANDBOX_ID=$ID"
	run ask -d '{"templateID": "dta"}' /sandboxes
	assert_output --partial "template 'dta' not found"
	assert_line 404
	assert_equal "$(status_of -H 'Accept: text/html,*/*' /) $(status_of /)" '302 404'
	assert_equal "$(status_of -X DELETE "/sandboxes/$ID")" 204
	[ ! -d "$MNT/.fsd/sandboxes/$H" ]
	assert_equal "$(status_of -X DELETE "/sandboxes/$ID")" 404
	run code /health
	assert_output --partial '"message":"The sandbox was not found","code":502'
	no_jobs
}

@test "sandboxes are listed newest first, by metadata, in pages" {
	local ids=() id

	gateway_start
	for n in 1 2 3; do
		sandbox_new "{\"templateID\": \"base\", \"metadata\": {\"n n\": \"$((n % 2))&\"}}"
		ids+=("$ID")
	done
	run ask /v2/sandboxes
	assert_equal "$(head -n 1 <<<"$output" | jq -r '.[].sandboxID' | xargs)" "${ids[2]} ${ids[1]} ${ids[0]}"
	# pairs are encoded as of a query, their texts before that
	run ask '/v2/sandboxes?order=asc&metadata=n%252520n%3D1%252526'
	assert_equal "$(head -n 1 <<<"$output" | jq -r '.[].sandboxID' | xargs)" "${ids[0]} ${ids[2]}"
	run ask -i '/v2/sandboxes?limit=2'
	id=$(grep -i '^x-next-token' <<<"$output" | tr -d '\r' | cut -d' ' -f2)
	run ask "/v2/sandboxes?limit=2&nextToken=$id"
	assert_equal "$(head -n 1 <<<"$output" | jq -r '.[].sandboxID' | xargs)" "${ids[0]}"
	assert_equal "$(ask '/sandboxes?state=paused')" $'[]\n200'
	assert_equal "$(status_of '/sandboxes?limit=0')" 400
	assert_equal "$(status_of -d '{"templateID": "base", "metadata": {"a": 5}}' /sandboxes)" 400
	assert_equal "$(status_of -d '{"templateID": "base", "envVars": {"A": 5}}' /sandboxes)" 400
	assert_equal "$(status_of '/sandboxes?startedAfter=x')" 400
}

@test "its time is set by timeout, and only prolonged by connect" {
	gateway_start --max-life 1000
	sandbox_new '{"templateID": "base", "timeout": 100}'
	end() { date -d "$(cat "$MNT/.fsd/sandboxes/$H/until")" +%s; }
	local first
	first=$(end)
	assert_equal "$(status_of -d '{"timeout": 50}' "/sandboxes/$ID/connect")" 200
	assert_equal "$(end)" "$first"
	assert_equal "$(status_of -d '{"timeout": 500}' "/v2/sandboxes/$ID/connect")" 200
	[ "$(end)" -gt "$((first + 300))" ]
	assert_equal "$(status_of -d '{"timeout": 20}' "/sandboxes/$ID/timeout")" 204
	[ "$(end)" -lt "$first" ]
	assert_equal "$(status_of -d '{"duration": 90}' "/sandboxes/$ID/refreshes")" 204
	run ask -d '{"timeout": 1001}' "/sandboxes/$ID/timeout"
	assert_output --partial 'from 1 to 1000'
	assert_equal "$(status_of -d '{"templateID": "base", "timeout": 1001}' /sandboxes)" 400
}

@test "a paused sandbox is not there for its services, until it is connected to" {
	gateway_start
	sandbox_new
	cell 'remember x' >/dev/null
	assert_equal "$(status_of -X POST "/sandboxes/$ID/pause")" 204
	assert_equal "$(cat "$MNT/.fsd/sandboxes/$H/state")" paused
	assert_equal "$(status_of -X POST "/sandboxes/$ID/pause")" 409
	assert_equal "$(ask "/sandboxes/$ID" | head -n 1 | jq -r .state)" paused
	assert_equal "$(ask '/v2/sandboxes?state=paused' | head -n 1 | jq -r '.[].sandboxID')" "$ID"
	assert_equal "$(ask '/v2/sandboxes?state=running')" $'[]\n200'
	assert_equal "$(envd /health | tail -n 1)" 502
	run code -d '{"code": "recall"}' /execute
	assert_line 429
	assert_output --partial 'the sandbox is paused; Sandbox.connect(ID) goes on with it'
	assert_equal "$(status_of -d '{"timeout": 60}' "/sandboxes/$ID/connect")" 201
	assert_equal "$(envd /health | tail -n 1)" 204
	run cell recall
	assert_line 'stdout x'
	assert_equal "$(status_of -d '{"timeout": 60}' "/sandboxes/$ID/connect")" 200
}

@test "variables of a sandbox, of whatever name, are in its cells too" {
	gateway_start
	sandbox_new '{"templateID": "base", "envVars": {"A": "1", "PYTHONPATH": "/p", "PATH": "/x"}}'
	run cell env
	assert_line --partial 'A=1'
	assert_line --partial 'PATH=/x'
	assert_line --partial 'PYTHONPATH=/p'
	run cell env '{env_vars: {PYTHONPATH: "/own"}}'
	assert_line --partial 'PYTHONPATH=/own'
	refute_line --partial 'PYTHONPATH=/p'
}

@test "output with a NUL byte comes whole" {
	gateway_start
	sandbox_new
	printf 'a\0b\n' >"$MNT/.fsd/sandboxes/$H/files/f"
	run code -d '{"code": "show f"}' /execute
	assert_output --partial '"text":"a\u0000b'
	run process Start '{"process": {"cmd": "show f"}}'
	assert_output --partial "\"stdout\":\"$(printf 'a\0b\n' | base64)\""
}

@test "a sandbox made with autoPause is paused at its end, and goes on" {
	gateway_start
	sandbox_new '{"templateID": "base", "timeout": 600, "autoPause": true}'
	cell 'remember x' >/dev/null
	assert_equal "$(status_of -d '{"timeout": 0}' "/sandboxes/$ID/timeout")" 204
	await becomes 20 grep -qx paused "$MNT/.fsd/sandboxes/$H/state"
	assert_equal "$(envd /health | tail -n 1)" 502
	assert_equal "$(status_of -d '{"timeout": 60}' "/sandboxes/$ID/connect")" 201
	run cell recall
	assert_line 'stdout x'
	[ "$(date -d "$(cat "$MNT/.fsd/sandboxes/$H/until")" +%s)" -gt "$(date +%s)" ]
	# one that goes on for any request that may ask it
	sandbox_new '{"templateID": "base", "timeout": 2, "autoPause": true,
		"autoResume": {"enabled": true}}'
	await becomes 20 grep -qx paused "$MNT/.fsd/sandboxes/$H/state"
	assert_equal "$(TOKEN=wrong envd /envs | tail -n 1)" 401
	assert_equal "$(cat "$MNT/.fsd/sandboxes/$H/state")" paused
	assert_equal "$(envd /envs | tail -n 1)" 200
	assert_equal "$(cat "$MNT/.fsd/sandboxes/$H/state")" new
	[ "$(date -d "$(cat "$MNT/.fsd/sandboxes/$H/until")" +%s)" -gt $(($(date +%s) + 200)) ]
	# without it, that is the end
	sandbox_new
	assert_equal "$(status_of -d '{"timeout": 0}' "/sandboxes/$ID/timeout")" 204
	await becomes 20 test ! -d "$MNT/.fsd/sandboxes/$H"
}

@test "a sandbox without a machine uses nothing, and no sample is of another time" {
	gateway_start
	sandbox_new '{"templateID": "base"}'
	run ask "/sandboxes/$ID/metrics"
	assert_line 200
	assert_equal "$(head -n 1 <<<"$output" | jq -c '.[0] | [.cpuCount, .memTotal, .memUsed, .cpuUsedPct]')" '[1,536870912,0,0]'
	assert_equal "$(ask "/sandboxes/$ID/metrics?end=$(($(date +%s) - 100))")" $'[]\n200'
	assert_equal "$(ask "/sandboxes/$ID/metrics?start=$(($(date +%s) + 100))")" $'[]\n200'
	assert_equal "$(status_of "/sandboxes/$ID/metrics?start=x")" 400
	assert_equal "$(envd /metrics | head -n 1 | jq -c '[.cpu_count, .mem_total_mib]')" '[1,512]'
}

@test "keys: each sees its own sandboxes only, and is asked for" {
	local key other

	key=$("${FSD%/*}/fsd-gateway" --new-key)
	other=$("${FSD%/*}/fsd-gateway" --new-key)
	[[ $key =~ ^e2b_[0-9a-f]{40}$ ]]
	printf '%s one\n' "$key" >"$BATS_TEST_TMPDIR/keys"
	run bounded 20 "${FSD%/*}/fsd-gateway" --mount "$MNT" --listen 0.0.0.0:0
	assert_failure 1
	assert_output --partial 'needs --api-key-file'
	chmod 644 "$BATS_TEST_TMPDIR/keys"
	run bounded 20 "${FSD%/*}/fsd-gateway" --mount "$MNT" --api-key-file "$BATS_TEST_TMPDIR/keys"
	assert_failure 1
	assert_output --partial 'chmod 600'
	chmod 600 "$BATS_TEST_TMPDIR/keys"
	gateway_start --api-key-file "$BATS_TEST_TMPDIR/keys" --max-sandboxes 1
	assert_equal "$(status_of /health)" 200
	assert_equal "$(status_of /sandboxes)" 401
	assert_equal "$(status_of -H "X-API-Key: $other" /sandboxes)" 401
	run ask -H "X-API-Key: $key" -d '{"templateID": "base"}' /sandboxes
	ID=$(head -n 1 <<<"$output" | jq -r .sandboxID)
	run ask -i -H "Authorization: Bearer $key" -d '{"templateID": "base"}' /sandboxes
	assert_line 429
	refute_output --partial -i retry-after
	# the keys are read again
	printf '%s two\n' "$other" >>"$BATS_TEST_TMPDIR/keys"
	kill -HUP "$GATEWAY"
	await becomes 20 grep -q '2 keys' "$GATEWAY_LOG"
	assert_equal "$(ask -H "X-API-Key: $other" /sandboxes)" $'[]\n200'
	assert_equal "$(status_of -H "X-API-Key: $other" "/sandboxes/$ID")" 404
	assert_equal "$(status_of -H "X-API-Key: $other" -X DELETE "/sandboxes/$ID")" 404
	assert_equal "$(status_of -H "X-API-Key: $key" "/sandboxes/$ID")" 200
	run ! grep -e "$key" -e "$ID" "$GATEWAY_LOG"
}

@test "a key file of another user is refused" {
	[ "$(id -u)" = 0 ] || need root
	local keys=$BATS_TEST_TMPDIR/keys
	echo 'secret-of-16-characters one' >"$keys"
	chmod 600 "$keys"
	chown 12345 "$keys"
	run bounded 20 "${FSD%/*}/fsd-gateway" --mount "$MNT" --listen 127.0.0.1:0 \
		--api-key-file "$keys"
	assert_failure 1
	assert_output --partial "$keys belongs to user 12345"
	chown 0 "$keys"
	gateway_start --api-key-file "$keys"
	assert_equal "$(status_of -H 'X-API-Key: secret-of-16-characters' /sandboxes)" 200
}

@test "a page of another port of this host may change nothing" {
	gateway_start
	local port=${URL##*:} origin
	for origin in http://localhost:9 "http://127.0.0.1:1$port" http://localhost \
		"https://localhost:$port" "https://127.0.0.1:$port" http://127.0.0.1; do
		assert_equal "$(status_of -H "Origin: $origin" -H 'Content-Type: text/plain' \
			-d '{"templateID": "base"}' /sandboxes) $origin" "403 $origin"
		assert_equal "$(status_of -H "Origin: $origin" -H 'Content-Type: text/plain' \
			-d '{"jsonrpc": "2.0", "id": 1, "method": "ping"}' /mcp) $origin" "403 $origin"
		assert_equal "$(status_of -H "Origin: $origin" -X OPTIONS /run) $origin" "403 $origin"
	done
	assert_equal "$(ls "$MNT/.fsd/sandboxes")" ''
	for origin in "http://localhost:$port" "http://127.0.0.1:$port"; do
		assert_equal "$(status_of -H "Origin: $origin" -d '{"templateID": "base"}' /sandboxes)" 201
	done
}

@test "a foreign Host or Origin is refused, one that is allowed gets CORS" {
	gateway_start --allow-origin https://app.example --allow-host box.example
	assert_equal "$(status_of -H 'Host: evil.example' /health)" 403
	assert_equal "$(status_of -H 'Host: box.example:80' /health)" 200
	assert_equal "$(status_of -H 'Origin: null' /health)" 403
	assert_equal "$(status_of -H 'Origin: https://evil.example' /nowhere)" 403
	run ask -i -H 'Origin: https://app.example' /health
	assert_line 200
	assert_output --partial 'Access-Control-Allow-Origin: https://app.example'
	run ask -i -X OPTIONS -H 'Origin: https://app.example' -H 'Access-Control-Request-Headers: x-api-key' /sandboxes
	assert_line 204
	assert_output --partial 'Access-Control-Allow-Headers: x-api-key'
}

@test "bounds of a request have their own answers" {
	local many=() n

	gateway_start
	for ((n = 0; n < 101; n++)); do many+=(-H "X-$n: 1"); done
	run ask "${many[@]}" /health
	assert_line 431
	assert_output --partial '100 headers'
	assert_equal "$(status_of -H "X-Long: $(printf '%017000d' 0)" /health)" 431
	head -c 9000000 /dev/zero >"$BATS_TEST_TMPDIR/big"
	run ask --data-binary @"$BATS_TEST_TMPDIR/big" /sandboxes
	assert_line 413
	run ask --data-binary "$(printf '[%.0s' {1..40})" /sandboxes
	assert_line 400
	assert_output --partial 'no JSON'
	assert_equal "$(status_of -d '[]' /sandboxes)" 400
	assert_equal "$(status_of '/health?x=%00')" 400
	assert_equal "$(status_of --path-as-is /sandboxes/../health)" 400
	assert_equal "$(status_of -X PATCH /sandboxes)" 405
	run ask /snapshots
	assert_output --partial 'snapshots are not available in fsd'
	assert_line 501
}

@test "contexts: two from the start, others by name; a restart ends what runs" {
	gateway_start
	sandbox_new
	run code /contexts
	assert_equal "$(head -n 1 <<<"$output" | jq -r '.[].language' | xargs)" 'python javascript'
	local own python
	python=$(head -n 1 <<<"$output" | jq -r '.[0].id')
	run code -d '{"language": "bash", "cwd": "/tmp"}' /contexts
	own=$(head -n 1 <<<"$output" | jq -r .id)
	assert_equal "$(head -n 1 <<<"$output" | jq -c '[.language, .cwd]')" '["bash","/tmp"]'
	run cell 'remember x' "{context_id: \"$own\"}"
	assert_line 'number_of_executions 1'
	run cell recall "{context_id: \"$own\"}"
	assert_line 'stdout x'
	run cell recall "{context_id: \"$python\"}"
	refute_output --partial 'stdout x'
	assert_equal "$(status_of -H "E2b-Sandbox-Id: $ID" -d "{\"code\": \"\", \"context_id\": \"$own\", \"language\": \"bash\"}" /execute)" 400
	assert_equal "$(status_of -H "E2b-Sandbox-Id: $ID" -d '{"code": "", "context_id": "none"}' /execute)" 404
	assert_equal "$(status_of -H "E2b-Sandbox-Id: $ID" -d '{"code": {}}' /execute)" 422
	assert_equal "$(status_of -H "E2b-Sandbox-Id: $ID" -d '{"code": "", "language": "java"}' /execute)" 400
	cell $'out up\nsleep 600000' "{context_id: \"$own\"}" >"$BATS_TEST_TMPDIR/cell" 3>&- &
	await becomes 20 grep -q busy "$MNT/.fsd/sandboxes/$H/sessions/$own/state"
	assert_equal "$(code -X POST "/contexts/$own/restart")" $'null\n200'
	wait $!
	run cat "$BATS_TEST_TMPDIR/cell"
	assert_line 'error Context was restarted'
	assert_line 'end_of_execution '
	assert_equal "$(code -X DELETE "/contexts/$own")" $'null\n200'
	assert_equal "$(code -X DELETE "/contexts/$own")" "Context $own not found"$'\n404'
}

@test "a cell whose client has gone is interrupted, and the context stays" {
	gateway_start
	sandbox_new
	cell 'remember x' >/dev/null
	coproc CURL { exec curl -s -N -H "E2b-Sandbox-Id: $ID" -d '{"code": "out up\nsleep 600000"}' "$URL/execute" 3>&- 4>&-; }
	local line pid=$CURL_PID
	IFS= read -r -t $((20 * SLOW)) line <&"${CURL[0]}"
	IFS= read -r -t $((20 * SLOW)) line <&"${CURL[0]}"
	[[ $line == *'"stdout","text":"up\n"'* ]]
	kill "$pid"
	run cell recall
	assert_line 'stdout x'
	no_jobs
}

@test "when a sandbox ends its streams are cut, without an end" {
	gateway_start
	sandbox_new
	coproc CURL { curl -s -N -H "E2b-Sandbox-Id: $ID" -d '{"code": "out up\nsleep 600000"}' "$URL/execute" 3>&- 4>&- || echo "curl $?"; }
	local line from
	exec {from}<&"${CURL[0]}"
	IFS= read -r -t $((20 * SLOW)) line <&"$from"
	IFS= read -r -t $((20 * SLOW)) line <&"$from"
	assert_equal "$(status_of -X DELETE "/sandboxes/$ID")" 204
	IFS= read -r -t $((20 * SLOW)) line <&"$from"
	assert_equal "$line" 'curl 18'
	exec {from}<&-
}

@test "after kill -9 the next gateway finds all sandboxes" {
	gateway_start
	sandbox_new
	cell 'remember x' >/dev/null
	gateway_stop KILL
	gateway_start
	run cell recall
	assert_line 'number_of_executions 2'
	assert_line 'stdout x'
	assert_equal "$(status_of "/sandboxes/$ID")" 200
}

@test "the token is needed where clients send it, and must be right elsewhere" {
	gateway_start
	sandbox_new
	assert_equal "$(status_of -H "E2b-Sandbox-Id: $ID" -H 'X-Access-Token: wrong' -d '{"code": ""}' /execute)" 401
	assert_equal "$(status_of -H "E2b-Sandbox-Id: $ID" -H "X-Access-Token: $TOKEN" -d '{"code": ""}' /execute)" 200
	assert_equal "$(status_of -H 'E2b-Sandbox-Id: nobody' -d '{"code": ""}' /execute)" 502
	run ask -H "E2b-Sandbox-Id: $ID" -H 'E2b-Sandbox-Port: 80' /health
	assert_output --partial '"80\" is not a port of a program'
}

@test "without public traffic a sandbox answers to who has its token" {
	local service private='{"templateID": "base", "network": {"allowPublicTraffic": false}}'
	local made traffic other
	gateway_start
	made=$(ask -d "$private" /sandboxes | head -n 1)
	other=$(ask -d "$private" /sandboxes | head -n 1 | jq -r .trafficAccessToken)
	ID=$(jq -r .sandboxID <<<"$made")
	TOKEN=$(jq -r .envdAccessToken <<<"$made")
	traffic=$(jq -r .trafficAccessToken <<<"$made")
	[[ $traffic =~ ^[a-z0-9]{32}$ && $traffic != "$TOKEN" && $traffic != "$other" ]]
	assert_equal "$(ask -d '{}' "/sandboxes/$ID/connect" | head -n 1 | jq -r .trafficAccessToken)" "$traffic"
	for service in '-d {"code":"out x"} /execute' /contexts '-d {} /contexts' \
		'-X POST /contexts/none/restart' '-X DELETE /contexts/none' /health; do
		local words
		read -ra words <<<"$service"
		run code "${words[@]}"
		assert_line --index -1 403
		assert_output --partial "Token header 'e2b-traffic-access-token' is missing"
		for token in "$other" "$TOKEN" '' x; do
			run code -H "E2B-Traffic-Access-Token: $token" "${words[@]}"
			assert_line --index -1 403
		done
		run code -H "E2B-Traffic-Access-Token: $traffic" "${words[@]}"
		refute_line --index -1 403
		refute_output --partial oken
	done
	# its files ask for the token that is theirs, as always
	local to=(-H "E2b-Sandbox-Id: $ID" -H 'E2b-Sandbox-Port: 49983')
	for path in '/files?path=x' /envs /health; do
		assert_equal "$(status_of "${to[@]}" "$path" | grep -c '40[13]')" 1
	done
	assert_equal "$(status_of "${to[@]}" -H "E2B-Traffic-Access-Token: $traffic" '/files?path=x')" 401
	assert_equal "$(envd '/files?path=x' | tail -n 1)" 404
	assert_equal "$(envd /health | tail -n 1)" 204
	# of a public one nothing is asked
	sandbox_new '{"templateID": "base", "network": {"allowPublicTraffic": true}}'
	assert_equal "$(code -d '{"code": "out x"}' /execute | tail -n 1)" 200
}

@test "a sandbox is found by its token alone, and a wrong one reads no other's config" {
	local n big first second ids=() used
	gateway_start
	big=$(jq -n '{templateID: "base", metadata: {x: ("y" * 20000)}}')
	for ((n = 0; n < 20; n++)); do sandbox_new "$big"; done
	first=$TOKEN
	by_token() { status_of -H "X-Access-Token: $1" '/files?path=none'; }
	assert_equal "$(by_token "$first")" 404
	assert_equal "$(by_token wrong)" 502
	read_bytes() { awk '/^rchar/ { print $2 }' "/proc/$GATEWAY/io"; }
	used=$(read_bytes)
	for ((n = 0; n < 10; n++)); do assert_equal "$(by_token wrong)" 502; done
	used=$(($(read_bytes) - used))
	[ "$used" -lt 200000 ] || fail "$used bytes were read for ten wrong tokens"
	# one that is made later is found, one that has ended is not
	sandbox_new
	second=$TOKEN
	assert_equal "$(by_token "$second")" 404
	assert_equal "$(status_of -X DELETE "/sandboxes/$ID")" 204
	assert_equal "$(by_token "$second")" 502
	assert_equal "$(by_token "$first")" 404
	# those of another gateway, too
	gateway_stop
	gateway_start
	assert_equal "$(by_token "$first")" 404
	# a sandbox of --debug-ports or of MCP has no token
	assert_equal "$(by_token '')" 502
}

@test "a NUL in a string of a body is refused, and nothing is done" {
	gateway_start
	sandbox_new
	local home=$MNT/.fsd/sandboxes/$H/files call
	mkdir "$home/d"
	echo kept >"$home/keep"
	echo kept >"$home/d/f"
	for call in 'Remove {"path": "keep\u0000x"}' 'Remove {"path": "d\u0000"}' \
		'MakeDir {"path": "new\u0000x"}' 'Stat {"path": "keep\u0000"}' \
		'ListDir {"path": "d\u0000x"}' 'CreateWatcher {"path": "d\u0000"}' \
		'Move {"source": "keep\u0000x", "destination": "moved"}' \
		'Move {"source": "keep", "destination": "moved\u0000x"}'; do
		run envd -H 'Content-Type: application/json' -d "${call#* }" "/filesystem.Filesystem/${call%% *}"
		assert_line --index -1 400
		assert_output --partial 'has a NUL'
	done
	assert_equal "$(cd "$home" && find . | sort | xargs)" '. ./d ./d/f ./keep'
	for call in '{"templateID": "ba\u0000x"}' '{"metadata": {"a": "b\u0000"}}' \
		'{"envVars": {"A": "b\u0000"}}'; do
		assert_equal "$(status_of -d "$call" /sandboxes)" 400
	done
	assert_equal "$(code -d '{"cwd": "/tmp\u0000x"}' /contexts | tail -n 1)" 400
	assert_equal "$(code -d '{"code": "out x", "language": "python\u0000x"}' /execute | tail -n 1)" 400
	assert_equal "$(code -d '{"code": "out x\u0000"}' /execute | tail -n 1)" 400
	run process Start '{"process": {"cmd": "out x\u0000y"}}'
	assert_output --partial 'has a NUL'
	run process Start '{"process": {"cmd": "out x", "cwd": "/tmp\u0000y"}}'
	assert_output --partial 'has a NUL'
	assert_equal "$(status_of -d '{"language": "python\u0000x", "code_b64": "b3V0IHg="}' /run)" 422
	no_jobs
}

@test "what fsd does not have of a sandbox that is not there is not found" {
	gateway_start
	sandbox_new
	local call
	for call in '-X POST fork' '-X POST snapshots' logs '-X PUT network'; do
		local words
		read -ra words <<<"$call"
		assert_equal "$(status_of "${words[@]:0:${#words[@]}-1}" "/sandboxes/$ID/${words[-1]}") $call" "501 $call"
		assert_equal "$(status_of "${words[@]:0:${#words[@]}-1}" "/sandboxes/none/${words[-1]}") $call" "404 $call"
	done
	assert_equal "$(status_of -X DELETE "/sandboxes/$ID")" 204
	assert_equal "$(status_of -X POST "/sandboxes/$ID/fork")" 404
}

@test "fsd gateway finds the mount and becomes the program" {
	FSD_MOUNT=$MNT run bounded 20 "$FSD" gateway --listen 1.2.3.4:0
	assert_failure 1
	assert_output --partial 'needs --api-key-file'
	run bounded 20 "$FSD" gateway --nothing
	assert_failure
	FSD_MOUNT=$MNT run bounded 20 "$FSD" gateway --nothing
	assert_failure 2
	assert_output --partial 'no option --nothing'
	FSD_MOUNT=$MNT run bounded 20 "$FSD" gateway --memory 1
	assert_output --partial 'a whole number from 32'
}

@test "files: bytes, ranges, forms, gzip, signed addresses" {
	gateway_start
	sandbox_new
	local octets=(-H 'Content-Type: application/octet-stream')

	run envd "${octets[@]}" --data-binary hello '/files?path=a/b.txt'
	assert_line '[{"path":"/home/user/a/b.txt","name":"b.txt","type":"file"}]'
	assert_equal "$(cat "$MNT/.fsd/sandboxes/$H/files/a/b.txt")" hello
	assert_equal "$(envd '/files?path=~/a/b.txt')" $'hello\n200'
	assert_equal "$(envd -r 1-3 '/files?path=a/b.txt')" $'ell\n206'
	assert_equal "$(envd -r -2 '/files?path=a/b.txt')" $'lo\n206'
	assert_equal "$(envd -r 9- '/files?path=a/b.txt' | tail -n 1)" 416
	run envd '/files?path=../../etc/nothing'
	assert_output --partial "path '/etc/nothing' does not exist"
	assert_line 404
	run envd '/files?path=a'
	assert_line 400
	echo one >"$BATS_TEST_TMPDIR/one"
	run envd -F "file=@$BATS_TEST_TMPDIR/one;filename=x/1" -F "file=@$BATS_TEST_TMPDIR/one;filename=2" /files
	assert_line 200
	assert_equal "$(envd '/files?path=x/1')" $'one\n\n200'
	run envd -F "file=@$BATS_TEST_TMPDIR/one;filename=2" -F "file=@$BATS_TEST_TMPDIR/one;filename=./2" /files
	assert_line 400
	assert_output --partial 'is there twice'
	gzip -c "$BATS_TEST_TMPDIR/one" >"$BATS_TEST_TMPDIR/packed"
	assert_equal "$(envd "${octets[@]}" -H 'Content-Encoding: gzip' --data-binary @"$BATS_TEST_TMPDIR/packed" '/files?path=z' | tail -n 1)" 200
	assert_equal "$(envd '/files?path=z')" $'one\n\n200'
	assert_equal "$(envd "${octets[@]}" -H 'Content-Encoding: br' --data-binary x '/files?path=z' | tail -n 1)" 415
	assert_equal "$(envd -H 'Content-Type: text/plain' --data-binary x '/files?path=z' | tail -n 1)" 400
	assert_equal "$(envd '/files?path=z&username=root' | tail -n 1)" 401
	assert_equal "$(status_of -H "E2b-Sandbox-Id: $ID" '/files?path=z')" 401
	sign() { printf %s "$1" | openssl dgst -sha256 -binary | base64 | tr -d = | jq -sRr 'rtrimstr("\n") | @uri'; }
	assert_equal "$(status_of "/files?path=z&signature=v1_$(sign "z:read::$TOKEN")")" 200
	assert_equal "$(status_of "/files?path=z&signature=v1_$(sign "z:write::$TOKEN")")" 401
	assert_equal "$(status_of "/files?path=z&signature_expiration=1&signature=v1_$(sign "z:read::$TOKEN:1")")" 401
}

@test "an upload that unpacks to too much is refused, one of many pieces is whole" {
	gateway_start --max-upload 3M
	sandbox_new
	local octets=(-H 'Content-Type: application/octet-stream')

	head -c 2900000 /dev/urandom >"$BATS_TEST_TMPDIR/big"
	assert_equal "$(envd "${octets[@]}" --data-binary @"$BATS_TEST_TMPDIR/big" '/files?path=big' | tail -n 1)" 200
	cmp "$BATS_TEST_TMPDIR/big" "$MNT/.fsd/sandboxes/$H/files/big"
	bounded 20 curl -s -H "E2b-Sandbox-Id: $ID" -H "X-Access-Token: $TOKEN" "$URL/files?path=big" | cmp - "$BATS_TEST_TMPDIR/big"
	head -c 3200000 /dev/zero >"$BATS_TEST_TMPDIR/big"
	run envd "${octets[@]}" --data-binary @"$BATS_TEST_TMPDIR/big" '/files?path=big'
	assert_line 413
	gzip -c "$BATS_TEST_TMPDIR/big" >"$BATS_TEST_TMPDIR/packed"
	run envd "${octets[@]}" -H 'Content-Encoding: gzip' --data-binary @"$BATS_TEST_TMPDIR/packed" '/files?path=big'
	assert_line 413
}

@test "an upload in chunks that come all at once is whole" {
	gateway_start
	sandbox_new
	run bounded 60 /usr/bin/python3 - "${URL#http://}" "$ID" "$TOKEN" <<-'EOF'
		import socket, sys
		where, sandbox, token = sys.argv[1:]
		head = (f"POST /files?path=many HTTP/1.1\r\nHost: {where}\r\n"
		        f"E2b-Sandbox-Id: {sandbox}\r\nE2b-Sandbox-Port: 49983\r\n"
		        f"X-Access-Token: {token}\r\nConnection: close\r\n"
		        "Content-Type: application/octet-stream\r\n"
		        "Transfer-Encoding: chunked\r\n\r\n").encode()
		chunks = [b"%x\r\n%s\r\n" % (99, b"%099d" % n) for n in range(20000)]
		host, port = where.split(":")
		with socket.create_connection((host, int(port))) as s:
		    s.sendall(head + b"".join(chunks) + b"0\r\n\r\n")
		    print(s.makefile().readline().strip())
	EOF
	assert_output 'HTTP/1.1 200 OK'
	/usr/bin/python3 -c 'print(*(f"{n:099d}" for n in range(20000)), sep="", end="")' \
		>"$BATS_TEST_TMPDIR/want"
	cmp "$BATS_TEST_TMPDIR/want" "$MNT/.fsd/sandboxes/$H/files/many"
}

# upload PATH FILE [OPTION...] — its status.
upload() {
	envd -H 'Content-Type: application/octet-stream' "${@:3}" \
		--data-binary @"$2" "/files?path=$1" | tail -n 1
}

# lacks PATH — the sandbox has no such file.
lacks() {
	assert_equal "$(envd "/files?path=$1" | tail -n 1)" 404
}

@test "gzip that ends early or has bytes behind it is refused, and nothing of it stays" {
	gateway_start
	sandbox_new
	local at=$BATS_TEST_TMPDIR n
	head -c 200000 /dev/urandom >"$at/plain"
	gzip -c "$at/plain" >"$at/whole"
	for n in 0 9 18 100000 $(($(stat -c %s "$at/whole") - 1)); do
		head -c "$n" "$at/whole" >"$at/cut"
		assert_equal "$n $(upload "cut$n" "$at/cut" -H 'Content-Encoding: gzip')" "$n 400"
		lacks "cut$n"
	done
	(cat "$at/whole" && echo more) >"$at/more"
	assert_equal "$(upload more "$at/more" -H 'Content-Encoding: gzip')" 400
	lacks more
	(cat "$at/whole" && printf '\0' | gzip -c && gzip -c "$at/plain") >"$at/three"
	assert_equal "$(upload three "$at/three" -H 'Content-Encoding: gzip')" 200
	(cat "$at/plain" && printf '\0' && cat "$at/plain") |
		cmp - "$MNT/.fsd/sandboxes/$H/files/three"
}

@test "a body that unpacks to 1000 times its length is refused long before its end" {
	gateway_start
	sandbox_new
	head -c 64M /dev/zero | gzip -c >"$BATS_TEST_TMPDIR/bomb"
	run envd -H 'Content-Type: application/octet-stream' -H 'Content-Encoding: gzip' \
		--data-binary @"$BATS_TEST_TMPDIR/bomb" '/files?path=bomb'
	assert_output --partial 'more than 200 times its length'
	assert_line 413
	lacks bomb
}

@test "an upload that is refused on the way leaves no part of its file" {
	gateway_start --max-upload 3M --memory 64
	sandbox_new
	local at=$BATS_TEST_TMPDIR
	head -c 200000 /dev/zero >"$at/part"
	# a form without its last boundary
	(printf -- '--b\r\nContent-Disposition: form-data; name="file"; filename="form"\r\n\r\n' &&
		cat "$at/part") >"$at/form"
	run envd -H 'Content-Type: multipart/form-data; boundary=b' --data-binary @"$at/form" /files
	assert_output --partial 'ends before its last boundary'
	assert_line 400
	lacks form
	# more than may be, of a length that nobody knows before
	head -c 3200000 /dev/zero >"$at/long"
	assert_equal "$(upload long "$at/long" -H 'Transfer-Encoding: chunked')" 413
	lacks long
	# no room: WRITE gives ENOSPC
	cell 'fsfault 3 1c000000'
	assert_equal "$(upload full "$at/part")" 507
	lacks full
}

@test "links, which the mount hides, are listed as the sandbox tells them" {
	local name
	gateway_start
	sandbox_new
	fs() { envd -H 'Content-Type: application/json' -d "$2" "/filesystem.Filesystem/$1"; }
	printf '%s\n' 'lf 777 5 1.0 user user /home/user/l//x' 'no line of a link' \
		'ld 777 5 1.0 user user /home/user/k//../y' >"$BATS_TEST_TMPDIR/told"
	envd -H 'Content-Type: application/octet-stream' --data-binary @"$BATS_TEST_TMPDIR/told" \
		'/files?path=told' >/dev/null
	# a fake machine runs what the name of the directory above says
	name=$(jq -n '"w\nshow told\n/d"')
	assert_equal "$(fs MakeDir "{\"path\": $name}" | tail -n 1)" 200
	# HIDDEN gives 1
	cell 'fsfault 12 0000000001000000'
	run fs ListDir "{\"path\": $name}"
	assert_line 200
	assert_equal "$(head -n 1 <<<"$output" | jq -c '.entries[] | [.path, .type, .symlinkTarget]')" \
		'["/home/user/k","FILE_TYPE_DIRECTORY","/home/y"]
["/home/user/l","FILE_TYPE_FILE","/home/user/x"]'
	# as many as any other list may have
	cell 'fsfault none'
	yes 'lf 777 5 1.0 u g /home/user/l//x' | head -n 100001 >"$BATS_TEST_TMPDIR/told"
	envd -H 'Content-Type: application/octet-stream' --data-binary @"$BATS_TEST_TMPDIR/told" \
		'/files?path=told' >/dev/null
	cell 'fsfault 12 0000000001000000'
	run fs ListDir "{\"path\": $name}"
	assert_line 429
	assert_output --partial 'more than 100000 entries'
}

@test "an upload that cannot fit is told so, however long it is" {
	gateway_start --memory 64
	sandbox_new
	echo old | envd -H 'Content-Type: application/octet-stream' --data-binary @- '/files?path=big' >/dev/null
	head -c 40M /dev/zero >"$BATS_TEST_TMPDIR/big"
	run envd -H 'Content-Type: application/octet-stream' -H 'Expect:' \
		--data-binary @"$BATS_TEST_TMPDIR/big" '/files?path=big'
	assert_line 507
	assert_output --partial 'room for 33554432 of files'
	assert_equal "$(envd '/files?path=big')" $'old\n\n200'
}

@test "an upload whose client goes leaves no part of its file, and takes no other's" {
	gateway_start
	sandbox_new
	cat >"$BATS_TEST_TMPDIR/client" <<-'EOF'
		import http.client, socket, sys, time
		where, sandbox, token = sys.argv[1:]
		host, port = where.split(":")
		names = {"E2b-Sandbox-Id": sandbox, "E2b-Sandbox-Port": "49983",
		         "X-Access-Token": token, "Content-Type": "application/octet-stream"}
		def ask(method, path, body=None):
		    c = http.client.HTTPConnection(host, int(port), timeout=60)
		    c.request(method, "/files?path=" + path, body, names)
		    r = c.getresponse()
		    try:
		        return r.status, r.read()
		    except http.client.IncompleteRead:
		        return 0, b"" # it was removed meanwhile
		def begin(path, length):
		    s = socket.create_connection((host, int(port)), 60)
		    head = "".join(f"{k}: {v}\r\n" for k, v in names.items())
		    s.sendall(f"POST /files?path={path} HTTP/1.1\r\nHost: {where}\r\n"
		              f"{head}{length}\r\n\r\n".encode())
		    return s
		def until(path, status):
		    end = time.monotonic() + 60
		    while ask("GET", path)[0] != status:
		        if time.monotonic() > end:
		            sys.exit(f"{path} is not {status}")
		half = b"h" * 200000
		for path, length, body in ("sized", "Content-Length: 400000", half), (
		        "chunked", "Transfer-Encoding: chunked", b"30d40\r\n" + half + b"\r\n"):
		    with begin(path, length) as s:
		        s.sendall(body)
		        until(path, 200)
		    until(path, 404)
		    print(path)
		whole = b"w" * 300000
		first = begin("both", "Content-Length: 400000")
		first.sendall(half)
		until("both", 200)
		print(ask("POST", "both", whole)[0])
		first.sendall(half)
		print(first.makefile("rb").readline().split()[1].decode())
		first.close()
		print(ask("GET", "both")[1] == whole)
	EOF
	run bounded 180 /usr/bin/python3 "$BATS_TEST_TMPDIR/client" "${URL#http://}" "$ID" "$TOKEN"
	assert_success
	assert_output $'sized\nchunked\n200\n409\nTrue'
	# nor does one that the gateway's own end cuts
	bounded 60 /usr/bin/python3 -c '
import socket, sys
where, sandbox, token = sys.argv[1:]
s = socket.create_connection(where.split(":"), 60)
s.sendall(f"POST /files?path=stopped HTTP/1.1\r\nHost: {where}\r\n"
          f"E2b-Sandbox-Id: {sandbox}\r\nE2b-Sandbox-Port: 49983\r\n"
          f"X-Access-Token: {token}\r\nContent-Type: application/octet-stream\r\n"
          "Content-Length: 400000\r\n\r\n".encode() + b"h" * 200000)
s.recv(1)' "${URL#http://}" "$ID" "$TOKEN" 3>&- 4>&- &
	await becomes 20 test -s "$MNT/.fsd/sandboxes/$H/files/stopped"
	kill "$GATEWAY"
	gateway_stop # the second signal: at once
	assert [ ! -e "$MNT/.fsd/sandboxes/$H/files/stopped" ]
	kill $! 2>/dev/null || true
	wait $! || true
}

@test "a form has more files than a thousand" {
	gateway_start
	sandbox_new
	/usr/bin/python3 -c '
for n in range(1500):
    print("--b\r\nContent-Disposition: form-data; name=\"file\"; "
          "filename=\"m/%d\"\r\n\r\n%d\r" % (n, n))
print("--b--\r")' >"$BATS_TEST_TMPDIR/form"
	run bounded 120 curl -s -o /dev/null -w '%{http_code}' -H "E2b-Sandbox-Id: $ID" \
		-H "X-Access-Token: $TOKEN" -H 'Content-Type: multipart/form-data; boundary=b' \
		--data-binary @"$BATS_TEST_TMPDIR/form" "$URL/files"
	assert_output 200
	assert_equal "$(cat "$MNT/.fsd/sandboxes/$H/files/m/1499")" 1499
}

@test "a file that may not be read is 403, before any byte" {
	gateway_start
	sandbox_new
	echo x >"$BATS_TEST_TMPDIR/one"
	assert_equal "$(upload a "$BATS_TEST_TMPDIR/one")" 200
	assert_equal "$(upload empty /dev/null)" 200
	assert_equal "$(envd '/files?path=empty')" $'\n200'
	cell 'fsfault errno 13'
	run envd '/files?path=a'
	assert_line 403
	assert_output --partial '"code":403'
	assert_equal "$(envd -r 0-0 '/files?path=a' | tail -n 1)" 403
}

@test "the calls of filesystem.Filesystem" {
	gateway_start
	sandbox_new
	fs() { envd -H 'Content-Type: application/json' -d "$2" "/filesystem.Filesystem/$1"; }

	mkdir -p "$MNT/.fsd/sandboxes/$H/files/d/e"
	echo 12345 >"$MNT/.fsd/sandboxes/$H/files/d/f"
	run fs Stat '{"path": "d/f"}'
	assert_equal "$(head -n 1 <<<"$output" | jq -c '.entry | [.name, .type, .path, .size, .owner]')" '["f","FILE_TYPE_FILE","/home/user/d/f","6","user"]'
	run fs ListDir '{"path": "/home/user", "depth": 2}'
	assert_equal "$(head -n 1 <<<"$output" | jq -r '.entries[].path' | xargs)" '/home/user/d /home/user/d/e /home/user/d/f'
	run fs ListDir '{"path": "d/f"}'
	assert_line 400
	run fs MakeDir '{"path": "n/m"}'
	assert_line 200
	run fs MakeDir '{"path": "n/m"}'
	assert_line 409
	assert_output --partial '"code":"already_exists"'
	run fs MakeDir '{"path": "d/f"}'
	assert_output --partial '"code":"invalid_argument"'
	run fs Move '{"source": "d/f", "destination": "o/p/q"}'
	assert_output --partial '"path":"/home/user/o/p/q"'
	run fs Move '{"source": "d/f", "destination": "q"}'
	assert_line 404
	assert_equal "$(fs Remove '{"path": "d"}')" $'{}\n200'
	assert_equal "$(fs Remove '{"path": "d"}')" $'{}\n200'
	run fs Stat '{"path": "d"}'
	assert_output --partial "\"code\":\"not_found\",\"message\":\"path '/home/user/d' does not exist\""
	run fs CreateWatcher '{"path": "z"}'
	assert_line 404
	run fs CreateWatcher '{"path": "o/p/q"}'
	assert_line 400
	run fs GetWatcherEvents '{"watcherId": "none"}'
	assert_line 404
	# a fake machine runs what the directory's name says
	run fs MakeDir "$(jq -n '{path: "w\nout {\"ready\": true}\nsleep 600000\n"}')"
	assert_line 200
	run fs CreateWatcher "$(jq -n '{path: "w\nout {\"ready\": true}\nsleep 600000\n"}')"
	assert_line 200
	local id
	id=$(head -n 1 <<<"$output" | jq -r .watcherId)
	[ -d "$MNT/gw.$H.w.$id" ]
	assert_equal "$(fs RemoveWatcher "{\"watcherId\": \"$id\"}")" $'{}\n200'
	[ ! -d "$MNT/gw.$H.w.$id" ]
	assert_equal "$(fs RemoveWatcher "{\"watcherId\": \"$id\"}" | tail -n 1)" 404
	no_jobs
}

# frames — those of a stream's bytes, a line each.
frames() {
	/usr/bin/python3 -c '
import sys
data = sys.stdin.buffer.read()
while data:
    size = int.from_bytes(data[1:5], "big")
    print(data[0], data[5:5 + size].decode())
    data = data[5 + size:]'
}

# frame JSON — one, of less than 64 KiB.
frame() {
	printf "\0\0\0\\x$(printf %02x $((${#1} / 256)))\\x$(printf %02x $((${#1} % 256)))%s" "$1"
}

# process_to FILE CALL JSON [OPTION...] — a call that streams; its bytes.
process_to() {
	frame "$3" >"$1.call"
	exec timeout -k 5 $((20 * SLOW)) curl -s -N -o "$1" \
		-H "E2b-Sandbox-Id: $ID" -H "X-Access-Token: $TOKEN" \
		-H 'Content-Type: application/connect+json' "${@:4}" \
		--data-binary @"$1.call" "$URL/process.Process/$2" 3>&- 4>&-
}

# process CALL JSON [OPTION...] — the frames of a call that ends.
process() {
	(process_to "$BATS_TEST_TMPDIR/frames" "$@") && frames <"$BATS_TEST_TMPDIR/frames"
}

@test "commands: output, exit, input, signals; a client that goes ends none" {
	gateway_start
	sandbox_new
	unary() { envd -H 'Content-Type: application/json' -d "$2" "/process.Process/$1"; }

	run process Start '{"process": {"cmd": "out hi\nerr no\nexit 3"}}'
	assert_line --index 0 --regexp '^0 \{"event":\{"start":\{"pid":[0-9]+\}\}\}$'
	assert_line '0 {"event":{"data":{"stdout":"aGkK"}}}'
	assert_line '0 {"event":{"data":{"stderr":"bm8K"}}}'
	assert_line '0 {"event":{"end":{"exitCode":3,"exited":true,"status":"exit status 3","error":"exit status 3"}}}'
	assert_line '2 {}'
	run process Start '{"process": {"cmd": "sleep 600000"}}' -H 'Connect-Timeout-Ms: 100'
	assert_line --partial '2 {"error":{"code":"deadline_exceeded"'
	# what is above a job's own limit is none
	local ms
	for ms in 3600000 3600001 86400000 99999999999999999999; do
		run process Start '{"process": {"cmd": "exit 0"}}' -H "Connect-Timeout-Ms: $ms"
		assert_line --partial '"exitCode":0'
	done
	# its client goes
	(process_to "$BATS_TEST_TMPDIR/first" Start '{"process": {"cmd": "out up\ncat\nhang"}, "tag": "t"}') &
	await becomes 20 grep -q dXAK "$BATS_TEST_TMPDIR/first"
	kill $!
	wait $! || true
	run unary List '{}'
	assert_equal "$(head -n 1 <<<"$output" | jq -c '.processes[0].config.cmd')" '"out up\ncat\nhang"'
	(process_to "$BATS_TEST_TMPDIR/second" Connect '{"process": {"tag": "t"}}') &
	await becomes 20 grep -q start "$BATS_TEST_TMPDIR/second"
	assert_equal "$(unary SendInput '{"process": {"tag": "t"}, "input": {"stdin": "aGV5Cg=="}}')" $'{}\n200'
	assert_equal "$(unary SendSignal '{"process": {"tag": "t"}, "signal": "SIGNAL_SIGKILL"}')" $'{}\n200'
	wait $!
	run frames <"$BATS_TEST_TMPDIR/second"
	refute_output --partial dXAK # what came before
	assert_line --partial '"exitCode":-1,"exited":false,"status":"signal: killed"'
	run process Connect '{"process": {"tag": "t"}}'
	assert_line --partial '"status":"signal: killed"'
	run process Connect '{"process": {"pid": 1}}'
	assert_output --partial 'not_found'
	run process Start '{"process": {"cmd": "out x"}, "pty": {}}'
	assert_output --partial 'unimplemented'
	assert_equal "$(unary List '{}')" $'{"processes":[]}\n200'
}

@test "a cell of --debug-ports has what was uploaded before it, and the next one has not" {
	cat >"$BATS_TEST_TMPDIR/client" <<-'END'
		cell() {
			curl -s -m 60 -d "$(jq -n --arg c "$1" '{code: $c}')" \
				http://127.0.0.1:49999/execute |
				jq -j 'select(.type == "stdout") | .text'
		}
		put() { curl -s -m 60 -o /dev/null -F file=@- "$files?path=$1"; }
		files=http://127.0.0.1:49983/files
		put d/one <<<1st
		put /home/user/two <<<2nd
		put two <<<new
		cell $'show d/one\nshow two\nout first'
		cell $'show d/one\nshow two\nout second'
		curl -s -m 60 "$files?path=two"
	END
	export FSD_MOUNT=$MNT
	run bounded 60 "$BATS_TEST_DIRNAME/../lib/front.sh" \
		--debug-ports -- bash "$BATS_TEST_TMPDIR/client"
	assert_success
	assert_output $'1st\nnew\nfirst\nsecond\nnew'
	no_jobs
}

@test "the sandbox of --debug-ports is known at these ports only" {
	printf 'secret-of-16-characters one\n' >"$BATS_TEST_TMPDIR/keys"
	chmod 600 "$BATS_TEST_TMPDIR/keys"
	cat >"$BATS_TEST_TMPDIR/client" <<-'END'
		status() { curl -s -m 60 -o /dev/null -w '%{http_code} ' "$@"; }
		code() { status "${@:2}" -d '{"code": "out x"}' "$1/execute"; }
		main=http://127.0.0.1:3000
		code http://127.0.0.1:49999
		id='E2b-Sandbox-Id: debug_sandbox_id'
		code $main -H "$id" -H 'E2b-Sandbox-Port: 49999'
		code $main -H "$id"
		code $main -H 'Host: 49999-debug_sandbox_id.sbx.example'
		status -F file=@- -H "$id" "$main/files?path=x" <<<x
		status -H "$id" -H 'X-Access-Token;' "$main/files?path=x"
		status -H "$id" -H 'X-Access-Token;' "$main/envs"
		status -H "$id" -H 'E2b-Sandbox-Port: 49983' "$main/health"
		status -H 'X-API-Key: secret-of-16-characters' "$main/sandboxes/debug_sandbox_id"
		status -F file=@- "http://127.0.0.1:49983/files?path=x" <<<x
		code http://127.0.0.1:49999 -H "$id"
	END
	FSD_MOUNT=$MNT run bounded 60 "$BATS_TEST_DIRNAME/../lib/front.sh" \
		--debug-ports=shared --domain sbx.example --api-key-file "$BATS_TEST_TMPDIR/keys" \
		-- bash "$BATS_TEST_TMPDIR/client"
	assert_success
	assert_output '200 502 502 502 502 502 502 502 404 200 200 '
	no_jobs
}

# stream_input JSON... — its frames, one behind the other.
stream_input() {
	for one; do frame "$one"; done >"$BATS_TEST_TMPDIR/input"
	envd -H 'Content-Type: application/connect+json' --data-binary @"$BATS_TEST_TMPDIR/input" \
		/process.Process/StreamInput | tr -d '\0'
}

@test "a command has the pid of its machine, and takes a stream of input" {
	gateway_start
	sandbox_new
	(process_to "$BATS_TEST_TMPDIR/out" Start '{"process": {"cmd": "cat\nhang"}, "tag": "t"}') &
	await becomes 20 grep -q start "$BATS_TEST_TMPDIR/out"
	local pid
	pid=$(cut -d' ' -f1 "$MNT/.fsd/sandboxes/$H/processes")
	run frames <"$BATS_TEST_TMPDIR/out"
	assert_line "0 {\"event\":{\"start\":{\"pid\":$pid}}}"
	run stream_input "{\"start\": {\"process\": {\"pid\": $pid}}}" \
		'{"data": {"input": {"stdin": "b25l"}}}' '{"keepalive": {}}' \
		'{"data": {"input": {"stdin": "IHR3bwo="}}}'
	assert_output --partial '{}'
	assert_line 200
	await becomes 20 bash -c '[ "$(cat "$0"/gw.*.p.*/stdout)" = "one two" ]' "$MNT"
	run stream_input '{"data": {"input": {"stdin": "b25l"}}}'
	assert_output --partial '"code":"invalid_argument"'
	run stream_input '{"start": {"process": {"tag": "nobody"}}}'
	assert_output --partial '"code":"not_found"'
	run stream_input '{"data": {}}'
	assert_output --partial 'there is no frame'
	envd -H 'Content-Type: application/json' -d '{"process": {"tag": "t"}, "signal": "SIGNAL_SIGKILL"}' \
		/process.Process/SendSignal >/dev/null
	wait $!
}

@test "a watched directory is a stream that begins, tells, and ends with its client" {
	gateway_start
	sandbox_new
	local name
	name=$(jq -n '"w\nout {\"ready\": true}\nout {\"events\": [[\"WRITE\", \"f\"]]}\nsleep 600000\n"')
	envd -H 'Content-Type: application/json' -d "{\"path\": $name}" /filesystem.Filesystem/MakeDir >/dev/null
	frame "{\"path\": $name}" >"$BATS_TEST_TMPDIR/call"
	(exec timeout -k 5 $((20 * SLOW)) curl -s -N -o "$BATS_TEST_TMPDIR/out" -H "E2b-Sandbox-Id: $ID" \
		-H "X-Access-Token: $TOKEN" -H 'Content-Type: application/connect+json' \
		--data-binary @"$BATS_TEST_TMPDIR/call" "$URL/filesystem.Filesystem/WatchDir" 3>&- 4>&-) &
	await becomes 20 grep -q WRITE "$BATS_TEST_TMPDIR/out"
	run frames <"$BATS_TEST_TMPDIR/out"
	assert_line --index 0 '0 {"start":{}}'
	assert_line --index 1 '0 {"filesystem":{"name":"f","type":"EVENT_TYPE_WRITE"}}'
	kill $!
	no_jobs
	frame '{"path": "nothing"}' >"$BATS_TEST_TMPDIR/call"
	run envd -H 'Content-Type: application/connect+json' --data-binary @"$BATS_TEST_TMPDIR/call" \
		/filesystem.Filesystem/WatchDir
	assert_output --partial '"code":"not_found"'
}

@test "a command or a cell whose output is over its limit is told so on standard error" {
	gateway_start
	sandbox_new
	local sentence='fsd: stdout: 100000 bytes over stdout_limit were dropped' many
	many=$(printf '%s\n' bytes\ {33554432,33554432,100000})
	process Start "$(jq -n --arg c "$many" '{process: {cmd: $c}}')" >"$BATS_TEST_TMPDIR/out"
	run bash -c 'tail -n 3 "$0" | grep -o "\"stderr\":\"[^\"]*" | cut -d\" -f4 | base64 -d' "$BATS_TEST_TMPDIR/out"
	assert_output "$sentence"
	run tail -n 2 "$BATS_TEST_TMPDIR/out"
	assert_output $'0 {"event":{"end":{"exitCode":0,"exited":true,"status":"exit status 0"}}}\n2 {}'
	bounded 60 curl -s -N -H "E2b-Sandbox-Id: $ID" -d "$(jq -n --arg c "$many" '{code: $c}')" "$URL/execute" |
		tail -n 2 >"$BATS_TEST_TMPDIR/out"
	run jq -j '.type, .text // "", "\n"' "$BATS_TEST_TMPDIR/out"
	assert_line --index 0 "stderr$sentence"
	assert_line end_of_execution
}

@test "a cell's standard error is the program's, and comes when it was written" {
	gateway_start
	sandbox_new
	cell $'err Traceback\nawait\nresult {"error": {"name": "E", "value": "v", "traceback": "Traceback\\n"}}\nexit 1' \
		>"$BATS_TEST_TMPDIR/lines" &
	await becomes 20 bash -c 'grep -q Traceback "$0"/gw.*/stderr' "$MNT"
	goes_on "$(basename "$(echo "$MNT"/gw.*)")"
	wait $!
	assert_equal "$(<"$BATS_TEST_TMPDIR/lines")" $'number_of_executions 1\nstderr Traceback\nerror v\nend_of_execution '
}

@test "every stream tells a proxy to pass it on as it comes" {
	gateway_start
	sandbox_new
	local at=$BATS_TEST_TMPDIR dir
	echo x >"$at/file"
	assert_equal "$(upload file "$at/file")" 200
	frame '{"process": {"cmd": "out up\nhang", "args": []}, "tag": "t"}' >"$at/start"
	frame '{"process": {"tag": "t"}}' >"$at/connect"
	dir=$(jq -n '"w\nout {\"ready\": true}\nsleep 600000\n"')
	envd -H 'Content-Type: application/json' -d "{\"path\": $dir}" /filesystem.Filesystem/MakeDir >/dev/null
	frame "{\"path\": $dir}" >"$at/watch"
	# heads TYPE BODY PATH [OPTION...] — until the stream has begun.
	heads() {
		(exec timeout -k 5 $((20 * SLOW)) curl -s -N -D "$at/head" -o /dev/null \
			-H "E2b-Sandbox-Id: $ID" -H "X-Access-Token: $TOKEN" \
			-H "Content-Type: $1" --data-binary "$2" "${@:4}" "$URL$3" 3>&- 4>&-) &
		await becomes 20 grep -qi '^cache-control: no-store' "$at/head"
		assert_equal "$3 $(grep -cixE $'(x-accel-buffering: no|cache-control: no-store)\r' "$at/head")" "$3 2"
		kill $! 2>/dev/null || true
		wait $! || true
		rm "$at/head"
	}
	heads application/json '{"code": "hang"}' /execute -H 'E2b-Sandbox-Port: 49999'
	heads application/connect+json @"$at/start" /process.Process/Start
	await becomes 20 bash -c '[ "$(cat "$0"/gw.*.p.*/stdout)" = up ]' "$MNT"
	heads application/connect+json @"$at/connect" /process.Process/Connect
	heads application/connect+json @"$at/watch" /filesystem.Filesystem/WatchDir
	heads application/json '' '/files?path=file' -G
	heads application/json '' /ui/events -G
	heads application/json '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "run_code",
		"arguments": {"code": "hang"}, "_meta": {"progressToken": 1}}}' /mcp
	# the routes that stream are these, and no other
	assert_equal "$(grep -l 'reply_stream(r' "$BATS_TEST_DIRNAME"/../../fsd/gateway/*/*.c | xargs -n 1 basename | sort | paste -sd' ')" \
		'download.c execute.c mcp_http.c process.c ui.c watch.c'
}

@test "each call of Connect is JSON, and 415 for all else" {
	gateway_start
	sandbox_new
	local call kind type calls
	calls=$(grep -oE '(FILESYSTEM|PROCESS) "[A-Za-z]+", (CALL|STREAM)' "$BATS_TEST_DIRNAME/../../fsd/gateway/routes.c" |
		sed 's/FILESYSTEM "/filesystem.Filesystem\//; s/PROCESS "/process.Process\//; s/",//')
	assert_equal "$(wc -l <<<"$calls")" 17
	while read -r call kind; do
		for type in application/proto "$([ "$kind" = CALL ] && echo application/connect+json || echo application/json)"; do
			run envd -H "Content-Type: $type" -d '{}' "/$call" </dev/null
			assert_output --partial "\"code\":\"unimplemented\",\"message\":\"Content-Type is $type;"
			assert_equal "$call ${lines[-1]}" "$call 415"
		done
	done <<<"$calls"
	for type in application/connect+proto text/plain application/jsonx ''; do
		assert_equal "$(envd -H "Content-Type: $type" -d '{}' /process.Process/List | tail -n 1)" 415
	done
	run envd -i -H 'Content-Type: text/plain' -d '{}' /process.Process/List
	assert_line --partial 'Accept-Post: application/json, application/connect+json'
	run envd -H 'Content-Type: application/json; charset=utf-8' -d '{}' /process.Process/List
	assert_line 200
}
