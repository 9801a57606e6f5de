#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Hosts and guests that lack a wall: what is refused there, what runs and says so.
# Each test has a daemon of its own.

load ../lib/qemu

export LOG_EXPECTED='machines do not start|wall|boot|zygote'

setup_file() { file_given; }
setup() {
	[ "$(id -u)" = 0 ] || need 'root'
}
teardown() {
	jobs_done
	[ -z "${OWN:-}" ] || mount_done
}

# in_user_namespace COMMAND... — as root of one that may have no namespace of
# the kind $MISSING (net): a wall is missing there.
in_user_namespace() {
	unshare --user --map-root-user --mount bash -c '
		echo 0 >"/proc/sys/user/max_$1_namespaces" && shift && "$@"' \
		_ "${MISSING:-net}" "$@"
}

@test "strict refuses to start without a wall, and says which and how to get it" {
	in_user_namespace true || need 'user namespaces'
	mkdir "$BATS_TEST_TMPDIR/m"
	local wall
	for wall in net:network pid:pid ipc:ipc uts:uts cgroup:cgroup; do
		# shellcheck disable=SC2086 # a list
		MISSING=${wall%:*} run in_user_namespace timeout 60 "$FSD" \
			mount $MOUNT_OPTIONS --state "$BATS_TEST_TMPDIR/s" \
			"$BATS_TEST_TMPDIR/m"
		assert_failure
		assert_output --partial "the wall qemu-${wall#*:}-namespace is missing"
		assert_output --partial 'user.max_'
		assert_output --partial '--policy permissive'
	done
}

@test "without a namespace of its own for names the host's name stays, and strict says so" {
	in_user_namespace true || need 'user namespaces'
	mkdir "$BATS_TEST_TMPDIR/m"
	local name
	name=$(hostname)
	# shellcheck disable=SC2016,SC2086 # expanded inside; a list
	run unshare --user --map-root-user --mount --uts timeout 60 bash -c '
		echo 1 >/proc/sys/user/max_uts_namespaces
		hostname before
		"$@"
		hostname' _ "$FSD" mount $MOUNT_OPTIONS \
		--state "$BATS_TEST_TMPDIR/s" "$BATS_TEST_TMPDIR/m"
	assert_line --partial 'the wall qemu-uts-namespace is missing'
	assert_line before
	assert_equal "$(hostname)" "$name"
}

@test "where a container forbids to name the host, that is said, and strict goes on" {
	run bounded 120 /usr/bin/python3 -B "$TESTS/lib/deny_names.py" "$FSD" doctor
	assert_line --regexp '^walls .*qemu-uts-namespace is degraded .*sethostname: '
	assert_line 'jobs can run'
}

@test "who may mount in a namespace of its own needs no fusermount3, says doctor" {
	unshare --user --map-root-user true || need 'user namespaces'
	local user='setpriv --reuid 65534 --regid 65534 --clear-groups'
	# The program under test may lie where only root may go.
	local dir
	dir=$(mktemp -d /tmp/fsd-test.XXXXXX)
	chmod 755 "$dir"
	cp "$FSD" "$dir/fsd"
	# shellcheck disable=SC2086 # words
	run bounded 120 $user env PATH=/bin HOME=/nonexistent \
		unshare --user --map-current-user --keep-caps --mount "$dir/fsd" doctor
	rm -r "${dir:?}"
	assert_line --regexp '^mount +ok +this user may mount in its namespace'
}

@test "permissive runs without the wall, and says so everywhere" {
	in_user_namespace true || need 'user namespaces'
	own_mount
	mkdir -p "$MNT"
	# shellcheck disable=SC2016,SC2086 # expanded inside; a list
	run in_user_namespace timeout 200 bash -c '
		state=$1 mnt=$2
		shift 2
		"$@" --daemon --policy permissive --state "$state" "$mnt"
		mkdir "$mnt/a"
		echo "print(6 * 7)" >"$mnt/a/code.py"
		echo "{}" >"$mnt/a/config.json"
		cat "$mnt/a/wait" "$mnt/a/stdout"
		jq -c .machine.missing_walls "$mnt/a/result.json"
		grep "^qemu-net" "$mnt/.fsd/security"
		grep "^qemu-user " "$mnt/.fsd/security"
		"$1" umount "$mnt"
		grep missing "$state/fsd.log"
	' _ "$STATE" "$MNT" "$FSD" mount $MOUNT_OPTIONS
	assert_success
	assert_line 0
	assert_line 42
	assert_line '["qemu-network-namespace"]'
	assert_line --regexp '^qemu-network-namespace  absent .*user.max_'
	assert_line --regexp '^qemu-user  degraded '
	assert_line --partial 'the wall qemu-network-namespace is missing'
}

