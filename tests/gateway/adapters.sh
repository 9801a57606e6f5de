#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests the adapters with their real frameworks, in front of real machines.
# usage: adapters.sh [python|js]...
#
# The frameworks come from the registries, at the pins of pypi/requirements.txt and
# npm/package.json, into build/adapters. Without a network it says so and skips.
set -euo pipefail

cd "$(dirname "$0")/../.."
top=$PWD
work=$top/build/adapters
mkdir -p "$work/mnt" "$work/state"

skip() {
	echo "1..0 # SKIP $1"
	exit 0
}

python_packages() {
	[ -x "$work/venv/bin/pytest" ] && return
	python3 -m venv "$work/venv"
	"$work/venv/bin/pip" install -q -r tests/gateway/pypi/requirements.txt ||
		skip 'the packages of Python cannot be had'
}

js_packages() {
	[ -d "$work/npm/node_modules/deepagents" ] && return
	mkdir -p "$work/npm"
	cp tests/gateway/npm/package.json "$work/npm/"
	# two of them disagree about a third's version, and work with the pins
	(cd "$work/npm" && npm i --legacy-peer-deps --no-audit --no-fund) ||
		skip 'the packages of Node cannot be had'
}

run_python() {
	python_packages
	"$work/venv/bin/pip" install -q --no-deps ./fsd/adapters/python
	"$work/venv/bin/pytest" -q -p no:cacheprovider tests/gateway/pypi
}

run_js() {
	js_packages
	rm -rf "$work/npm/node_modules/fsd-sandbox"
	cp -r fsd/adapters/js "$work/npm/node_modules/fsd-sandbox"
	cp tests/gateway/npm/*.test.mjs "$work/npm/"
	(cd "$work/npm" && node --test)
}

if [ -z "${FSD_MOUNT:-}" ]; then
	export FSD_MOUNT=$work/mnt
	build/fsd mount --daemon --state "$work/state" --image build/image "$FSD_MOUNT"
	trap 'build/fsd umount --now "$FSD_MOUNT"' EXIT
fi
[ $# -gt 0 ] || set -- python js
for part; do
	"run_$part"
done
