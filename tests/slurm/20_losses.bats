#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What Slurm does to jobs that use fsd: it kills steps, gives up nodes, suspends.

load cluster

setup_file() {
	cluster_start 6827 ProctrackType=proctrack/linuxproc TaskPlugin=task/none
}

teardown_file() {
	cluster_end
}

# goes_on JOB NODE — it was begun anew, elsewhere than on that node. Slurm would wait for two
# minutes before that.
goes_on() {
	# shellcheck disable=SC2016 # for the other shell
	bounded 60 sh -c 'until squeue -h -o %T -j "$1" | grep -q PENDING; do sleep 0.1; done' x "$1"
	scontrol update JobId="$1" StartTime=now+3
	# shellcheck disable=SC2016 # for the other shell
	bounded 60 sh -c 'until squeue -h -o "%T %N" -j "$1" | grep -q "RUNNING n[^$2]"
		do sleep 0.1; done' x "$1" "${2#n}"
}

# is_idle NODE
is_idle() {
	# shellcheck disable=SC2016 # for the other shell
	bounded 60 sh -c 'until [ "$(sinfo -h -o %T -n "$1")" = idle ]; do sleep 0.1; done' x "$1"
}

# of_node NODE — the processes of its jobs, the programs' ones and those of Slurm.
of_node() {
	local environment pid
	for environment in $(grep -lz "^SLURMD_NODENAME=$1\$" /proc/[0-9]*/environ 2>/dev/null); do
		pid=${environment#/proc/}
		pid=${pid%/environ}
		echo "$pid"
		pid=$(awk '$1 == "PPid:" { print $2 }' "/proc/$pid/status")
		! grep -q '^slurmstepd' "/proc/$pid/comm" || echo "$pid"
	done | sort -u
}

@test "a step that is killed leaves no job in the mount of its node" {
	mount_public
	user env FSD_MOUNT="$MNT" srun -Q fsd run -c $'out begun\nsleep 60000' >begun &
	bounded 60 sh -c 'until grep -q begun begun; do sleep 0.1; done'
	scancel --signal=KILL "$(squeue -s -h -o %i)"
	run wait $!
	assert_failure
	# shellcheck disable=SC2016 # for the other shell
	bounded 60 sh -c 'until [ -z "$(ls "$1")" ]; do sleep 0.1; done' x "$MNT"
	run cat "$MNT/.fsd/stats"
	assert_line 'fsd_runs_total{status="removed"} 1'
}

@test "a step that is killed leaves no process and no mount of its own" {
	user srun -Q fsd run --private -c $'out begun\nsleep 60000' >begun &
	bounded 60 sh -c 'until grep -q begun begun; do sleep 0.1; done'
	scancel --signal=KILL "$(squeue -s -h -o %i)"
	run wait $!
	assert_failure
	nothing_of nobody
}

@test "a program that ignores the end of its step leaves no process and no mount" {
	user sh -c 'cat >job.sh <<\EOF
#!/bin/sh
#SBATCH --signal=TERM@90
trap "" TERM
fsd run --private -c "out begun
sleep 60000" &
wait
wait
EOF'
	run -0 user sbatch --parsable -o begun job.sh
	bounded 60 sh -c 'until grep -q begun begun; do sleep 0.1; done'
	scancel "$output"
	ends "$output"
	nothing_of nobody
}

@test "an element whose node is given up goes on elsewhere, while the old one still runs" {
	user sh -c 'seq 150 >list; printf "sleep 400\nout done\n" >program.sh'
	run -0 user sbatch --parsable --array=1 "$BATCH" -o out -j 1 --args list program.sh
	local job=$output node
	results 2
	node=$(where "$job")
	kill -KILL "$(cat "$CLUSTER/slurmd.$node.pid")"
	goes_on "$job" "$node"
	# A node that is back ends the old one.
	# shellcheck disable=SC2016 # for the other shell
	bounded 60 sh -c 'until grep -q "out: process [0-9]* on $1 works on it, too" slurm-*.out
		do sleep 0.1; done' x "$node"
	node_start "$node"
	ends "$job"
	whole 150
	is_idle "$node"
	nothing_of nobody
}

@test "an element whose node has died goes on elsewhere" {
	user sh -c 'seq 40 >list; printf "sleep 300\nout done\n" >program.sh'
	run -0 user sbatch --parsable --array=1 "$BATCH" -o out -j 1 --args list program.sh
	local job=$output node
	results 2
	node=$(where "$job")
	kill -KILL "$(cat "$CLUSTER/slurmd.$node.pid")"
	# shellcheck disable=SC2046
	kill -KILL $(of_node "$node")
	nothing_of nobody
	goes_on "$job" "$node"
	ends "$job"
	whole 40
	node_start "$node"
	is_idle "$node"
}

@test "a job that is suspended stands still with its machines, and goes on" {
	user sh -c 'seq 20 >list; printf "sleep 200\nout done\n" >program.sh'
	run -0 user sbatch --parsable --array=1 "$BATCH" -o out -j 1 --args list program.sh
	local job=$output
	results 2
	scontrol suspend "${job}_1"
	bounded 60 sh -c 'while ps -o stat= -u nobody | grep -v "^T"; do sleep 0.1; done'
	scontrol resume "${job}_1"
	ends "$job"
	whole 20
}

@test "two users have elements at the same time, each in a mount of its own" {
	local name
	for name in nobody games; do
		# shellcheck disable=SC2016 # for the other shell
		as $name sh -ec 'cd; seq 20 >list; echo "out of $0" >program.sh
			sbatch --parsable --array=1-2 "$1" -o out --args list program.sh >job' \
			$name "$BATCH"
	done
	for name in nobody games; do
		cd "$BATS_TEST_TMPDIR/$name"
		ends "$(cat job)"
		assert_equal "$(as $name fsd batch --cat out | sort | uniq -c | tr -s ' ')" " 20 of $name"
	done
}
