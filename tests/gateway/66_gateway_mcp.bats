#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# fsd gateway: MCP over HTTP and over standard input and output, and RAGFlow's /run.

load ../lib/common
load ../lib/environment
load ../lib/gateway

setup() { mount_start; }
teardown() {
	gateway_done || { mount_done; return 1; }
	mount_done
}

# rpc METHOD [PARAMS [CURL OPTION...]] — the reply, then the status.
rpc() {
	ask "${@:3}" -d "$(jq -nc --arg m "$1" --argjson p "${2:-{\}}" \
		'{jsonrpc: "2.0", id: 7, method: $m, params: $p}')" /mcp
}

# tool NAME ARGUMENTS [META] — the result of a call, as one line of JSON.
tool() {
	rpc tools/call "$(jq -nc --arg n "$1" --argjson a "$2" \
		--argjson m "${3:-{\}}" '{name: $n, arguments: $a, _meta: $m}')" |
		sed -u '$d'
}

META='"io.modelcontextprotocol/protocolVersion": "2026-07-28"'
META+=', "io.modelcontextprotocol/clientCapabilities": {}'
MODERN=(-H 'MCP-Protocol-Version: 2026-07-28')

# bats test_tags=smoke
@test "run_code runs in a fresh machine and gives output, files and the end" {
	gateway_start
	run tool run_code '{"code": "out hi\nerr oops\nwrite a/b.txt made\nexit 3"}'
	assert_equal "$(jq -r '.result.content[] | .text // .resource.text' <<<"$output")" \
		$'stdout:\nhi\n\nstderr:\noops\n\nmade\n\nended:\nexited, exit code 3'
	assert_equal "$(jq -c '.result | [.isError, .structuredContent.exit_code,
		.structuredContent.files[0].path]' <<<"$output")" '[true,3,"a/b.txt"]'
	run tool run_code '{"code": "show in/x", "files": {"in/x": "given"}}'
	assert_output --partial 'given'
	no_jobs
}

# refused_names — a call of run_code with each name that is no file of its own job.
refused_names() {
	local name

	for name in ../other/ctl ../.fsd/ctl ../victim/config.json ../evil/config.json \
		in/../../other/ctl /etc/passwd "$MNT/other/ctl" .. . '' in/ in//x ./ctl \
		config.json ctl hold wait state output/x stdin.feed events code.py code; do
		run "$1" "$name"
		assert_equal "$(jq .result.isError <<<"$output")" true
		assert_output --regexp 'choose another name|of plain names'
	done
}

@test "run_code's files stay in its own job, whatever they are called" {
	mkdir "$MNT/other" "$MNT/victim"
	job_put victim code.py 'out victim'
	job_put other code.py $'out up\nsleep 600000'
	job_put other config.json '{}'
	await becomes 20 grep -q up "$MNT/other/stdout"
	gateway_start
	call() {
		tool run_code "$(jq -n --arg n "$1" '{code: "x", files: {($n): "kill"}}')"
	}
	refused_names call
	by_stdio() {
		local line

		jq -nc --arg n "$1" '{jsonrpc: "2.0", id: 1, method: "tools/call", params:
			{name: "run_code", arguments: {code: "x", files: {($n): "kill"}}}}' >&"$to"
		IFS= read -r -t $((20 * SLOW)) line <&"$from" && echo "$line"
	}
	coproc MCP { exec "$FSD" mcp --mount "$MNT" 3>&- 4>&-; }
	local to=${MCP[1]} from=${MCP[0]} pid=$MCP_PID
	refused_names by_stdio
	exec {to}>&-
	wait "$pid"
	state_is other running
	state_is victim draft
	[ ! -e "$MNT/evil" ]
	assert_equal "$(cat "$MNT/.fsd/health")" ok
	job_put other ctl kill
	job_wait other
	assert_equal "$(ls "$MNT")" $'other\nvictim'
}

