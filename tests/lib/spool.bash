# SPDX-License-Identifier: Apache-2.0
#
# For tests of fsd spool: spools in front of $MNT that serve $S, and entries of theirs. What
# the spools say is in spool.log in the current directory.

# spool_start [OPTION...] — a spool that serves $S; its process in $SPOOL.
spool_start() {
	spool_spawn --mount "$MNT" --settle 0.2 "$@" "$S"
}

# spool_spawn ARGUMENT... — the same of `fsd spool ARGUMENT...`.
spool_spawn() {
	local before
	: >>spool.log
	before=$(grep -c ': serves ' spool.log) || true
	"$FSD" spool "$@" >>spool.log 2>&1 3>&- 4>&- &
	SPOOL=$!
	SPOOLS+=" $SPOOL"
	await becomes 20 sh -c "[ \$(grep -c ': serves ' spool.log) -gt $before ]"
}

# spool_stop — told to end, it ends with 0.
spool_stop() {
	local status=0
	kill -TERM "$SPOOL"
	await exit "$SPOOL" 20
	wait "$SPOOL" || status=$?
	assert_equal "$status" 0
	SPOOLS=${SPOOLS/ $SPOOL/}
}

# spool_kill — it, and the process that serves.
spool_kill() {
	local child
	child=$(pgrep -P "$SPOOL")
	kill -KILL "$SPOOL"
	await exit "$SPOOL" 20
	await exit "$child" 20
	wait "$SPOOL" 2>/dev/null || true
	SPOOLS=${SPOOLS/ $SPOOL/}
}

# spools_end — for teardown: shows what they said in a test that failed.
spools_end() {
	local pid
	for pid in ${SPOOLS:-}; do
		kill -TERM "$pid" 2>/dev/null || true
		await exit "$pid" 20 || kill -KILL "$pid"
		wait "$pid" || true
	done
	if [ -z "${BATS_TEST_COMPLETED:-}" ] && [ -e spool.log ]; then
		cat spool.log >&2
		find "$S" | head -n 100 >&2
	fi
}

# drop NAME FILE TEXT [FILE TEXT]... — a directory that comes by a rename.
drop() {
	local name=$1
	mkdir "$S/tmp/$name"
	shift
	while [ $# -gt 0 ]; do
		printf '%s\n' "$2" >"$S/tmp/$name/$1"
		shift 2
	done
	mv "$S/tmp/$name" "$S/new/$name"
}

# drop_file FILE [NAME] — a copy of it, by a rename.
drop_file() {
	local name=${2:-${1##*/}}
	cp "$1" "$S/tmp/$name"
	mv "$S/tmp/$name" "$S/new/$name"
}

# comes PATH — below the spool's directory, in time.
comes() {
	await becomes "${SPOOL_SECONDS:-30}" test -e "$S/$1"
}

# failed NAME TEXT — it is in failed with a sentence that has this in it, and with a result
# that says the same.
failed() {
	comes "failed/$1"
	run cat "$S/failed/$1/error"
	assert_output --partial "$2"
	assert_equal "$(<"$S/failed/$1/exit_code")" 125
	run jq -r .message "$S/failed/$1/result.json"
	assert_output --partial "$2"
}

# status_becomes REGEX — a line of DIR/status, in time.
status_becomes() {
	await becomes 20 grep -q "$1" "$S/status"
}

# nothing_left — no entry, no claim, no job.
nothing_left() {
	await becomes 20 sh -c '[ -z "$(ls "$1")" ]' _ "$MNT"
	assert_equal "$(find "$S/new" "$S/run"/* -mindepth 1 -maxdepth 1 -not -name '.*')" ''
}
