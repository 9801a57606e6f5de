#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# fsd below Slurm: in a mount of a step's own, in the mount of a node, as an array.

load cluster

setup_file() {
	cluster_start 6817 ProctrackType=proctrack/linuxproc TaskPlugin=task/none
}

teardown_file() {
	cluster_end
}

# inputs N — files of that many lines' numbers, and a list of them.
inputs() {
	user sh -c 'mkdir in; for n in $(seq "$1"); do echo "$n" >"in/$n"; echo "in/$n"; done >list
		echo cat >program.sh' x "$1"
}

@test "a step's exit code is that of the program" {
	run -3 user srun -Q fsd run --private -c 'exit 3'
	run -139 user srun -Q fsd run --private -c 'signal 11'
	run -124 user srun -Q fsd run --private -t "$(patient 300)" -c 'sleep 60000'
	run -0 user srun -Q fsd run --private -c 'out printed'
	assert_output printed
}

@test "a step finds the mount of its node, and --gres bounds how many are there" {
	mount_public
	run -0 user env FSD_MOUNT="$MNT" srun -Q --gres=fsd:1 fsd run -c 'out by the node'
	assert_output 'by the node'
	run user srun -Q --gres=fsd:3 true
	assert_failure
	assert_output --partial 'Requested node configuration is not available'
}

@test "an array shares a list: each input is done once, and all results are in one place" {
	inputs 40
	run -0 user sbatch --parsable --array=1-3 "$BATCH" -o out --stdin program.sh --from list
	ends "$output"
	whole 40
	assert_equal "$(user fsd batch --cat out | sort -n)" "$(seq 40)"
}

@test "an element that is told of its time limit begins anew and goes on" {
	user sh -c 'seq 30 >list; printf "sleep 400\nout done\n" >program.sh'
	run -0 user sbatch --parsable --array=1 "$BATCH" -o out -j 1 --args list program.sh
	local job=$output
	results 2
	scancel --signal=TERM --batch "${job}_1"
	bounded 60 sh -c 'until squeue -h -o "%T %r" -j "$1" | grep -q "PENDING"; do sleep 0.1; done' x "$job"
	[ "$(find out/r -mindepth 1 -maxdepth 1 | wc -l)" -lt 30 ]
	# Slurm would wait two minutes. A node starts no job whose credential was made in the
	# second in which the one before was revoked.
	scontrol update JobId="${job}_1" StartTime=now+3
	ends "$job"
	whole 30
}

@test "a job that is cancelled is not begun anew, and leaves no process and no mount" {
	user sh -c 'seq 30 >list; printf "sleep 60000\n" >program.sh'
	run -0 user sbatch --parsable --array=1-2 "$BATCH" -o out --args list program.sh
	local job=$output
	bounded 60 sh -c 'until [ "$(pgrep -u nobody -f "fsd serve" | wc -l)" -ge 2 ]; do sleep 0.1; done'
	scancel "$job"
	ends "$job"
	nothing_of nobody
}
