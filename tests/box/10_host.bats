#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# bats file_tags=kvm
# What is different on a host with systemd, control groups of version 2 and a
# KVM that works. It is run in the box only (run.sh).

load ../lib/qemu
load ../lib/kept

# On a busy host an emulated KVM may be too slow for a machine; the next is not.
export LOG_EXPECTED='machines do not start|no template|did not boot'

setup_file() { file_setup --pool 1; }
setup() { server_now; }
teardown_file() { file_teardown; }
teardown() {
	[ -z "${UNIT:-}" ] || unit_done
	[ ! -e /dev/kvm.away ] || mv /dev/kvm.away /dev/kvm
	jobs_done
	[ -z "${OWN:-}" ] || mount_done || return
	[ -z "${OWN:-}" ] || rm -rf "$STATE" # it is in memory
}

# group PID — the directory of its control group.
group() {
	echo "/sys/fs/cgroup$(sed -n 's/^0:://p' "/proc/$1/cgroup")"
}

# under_kvm — $J's machine was KVM's, with all its walls.
under_kvm() {
	assert_equal "$(result "$J" .machine.accel)" kvm
	assert_equal "$(result "$J" '.machine.missing_walls | length')" 0
}

@test "doctor finds KVM, and that all walls stand" {
	run "$FSD" doctor
	assert_success
	assert_line --regexp '^accel +ok +/dev/kvm can be opened'
	assert_line --regexp '^walls +ok +each machine is in a jail of its own'
	assert_line 'jobs can run'
}

@test "the report says KVM, and control groups of version 2" {
	run cat "$MNT/.fsd/security"
	assert_line --regexp '^machine  active  .*, kvm$'
	assert_line --regexp '^qemu-cgroup  active .* version 2: memory, pids, cpu$'
	refute_line --regexp '^qemu-[a-z-]*  degraded'
	[ ! -e /mnt/build/qemu ] || assert_line --regexp \
		'^qemu  active  .* /mnt/build/qemu/usr/bin/.*: it came with fsd; package .* of Debian.s trixie'
}

@test "programs of each language run under KVM" {
	prog code.py <<<'print(6 * 7)'
	ok 42
	under_kvm
	prog code.js <<<'console.log(6 * 7)'
	ok 42
	under_kvm
	prog code.sh <<<'echo $((6 * 7))'
	ok 42
	under_kvm
}

@test "a program under KVM runs on when its server is killed, and its group goes with it" {
	local jailer groups
	server_now
	counts
	jailer=$(jailer)
	groups=$(group "$(machines | head -n 1)")
	[ -d "${groups%/*}" ]
	kill_server
	kill_server
	job_wait "$J" 300 >/dev/null
	counted
	under_kvm
	await exit "$jailer" 5
	[ ! -e "${groups%/*}" ] || fail "${groups%/*} is left"
}

@test "the clock of a restored machine is the host's" {
	local before
	before=$(date +%s)
	prog code.py <<<'import time; print(int(time.time()))'
	[ "$(out)" -ge $((before - 1)) ] && [ "$(out)" -le "$(date +%s)" ] ||
		fail "$(out), but it is $(date +%s)"
}

@test "a program that is over its memory ends as that" {
	prog code.py '{"memory_mb": 64}' <<<'x = bytearray(200 << 20)'
	ended "$J" 137 out_of_memory
	under_kvm
}

@test "the guest cannot make machines of its own, nor count events" {
	prog code.sh <<<'grep -cwE "svm|vmx" /proc/cpuinfo
		ls /sys/bus/event_source/devices/cpu /dev/kvm 2>/dev/null; true'
	ok 0
}

@test "each machine is in a group of its own at the top, bounded in all it may take" {
	job_made code.py <<<$'print("up", flush=True)\nimport time\ntime.sleep(6000)'
	job_put "$J" config.json '{"timeout": 3000}'
	job_follow "$J" up
	local pid dir seen=
	for pid in $(machines); do
		dir=$(group "$pid")
		[[ $dir =~ ^/sys/fs/cgroup/fsd-[0-9]+/m[0-9]+$ ]] || fail "$dir"
		[[ $seen != *" $dir "* ]] || fail "two are in $dir"
		seen+=" $dir "
		assert_equal "$(cat "$dir/memory.max")" $((1280 << 20))
		[ ! -e "$dir/memory.swap.max" ] ||
			assert_equal "$(cat "$dir/memory.swap.max")" 0
		[ "$(cat "$dir/pids.max")" -le 128 ]
		assert_equal "$(cat "$dir/cpu.max")" '200000 100000'
		[ "$(cat "$dir/memory.current")" -gt 1000000 ]
	done
	[ -n "$seen" ] || fail 'there is no machine'
}