@test "a sandbox keeps what it has, is listed, and ends" {
	gateway_start
	tool run_code '{"sandbox": "box", "code": "remember one"}'
	run tool run_code '{"sandbox": "box", "code": "recall"}'
	assert_equal "$(jq -c '.result.structuredContent | [.stdout, .state]' \
		<<<"$output")" '["one\n","kept"]'
	tool write_file '{"sandbox": "box", "path": "d/x", "content_base64": "aGk="}'
	run tool read_file '{"sandbox": "box", "path": "/home/user/d/x"}'
	assert_output --partial '"text":"hi"'
	run tool list_files '{"sandbox": "box", "depth": 2}'
	assert_output --partial 'd/x (2 bytes)'
	run tool read_file '{"sandbox": "box", "path": "none"}'
	assert_output --partial 'path \"/home/user/none\": No such file'
	assert_equal "$(jq .result.isError <<<"$output")" true
	run tool list_sandboxes '{}'
	assert_output --partial '"name":"box","state":"idle"'
	tool stop_sandbox '{"sandbox": "box"}'
	assert_equal "$(ls "$MNT/.fsd/sandboxes")" ''
}

@test "sandboxes are counted for their key, whoever makes them, and reading makes none" {
	local one=key-of-16-characters-1 two=key-of-16-characters-2 n call
	printf '%s one\n%s two\n' "$one" "$two" >"$BATS_TEST_TMPDIR/keys"
	chmod 600 "$BATS_TEST_TMPDIR/keys"
	gateway_start --api-key-file "$BATS_TEST_TMPDIR/keys" --max-sandboxes 3
	as() {
		ask -H "X-API-Key: $1" -d "$(jq -nc --arg t "$2" --argjson a "$3" '{jsonrpc: "2.0",
			id: 1, method: "tools/call", params: {name: $t, arguments: $a}}')" /mcp
	}
	for call in 'list_files {"sandbox": "new"}' 'read_file {"sandbox": "new", "path": "x"}'; do
		run as "$one" "${call%% *}" "${call#* }"
		assert_output --partial 'there is no sandbox \"new\"; write_file, run_code or run_command'
		assert_equal "$(head -n 1 <<<"$output" | jq .result.isError)" true
	done
	assert_equal "$(ls "$MNT/.fsd/sandboxes")" ''
	as "$one" write_file '{"sandbox": "a", "path": "x", "content": "1"}'
	as "$one" run_code '{"sandbox": "b", "code": "out x"}'
	# one more has room; of four at once one gets it
	local pids=()
	for n in 1 2 3 4; do
		as "$one" write_file "{\"sandbox\": \"more$n\", \"path\": \"x\", \"content\": \"1\"}" \
			>"$BATS_TEST_TMPDIR/more$n" 3>&- 4>&- &
		pids+=($!)
	done
	wait "${pids[@]}"
	run cat "$BATS_TEST_TMPDIR"/more[1-4]
	assert_equal "$(grep -c '1 bytes written' <<<"$output")" 1
	assert_equal "$(grep -c '3 sandboxes of this key, as many as --max-sandboxes allows' <<<"$output")" 3
	for call in 'run_code {"sandbox": "c", "code": "out x"}' 'run_command {"sandbox": "c", "command": "x"}'; do
		run as "$one" "${call%% *}" "${call#* }"
		assert_equal "$(head -n 1 <<<"$output" | jq .result.isError)" true
		assert_output --partial 'as many as --max-sandboxes allows'
	done
	assert_equal "$(status_of -H "X-API-Key: $one" -d '{"templateID": "base"}' /sandboxes)" 429
	assert_equal "$(names "$MNT/.fsd/sandboxes" | wc -w)" 3
	# what there is can be used, another key has its own count
	run as "$one" read_file '{"sandbox": "a", "path": "x"}'
	assert_output --partial '"text":"1"'
	run as "$two" write_file '{"sandbox": "a", "path": "x", "content": "1"}'
	assert_output --partial '1 bytes written'
	run as "$one" stop_sandbox '{"sandbox": "a"}'
	run as "$one" write_file '{"sandbox": "c", "path": "x", "content": "1"}'
	assert_output --partial '1 bytes written'
}

@test "progress is told while it runs, and the result comes last" {
	gateway_start
	local said=$BATS_TEST_TMPDIR/said
	tool run_code '{"code": "out one\nawait\nout two"}' '{"progressToken": 5}' >"$said" &
	await becomes 20 grep -q '"message":"one"' "$said"
	echo 'signal USR1' >"$(echo "$MNT"/*/ctl)"
	wait $!
	run cat "$said"
	# what comes with the end may be told by the result alone
	[ "$(grep -c ^data: <<<"$output")" -ge 2 ]
	assert_line --index 0 --partial '"progressToken":5,"progress":1,"message":"one"'
	assert_equal "$(tail -n 1 <<<"$output" | cut -c7- | jq .result.isError)" false
}

