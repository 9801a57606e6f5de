#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Watchers: inotify on a job's directory works as on a real one.

load ../lib/common

# Neighbours within 20 ms are told together: a busy disk is to stay out of that.
setup() { mount_start --durability relaxed; }
teardown() { mount_done; }

watch() {
	bounded 60 /usr/bin/python3 -I -S "$TESTS/lib/watch.py" "$@"
}

helper() {
	watch helper "$SERVER"
}

need_node() {
	NODE=$(command -v node) || need 'node is not installed'
}

# bats test_tags=smoke
@test "a watcher sees every result made and closed, exit_code last" {
	run watch job "$MNT/a" 'out hello\nwrite f x\nexit 3'
	assert_success
	# a stream may be made before the end, and the other one in between
	assert_equal "$(grep stdout <<<"$output")" \
		$'CREATE stdout\nMODIFY stdout\nCLOSE_WRITE stdout'
	assert_equal "$(grep stderr <<<"$output")" \
		$'CREATE stderr\nCLOSE_WRITE stderr'
	# a program that takes longer than neighbours are told together was seen to run
	case $(sed '/^CREATE output$/,$d' <<<"$output" | grep ' state$') in
	'' | $'MODIFY state\nCLOSE_WRITE state') ;;
	*) fail "$output" ;;
	esac
	output=$(sed '/^CREATE output$/,$!{ / state$/d }' <<<"$output")
	assert_equal "$(wc -l <<<"$output")" 12
	assert_equal "$(tail -n +6 <<<"$output")" \
		'CREATE output
CREATE result.json
CLOSE_WRITE result.json
MODIFY state
CLOSE_WRITE state
CREATE exit_code
CLOSE_WRITE exit_code'
	exit_is a 3
	stdout_is a hello
}

@test "a watcher of a second run sees the old results go and new ones come" {
	run watch job "$MNT/a" 'out hello' 2
	assert_success
	assert_equal "$(grep -c 'CREATE exit_code' <<<"$output")" 2
	assert_equal "$(sed -n '/^DELETE/p' <<<"$output" | tr '\n' ' ')" \
		'DELETE exit_code DELETE result.json DELETE stderr DELETE stdout '
	assert_equal "$(tail -n 1 <<<"$output")" 'CLOSE_WRITE exit_code'
	ended a 0 exited
	stdout_is a hello
}

@test "results are true after watchers were told, and stay so" {
	job_run a $'out one\nerr two\nwrite f three'
	watch job "$MNT/b" 'out hello\nerr more\nwrite f x' 2
	local i
	for i in 1 2; do
		stdout_is b hello
		stderr_is b more
		assert_equal "$(stat -c %s "$MNT/b/stdout")" 6
		assert_equal "$(stat -c %h "$MNT/b/exit_code")" 1
		assert_equal "$(cat "$MNT/b/output/f")" x
		result_is b .status exited
		state_is b 'done'
	done
	stdout_is a one
	rm -r "$MNT/b"
}

@test "a file that is open when its old run goes reads on to its end" {
	job_run a 'out old'
	exec {fd}<"$MNT/a/stdout"
	job_put a code.sh 'out new'
	job_put a config.json '{}'
	job_wait a
	watch job "$MNT/b" 'exit 0' # told after a
	assert_equal "$(cat <&$fd)" old
	exec {fd}<&-
	stdout_is a new
}

@test "growth of stdout and stderr is told while the program runs" {
	run watch growth "$MNT/a"
	assert_success
	assert_line 'CREATE stdout'
	assert_equal "$(tail -n 1 <<<"$output")" 'CLOSE_WRITE exit_code'
}

@test "output that has no room is no growth" {
	mount_stop
	mount_start --quota-bytes 15 # the program and its config
	run watch job "$MNT/a" 'out dropped'
	assert_success
	refute_line 'MODIFY stdout'
	assert_line 'CLOSE_WRITE stdout'
	result_is a .stdout.dropped 8
}

@test "a watcher of stdout alone sees it grow and be closed" {
	watch one-file "$MNT/a" stdout
}

@test "a watcher of state is told of each, a refusal too" {
	watch states "$MNT/a"
	state_is a refused
}

@test "inotifywait -m on a job sees its results" {
	local line seen=
	mkdir "$MNT/a"
	exec {events}< <(exec 3>&-; bounded 30 inotifywait -m \
		-e create,close_write,moved_to --format '%e %f' "$MNT/a" 2>&1)
	local watcher=$!
	while read -r -t $((20 * SLOW)) -u "$events" line; do
		[ "$line" != 'Watches established.' ] || break
	done
	job_put a code.sh 'out hello'
	job_put a config.json '{}'
	while read -r -t $((20 * SLOW)) -u "$events" line; do
		seen+="$line;"
		[ "$line" != 'CLOSE_WRITE,CLOSE exit_code' ] || break
	done
	kill "$watcher"
	exec {events}<&-
	[[ $seen == *'CREATE stdout;'*'CREATE result.json;'*'CREATE exit_code;'* ]] ||
		fail "seen: $seen"
}

@test "inotifywait without -m returns when exit_code is made" {
	mkdir "$MNT/a"
	job_put a code.sh $'sleep 100\nexit 4'
	exec {events}< <(exec 3>&-; bounded 30 inotifywait -e create \
		--include 'exit_code$' "$MNT/a" 2>&1)
	local watcher=$! line
	while read -r -t $((20 * SLOW)) -u "$events" line; do
		[ "$line" != 'Watches established.' ] || break
	done
	job_put a config.json '{}'
	await exit "$watcher" 20
	exec {events}<&-
	exit_is a 4
}