@test "a machine holds the device of KVM, and no other" {
	# shellcheck disable=SC2016 # expanded inside
	run bash -c 'for p in $1; do readlink "/proc/$p/fd/"*; done |
		grep ^/dev/ | sort -u' _ "$(machines)"
	assert_output $'/dev/kvm\n/dev/null'
}

# unit_start PROPERTY... — a service that mounts $MNT, of the system's systemd or
# of the user's, $AS; until a machine of it is in its $GROUP.
unit_start() {
	UNIT=fsd-test
	# shellcheck disable=SC2034 # for the library
	OWN=1 DAEMON='' MNT=$BATS_TEST_TMPDIR/mnt STATE=$BATS_TEST_TMPDIR/state
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$BATS_TEST_TMPDIR"
	LOG=$BATS_TEST_TMPDIR/log
	mkdir "$MNT" "$STATE"
	touch "$LOG"
	chown "$(as id -u)" "$MNT" "$STATE" "$LOG"
	as systemd-run ${AS:+--user} --quiet --collect --unit=$UNIT \
		--setenv=FSD_IMAGE="$FSD_IMAGE" -p StandardError="append:$LOG" \
		"$@" "$FSD" mount --accel kvm --pool 1 --state "$STATE" "$MNT"
	unit_boots
}

# service_start LINE... — fsd.service as it is, with these lines too, until a machine of it
# is in its $GROUP. Its own group is $OF_UNIT.
service_start() {
	UNIT=fsd OF_UNIT=/sys/fs/cgroup/system.slice/fsd.service
	# shellcheck disable=SC2034 # for the library
	OWN=1 DAEMON='' MNT=/run/fsd/jobs STATE=$BATS_TEST_TMPDIR/state
	LOG=$BATS_TEST_TMPDIR/log
	mkdir -p /run/systemd/system/fsd.service.d "$STATE"
	sed "s|@BIN@|${FSD%/*}|" "$TESTS/../fsd/share/systemd/system/fsd.service" \
		>/run/systemd/system/fsd.service
	printf '%s\n' '[Service]' "Environment=FSD_IMAGE=$FSD_IMAGE" \
		"Environment='FSD_OPTIONS=--accel kvm --pool 1 --state $STATE'" \
		"StandardError=append:$LOG" "$@" \
		>/run/systemd/system/fsd.service.d/test.conf
	systemctl daemon-reload
	systemctl start fsd
	unit_boots
}