@test "each revision has its own rules" {
	gateway_start
	run rpc initialize '{"protocolVersion": "2025-06-18"}'
	assert_output --partial '"protocolVersion":"2025-06-18"'
	# a server of this one takes lists of messages
	run rpc initialize '{"protocolVersion": "2025-03-26"}'
	assert_output --partial '"protocolVersion":"2025-11-25"'
	run rpc initialize '{"protocolVersion": "1999-01-01"}'
	assert_output --partial '"protocolVersion":"2025-11-25"'
	run rpc ping
	assert_line --index 0 '{"jsonrpc":"2.0","id":7,"result":{}}'
	run rpc nothing
	assert_output --partial '"code":-32601'
	assert_line 200
	run rpc tools/list "{\"_meta\": {$META}}" "${MODERN[@]}" -H 'Mcp-Method: tools/list'
	assert_output --partial '"ttlMs":3600000,"cacheScope":"public","resultType":"complete"'
	run rpc ping "{\"_meta\": {$META}}" "${MODERN[@]}" -H 'Mcp-Method: ping'
	assert_output --partial '"code":-32601'
	assert_line 404
	run rpc tools/list "{\"_meta\": {$META}}" "${MODERN[@]}" -H 'Mcp-Method: other'
	assert_output --partial '"code":-32020'
	assert_line 400
	run rpc tools/list "{\"_meta\": {${META/2026-07-28/2030-01-01}}}" \
		-H 'MCP-Protocol-Version: 2030-01-01' -H 'Mcp-Method: tools/list'
	assert_output --partial '"code":-32022'
	assert_output --partial '"supported":["2026-07-28"],"requested":"2030-01-01"'
	run rpc tools/call "{\"name\": \"list_sandboxes\", \"_meta\": {$META}}" "${MODERN[@]}" \
		-H 'Mcp-Method: tools/call' -H 'Mcp-Name: =?base64?bGlzdF9zYW5kYm94ZXM=?='
	assert_output --partial 'there is none'
	# spaces around a field's value are no part of it
	run rpc tools/list "{\"_meta\": {$META}}" -H 'Mcp-Method: tools/list  ' \
		-H $'MCP-Protocol-Version: \t 2026-07-28 \t'
	assert_line 200
}

@test "what is no message of the protocol has an error, and arguments are checked" {
	gateway_start
	run ask -d '[]' /mcp
	assert_output --partial '"code":-32600'
	run ask -d '{' /mcp
	assert_output --partial '"code":-32700'
	assert_equal "$(status_of -d '{"jsonrpc": "2.0", "method": "notifications/x"}' /mcp)" 202
	assert_equal "$(status_of /mcp)" 405
	assert_equal "$(status_of -H 'Origin: http://evil.example' -d '{}' /mcp)" 403
	run tool run_code '{"code": 5}'
	assert_output --partial 'code must be a string'
	run tool run_code '{"code": "x", "files": {"a": 5}}'
	assert_output --partial 'files must be an object of strings'
	run tool run_code '{}'
	assert_output --partial 'code is missing'
	local number
	for number in 601 0 30.5 1e300 '"x"' '"-1"' '"30 "' true '[]'; do
		run tool run_code "{\"code\": \"x\", \"timeout\": $number}"
		assert_output --partial 'timeout must be an integer from 1 to 600'
		assert_equal "$(jq .result.isError <<<"$output")" true
	done
	run tool run_code '{"code": "x", "other": 1}'
	assert_output --partial 'run_code has no argument \"other\"'
	run tool run_code '{"code": "x", "sandbox": "a\u0000b"}'
	assert_output --partial 'sandbox has a NUL'
	run tool write_file '{"sandbox": "a", "path": "x\u0000y", "content": "a\u0000b"}'
	assert_output --partial 'path has a NUL'
	run tool write_file '{"sandbox": "a", "path": "x", "content": "a\u0000b"}'
	assert_output --partial '3 bytes written'
	for number in '"content": "a", "content_base64": "YQ=="' '"content_base64": "%"'; do
		run tool write_file "{\"sandbox\": \"a\", \"path\": \"x\", $number}"
		assert_equal "$(jq .result.isError <<<"$output")" true
	done
	run tool run_command '{"command": "x\u0000y"}'
	assert_output --partial 'command has a NUL'
	run tool run_code '{"code": "x", "sandbox": "a/b"}'
	assert_output --partial 'sandbox must be'
	run tool none '{}'
	assert_output --partial 'there is no tool \"none\"'
}

