# SPDX-License-Identifier: Apache-2.0
#
# The vocabulary of tests of the gateway: one in front of $MNT, asked by curl.

# gateway_start [OPTION...] — $GATEWAY in front of $MNT, at $URL.
gateway_start() {
	local program=${FSD%/*}/fsd-gateway line

	GATEWAY_LOG=$BATS_TEST_TMPDIR/gateway.log
	# one of its own: that of a gateway before may still be read
	rm -f "$BATS_TEST_TMPDIR/words"
	mkfifo "$BATS_TEST_TMPDIR/words"
	setsid "$program" --mount "$MNT" --listen 127.0.0.1:0 "$@" \
		2>"$BATS_TEST_TMPDIR/words" </dev/null 3>&- 4>&- &
	GATEWAY=$!
	URL=
	exec {WORDS}<"$BATS_TEST_TMPDIR/words"
	while IFS= read -r -t $((20 * SLOW)) line <&"$WORDS"; do
		echo "$line" >>"$GATEWAY_LOG"
		case $line in
		*' listening on '*)
			[ -n "$URL" ] || URL=http://${line##*listening on }
			LISTENS+=("http://${line##*listening on }")
			;;
		*' ready: '*) break ;;
		esac
	done
	cat <&"$WORDS" >>"$GATEWAY_LOG" 3>&- 4>&- &
	exec {WORDS}<&-
	[ -n "$URL" ]
}

# gateway_looked — until each one of this log has looked at the jobs that it found.
gateway_looked() {
	# shellcheck disable=SC2016
	await becomes 20 bash -c '[ "$(grep -c " ready: " "$0")" = \
		"$(grep -c "looked for jobs" "$0")" ]' "$GATEWAY_LOG"
}

# gateway_stop [SIGNAL] — it ends as it should.
# shellcheck disable=SC2120
gateway_stop() {
	local status=0

	kill -"${1:-TERM}" "$GATEWAY" 2>/dev/null
	wait "$GATEWAY" || status=$?
	GATEWAY=
	[ "$status" = 0 ] || [ "${1:-TERM}" = KILL ] || {
		cat "$GATEWAY_LOG" >&2
		return 1
	}
}

# gateway_done — for teardown.
gateway_done() {
	local failed=0

	[ -z "${GATEWAY:-}" ] || gateway_stop || failed=1
	if [ -e "${GATEWAY_LOG:-}" ] && grep -E 'Z error |ERROR: [A-Z]|runtime error:' \
		"$GATEWAY_LOG" >&2; then
		failed=1
	fi
	[ -n "${BATS_TEST_COMPLETED:-}" ] || cat "${GATEWAY_LOG:-/dev/null}" >&2
	return $failed
}

# ask [OPTION...] PATH — curl; the body, then the status on a line of its own.
ask() {
	bounded 20 curl -s -g -N -w '\n%{http_code}\n' "${@:1:$#-1}" "$URL${*: -1}"
}

# status_of [OPTION...] PATH
status_of() {
	ask "$@" | tail -n 1
}

# sandbox_new [JSON] — a sandbox, $ID with the token $TOKEN.
sandbox_new() {
	local made

	made=$(ask -d "${1:-{\"templateID\": \"base\"\}}" /v2/sandboxes)
	assert_equal "$(tail -n 1 <<<"$made")" 201
	ID=$(jq -r .sandboxID <<<"${made%$'\n'*}")
	TOKEN=$(jq -r .envdAccessToken <<<"${made%$'\n'*}")
	# shellcheck disable=SC2034
	H=$(printf %s "$ID" | sha256sum | head -c 16)
}

# code [OPTION...] PATH — of the sandbox's code service.
code() {
	ask -H "E2b-Sandbox-Id: $ID" -H 'E2b-Sandbox-Port: 49999' "$@"
}

# envd [OPTION...] PATH — of its other service, with its token.
envd() {
	ask -H "E2b-Sandbox-Id: $ID" -H 'E2b-Sandbox-Port: 49983' \
		-H "X-Access-Token: $TOKEN" "$@"
}

# cell CODE [JSON] — runs it; the lines, each as "TYPE TEXT".
cell() {
	code -d "$(jq -n --arg code "$1" "{code: \$code} + (${2:-{\}})")" /execute |
		sed '$d' | jq -r '.type + " " + ((.text // .value //
			.execution_count // "") | tostring | rtrimstr("\n"))'
}

# no_jobs — until the gateway has removed all of its jobs.
no_jobs() {
	# shellcheck disable=SC2016
	await becomes 20 bash -c '[ -z "$(ls "$0")" ]' "$MNT"
}
