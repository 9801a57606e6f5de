#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Which mount `fsd run` takes, and what is left of a private one: nothing.

load ../lib/common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	mkdir tmp
	export TMPDIR=$PWD/tmp
}
teardown() { mount_done; }

# private WAY [ARGUMENT...] — as lib/private.py says.
private() {
	bounded 120 /usr/bin/python3 "$TESTS/lib/private.py" "$1" "$FSD" "${@:2}"
}

# as_other COMMAND... — as a user that is not root, who may open /dev/fuse and has
# no fusermount3.
as_other() {
	[ "$(id -u)" = 0 ] || need root
	local status=0 # most callers are subshells, whose variables nobody sees
	PUBLIC=$(mktemp -d /tmp/fsd-test.XXXXXX)
	chmod 755 "$PUBLIC"
	mknod -m 666 "$PUBLIC/fuse" c 10 229 || need 'devices can be made'
	mkdir -m 777 "$PUBLIC/home"
	cp "$FSD" "$PUBLIC/fsd"
	# shellcheck disable=SC2016 # for the other shell
	unshare --mount bash -c 'mount --bind "$1/fuse" /dev/fuse &&
		exec setpriv --reuid 12345 --regid 12345 --clear-groups \
			--no-new-privs "${@:2}"' _ "$PUBLIC" \
		env HOME="$PUBLIC/home" TMPDIR="$PUBLIC/home" "$@" || status=$?
	rm -r "$PUBLIC"
	PUBLIC=
	return $status
}

# without_namespaces COMMAND... — where no mount namespace can be made any more.
without_namespaces() {
	# shellcheck disable=SC2016 # for the other shell
	unshare --map-root-user --mount bash -c '
		echo 0 >/proc/sys/user/max_mnt_namespaces && exec "$@"' _ "$@"
}

# bats test_tags=smoke
@test "a private mount is in a namespace of its own, and leaves nothing" {
	printf 'out up\nsleep 300\nexit 4\n' >code.sh
	"$FSD" run --private code.sh </dev/null >out 3>&- &
	bounded 20 tail -F --pid=$! out 2>/dev/null 3>&- | grep -q -m1 up
	run grep -F "$TMPDIR" /proc/self/mounts
	assert_failure
	local status=0
	wait $! || status=$?
	assert_equal "$status $(names tmp)" '4 '
}

@test "a client that is killed leaves no process, mount or directory within 2 s" {
	run private client 20
	assert_output $'next\nleft:'
}

@test "a client of another user that is killed leaves nothing, without fusermount3" {
	run --separate-stderr as_other bash -c 'cd "$HOME/.." && exec "$@"' _ \
		timeout $((120 * SLOW)) /usr/bin/python3 - client ./fsd 6 \
		<"$TESTS/lib/private.py"
	assert_output $'next\nleft:'
}

@test "when all processes of a private mount are killed at once, the next run removes the directory" {
	run private all 3
	assert_output $'next\nleft:'
}

@test "a batch in a private mount that is killed leaves no process, mount or directory within 2 s" {
	run private batch 20
	assert_output $'next\nleft:'
}

@test "a part of a batch that is killed leaves no job and no busy machine in the mount within 2 s" {
	mount_start
	FSD_MOUNT=$MNT run private part 20
	assert_output $'next\nleft:'
}

@test "where no namespace can be made, a private mount works, and the next run unmounts a dead one" {
	unshare --map-root-user --mount true || need 'user namespaces'
	run without_namespaces timeout $((60 * SLOW)) \
		/usr/bin/python3 "$TESTS/lib/private.py" mounted "$FSD" 2
	assert_output $'next\nleft:'
}

@test "SIGTERM to every process of a private mount reaches the program, which may save" {
	run private term
	assert_output $'next\nleft:'
}

# left_by_dead NAME — a directory as a killed `fsd run` leaves one.
left_by_dead() {
	mkdir -p "$1/mnt" "$1/state/jobs"
	echo "fsd made ${1##*/} and removes it when the process that made it has ended." \
		>"$1/.made-by-fsd"
}

@test "a directory of a private mount whose holder lives, or that is another user's, stays" {
	left_by_dead tmp/fsd-run-foreig
	left_by_dead tmp/fsd-run-held00
	left_by_dead tmp/fsd-run-dead00
	chown 12345 tmp/fsd-run-foreig || need 'root may give a directory away'
	exec 9<tmp/fsd-run-held00
	flock --nonblock 9
	printf 'out x\n' >code.sh
	run "$FSD" run --private code.sh </dev/null
	assert_output x
	assert_equal "$(names tmp)" 'fsd-run-foreig fsd-run-held00'
	exec 9<&-
	run "$FSD" run --private code.sh </dev/null
	assert_equal "$(names tmp)" fsd-run-foreig
}

@test "a user's own directories beside those of private mounts stay, whatever their names" {
	left_by_dead tmp/fsd-run-aaaaaa
	cp -a tmp/fsd-run-aaaaaa tmp/fsd-run-backup
	cp -a tmp/fsd-run-aaaaaa tmp/fsd-run-aaaaaa.old
	mkdir -p tmp/fsd-run-out/output tmp/fsd-run-results-2026 tmp/fsd-run-empty0 \
		tmp/fsd-run-mounts/mnt tmp/fsd-run-mounts/state
	ln -s fsd-run-backup tmp/fsd-run-linked
	printf 'out x\n' >code.sh
	run "$FSD" run --private code.sh </dev/null
	assert_output x
	run "$FSD" run --private -o tmp/fsd-run-result code.sh </dev/null
	run "$FSD" run --private code.sh </dev/null
	assert_equal "$(names tmp)" "fsd-run-aaaaaa.old fsd-run-backup fsd-run-empty0 \
fsd-run-linked fsd-run-mounts fsd-run-out fsd-run-result fsd-run-results-2026"
	assert_equal "$(cat tmp/fsd-run-result/stdout)" x
}

