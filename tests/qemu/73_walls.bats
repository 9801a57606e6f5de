#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The walls around each machine, seen from the host on living ones. What is
# tagged runs in tests/box as well. The file has two names: see forked().

load ../lib/qemu

export LOG_EXPECTED='machines do not start|the jailer|wall|boot|zygote'

# Without machines in advance: those that run the pair's jobs are looked at.
setup_file() { file_setup --fork no --pool 0; }
teardown_file() {
	rm -rf "$MNT"/pair.*
	file_teardown
}
setup() {
	[ "$(id -u)" = 0 ] || need 'root'
}
teardown() {
	jobs_done
	[ -z "${OWN:-}" ] || mount_done
	case $STATE in /dev/shm/fsd-walls.*) rm -rf "$STATE" ;; esac
}

# two_machines — two that run a job each: $M and $M2. Those of the tests before, if
# they still do.
two_machines() {
	local both job
	! forked || forking
	for job in pair.1 pair.2; do
		[ "$(job_state $job 2>/dev/null)" != running ] || continue
		rm -rf "${MNT:?}/$job"
		job_start $job $'print("up", flush=True)\nimport signal\nsignal.pause()' \
			'{"timeout": 3000}' code.py
		job_follow $job up
	done
	both=$(machines) # once: a new one may have a lower number
	M=$(sed -n 1p <<<"$both")
	M2=$(sed -n 2p <<<"$both")
	[ -n "$M" ] || fail 'there is no machine'
	[ -n "$M2" ] || fail 'there is no second machine'
	run grep -lc fsd-zygote "/proc/$M/maps" "/proc/$M2/maps"
	assert_equal "${#lines[@]}" "$(forked && echo 2 || echo 0)"
}

status_of() {
	sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"
}

@test "the report names every wall, and each one that is required stands" {
	run cat "$MNT/.fsd/security"
	assert_line --regexp '^qemu-user  active  '
	for wall in root pid-namespace network-namespace ipc-namespace \
		uts-namespace cgroup-namespace capabilities seccomp sandbox \
		rlimits; do
		assert_line --regexp "^qemu-$wall  active  "
	done
	for wall in user capabilities seccomp root devices modules; do
		assert_line --regexp "^guest-$wall  active  "
	done
	assert_line --regexp '^network  active  '
	assert_line --regexp '^qemu-cgroup  (active|degraded)  '
	assert_line --regexp '^qemu-landlock  (active|absent)  '
	assert_line --regexp '^hardware-virtualization  (active|absent)  '
}

# bats test_tags=kvm
@test "two machines never have the same user, and neither is anybody's" {
	two_machines
	local a b
	read -r a _ <<<"$(status_of "$M" Uid)"
	read -r b _ <<<"$(status_of "$M2" Uid)"
	[ "$a" != "$b" ] || fail "both are user $a"
	for pid in "$M" "$M2"; do
		[ "$(status_of "$pid" Uid | tr -s '\t' '\n' | sort -u | wc -l)" = 1 ]
		[ "$(status_of "$pid" Gid)" = "$(status_of "$pid" Uid)" ]
		[ -z "$(status_of "$pid" Groups | tr -d ' ')" ]
		! getent passwd "$(status_of "$pid" Uid | cut -f1)"
	done
}

# bats test_tags=kvm
@test "a machine has no capability in any set and can get none" {
	two_machines
	for set in CapInh CapPrm CapEff CapBnd CapAmb; do
		assert_equal "$(status_of "$M" "$set")" 0000000000000000
	done
	assert_equal "$(status_of "$M" NoNewPrivs)" 1
	assert_equal "$(status_of "$M" Seccomp)" 2
	# a forked one's stands on its zygote's
	assert_equal "$(status_of "$M" Seccomp_filters)" "$(forked && echo 3 || echo 2)"
}

