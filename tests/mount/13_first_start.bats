#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The first start of a newcomer: no state, no home, no mount point, and reasons
# that say what is wrong.

load ../lib/common

setup() { cd "$BATS_TEST_TMPDIR" || return; }
teardown() {
	cd /
	! mountpoint -q "$BATS_TEST_TMPDIR/m" || umount -l "$BATS_TEST_TMPDIR/m"
	mount_done
}

# as UID COMMAND... — without a name, a home or a group.
as() {
	local uid=$1
	shift
	setpriv --reuid "$uid" --regid "$uid" --clear-groups env -u HOME \
		-u XDG_STATE_HOME "$@"
}

# bats test_tags=smoke
@test "the first mount may be called like a part of the state directory" {
	local name
	for name in jobs templates trash; do
		rm -rf state
		bounded 20 "$FSD" mount --daemon --state "$PWD/state" "$PWD/$name"
		mountpoint -q "$name"
		bounded 20 "$FSD" umount "$name"
	done
	run bounded 20 "$FSD" mount --daemon --state state state/jobs
	assert_failure
	assert_output --partial 'is a part of the state directory'
}

@test "the caller of mount --daemon is let go, with parents of the state to be made" {
	mkdir m
	run bounded 20 bash -c '"$FSD" mount --daemon --state "$PWD/state/a/b" m 2>&1 | cat'
	assert_success
	assert_output ''
	grep -q 'serving' state/a/b/fsd.log
	mountpoint -q m
	bounded 20 "$FSD" umount m
	mkdir -p state/log/fsd.log
	run bounded 20 bash -c 'set -o pipefail; "$FSD" mount --daemon --state "$PWD/state/log" m 2>&1 | cat'
	assert_equal "$status" 1
	assert_output --partial 'state/log/fsd.log cannot be opened: Is a directory'
	run mountpoint -q m
	assert_failure
}

@test "who has no home is asked for a state directory" {
	PUBLIC=$(mktemp -d /tmp/fsd-test.XXXXXX)
	chown 64321 "$PUBLIC"
	cp "$FSD" "$PUBLIC/fsd"
	chmod 755 "$PUBLIC/fsd"
	mkdir "$PUBLIC/m"
	run bounded 20 setpriv --reuid 64321 --regid 64321 --clear-groups \
		env -u HOME -u XDG_STATE_HOME "$PUBLIC/fsd" mount "$PUBLIC/m"
	assert_equal "$status" 1
	assert_output 'fsd mount: uid 64321 has no home directory for its state: say where with --state DIR, or set HOME'
	[ ! -e /tmp/.local ]
}

@test "a missing mount point is made where that is the user's affair" {
	mkdir foreign
	bounded 20 "$FSD" mount --daemon --state state m
	mountpoint -q m
	bounded 20 "$FSD" umount m
	run bounded 20 "$FSD" mount --daemon --state state no/such
	assert_equal "$status" 1
	assert_output --partial 'the mount point no/such: No such file'
	chown 65534 foreign || need 'root may give a directory away'
	run bounded 20 "$FSD" mount --daemon --state state foreign/m
	assert_equal "$status" 1
	assert_output --partial "the mount point foreign/m does not exist, and foreign, where it would be made, is not this user's"
}

@test "root by sudo may have its state where the user of sudo has all" {
	mkdir home m
	chown 65534 home || need 'root may give a directory away'
	run bounded 20 "$FSD" mount --daemon --state home/state m
	assert_equal "$status" 1
	assert_output --partial "home belongs to uid 65534"
	SUDO_UID=65534 bounded 20 "$FSD" mount --daemon --state home/state m
	bounded 20 "$FSD" umount m
}

@test "a mount over a directory with files says how many it hides" {
	mkdir m
	touch m/a m/b m/c
	run bounded 20 "$FSD" mount --daemon --state state m
	assert_success
	assert_line --regexp '^fsd mount: warning: .*/m is not empty; the mount hides what is there \(3: [abc], \.\.\.\) until fsd umount$'
	bounded 20 "$FSD" umount m
	assert_equal "$(names m)" 'a b c'
}

@test "somebody else's mount is told from no mount" {
	mount_public ''
	cp "$FSD" "$PUBLIC/fsd"
	chmod 755 "$PUBLIC/fsd"
	run as 64321 "$PUBLIC/fsd" umount "$MNT"
	assert_equal "$status" 1
	assert_output "fsd umount: $MNT is the mount of uid 0, made without --allow-other: nobody else gets in; run this as that user"
	run as 64321 "$PUBLIC/fsd" umount "$PUBLIC/none"
	assert_output "fsd umount: $PUBLIC/none is not a mount of fsd: it does not exist"
	run as 64321 "$PUBLIC/fsd" umount "$BATS_TEST_TMPDIR/state"
	assert_output --partial 'cannot be reached by this user'
}

@test "who may not write the mount point is told so, and of no package" {
	PUBLIC=$(mktemp -d /tmp/fsd-test.XXXXXX)
	chmod 755 "$PUBLIC"
	cp "$FSD" "$PUBLIC/fsd"
	chmod 755 "$PUBLIC/fsd"
	mkdir "$PUBLIC/state" "$PUBLIC/m"
	chown 64321 "$PUBLIC/state"
	run bounded 20 setpriv --reuid 64321 --regid 64321 --clear-groups \
		"$PUBLIC/fsd" mount --state "$PUBLIC/state" "$PUBLIC/m"
	assert_equal "$status" 1
	assert_output --partial "the mount point $PUBLIC/m belongs to uid 0, mode 755, and fusermount3 mounts only where this user may write"
	refute_output --partial install
}