@test "arguments are taken as models write them: 30.0, a number as a text, null" {
	gateway_start
	local number
	for number in 30 30.0 3e1 '"30"' null; do
		# as it is: jq makes 30 of 30.0
		output=$(ask -d "{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"tools/call\", \"params\": {\"name\": \"run_code\", \"arguments\": {\"code\": \"out hi\", \"timeout\": $number, \"sandbox\": null}}}" /mcp | sed '$d')
		assert_equal "$(jq -c '.result | [.isError, .structuredContent.stdout]' <<<"$output")" \
			'[false,"hi\n"]'
	done
	tool write_file '{"sandbox": "m", "path": "f", "content": "hello"}'
	run tool read_file '{"sandbox": "m", "path": "f", "offset": "1", "limit": 3.0}'
	assert_output --partial '"text":"ell"'
	run tool run_code '{"code": null}'
	assert_output --partial 'code is missing'
	run rpc tools/call '{"name": "list_sandboxes", "arguments": null}'
	assert_output --partial '"name":"m"'
}

@test "a model is told what is installed, also in an environment that is built later" {
	mount_stop
	ENVIRONMENTS=$BATS_TEST_TMPDIR/environments
	mkdir "$ENVIRONMENTS" "$BATS_TEST_TMPDIR/image"
	printf 'format 1\nabi %s\n' 'debian-13-amd64 python-3.13 node-20' >"$BATS_TEST_TMPDIR/image/manifest"
	echo 'python3 3.13.5-1' >"$BATS_TEST_TMPDIR/image/packages.list"
	MOUNT_OPTIONS="--environments $ENVIRONMENTS --image $BATS_TEST_TMPDIR/image" mount_start
	gateway_start
	run rpc initialize '{}'
	assert_output --partial 'the environment \"base\", without a network'
	assert_equal "$(status_of -d '{"templateID": "data"}' /sandboxes)" 404
	environment_make data '' '{"python": ["numpy", "pandas"]}' >/dev/null
	run rpc initialize '{}'
	assert_output --partial 'the environment \"data\"'
	assert_output --partial 'imported already: numpy, pandas.'
	tool write_file '{"sandbox": "m", "path": "f", "content": "x"}'
	assert_equal "$(jq -r .environment "$MNT"/.fsd/sandboxes/*/config.json)" data
	sandbox_new '{"templateID": "code-interpreter-v1"}'
	assert_equal "$(jq -r .environment "$MNT/.fsd/sandboxes/$H/config.json")" data
}

@test "a model is told what programs can reach, and its sandboxes have it" {
	gateway_start
	run rpc tools/list '{}'
	assert_equal "$(head -n 1 <<<"$output" | jq -c '[.result.tools[].annotations.openWorldHint] | unique')" '[false]'
	assert_equal "$(grep -o 'isolated machine without a network\.' <<<"$output" | wc -l)" 2
	gateway_stop
	mount_stop
	cat >"$BATS_TEST_TMPDIR/policy.json" <<-E
		{"allow": ["a.example", "*.b.example:80,8000-8010"], "deny": ["evil.b.example:*"]}
	E
	mount_start --network "$BATS_TEST_TMPDIR/policy.json"
	gateway_start
	local words='with a network that reaches a.example:443, \*.b.example:80,8000-8010'
	words+=' and no other server, and of these not evil.b.example:\*'
	run rpc tools/list '{}'
	assert_equal "$(head -n 1 <<<"$output" | jq -c '.result.tools | [.[] | select(.annotations.openWorldHint).name]')" \
		'["run_code","run_command"]'
	assert_equal "$(grep -o "in an isolated machine $words\\." <<<"$output" | wc -l)" 2
	refute_output --partial 'without a network'
	run rpc initialize '{}'
	assert_output --regexp "the environment ..base.., $words\\."
	tool run_code '{"sandbox": "box", "code": "out x"}'
	assert_equal "$(jq .network "$MNT"/.fsd/sandboxes/*/config.json)" true
}