# unit_boots — a machine of the unit's is in its $GROUP.
unit_boots() {
	# shellcheck disable=SC2016 # expanded inside
	bounded 60 bash -c 'grep -qm1 "booting the guest" <(tail -fn +1 "$1")' \
		_ "$LOG"
	# shellcheck disable=SC2034 # for the library
	SERVER=$(as getfattr --absolute-names --only-values -n user.fsd.pid \
		"$MNT")
	# A slow boot is ended and begun again: look at both at once.
	# shellcheck disable=SC2016 # expanded inside
	GROUP=$(bounded 10 bash -c '
		until group=$(cat "/proc/$(pgrep -P "$1" qemu)/cgroup") &&
			[[ $group == */fsd-* ]]; do sleep 0.2; done 2>/dev/null
		echo "${group#0::}"' _ "$(jailer)")
}

# as COMMAND... — by the user $AS, if it is set.
as() {
	if [ -n "${AS:-}" ]; then
		setpriv --reuid "$AS" --regid "$AS" --init-groups \
			env XDG_RUNTIME_DIR="/run/user/$(id -u "$AS")" "$@"
	else
		"$@"
	fi
}

unit_done() {
	as systemctl ${AS:+--user} stop $UNIT
	[ $UNIT != fsd ] || rm -r /run/systemd/system/fsd.service{,.d}
	UNIT=
	mount_gone none
}

wall() {
	as grep "^qemu-$1 " "$MNT/.fsd/security"
}

@test "a service that may divide its group has its machines in it" {
	unit_start -p Delegate=yes -p MemoryMax=2G
	run wall cgroup
	assert_output --partial 'version 2: memory, pids, cpu'
	[[ $GROUP =~ ^/system.slice/fsd-test.service/fsd-[0-9]+/m[0-9]+$ ]] ||
		fail "$GROUP"
	unit_done
	[ ! -e /sys/fs/cgroup/system.slice/fsd-test.service ]
}

@test "a service that may not has them at the top, and leaves nothing there" {
	unit_start
	run wall cgroup
	assert_output --partial 'version 2: memory, pids, cpu'
	[[ $GROUP =~ ^/fsd-[0-9]+/m[0-9]+$ ]] || fail "$GROUP"
	unit_done
	[ ! -e "/sys/fs/cgroup${GROUP%/*}" ] || fail "$GROUP is left"
}

@test "a user without root has all this in a service of his own" {
	AS=user
	loginctl enable-linger user
	bounded 20 systemctl start "user@$(id -u user)"
	unit_start -p Delegate=yes
	run wall cgroup
	assert_output --partial 'version 2: memory, pids, cpu'
	[[ $GROUP =~ /user@[0-9]+.service/.*/fsd-[0-9]+/m[0-9]+$ ]] ||
		fail "$GROUP"
	run wall user
	assert_output --partial degraded
}

@test "the limits of fsd.service bound its machines" {
	service_start MemoryMax=1500M CPUQuota=50%
	[[ $GROUP =~ ^/system.slice/fsd.service/fsd-[0-9]+/m[0-9]+$ ]] || fail "$GROUP"
	assert_equal "$(cat "$OF_UNIT/memory.max")" $((1500 << 20))
	assert_equal "$(cat "$OF_UNIT/cpu.max")" '50000 100000'
	run -2 bounded 20 "$FSD" run -m 2000 -c 'print(1)'
	assert_output --partial 'it must be an integer of MiB from 32 to 750'
}

@test "fsd.service goes on when the kernel kills a process of its group for its memory" {
	service_start MemoryMax=1500M
	local main
	main=$(systemctl show -P MainPID fsd)
	mkdir "$OF_UNIT/greedy"
	# shellcheck disable=SC2016 # expanded inside
	run -137 bash -c 'echo $$ >"$1/cgroup.procs"
		exec python3 -c "bytearray(2 << 30)"' _ "$OF_UNIT/greedy"
	# systemd has heard of it.
	bounded 20 bash -c 'until journalctl -u fsd | grep -q "killed by the OOM killer"
		do sleep 0.2; done'
	assert_equal "$(systemctl show -P MainPID fsd) $(systemctl show -P ActiveState fsd)" \
		"$main active"
	grep -q fsd_build_info "$MNT/.fsd/stats"
	rmdir "$OF_UNIT/greedy"
}

@test "a KVM that is too slow is replaced where nobody insists on it" {
	own_mount
	rm -rf "$STATE/templates"
	MOUNT_OPTIONS="--image $IMAGE" mount_start
	# shellcheck disable=SC2016 # expanded inside
	bounded 10 bash -c 'grep -qm1 "booting the guest with tcg" <(tail -fn +1 "$1")' \
		_ "$LOG"
	run cat "$LOG"
	assert_output --partial 'booting the guest with kvm (1 of 5)'
	assert_output --partial 'KVM does not work here'
	grep -q tcg "$STATE"/templates/accel-*
}

@test "without the device doctor says how to have it, and who insists is refused" {
	mv /dev/kvm /dev/kvm.away
	run "$FSD" doctor
	assert_success
	assert_line --regexp '^accel +note +/dev/kvm: No such file'
	mkdir "$BATS_TEST_TMPDIR/m"
	run bounded 20 "$FSD" mount --accel kvm --image "$IMAGE" \
		--state "$BATS_TEST_TMPDIR/s" "$BATS_TEST_TMPDIR/m"
	assert_failure
	assert_output --partial '/dev/kvm'
	assert_output --partial '--accel auto'
}

@test "no filter has killed anything" {
	run dmesg
	refute_output --partial 'type=1326'
}