@test "without root of the host strict is content with what it can have, and names it" {
	unshare --user --map-root-user --mount true || need 'user namespaces'
	own_mount
	mkdir -p "$MNT"
	# shellcheck disable=SC2016,SC2086 # expanded inside; a list
	run unshare --user --map-root-user --mount timeout 200 bash -c '
		state=$1 mnt=$2
		shift 2
		"$@" --daemon --state "$state" "$mnt"
		mkdir "$mnt/a"
		echo "print(6 * 7)" >"$mnt/a/code.py"
		echo "{}" >"$mnt/a/config.json"
		cat "$mnt/a/wait" "$mnt/a/stdout"
		jq -c .machine.missing_walls "$mnt/a/result.json"
		cat "$mnt/.fsd/security"
		"$1" umount "$mnt"
	' _ "$STATE" "$MNT" "$FSD" mount $MOUNT_OPTIONS
	assert_success
	assert_line 42
	assert_line '[]'
	assert_line --regexp '^qemu-user  degraded '
	assert_line --regexp '^qemu-user-namespace  active '
	for wall in root pid-namespace network-namespace ipc-namespace \
		uts-namespace cgroup-namespace capabilities seccomp sandbox \
		rlimits; do
		assert_line --regexp "^qemu-$wall  active "
	done
}

@test "a plain user of a host without a control group runs jobs, strict and all, and makes a damaged template again" {
	setpriv --reuid=65534 --regid=65534 --clear-groups \
		unshare --user --map-root-user true || need 'user namespaces'
	local dir
	plain_mount # for its templates
	dir=$(mktemp -d /tmp/fsd-walls.XXXXXX)
	chmod 755 "$dir"
	mkdir "$dir/mnt" "$dir/state"
	cp -a --sparse=always "$STATE/templates" "$dir/state/"
	check flip-bit "$dir/state/templates"
	cp -r "$IMAGE" "$dir/image"
	cp "$FSD" "$dir/fsd"
	mknod -m 666 "$dir/fuse" c 10 229
	chown -R 65534:65534 "$dir/mnt" "$dir/state"
	# Not every host lets its users mount; this one's device stays as it is.
	# shellcheck disable=SC2016 # expanded inside
	run unshare --mount timeout 300 bash -c '
		mount --bind "$1/fuse" /dev/fuse
		exec setpriv --reuid=65534 --regid=65534 --clear-groups bash -c "
			cd $1
			./fsd mount --daemon --pool 0 --fork no --plain --state state --image image mnt
			mkdir mnt/a
			printf \"#!/bin/sh\\necho 42\\n\" >mnt/a/code
			echo \"{}\" >mnt/a/config.json
			cat mnt/a/wait mnt/a/stdout
			jq -c .machine.missing_walls mnt/a/result.json
			cat mnt/.fsd/security mnt/.fsd/stats
			./fsd umount mnt"' _ "$dir"
	rm -r "${dir:?}"
	assert_success
	assert_line 42
	assert_line '[]'
	assert_line --regexp '^qemu-user  degraded '
	assert_line --regexp '^qemu-cgroup  degraded '
	assert_line 'fsd_templates_made_total 1'
}

@test "a guest without its filter is seen to have none: strict runs no job there, permissive says so" {
	MNT=$BATS_TEST_TMPDIR/mnt STATE=$BATS_TEST_TMPDIR/state
	LOG=$BATS_TEST_TMPDIR/log OWN=1
	MOUNT_OPTIONS="$MOUNT_OPTIONS --plain --image $TESTS/../build/bare/image"
	# Made beforehand (run.py).
	[ ! -d "$TESTS/../build/bare/state/templates" ] || {
		mkdir -p "$STATE"
		cp -a --sparse=always "$TESTS/../build/bare/state/templates" "$STATE/"
	}
	mount_start --pool 0 --fork no --policy permissive
	prog code <<<$'#!/bin/sh\necho 1'
	ok 1
	[ "$(result "$J" .machine.missing_walls[])" = guest-seccomp ]
	grep -q '^guest-seccomp  absent  .* make image$' "$MNT/.fsd/security"
	grep -q '^guest-user  active' "$MNT/.fsd/security"
	mount_stop
	mount_start --pool 0 --fork no
	bounded 300 bash -c 'until grep -q "guest-seccomp is missing" "$1"; do
		sleep 0.2; done' _ "$MNT/.fsd/health"
	# the same image gives the same guest
	refute grep 'is thrown away' "$LOG"
	job_made code <<<$'#!/bin/sh\necho 1'
	job_put "$J" config.json '{}'
	run cat "$MNT/$J/state"
	assert_output queued
	grep -q '^guest-seccomp  absent  ' "$MNT/.fsd/security"
}

@test "before the first machine the guest's walls are not checked yet" {
	# shellcheck disable=SC2034 # teardown looks at it
	OWN=1 LOG=$BATS_TEST_TMPDIR/log STATE=$BATS_TEST_TMPDIR/fresh MNT=$BATS_TEST_TMPDIR/m
	mount_start --pool 0
	assert_equal "$(grep -c '  not checked yet  ' "$MNT/.fsd/security")" 9
	grep -q '^guest-seccomp  not checked yet  .*: the first machine tells$' "$MNT/.fsd/security"
}

@test "KVM is tried in the jail where the host has it, and a verdict is kept" {
	[ -w /dev/kvm ] || skip 'there is no /dev/kvm'
	own_mount
	rm -f "$STATE"/templates/accel-*
	mount_start
	prog code.py <<<'print(1)'
	ok 1
	run cat "$LOG"
	assert_output --partial 'booting the guest with kvm'
	refute_output --partial 'Permission denied'
	[ -n "$(ls -d "$STATE"/templates/accel-*)" ]
}
