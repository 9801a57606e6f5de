#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# fsd gateway: requests for ports of a sandbox.

load ../lib/common

@test "requests for ports go to the programs as they are, and answers end their connection" {
	run -0 bounded 120 /usr/bin/python3 -B "$TESTS/gateway/ports.py" "${FSD%/*}/fsd-gateway"
	refute_line --regexp '^not ok'
}