# in_service COMMAND... — does this where SERVICE serves /run/fsd/jobs and another
# mount is m, and prints how many jobs each of the two has had.
in_service() {
	[ "$(id -u)" = 0 ] || need root
	# shellcheck disable=SC2016 # for the other shell
	bounded 60 unshare --mount bash -c '
		mount -t tmpfs tmpfs /run && mkdir -p /run/fsd/jobs m
		"$FSD" mount --daemon --state s1 /run/fsd/jobs 2>/dev/null
		"$FSD" mount --daemon --state s2 m 2>/dev/null
		"$@" </dev/null
		for mnt in /run/fsd/jobs m; do
			sed -n "s/^fsd_runs_accepted_total //p" "$mnt/.fsd/stats"
			"$FSD" umount "$mnt"
		done' _ "$@"
}

@test "a private mount that cannot be made is told by the command that asked for it" {
	local command
	printf 'out x\n' >code.sh
	TMPDIR=$PWD/$(printf '%0200d/' 1 2 3 4 5 6)
	for command in 'run --private code.sh' mcp; do
		# shellcheck disable=SC2086 # its words
		run env -u FSD_MOUNT timeout $((20 * SLOW)) "$FSD" $command </dev/null
		assert_failure 1
		assert_output --partial "fsd ${command%% *}: TMPDIR is $TMPDIR; it may have"
	done
}

# with_group CPU MEMORY COMMAND... — in a control group with these limits, as files say.
with_group() {
	# shellcheck disable=SC2016 # for the other shell
	unshare --mount bash -c 'mount -t tmpfs none /sys/fs/cgroup &&
		echo "$1" >/sys/fs/cgroup/cpu.max && echo "$2" >/sys/fs/cgroup/memory.max &&
		exec "${@:3}"' _ "$@"
}

@test "a private mount has the processors and the memory that its process may use" {
	[ "$(nproc)" -ge 2 ] || skip 'one processor'
	[ "$(id -u)" = 0 ] || need root
	local cpu
	cpu=$(taskset -cp $$ | grep -o '[0-9]*$')
	printf 'out x\n' >code.sh
	run "$FSD" run --private --cpus 2 code.sh </dev/null
	assert_output x
	run -2 taskset -c "$cpu" "$FSD" run --private --cpus 2 code.sh </dev/null
	assert_output 'fsd run: --cpus is 2; it must be an integer from 1 to 1'
	run -2 with_group '50000 100000' max "$FSD" run --private --cpus 2 code.sh </dev/null
	assert_output 'fsd run: --cpus is 2; it must be an integer from 1 to 1'
	run -2 with_group 'max 100000' $((700 << 20)) "$FSD" run --private -m 701 code.sh </dev/null
	assert_output --partial '-m is 701; it must be an integer of MiB from 32 to 700'
	run taskset -c "$cpu" "$FSD" doctor
	assert_line --regexp "^memory +ok .* 1 CPU$"
	run with_group max $((700 << 20)) "$FSD" doctor
	assert_output --partial '700 MiB of memory'
}

@test "a private mount for many jobs keeps machines ready, one for a few keeps none" {
	run bounded 120 /usr/bin/python3 "$TESTS/lib/private_pool.py" "$FSD" 50
	assert_output --partial idle
	run bounded 120 /usr/bin/python3 "$TESTS/lib/private_pool.py" "$FSD" 49
	assert_output 'none none'
	assert_equal "$(names tmp)" ''
}

@test "run takes --mount, FSD_MOUNT, the host's service, in this order, and --private none of them" {
	printf 'out x\n' >code.sh
	run in_service "$FSD" run code.sh
	assert_output $'x\n1\n0'
	run in_service env FSD_MOUNT=m "$FSD" run code.sh
	assert_output $'x\n0\n1'
	run in_service env FSD_MOUNT=m "$FSD" run --mount /run/fsd/jobs code.sh
	assert_output $'x\n1\n0'
	run in_service env FSD_MOUNT=m "$FSD" run --private code.sh
	assert_output $'x\n0\n0'
}

@test "run takes no mount that nobody has named, and no other user's at the service's place" {
	printf 'out x\n' >code.sh
	mount_start
	run bounded 60 "$FSD" run code.sh </dev/null
	assert_output x
	assert_equal "$(figure fsd_runs_accepted_total)" 0
	# Another user's: the mount table says so, whatever the mount says.
	cat >fuse.py <<-'END'
		import ctypes, os, sys
		fd = os.open("/dev/fuse", os.O_RDWR)
		libc = ctypes.CDLL(None, use_errno=True)
		data = b"fd=%d,rootmode=40000,user_id=12345,group_id=12345" % fd
		os.set_inheritable(fd, True)
		if libc.mount(b"fsd", b"/run/fsd/jobs", b"fuse.fsd", 6, data) < 0:
		    sys.exit(os.strerror(ctypes.get_errno()))
		os.execvp(sys.argv[1], sys.argv[1:])
	END
	# shellcheck disable=SC2016 # for the other shell
	run bounded 60 unshare --mount bash -c '
		mount -t tmpfs tmpfs /run && mkdir -p /run/fsd/jobs
		/usr/bin/python3 fuse.py "$1" run code.sh </dev/null' _ "$FSD"
	assert_output x
}
