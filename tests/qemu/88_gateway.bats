#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# fsd gateway: what programs in a real machine tell it.

load ../lib/qemu
load ../lib/gateway

setup_file() { file_setup; }
teardown_file() { file_teardown; }
setup() {
	gateway_start
	sandbox_new
}
teardown() {
	status_of -X DELETE "/sandboxes/$ID" >/dev/null
	gateway_done
}

# fs CALL JSON — the body, without its status.
fs() {
	envd -H 'Content-Type: application/json' -d "$2" "/filesystem.Filesystem/$1" | head -n 1
}

# put PATH TEXT
put() {
	envd -H 'Content-Type: application/octet-stream' --data-binary "$2" "/files?path=$1" >/dev/null
}

# tells WATCHER EVENTS — until it has told them, each once or more, and no other.
tells() {
	local told='' end=$((SECONDS + 60 * SLOW))

	until [ "$(sort -u <<<"$told" | grep . | paste -sd,)" = "$2" ]; do
		[ "$SECONDS" -lt "$end" ] || fail "told: $told"
		told+=$'\n'$(fs GetWatcherEvents "{\"watcherId\": \"$1\"}" |
			jq -r '.events[] | (.type | ltrimstr("EVENT_TYPE_")) + " " + .name')
	done
}

@test "a watcher tells what has changed since it was asked last" {
	local id
	fs MakeDir '{"path": "d"}' >/dev/null
	id=$(fs CreateWatcher '{"path": "d", "recursive": true}' | jq -r .watcherId)
	put d/f hello
	# at once, and always these
	run fs GetWatcherEvents "{\"watcherId\": \"$id\"}"
	assert_equal "$(jq -r '.events[] | (.type | ltrimstr("EVENT_TYPE_")) + " " + .name' <<<"$output" | paste -sd,)" \
		'CREATE f,CHMOD f,WRITE f'
	fs MakeDir '{"path": "d/e"}' >/dev/null
	tells "$id" 'CREATE e'
	put d/e/g x
	fs Remove '{"path": "d/f"}' >/dev/null
	tells "$id" 'CHMOD e/g,CREATE e/g,REMOVE f,WRITE e/g'
	# it has nothing of its gateway's
	gateway_stop KILL
	gateway_start
	gateway_looked
	put d/later x
	tells "$id" 'CHMOD later,CREATE later,WRITE later'
	assert_equal "$(fs RemoveWatcher "{\"watcherId\": \"$id\"}")" '{}'
	run fs GetWatcherEvents "{\"watcherId\": \"$id\"}"
	assert_output --partial '"code":"not_found"'
}

@test "a cell's pictures and values come when they are shown, between what it prints" {
	local line said=
	coproc CELL { exec curl -s -N -H "E2b-Sandbox-Id: $ID" -d "$(jq -Rs '{code: .}' <<-'END'
		import os, time
		print("before")
		display({"step": 1})
		print("between")
		while not os.path.exists("/home/user/go"):
		    time.sleep(0.05)
		display({"image/svg+xml": "<svg>" + "x" * 200000 + "</svg>"}, raw=True)
		print("after")
		7
	END
	)" "$URL/execute" 3>&- 4>&-; }
	until [[ $said == *between* ]]; do
		IFS= read -r -t $((30 * SLOW)) line <&"${CELL[0]}" || fail "said: $said"
		said+=$line$'\n'
	done
	put go x
	said+=$(bounded 30 cat <&"${CELL[0]}")
	assert_equal "$(jq -r 'select(.type != "keepalive") | .type + " " + (.text // "" | rtrimstr("\n")) +
		(.svg // "" | length | if . > 0 then "svg \(.)" else "" end)' <<<"$said" | paste -sd,)" \
		"number_of_executions ,stdout before,result {'step': 1},stdout between,result svg 200011,stdout after,result 7,end_of_execution "
}

@test "/workspace is the user's, and takes files" {
	fs MakeDir '{"path": "/workspace/a"}' >/dev/null
	put /workspace/a/f text
	cell 'print(open("/workspace/a/f").read())'
	assert_equal "$(for p in /workspace /workspace/a/f /code /etc /var/tmp; do
		fs Stat "{\"path\": \"$p\"}" | jq -r .entry.owner; done | xargs)" 'user user user root root'
}

@test "links are shown, moved and removed" {
	cell $'import os\nos.makedirs("l/m")\nopen("l/a", "w").close()\nos.symlink("a", "l/b")\nos.symlink("/etc", "l/m/c")'
	run fs Stat '{"path": "l/b"}'
	assert_equal "$(jq -c '.entry | [.name, .type, .symlinkTarget]' <<<"$output")" \
		'["b","FILE_TYPE_FILE","/home/user/l/a"]'
	run fs ListDir '{"path": "l", "depth": 2}'
	assert_equal "$(jq -r '.entries[].path' <<<"$output" | xargs)" \
		'/home/user/l/a /home/user/l/b /home/user/l/m /home/user/l/m/c'
	assert_equal "$(jq -c '.entries[] | select(.name == "c") | [.type, .symlinkTarget]' <<<"$output")" \
		'["FILE_TYPE_DIRECTORY","/etc"]'
	# it leads to nothing any more
	assert_equal "$(fs Move '{"source": "l/b", "destination": "l/n/z"}' | jq -c '.entry | [.path, .type]')" \
		'["/home/user/l/n/z","FILE_TYPE_SYMLINK"]'
	run fs Stat '{"path": "l/b"}'
	assert_output --partial '"code":"not_found"'
	assert_equal "$(fs Remove '{"path": "l/n/z"}')" '{}'
	assert_equal "$(fs Remove '{"path": "l"}')" '{}'
	run fs Stat '{"path": "l"}'
	assert_output --partial '"code":"not_found"'
}

