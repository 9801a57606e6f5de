#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests the gateway's MCP with real clients, on fake machines.
# usage: mcp.sh [python|agent|js]...
#
# The packages come from the registries, at the pins of pypi/ and mcp/package.json, into
# build/mcp. Without a network it says so and skips.
set -euo pipefail

cd "$(dirname "$0")/../.."
work=$PWD/build/mcp
mkdir -p "$work/mnt" "$work/tmp"
export TMPDIR=$work/tmp FSD=${FSD:-$PWD/build/fsd-fake} FSD_MOUNT=$work/mnt
SLOW=${SLOW:-1}

skip() {
	echo "1..0 # SKIP $1"
	exit 0
}

# venv NAME — the environment of pypi/requirements-NAME.txt.
venv() {
	[ -x "$work/$1/bin/pytest" ] && return
	/usr/bin/python3 -m venv "$work/$1"
	"$work/$1/bin/pip" install -q -r "tests/gateway/pypi/requirements-$1.txt" ||
		skip 'the packages of Python cannot be had'
}

# npm_packages NAME DIR — those of DIR/package.json.
npm_packages() {
	[ -e "$work/$1/package-lock.json" ] && return
	mkdir -p "$work/$1"
	cp "$2/package.json" "$work/$1/"
	(cd "$work/$1" && npm i --no-audit --no-fund --loglevel error) ||
		skip 'the packages of Node cannot be had'
}

run_python() {
	venv mcp
	timeout $((300 * SLOW)) "$work/mcp/bin/pytest" -q -p no:cacheprovider \
		-c tests/gateway/mcp/pytest.ini tests/gateway/mcp/test_client.py
}

run_agent() {
	venv mcp-langchain
	timeout $((120 * SLOW)) "$work/mcp-langchain/bin/pytest" -q -p no:cacheprovider \
		-c tests/gateway/mcp/pytest.ini tests/gateway/mcp/test_agent.py
}

run_js() {
	npm_packages npm tests/gateway/mcp
	cp tests/gateway/mcp/client.test.mjs "$work/npm/"
	(cd "$work/npm" && timeout $((300 * SLOW)) node --test client.test.mjs)
}

# shellcheck disable=SC2329 # by the trap
end() {
	kill "$gateway"
	wait "$gateway" || true
	"$FSD" umount --now "$FSD_MOUNT"
}

gateway=
"$FSD" mount --daemon --state "$work/state" "$FSD_MOUNT"
"${FSD%/*}/fsd-gateway" --mount "$FSD_MOUNT" --listen 127.0.0.1:0 2>"$work/gateway.log" &
gateway=$!
trap end EXIT
until grep -q ' ready: ' "$work/gateway.log"; do
	kill -0 "$gateway" || exit 1
	sleep 0.1
done
GATEWAY_URL=http://$(sed -n 's/.* listening on //p' "$work/gateway.log")
export GATEWAY_URL
[ $# -gt 0 ] || set -- python agent js
for part; do
	"run_$part"
done