@test "every namespace of a machine is its own, but for the root they share" {
	two_machines
	local ns
	for ns in pid net ipc uts cgroup; do
		[ "$(readlink "/proc/$M/ns/$ns")" != "$(readlink "/proc/self/ns/$ns")" ] ||
			fail "$ns is the host's"
		[ "$(readlink "/proc/$M/ns/$ns")" != "$(readlink "/proc/$M2/ns/$ns")" ] ||
			fail "two machines share $ns"
	done
	[ "$(readlink "/proc/$M/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ]
}

@test "no file of the host can be read from a machine's root" {
	two_machines
	local path
	for path in etc/passwd etc/shadow root tmp home var "${MNT#/}" "${STATE#/}" \
		proc/self proc/version proc/cpuinfo sys/kernel dev/null dev/fuse \
		bin/sh usr/bin/env usr/bin/python3; do
		[ ! -e "/proc/$M/root/$path" ] || fail "/$path is there"
	done
	# what is there is QEMU's and the guest's kernel
	run bash -c "find /proc/$M/root/ -type f ! -name 'lib*.so*' \
		! -name 'ld-linux*' ! -name 'accel-tcg-*.so' -printf '%P\n' | sort"
	assert_output "fsd-zygote.so
initrd
kernel
proc/sys/vm/overcommit_memory
usr/bin/qemu-system-x86_64
usr/share/qemu/bios-microvm.bin"
	# a QEMU that was brought uses nothing of the host's
	local tree=$TESTS/../build/qemu file own=
	if [ -e "$tree/origin" ] && [ -z "${FSD_QEMU:-}" ]; then
		for file in lib64/ld-linux-x86-64.so.2 usr/lib/x86_64-linux-gnu/libc.so.6 \
			usr/bin/qemu-system-x86_64 usr/share/qemu/bios-microvm.bin; do
			[ "/proc/$M/root/$file" -ef "$tree/$file" ] || fail "/$file is not its own"
		done
		run bash -c 'find "/proc/$1/root/" -type f -name "lib*.so*" -printf "%P\n" |
			grep -v "^usr/lib/x86_64-linux-gnu/lib[^/]*$"' - "$M"
		refute_output
		own=$(awk '$5 == "/usr/bin/qemu-system-x86_64" {
			print substr($4, 1, length($4) - length($5)) }' \
			"/proc/$M/mountinfo")
	fi
	# the kernel and QEMU lie where they were built, wherever that is
	run awk -v own="$own" '$5 !~ "^/(kernel|initrd|usr/bin/qemu.*)?$" &&
		!(own && $4 == own $5) { print $4, $6 }' "/proc/$M/mountinfo"
	refute_output --regexp $'(^|\n)/(etc|root|home|var|tmp)/'
	run awk '{ print $6 }' "/proc/$M/mountinfo"
	refute_output --partial rw
}

@test "nothing can be written in a machine's root, by root neither" {
	two_machines
	run touch "/proc/$M/root/x"
	assert_failure
	assert_output --partial 'Read-only'
	run mkdir "/proc/$M/root/usr/x"
	assert_failure
}

@test "a machine's network is a loopback that is down" {
	two_machines
	assert_equal "$(awk 'NR > 2 { print $1 }' "/proc/$M/net/dev")" lo:
	assert_equal "$(tail -n +2 "/proc/$M/net/route")" ''
	assert_equal "$(cat "/proc/$M/net/if_inet6")" ''
}

# bats test_tags=kvm
@test "a machine holds sockets, events and what it may read, nothing to write" {
	two_machines
	local fd target flags
	for fd in "/proc/$M/fd/"*; do
		target=$(readlink "$fd")
		flags=$(sed -n 's/^flags:[[:space:]]*//p' "/proc/$M/fdinfo/${fd##*/}")
		case $target in
		socket:* | pipe:* | anon_inode:* | /dev/null | /dev/kvm) ;;
		*/ram | */rootfs.erofs | */state)
			[ $((flags & 3)) = 0 ] || fail "$target may be written" ;;
		*) fail "it holds $target" ;;
		esac
	done
}

