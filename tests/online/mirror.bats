#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# An internal mirror for npm, pip and curl of Debian's, which an environment brings; the
# mirror is the test's own. The environment's build needs a network and a minute, so this
# is no part of `make check`: qemu/55_network.bats has the one of pip.

load ../lib/qemu
load ../lib/network

setup_file() {
	world_up
	policy '{"allow": ["example.test"], "ca": "ca.pem",
		"env": {"PIP_INDEX_URL": "https://example.test/simple",
			"npm_config_registry": "https://example.test/npm/"}}'
	/usr/bin/python3 -I -S "$TESTS/network/mirror.py" "$WORLD/www" https://example.test
	export ENVIRONMENTS=${FSD_ENVIRONMENTS:-$WORLD/env}
	mkdir -p "$ENVIRONMENTS"
	export MNT=$WORLD/mnt
	file_setup --fork no --network "$WORLD/policy.json" --environments "$ENVIRONMENTS"
	private_templates
	[ -e "$ENVIRONMENTS/names/web" ] ||
		FSD_IMAGE=$IMAGE bounded 600 "$FSD_REAL" env build --environments "$ENVIRONMENTS" \
			web --debian npm --debian curl --debian python3-pip
}
teardown_file() {
	file_teardown
	world_down
}
teardown() { jobs_done; }

# config [MORE]
config() {
	echo "{\"network\": [\"example.test\"], \"environment\": \"web\", \"timeout\": $(patient 120000)${1:+, $1}}"
}

@test "npm install takes a package and what it needs from the mirror" {
	prog code.sh "$(config)" <<'SH'
npm install --no-audit --no-fund tinyjs >said 2>&1 || { cat said; exit 1; }
node -p 'require("tinyjs")'
SH
	ok 'tinyjs with tinierjs'
}

@test "pip install of Debian's pip takes a wheel and what it needs from the mirror" {
	prog code.sh "$(config)" <<'SH'
pip install --quiet tiny && python3 -c 'import tiny; print(tiny.word)'
SH
	ok 'tiny with tinier'
}

@test "curl trusts the operator's certificates" {
	prog code.sh "$(config)" <<<'curl -sS https://example.test/hello'
	ok 'hello from example.test'
	prog code.sh "$(config '"env": {"SSL_CERT_FILE": ""}')" <<<'curl -sS https://example.test/hello'
	ok 'hello from example.test'
}
