#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Limits of fsd.service by control groups, of version 1: the kernel of the tests may have no
# controllers of version 2.

load ../lib/common
load ../lib/systemd

setup_file() {
	grep -q ' cgroup .*\bmemory\b' /proc/self/mounts || need 'control groups of version 1'
	export SYSTEM_OPTIONS=--controllers
	system_start
}

setup() {
	system_start
	options ''
}

teardown() {
	there sh -c 'rm -rf /run/systemd/system/fsd.service.d && systemctl daemon-reload' || true
	system_left
}

teardown_file() {
	system_end
}

# limited LINE... — the service has these, too, and runs.
limited() {
	# shellcheck disable=SC2016 # for the other shell
	there sh -ec 'dir=/run/systemd/system/fsd.service.d
		mkdir "$dir" && printf "%s\n" "[Service]" "$@" >"$dir/limits.conf"
		systemctl daemon-reload
		systemctl start fsd' x "$@"
}

# of_service CONTROLLER FILE
of_service() {
	there cat "/sys/fs/cgroup/$1/system.slice/fsd.service/$2"
}

@test "MemoryMax bounds what a machine of the service may have" {
	limited MemoryMax=900M
	assert_equal "$(of_service memory memory.limit_in_bytes)" $((900 << 20))
	assert_equal "$(there fsd run -c 'out small')" small
	run -2 there fsd run -m 2000 -c 'out large'
	assert_output --partial 'it must be an integer of MiB from 32 to 450'
}

@test "CPUQuota is a limit of the service's group" {
	limited CPUQuota=50%
	assert_equal "$(of_service cpu cpu.cfs_quota_us) $(of_service cpu cpu.cfs_period_us)" \
		'50000 100000'
	assert_equal "$(there fsd run -c 'out slow')" slow
}

@test "the service goes on when the kernel kills a process of it for its memory" {
	limited MemoryMax=400M
	local main
	main=$(property fsd MainPID)
	# shellcheck disable=SC2016 # for the other shell
	run -137 there sh -c 'echo $$ >/sys/fs/cgroup/memory/system.slice/fsd.service/cgroup.procs
		exec python3 -c "bytearray(1 << 30)"'
	assert_equal "$(property fsd MainPID) $(property fsd ActiveState)" "$main active"
	assert_equal "$(there cat /run/fsd/jobs/.fsd/health | cut -c1-2)" ok
}
