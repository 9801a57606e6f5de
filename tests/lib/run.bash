# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Words for tests of `fsd run` in the current directory.

# program TEXT — code.sh.
program() {
	printf '%s\n' "$1" >code.sh
}

# fsd's own `run` through the mount of the test, without input.
fsd_run() {
	bounded 30 "$FSD" run --mount "$MNT" "$@" </dev/null
}
