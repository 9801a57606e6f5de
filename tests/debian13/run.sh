#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh OUTDIR — Debian 13 as the host, as root: a root file system of it is
# made (in OUTDIR), the sources are built there without a warning, the unit tests and
# those of the door (with its c-ares) run, and one job runs in a machine of its QEMU on the
# image in build/image. TAP on standard output.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck disable=SC2034 # of root.sh: for network namespaces, and what the tests write with
more="iproute2 rsync zip unzip ed vim-tiny"
out=$(realpath -m "${1:?usage: run.sh OUTDIR}")
# shellcheck source=tests/debian13/root.sh
. "$here/root.sh"

echo 'TAP version 13'
echo '1..6'
root_ready
rm -rf "$root/src/build"
says 'all compiles there without a warning' \
	inside 'make -j"$(nproc)" all unit'
says 'the unit tests pass there' inside '
	for test in build/release/tests/unit/*/*_test; do
		echo "# $test"
		timeout 120 "$test" || exit 1
	done'
says 'the door looks up names and connects there' \
	inside 'SLOW=4 timeout 600 python3 tests/network/door.py'
says 'no QEMU is brought there: its own is maintained' \
	inside 'make qemu && ! [ -e build/qemu ]'
says 'jobs run there, on its own QEMU, in a restored and in a forked machine' \
	inside '
	set -e
	trap "build/fsd umount --now /tmp/mnt" EXIT
	mkdir /tmp/mnt
	printf "import sys\nprint(sys.version_info[:2])\n" >/tmp/code.py
	build/fsd doctor
	build/fsd mount --daemon --pool 1 --state /tmp/state /tmp/mnt
	timeout 300 build/fsd run --mount /tmp/mnt /tmp/code.py | grep -x "(3, 13)"
	timeout 300 sh -c "until grep -q \"^fsd_fork_sources 1\" /tmp/mnt/.fsd/stats
		do sleep 0.2; done"
	timeout 300 build/fsd run --mount /tmp/mnt /tmp/code.py | grep -x "(3, 13)"'
exit $failed
