# SPDX-License-Identifier: Apache-2.0
#
# What the tests of session runners share.

load ../lib/common

setup() {
	cd "$TESTS/.." || return
}

# python|node|bash [RUNNERS] <STEPS — what tests/lib/session_test.py says of them.
session() {
	run bounded 60 /usr/bin/python3 tests/lib/session_test.py "$1" \
		"${2-guest/runners}"
	assert_success
	refute_line --regexp '^died'
}

# output_is LINE... — all that was said, but for the last line.
output_is() {
	[ "$output" = "$(printf '%s\n' "$@" ended)" ] || {
		diff <(printf '%s\n' "$@" ended) <(echo "$output") >&2 || true
		fail "the steps said something else"
	}
}