@test "a client that goes takes its run along" {
	gateway_start
	coproc CURL { exec curl -sN -d '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params":
		{"name": "run_code", "arguments": {"code": "out up\nsleep 600000"},
		"_meta": {"progressToken": 1}}}' "$URL/mcp" 3>&- 4>&-; }
	local line pid=$CURL_PID
	IFS= read -r -t $((20 * SLOW)) line <&"${CURL[0]}"
	[[ $line == *'"message":"up"'* ]]
	kill "$pid"
	no_jobs
}

@test "fsd mcp speaks a message a line, however lines end, and answers each behind the end of input" {
	local hello='{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}'
	local call='{"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": {"name": "run_code", "arguments": {"code": "out hi"}}}'
	local text
	run bounded 20 "$FSD" mcp --mount "$MNT" <<-E
		$hello
		{"jsonrpc": "2.0", "method": "notifications/initialized"}
	E
	assert_success
	assert_equal "$(wc -l <<<"$output")" 1
	assert_output --partial '"id":1,"result":{"protocolVersion":"2025-11-25"'
	for text in "$hello\n$call" "\xef\xbb\xbf$hello\r\n\r\n$call\r\n" "\n \t\r\n$hello\n\n$call\n\r\n" \
		"\xef\xbb\xbf\n$hello\n$call\n"; do
		run bounded 20 "$FSD" mcp --mount "$MNT" < <(printf '%b' "$text")
		assert_success
		assert_equal "$(jq -c '[.id, .error]' <<<"$output" | sort)" $'["x",null]\n[1,null]'
	done
	no_jobs
}

@test "fsd mcp ends its runs when its output has no reader any more" {
	mkfifo "$BATS_TEST_TMPDIR/in" "$BATS_TEST_TMPDIR/out"
	"$FSD" mcp --mount "$MNT" <"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/out" 3>&- 4>&- &
	local pid=$! to from
	exec {to}>"$BATS_TEST_TMPDIR/in" {from}<"$BATS_TEST_TMPDIR/out"
	echo '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "run_code", "arguments": {"timeout": 600, "code": "out up\nsleep 600000"}}}' >&"$to"
	await becomes 20 bash -c 'grep -q up "$0"/*/stdout' "$MNT"
	exec {to}>&- {from}<&-
	wait "$pid"
	no_jobs
}

@test "fsd mcp reads no more messages than it answers, and ends by SIGTERM while they come" {
	local line pid feeder from
	mkfifo "$BATS_TEST_TMPDIR/in" "$BATS_TEST_TMPDIR/out"
	# a sanitizer would keep what was freed
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:quarantine_size_mb=4 "$FSD" mcp --mount "$MNT" \
		<"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/out" 3>&- 4>&- &
	pid=$!
	# a message has 10 KB, and all of them together have 300 MB
	/usr/bin/python3 -c 'import sys
message = b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\", \"params\": {\"x\": \"%s\"}}\n" % (b"x" * 10000)
for i in range(300):
    sys.stdout.buffer.write(message * 100)' >"$BATS_TEST_TMPDIR/in" 2>/dev/null 3>&- 4>&- &
	feeder=$!
	exec {from}<"$BATS_TEST_TMPDIR/out"
	IFS= read -r -t $((20 * SLOW)) line <&"$from"
	# its answers are not taken now
	run timeout 3 tail --pid="$feeder" -f /dev/null
	assert_equal "$status" 124
	assert_equal "$(awk '$1 == "VmHWM:" { print $2 < 200000 }' "/proc/$pid/status")" 1
	kill -TERM "$pid"
	bounded 20 cat <&"$from" >/dev/null
	wait "$pid"
	wait "$feeder" || true
	exec {from}<&-
	no_jobs
}