@test "a machine has its limits: no core, no file to write, few descriptors" {
	two_machines
	run cat "/proc/$M/limits"
	assert_line --regexp '^Max core file size +1 +1 '
	assert_line --regexp '^Max file size +0 +0 '
	assert_line --regexp '^Max open files +256 +256 '
	assert_line --regexp '^Max processes +[0-9]{1,3} +[0-9]{1,3} '
}

# bats test_tags=kvm
@test "a machine's memory and processes are bounded by its control group" {
	grep -q '^qemu-cgroup  active' "$MNT/.fsd/security" ||
		need 'a writable cgroup tree'
	two_machines
	run cat "/proc/$M/cgroup"
	assert_output --regexp "fsd-[0-9]+/m[0-9]+"
	[ "$(cat "/proc/$M/cgroup")" != "$(cat "/proc/$M2/cgroup")" ]
	local tree file limit
	for tree in /sys/fs/cgroup/memory /sys/fs/cgroup; do
		limit=$tree$(sed -n 's/^[0-9]*:\(memory\)\{0,1\}:\(.*fsd-.*\)/\2/p' \
			"/proc/$M/cgroup" | head -n 1)
		for file in "$limit/memory.limit_in_bytes" "$limit/memory.max"; do
			[ ! -e "$file" ] || {
				[ "$(cat "$file")" -le $((1280 << 20)) ]
				file=$limit/memory.memsw.limit_in_bytes
				[ ! -e "$file" ] ||
					[ "$(cat "$file")" -le $((1280 << 20)) ]
				return
			}
		done
	done
	fail 'no limit was found'
}

@test "a template that lies in memory is not the next machine's to bear" {
	grep -q '^qemu-cgroup  active  .* version 1$' "$MNT/.fsd/security" ||
		need 'control groups of version 1'
	[ "$(stat -f -c %T /dev/shm)" = tmpfs ] || need '/dev/shm in memory'
	own_mount
	local template=$STATE/templates
	STATE=$(mktemp -d /dev/shm/fsd-walls.XXXXXX)
	# 90_machines tries it with one that was booted there.
	cp -a --sparse=always "$template" "$STATE/"
	mount_start --pool 0 --max-machines 1
	job_made code.py <<<$'print("up", flush=True)\nimport time\ntime.sleep(600)'
	job_put "$J" config.json '{}'
	bounded 300 bash -c 'until grep -q up "$1"; do sleep 0.2; done' _ "$MNT/$J/stdout"
	local group
	group=$(sed -n 's/^[0-9]*:memory://p' "/proc/$(machines)/cgroup")
	run awk '$1 == "shmem" { print $2 }' "/sys/fs/cgroup/memory$group/memory.stat"
	rm -r "${STATE:?}"/templates
	[ "$output" -lt $((64 << 20)) ] || fail "$output bytes are charged to it"
}

# injected PID CALL ARGS... — what comes of the call, made by the machine.
injected() {
	bounded 30 "$TESTS/hostile/inject.py" "$@"
}

@test "a machine that makes a system call it does not need is killed by it" {
	# socket, connect, ptrace, kill, mount, unlink, fork, setuid, bpf, execveat
	local call
	for call in '41 1 1 0' '42 0 0 0' '101 0 0 0' '62 1 9' '165 0 0 0 0' \
		'87 0' '57' '105 0' '321 0 0 0' '322 0 0 0 0 0'; do
		two_machines
		# shellcheck disable=SC2086 # number and arguments
		run injected "$M" $call
		assert_output 'killed SIGSYS'
		pair_broken
	done
	prog code.py <<<'print("others run on")'
	ok 'others run on'
}

@test "QEMU's own filter is there as well: it cannot execute" {
	two_machines
	run injected "$M" 59 0 0 0
	# 7.2 kills, later ones refuse with EPERM.
	assert_output --regexp '^(killed SIGSYS|-1)$'
	rm -r "$MNT"/pair.*
}

# pair_broken — one of its jobs has ended with its machine.
pair_broken() {
	await becomes 20 sh -c '[ "$(cat "$1"/pair.?/state | grep -cx running)" = 1 ]' - "$MNT"
}