# got PATH — its bytes, then the status.
got() {
	envd "/files?path=$1"
}

@test "paths lead through links as they do in the machine, by every route" {
	cell $'import os\nos.makedirs("v2")\nopen("v2/t", "w").write("data")\nos.symlink("v2", "now")\nos.symlink("v2/t", "last")\nos.symlink("loop", "loop")\nos.symlink("../../../../../../etc/os-release", "far")\nos.symlink("/home/user/not/yet", "gone")' >/dev/null
	assert_equal "$(got last)" $'data\n200'
	assert_equal "$(got now/t)" $'data\n200'
	assert_equal "$(got far | head -n 1)" "$(got /etc/os-release | head -n 1)"
	assert_equal "$(got /bin/sh | tail -n 1 | tail -c 4)" 200
	assert_equal "$(got loop | tail -n 1)" 404
	assert_equal "$(got gone | tail -n 1)" 404
	[[ $(got /proc/sys/kernel/random/boot_id) =~ ^[0-9a-f-]{36} ]]
	assert_equal "$(fs Stat '{"path": "now/t"}' | jq -c '.entry | [.path, .type, .size]')" '["/home/user/now/t","FILE_TYPE_FILE","4"]'
	assert_equal "$(fs ListDir '{"path": "now", "depth": 1}' | jq -c '[.entries[].path]')" '["/home/user/now/t"]'
	put now/new n
	put last changed
	put gone made
	assert_equal "$(cell $'import os\nprint(open("v2/new").read(), open("v2/t").read(), open("not/yet").read(), os.path.islink("last"))')" \
		$'number_of_executions 2\nstdout n changed made True\nend_of_execution '
	fs MakeDir '{"path": "now/d"}' >/dev/null
	assert_equal "$(fs Move '{"source": "now/t", "destination": "now/d/u"}' | jq -r .entry.path)" /home/user/now/d/u
	assert_equal "$(fs Remove '{"path": "now/new"}')" '{}'
	assert_equal "$(fs Remove '{"path": "now"}')" '{}'
	assert_equal "$(cell 'import os; print(sorted(os.listdir("v2")), os.listdir("v2/d"), os.path.lexists("now"))')" \
		$'number_of_executions 3\nstdout [\'d\'] [\'u\'] False\nend_of_execution '
}

# tool NAME ARGUMENTS — what a model gets of it.
tool() {
	ask -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
		-d "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/call\", \"params\": {\"name\": \"$1\", \"arguments\": $2}}" /mcp |
		sed 's/^data: //' | jq -rR 'fromjson? | .result? | .content[]?.text'
}

@test "a model sees links in a list, and reads and writes through them" {
	tool run_command '{"sandbox": "s", "command": "mkdir d; echo text >d/f; ln -s d l; ln -s d/f g"}' >/dev/null
	run tool list_files '{"sandbox": "s"}'
	assert_line 'd/'
	assert_line 'l -> d'
	assert_line 'g -> d/f'
	assert_equal "$(tool list_files '{"sandbox": "s", "path": "l"}')" 'f (5 bytes)'
	assert_equal "$(tool read_file '{"sandbox": "s", "path": "l/f"}')" text
	tool write_file '{"sandbox": "s", "path": "g", "content": "new"}' >/dev/null
	run tool run_command '{"sandbox": "s", "command": "cat d/f; readlink g"}'
	assert_output --partial 'newd/f'
	tool stop_sandbox '{"sandbox": "s"}' >/dev/null
}

@test "a sandbox with a machine tells what it uses, but not while it is paused" {
	cell 'x = bytearray(1 << 20)'
	run ask "/sandboxes/$ID/metrics"
	assert_equal "$(head -n 1 <<<"$output" | jq '.[0] | .memUsed > 0 and .memTotal == 536870912 and .diskTotal > .diskUsed')" true
	assert_equal "$(status_of -X POST "/sandboxes/$ID/pause")" 204
	assert_equal "$(cat "$MNT/.fsd/sandboxes/$H/state")" paused
	assert_equal "$(status_of -d '{"timeout": 60}' "/sandboxes/$ID/connect")" 201
	run cell 'len(x)'
	assert_line --partial 1048576
}

@test "a cell's error comes once, in Python and in JavaScript, and a file of root's is 403" {
	local language
	for language in python javascript; do
		run code -d "{\"language\": \"$language\", \"code\": \"null.x; nothing\"}" /execute
		assert_equal "$language $(sed '$d' <<<"$output" | jq -r .type | paste -sd' ')" \
			"$language number_of_executions error end_of_execution"
		assert_output --partial '"traceback":"'
	done
	run envd '/files?path=/etc/shadow'
	assert_line 403
}