@test "fsd mcp without a mount makes a private one, and leaves nothing of it" {
	local line tmp=$BATS_TEST_TMPDIR/tmp
	mkdir "$tmp"
	coproc MCP { exec env -u FSD_MOUNT TMPDIR="$tmp" "$FSD" mcp 3>&- 4>&-; }
	local pid=$MCP_PID
	jq -nc '{jsonrpc: "2.0", id: 1, method: "tools/call", params: {name: "run_code",
		arguments: {code: "out hi"}}}' >&"${MCP[1]}"
	IFS= read -r -t $((60 * SLOW)) line <&"${MCP[0]}"
	assert_equal "$(jq -r .result.structuredContent.stdout <<<"$line")" hi
	assert_equal "$(names "$tmp" | wc -l)" 1
	eval "exec ${MCP[1]}>&-"
	wait "$pid"
	# shellcheck disable=SC2016
	await becomes 20 bash -c '[ -z "$(ls "$0")" ]' "$tmp"
}

@test "fsd mcp answers a line that is too long, and goes on" {
	run --separate-stderr bash -c '{ head -c 10485761 /dev/zero | tr "\0" x
		printf "\n{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}\n"; } |
		timeout "$0" "$1" mcp --mount "$2"' $((20 * SLOW)) "$FSD" "$MNT"
	assert_success
	assert_line --partial '"id":null,"error":{"code":-32600,"message":"a message may have 10485760 bytes'
	assert_line '{"jsonrpc":"2.0","id":1,"result":{}}'
}

# rag CODE [JSON] — the answer of /run.
rag() {
	ask -d "$(jq -nc --arg c "$(base64 -w0 <<<"$1")" \
		"{code_b64: \$c, language: \"python\"} + (${2:-{\}})")" /run | head -n 1
}

@test "/run: a value, what went wrong and files go as RAGFlow wants them" {
	gateway_start --run-timeout 4
	run rag $'out hi\nwrite artifacts/a.png P\nwrite artifacts/b.exe x\nresult {"value": {"a": 1}}'
	assert_equal "$(jq -c '[.status, .exit_code, .stdout, .result.value, .artifacts[0].name,
		.artifacts[0].content_b64, .detail]' <<<"$output")" \
		'["success",0,"hi\n",{"a":1},"a.png","UAo=","b.exe is left out: its type is not one that is given"]'
	shape() { rag "$@" | jq -c '[.status, .exit_code, .stdout, .resource_limit_type // .runtime_error_type]'; }
	assert_equal "$(shape $'out x\nexit 4')" '["program_error",4,"","nonzero_exit"]'
	assert_equal "$(shape 'signal 11')" '["runtime_error",139,"","signalled"]'
	assert_equal "$(shape oom)" '["resource_limit_exceeded",-137,"","memory"]'
	assert_equal "$(rag 'sleep 600000' | jq -c '[.exit_code, .resource_limit_type]')" '[-124,"time"]'
	assert_equal "$(status_of -d '{"code_b64": "eA==", "language": "ruby"}' /run)" 422
	assert_equal "$(ask /healthz)" $'{"status":"ok"}\n200'
	no_jobs
}

@test "/run: a value of numbers beyond 64 bits loses no run" {
	gateway_start
	run rag 'result {"value": [18446744073709551616, 1]}'
	assert_equal "$(jq -c '[.status, .result.value == [18446744073709551616, 1]]' <<<"$output")" '["success",true]'
	# beyond a double, and a key that the JSON library does not take
	for value in '[1e999]' '{"\u0000": 1}'; do
		run rag "out hi
result {\"value\": $value}"
		assert_equal "$(jq -c '[.status, .stdout, .result.value]' <<<"$output")" '["success","hi\n",null]'
	done
	no_jobs
}

@test "/run and nothing else is served without a key by --run-listen" {
	LISTENS=()
	printf 'secret-of-16-characters one\n' >"$BATS_TEST_TMPDIR/keys"
	chmod 600 "$BATS_TEST_TMPDIR/keys"
	gateway_start --api-key-file "$BATS_TEST_TMPDIR/keys" --run-listen 127.0.0.1:0
	assert_equal "$(status_of -d '{}' /run)" 401
	assert_equal "$(status_of -d '{}' /mcp)" 401
	assert_equal "$(status_of -H 'Authorization: Bearer secret-of-16-characters' -d '{}' /run)" 422
	URL=${LISTENS[1]}
	assert_equal "$(status_of -d '{}' /run)" 422
	assert_equal "$(status_of -d '{}' /mcp)" 404
}
