#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A mount of the step's own, where Slurm bounds memory, processors and devices by control
# groups (version 1).

load cluster

setup_file() {
	grep -q ' cgroup .*\bmemory\b' /proc/self/mounts || need 'control groups of version 1'
	cluster_start 6837 ProctrackType=proctrack/cgroup TaskPlugin=task/cgroup \
		JobAcctGatherType=jobacct_gather/cgroup
}

# cluster_files — Slurm reads it when its first process starts.
cluster_files() {
	printf '%s\n' CgroupPlugin=cgroup/v1 ConstrainRAMSpace=yes ConstrainCores=yes \
		ConstrainDevices=yes >"$CLUSTER/cgroup.conf"
}

teardown_file() {
	cluster_end
	# Slurm leaves the groups of its nodes.
	find /sys/fs/cgroup/*/slurm_n[123] -depth -type d -exec rmdir {} + 2>/dev/null || true
}

@test "a step has what Slurm gives it: its machines are in its groups" {
	run -0 user srun -Q --mem=900 fsd run --private -c 'out printed'
	assert_output printed
	user srun -Q --mem=900 sh -c 'fsd run --private -c "out begun
sleep 60000"' >begun &
	bounded 60 sh -c 'until grep -q begun begun; do sleep 0.1; done'
	local pid
	for pid in $(pgrep -u nobody -f 'fsd serve'); do
		grep -q ':memory:.*/slurm.*/job_.*/step_0' "/proc/$pid/cgroup"
	done
	scancel --user nobody
	wait $! || true
	nothing_of nobody
}

@test "a batch that has too little memory says the sum before anything runs" {
	user sh -c 'seq 20 >list; echo "out done" >program.sh'
	run -2 user srun -Q --mem=300 fsd batch --private -o out --args list program.sh
	assert_line --partial 'may come to 384 MiB, and this host never has more than 172 MiB'
	assert_line --partial '0 of 20 done'
}

@test "an element that is cancelled leaves no process, no mount and no group" {
	user sh -c 'seq 30 >list; printf "sleep 60000\n" >program.sh'
	run -0 user sbatch --parsable --array=1-2 "$BATCH" -o out --args list program.sh
	local job=$output
	bounded 60 sh -c 'until [ "$(pgrep -u nobody -f "fsd serve" | wc -l)" -ge 2 ]; do sleep 0.1; done'
	scancel "$job"
	ends "$job"
	nothing_of nobody
	# shellcheck disable=SC2016 # for the other shell
	bounded 60 sh -c 'while ls -d /sys/fs/cgroup/memory/slurm_n*/uid_65534/job_* 2>/dev/null; do
		sleep 0.1; done'
}

@test "a job that is suspended stands still in its groups, and goes on" {
	user sh -c 'seq 20 >list; printf "sleep 200\nout done\n" >program.sh'
	run -0 user sbatch --parsable --array=1 "$BATCH" -o out -j 1 --args list program.sh
	local job=$output
	results 2
	scontrol suspend "${job}_1"
	bounded 60 sh -c 'while ps -o stat= -u nobody | grep -v "^[TD]"; do sleep 0.1; done'
	scontrol resume "${job}_1"
	ends "$job"
	whole 20
}