@test "Node's fs.watch sees exit_code" {
	need_node
	mkdir "$MNT/a"
	job_put a code.sh 'exit 5'
	# shellcheck disable=SC2016
	run bounded 30 "$NODE" -e '
		const fs = require("fs"), dir = process.argv[1], seen = [];
		fs.watch(dir, (what, name) => {
			seen.push(`${what} ${name}`);
			if (name !== "exit_code") return;
			console.log(seen.join("\n"));
			console.log(fs.readFileSync(`${dir}/exit_code`, "utf8"));
			process.exit();
		});
		fs.writeFileSync(`${dir}/config.json`, "{}");
	' "$MNT/a"
	assert_success
	assert_line 'rename stdout'
	assert_line 'rename exit_code'
	assert_line 5
}

@test "of 200 jobs in parallel no event is lost and none comes twice" {
	watch many "$MNT" 200
}

@test "a helper that is killed is followed by another, and nothing is lost" {
	local first
	first=$(helper)
	watch many "$MNT" 100 "$SERVER"
	[ "$(helper)" != "$first" ] || fail 'the helper was not killed'
	grep -q 'helper for watchers' "$LOG" || fail 'the log says nothing of it'
}

# bats test_tags=release
@test "a helper that hangs holds up nobody and is told all when it goes on" {
	local helper i
	helper=$(helper)
	kill -STOP "$helper"
	job_run a 'out x'
	for i in {1..40}; do
		job_put a config.json '{}'
		job_wait a >/dev/null
	done
	local before
	before=$(daemon_rss_kb)
	for i in {1..40}; do
		job_put a config.json '{}'
		job_wait a >/dev/null
	done
	# a sanitizer keeps what was freed
	sanitized || [ "$(daemon_rss_kb)" -lt $((before + 2048)) ] ||
		fail 'it grows'
	kill -CONT "$helper"
	watch job "$MNT/b" 'exit 0'
}

@test "a helper that hangs is ended with the mount" {
	kill -STOP "$(helper)"
	job_run a 'out x'
	mount_stop
}

@test "a result that is removed before it was told is not made again" {
	watch job "$MNT/a" 'out x'
	watch removed "$MNT/a" "$(helper)"
	absent a exit_code
	assert_equal "$(cat "$MNT/.fsd/last_error")" ''
	stdout_is a x
}

@test "a job that is removed or renamed before it was told disturbs nobody" {
	local i
	for i in {1..20}; do
		job_run "r$i" 'out x'
		mv "$MNT/r$i" "$MNT/s$i"
		job_run "r$i" 'out y'
		rm -r "$MNT/r$i"
	done
	watch job "$MNT/b" 'exit 0'
	assert_equal "$(find "$MNT" -mindepth 1 -maxdepth 1 -name 'r*')" ''
	for i in {1..20}; do
		stdout_is "s$i" x
		ended "s$i" 0 exited
	done
}

@test "only the helper can make results" {
	job_start a $'out x\nawait'
	job_follow a x
	fails EPERM /usr/bin/python3 -c \
		'import os, sys; os.mknod(sys.argv[1] + "/exit_code")' "$MNT/a"
	fails EPERM dd status=none if=/dev/null of="$MNT/a/exit_code"
	fails EPERM mkdir "$MNT/a/output"
	fails EPERM dd status=none if=/dev/null of="$MNT/a/state"
	goes_on a
	job_wait a
	ended a 0 exited
}

@test "jobs of other users are told, too" {
	mount_public
	local other='setpriv --reuid 12345 --regid 12345 --clear-groups'
	# shellcheck disable=SC2086
	run bounded 60 $other /usr/bin/python3 -I -S - "$MNT/a" 'out x' \
		<<<"import sys; sys.argv[0:1] = ['watch.py', 'job']
$(cat "$TESTS/lib/watch.py")"
	assert_success
	assert_line 'CLOSE_WRITE exit_code'
	assert_equal "$(stat -c %u "$MNT/a/exit_code")" 12345
}

@test "the helper has no rights and nothing open of the mount" {
	local helper
	helper=$(helper)
	watch job "$MNT/a" 'out x'
	assert_equal "$(awk '/^Cap(Prm|Eff)/ { print $2 }' \
		"/proc/$helper/status" | sort -u)" 0000000000000000
	assert_equal "$(awk '/^Threads/ { print $2 }' "/proc/$helper/status")" 1
	run readlink "/proc/$helper/fd/"*
	refute_output --partial fuse
}

@test "a helper dies with a daemon that is killed" {
	local helper
	helper=$(helper)
	mount_crash
	await exit "$helper" 20
	umount "$MNT"
}

@test "umount by hand succeeds while watchers are being told" {
	watch unmount "$MNT" 100
	local pid=$DAEMON
	DAEMON=
	await exit "$pid" 20
	wait "$pid"
	mount_gone "$pid"
}

@test "fsd umount waits until the last exit_code was told" {
	watch last "$MNT/a" "$FSD" umount "$MNT"
	local pid=$DAEMON
	DAEMON=
	wait "$pid"
	mount_gone "$pid"
}

@test "fsd umount does not wait for a helper that hangs" {
	kill -STOP "$(helper)"
	job_start a $'sleep 100\nout x'
	bounded 20 "$FSD" umount "$MNT"
	local pid=$DAEMON
	DAEMON=
	wait "$pid"
	mount_gone "$pid"
}

@test "fsd umount ends while watchers are being told" {
	local helper i
	helper=$(helper)
	for i in {1..50}; do
		job_start "j$i" 'out x'
	done
	bounded 20 "$FSD" umount "$MNT"
	wait "$DAEMON"
	local pid=$DAEMON
	DAEMON=
	mount_gone "$pid"
	await exit "$helper" 20
}