# calls_made JAILER OTHERS — of a trace: those of machines that were executed, since
# then, or of those that were forked, since their filter; a machine's first
# thread is the jailer's, or the zygote's, until then.
calls_made() {
	awk -v skip="$*" -v begin="$(forked && echo 'SECCOMP_SET_MODE' || echo ' execve\\(')" '
		BEGIN { n = split(skip, pids, " "); for (i = 1; i <= n; i++) ours[pids[i]] = 1 }
		NR == FNR { if ($0 ~ begin) main[$1] = 1; next }
		ours[$1] { next }
		$0 ~ begin { qemu[$1] = 1; if (begin !~ /execve/) next }
		(!main[$1] || qemu[$1]) && match($2, /^[a-z0-9_]+\(/) {
			print substr($2, 1, RLENGTH - 1) }' \
		"$BATS_TEST_TMPDIR/calls" "$BATS_TEST_TMPDIR/calls" | sort -u
}

@test "the list of permitted calls names none that machines do not make" {
	local rows=$TESTS/../build/release/tests/unit/vm/jail_test zygote=() pids pid
	[ -x "$rows" ] || make -s -C "$TESTS/.." build/release/tests/unit/vm/jail_test
	own_mount
	if forked; then
		mount_start
		forking
		zygote=(-p "$(zygote)")
		pids=$(ls "/proc/$(zygote)/task")
	else
		mount_start --pool 1
	fi
	pid=$(jailer)
	strace -f -qq -o "$BATS_TEST_TMPDIR/calls" -p "$pid" "${zygote[@]}" &
	local tracer=$! source
	for source in code.py:'print(1)' code.js:'console.log(1)' code.sh:'echo 1'; do
		prog "${source%%:*}" <<<"${source#*:}"
		ok 1
	done
	mount_stop
	wait "$tracer"
	"$rows" "$(forked && echo forked-rows || echo rows)" | sort -u >"$BATS_TEST_TMPDIR/listed"
	# shellcheck disable=SC2086 # a list
	calls_made "$pid" $pids >"$BATS_TEST_TMPDIR/made"
	run comm -23 "$BATS_TEST_TMPDIR/listed" "$BATS_TEST_TMPDIR/made"
	assert_output ''
}

@test "a machine that is killed by its filter fails its job by name" {
	job_made code.py <<<$'print("up", flush=True)\nwhile True: pass'
	job_put "$J" config.json '{"timeout": 100}'
	job_follow "$J" up
	local pid
	for pid in $(machines); do
		injected "$pid" 41 1 1 0 || true
	done
	job_wait "$J" 20
	ended "$J" 125 failed
	run result "$J" .message
	assert_output --partial 'Bad system call'
}

@test "when the jailer is killed its machines die with it and a job is told" {
	own_mount
	mount_start
	job_made code.py <<<$'import signal\nprint("up", flush=True)\nsignal.pause()'
	job_put "$J" config.json '{"timeout": 100}'
	job_follow "$J" up
	local pids pid
	pids=$(machines)
	kill -KILL "$(jailer)"
	job_wait "$J" 20
	ended "$J" 125 failed
	run result "$J" .message
	assert_output --partial 'jailer'
	for pid in $pids; do
		await exit "$pid" 1
	done
}

# bats test_tags=kvm
@test "a killed daemon leaves no machine and no jailer, and its groups go" {
	own_mount
	mount_start
	two_machines
	local pids pid group
	pids="$(machines) $(jailer)"
	group=$(sed -n 's/.*\/\(fsd-[0-9]*\)\/m.*/\1/p' "/proc/$M/cgroup" | head -n 1)
	mount_crash
	for pid in $pids; do
		await exit "$pid" 1
	done
	umount "$MNT"
	mount_start
	[ -z "$group" ] ||
		[ -z "$(find /sys/fs/cgroup -type d -name "$group" 2>/dev/null)" ]
}
