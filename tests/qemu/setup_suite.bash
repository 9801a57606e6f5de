# SPDX-License-Identifier: Apache-2.0

setup_suite() {
	FSD=${FSD:-$BATS_TEST_DIRNAME/../../build/fsd}
	if [ ! -x "$FSD" ]; then
		echo "$FSD is not there: run make all" >&2
		return 1
	fi
	if [ ! -x "$BATS_TEST_DIRNAME/../../build/tests/result" ]; then
		echo "build/tests/result is not there: run make all" >&2
		return 1
	fi
	if [ ! -w /dev/fuse ]; then
		echo "/dev/fuse cannot be opened: the tests need a mount" >&2
		return 1
	fi
	# What a user's shell has set must not steer a test.
	unset FSD_MOUNT
	# Debian's own programs before any other Python or Node.
	PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH
	export FSD LC_ALL=C.UTF-8
	umask 022
}

teardown_suite() {
	[ -e "$BATS_SUITE_TMPDIR/shared_mount" ] || return 0
	load ../lib/qemu
	suite_teardown
}
