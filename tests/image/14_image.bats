#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What the image's build refuses to pack.

load ../lib/common

setup() {
	TREE=$BATS_TEST_TMPDIR/tree
	mkdir -p "$TREE/usr/bin"
	echo plain >"$TREE/usr/bin/plain"
	chmod 0755 "$TREE/usr/bin/plain"
	ln -s nowhere "$TREE/usr/bin/link"
}

privileges() {
	run /usr/bin/python3 "$TESTS/../guest/image/privileges.py" "$TREE"
}

# refused TEXT
is_refused() {
	assert_failure
	assert_output --partial "$1"
	refute_output --partial /usr/bin/plain
}

@test "a tree without privileges is packed" {
	privileges
	assert_success
	assert_output ''
}

@test "a set-user-id and a set-group-id file end the image's build" {
	cp "$TREE/usr/bin/plain" "$TREE/usr/bin/root"
	chmod 4755 "$TREE/usr/bin/root"
	privileges
	is_refused '/usr/bin/root is set-id (mode 4755)'
	chmod 2755 "$TREE/usr/bin/root"
	privileges
	is_refused '/usr/bin/root is set-id (mode 2755)'
}

@test "a file with a capability ends the image's build" {
	cp "$TREE/usr/bin/plain" "$TREE/usr/bin/raw"
	# version 2, effective: CAP_NET_RAW
	/usr/bin/python3 -c 'import os, struct, sys
os.setxattr(sys.argv[1], "security.capability",
            struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0))' \
		"$TREE/usr/bin/raw" 2>/dev/null ||
		need 'no right to give a file a capability'
	privileges
	is_refused '/usr/bin/raw has a capability'
}

@test "a device node ends the image's build" {
	mknod "$TREE/usr/bin/node" c 1 3 2>/dev/null ||
		need 'no right to make a device node'
	privileges
	is_refused '/usr/bin/node is a device node'
}
