#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests the adapters and the clients' own flows with the real frameworks, in front of
# real machines.
# usage: adapters.sh [python|codeact|agents|js|sdk1]...
#
# python   the package for Python, and agents of its frameworks
# codeact  LangGraph's CodeAct agent, which needs older packages than the others
# agents   OpenAI Agents' sandbox, which brings E2B's SDK, by `fsd gateway`
# js       the package for JavaScript, its declarations, and agents
# sdk1     Flowise's nodes and LlamaIndexTS, which bring E2B's SDK 1, by `fsd gateway`
#
# The frameworks come from the registries, at the pins of pypi/ and npm/, into
# build/adapters. Without a network it says so and skips.
set -euo pipefail

cd "$(dirname "$0")/../.."
top=$PWD
work=$top/build/adapters
flowise='flowise-components@3.1.4'
mkdir -p "$work/mnt" "$work/state"

skip() {
	echo "1..0 # SKIP $1"
	exit 0
}

# python_packages NAME REQUIREMENTS — a virtual environment with them and ours.
python_packages() {
	local venv=$work/$1

	if ! cmp -s "$2" "$venv/installed"; then
		rm -rf "$venv"
		python3 -m venv "$venv"
		"$venv/bin/pip" install -q -r "$2" ||
			skip 'the packages of Python cannot be had'
		cp "$2" "$venv/installed"
	fi
	# a copy, for pip leaves files beside the source
	rm -rf "$work/python"
	cp -r fsd/adapters/python "$work/python"
	"$venv/bin/pip" install -q --no-deps --force-reinstall "$work/python"
}

# js_packages NAME DIR [PACKAGE] — a directory with them, ours, and the tests of DIR.
# PACKAGE is unpacked without what it depends on.
js_packages() {
	local dir=$work/$1

	if ! cmp -s "$2/package.json" "$dir/installed"; then
		rm -rf "$dir"
		mkdir -p "$dir"
		cp "$2/package.json" "$dir/"
		# some disagree about a third's version, and work with the pins
		(cd "$dir" && npm i --legacy-peer-deps --ignore-scripts --no-audit \
			--no-fund) || skip 'the packages of Node cannot be had'
		if [ -n "${3:-}" ]; then
			(cd "$dir" && npm pack --silent "$3" >/dev/null) ||
				skip "$3 cannot be had"
			mkdir "$dir/node_modules/${3%@*}"
			tar xzf "$dir/${3/@/-}.tgz" --strip-components=1 \
				-C "$dir/node_modules/${3%@*}"
		fi
		cp "$2/package.json" "$dir/installed"
	fi
	rm -rf "$dir/node_modules/fsd-sandbox"
	cp -r fsd/adapters/js "$dir/node_modules/fsd-sandbox"
	find "$2" -maxdepth 1 \( -name '*.mjs' -o -name '*.ts' \) \
		-exec cp {} "$dir/" \;
}

run_python() {
	python_packages venv tests/gateway/pypi/requirements.txt
	(cd fsd/adapters/python && "$work/venv/bin/mypy" --cache-dir "$work/mypy")
	"$work/venv/bin/pytest" -q -p no:cacheprovider tests/gateway/pypi \
		--ignore tests/gateway/pypi/codeact --ignore tests/gateway/pypi/agents
}

run_codeact() {
	python_packages venv-codeact tests/gateway/pypi/codeact/requirements.txt
	"$work/venv-codeact/bin/pytest" -q -p no:cacheprovider \
		tests/gateway/pypi/codeact
}

run_agents() {
	python_packages venv-agents tests/gateway/pypi/agents/requirements.txt
	E2B_API_URL=http://127.0.0.1:3000 E2B_SANDBOX_URL=http://127.0.0.1:3000 \
		"$top/tests/lib/front.sh" -- "$work/venv-agents/bin/pytest" -q \
		-p no:cacheprovider tests/gateway/pypi/agents
}

run_js() {
	js_packages npm tests/gateway/npm
	(cd "$work/npm" && node_modules/.bin/tsc --noEmit --strict --target es2022 \
		--module nodenext --moduleResolution nodenext types.ts)
	(cd "$work/npm" && node --test --test-concurrency=1)
}

run_sdk1() {
	js_packages sdk1 tests/gateway/npm/sdk1 "$flowise"
	(cd "$work/sdk1" && E2B_DEBUG=true "$top/tests/lib/front.sh" --debug-ports -- \
		node --test --test-concurrency=1)
}

if [ -z "${FSD_MOUNT:-}" ]; then
	export FSD_MOUNT=$work/mnt
	build/fsd mount --daemon --state "$work/state" --image build/image "$FSD_MOUNT"
	trap 'build/fsd umount --now "$FSD_MOUNT"' EXIT
fi
[ $# -gt 0 ] || set -- python codeact agents js sdk1
for part; do
	"run_$part"
done
