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
	sandbox_new '{"templateID": "anything", "timeout": 60, "metadata": {"a": "b"}}'
	run cell $'out hello\nerr oops\nexit 3'
	assert_output $'number_of_executions 1\nstdout hello\nstderr oops\nerror 3\nend_of_execution '
	run cell 'out again'
	assert_line 'number_of_executions 2'
	run ask "/sandboxes/$ID"
	assert_line 200
	assert_output --partial '"templateID":"anything"'
	assert_output --partial '"metadata":{"a":"b"}'
	[ -d "$MNT/.fsd/sandboxes/$H" ]
	assert_equal "$(status_of -X DELETE "/sandboxes/$ID")" 204
	[ ! -d "$MNT/.fsd/sandboxes/$H" ]
	assert_equal "$(status_of -X DELETE "/sandboxes/$ID")" 404
	run code /health
	assert_output --partial '"message":"The sandbox was not found","code":502'
	await becomes 20 test -z "$(ls "$MNT")"
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
	assert_equal "$(status_of -X POST "/sandboxes/$ID/pause")" 501
}

@test "keys: each sees its own sandboxes only, and is asked for" {
	local key other

	key=$("${FSD%/*}/fsd-gateway" --new-key)
	other=$("${FSD%/*}/fsd-gateway" --new-key)
	[[ $key =~ ^e2b_[0-9a-f]{40}$ ]]
	printf '%s one\n' "$key" >"$BATS_TEST_TMPDIR/keys"
	run "${FSD%/*}/fsd-gateway" --mount "$MNT" --listen 0.0.0.0:0
	assert_failure 1
	assert_output --partial 'needs --api-key-file'
	chmod 644 "$BATS_TEST_TMPDIR/keys"
	run "${FSD%/*}/fsd-gateway" --mount "$MNT" --api-key-file "$BATS_TEST_TMPDIR/keys"
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
	await becomes 20 test -z "$(ls "$MNT")"
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
	assert_output --partial 'machines have no network'
}

@test "fsd gateway finds the mount and becomes the program" {
	FSD_MOUNT=$MNT run "$FSD" gateway --listen 1.2.3.4:0
	assert_failure 1
	assert_output --partial 'needs --api-key-file'
	run "$FSD" gateway --nothing
	assert_failure
	FSD_MOUNT=$MNT run "$FSD" gateway --nothing
	assert_failure 2
	assert_output --partial 'no option --nothing'
	FSD_MOUNT=$MNT run "$FSD" gateway --memory 1
	assert_output --partial 'a whole number from 32'
}
