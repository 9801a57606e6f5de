#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Clones of one Python interpreter do not share its hash secret.

bats_require_minimum_version 1.5.0
load ../lib/common

PYTHON=/usr/bin/python3.11
RUNNERS=build/guest/runners/python

setup_file() {
	cd "$TESTS/.." || return
	[ -x $PYTHON ] || skip "$PYTHON is not there: it is Debian 12's"
	make --no-print-directory build/guest/runners
}

setup() {
	cd "$TESTS/.." || return
	cat >"$BATS_TEST_TMPDIR/code.py" <<-'END'
		import collections, enum, json, os, re, sys, typing
		assert "FSD_FRESH" not in os.environ and "rehash" not in sys.modules
		assert json.loads(json.dumps(dict(os.environ))) == {
		    "HOME": "/", "LANG": "C.UTF-8"}
		assert not [k for m in sys.modules.values() for k, v in
		            vars(m).items() if vars(m)[k] is not v]
		print(hash("x"), hash(b"x"), *{"a", "b", "c", "d", "e", "f"})
	END
}

job() {
	$PYTHON tests/lib/runner_test.py "$1" "$BATS_TEST_TMPDIR/code.py" \
		"${@:2}" | tail -n 1
}

@test "nothing keeps an old hash, and everything is found" {
	for rounds in 1 2 5; do
		run -0 env -i PYTHONHASHSEED=1 $PYTHON -s \
			tests/lib/rehash_test.py $RUNNERS $rounds
		assert_output --partial 'are consistent'
	done
}

@test "jobs of one template hash differently" {
	first=$(job $RUNNERS)
	second=$(job $RUNNERS)
	assert_regex "$first" '^-?[0-9]+ .* [a-f]$'
	refute [ "$first" = "$second" ]
	refute [ "${first%% *}" = "$(PYTHONHASHSEED=1 $PYTHON -c \
		'print(hash("x"))')" ]
}

@test "a heated template's jobs hash differently" {
	first=$(job $RUNNERS heat)
	second=$(job $RUNNERS heat)
	assert_regex "$first" '^-?[0-9]+ .* [a-f]$'
	refute [ "$first" = "$second" ]
}

@test "without the extension a fresh interpreter takes the job" {
	cp -R $RUNNERS "$BATS_TEST_TMPDIR/plain"
	rm "$BATS_TEST_TMPDIR"/plain/rehash*.so
	output=$(job "$BATS_TEST_TMPDIR/plain" heat)
	assert_regex "$output" '^-?[0-9]+ .* [a-f]$'
}
