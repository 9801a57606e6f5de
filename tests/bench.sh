#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# bench.sh — the performance table: every figure beside a named baseline of the
# same run, printed and written to build/bench.json.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v bwrap >/dev/null || {
	echo "bench: bwrap is missing; apt-get install bubblewrap" >&2
	exit 1
}
exec /usr/bin/python3 tests/bench.py "$@"
