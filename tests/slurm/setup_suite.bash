# SPDX-License-Identifier: Apache-2.0

# cluster_start — three nodes; their configuration and their words are in $CLUSTER.
cluster_start() {
	local node host
	host=$(hostname -s)
	dd if=/dev/urandom of="$CLUSTER/key" bs=1024 count=1 status=none
	chmod 400 "$CLUSTER/key"
	munged --force --socket="$CLUSTER/munge.socket" --key-file="$CLUSTER/key" \
		--pid-file="$CLUSTER/munged.pid" --log-file="$CLUSTER/munged.log" \
		--seed-file="$CLUSTER/seed" 2>>"$CLUSTER/munged.err"
	cat >"$CLUSTER/slurm.conf" <<EOF
ClusterName=fsd
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=6817
SlurmUser=root
AuthInfo=socket=$CLUSTER/munge.socket
StateSaveLocation=$CLUSTER/state
SlurmctldPidFile=$CLUSTER/slurmctld.pid
SlurmctldLogFile=$CLUSTER/slurmctld.log
SlurmdSpoolDir=$CLUSTER/spool.%n
SlurmdPidFile=$CLUSTER/slurmd.%n.pid
SlurmdLogFile=$CLUSTER/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=600
ReturnToService=2
SlurmdTimeout=10
KillWait=3
SchedulerParameters=batch_sched_delay=0
GresTypes=fsd
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=6821 CPUs=4 RealMemory=2400 Gres=fsd:2
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=6822 CPUs=4 RealMemory=2400 Gres=fsd:2
NodeName=n3 NodeHostname=$host NodeAddr=127.0.0.1 Port=6823 CPUs=4 RealMemory=2400 Gres=fsd:2
PartitionName=main Nodes=n1,n2,n3 Default=YES MaxTime=UNLIMITED State=UP
EOF
	echo 'NodeName=n[1-3] Name=fsd Count=2' >"$CLUSTER/gres.conf"
	mkdir "$CLUSTER/state"
	slurmctld -f "$CLUSTER/slurm.conf" 2>>"$CLUSTER/slurmctld.err"
	for node in n1 n2 n3; do
		mkdir "$CLUSTER/spool.$node"
		slurmd -f "$CLUSTER/slurm.conf" -N $node 2>>"$CLUSTER/slurmd.err"
	done
	timeout 60 sh -c 'until [ "$(sinfo -h -o %T)" = idle ] && [ "$(sinfo -h -o %D)" = 3 ]
		do sleep 0.1; done' || {
		tail "$CLUSTER"/*.log "$CLUSTER"/*.err >&2
		return 1
	}
}

setup_suite() {
	[ "$(id -u)" = 0 ] || {
		echo 'only root can start a Slurm' >&2
		return 1
	}
	CLUSTER=$BATS_SUITE_TMPDIR/cluster
	SLURM_CONF=$CLUSTER/slurm.conf
	export CLUSTER SLURM_CONF
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_SUITE_TMPDIR"
	mkdir "$CLUSTER" "$CLUSTER/bin"
	cp "$FSD" "$CLUSTER/bin/fsd"
	export PATH=$CLUSTER/bin:$PATH
	umask 022
	cluster_start 3>&- 4>&-
}
