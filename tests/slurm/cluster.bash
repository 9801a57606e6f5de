# SPDX-License-Identifier: Apache-2.0
#
# A Slurm of three nodes on this host, and two ordinary users of it.

load ../lib/common

BATCH=$TESTS/../fsd/share/slurm/batch

# cluster_start PORT [LINE...] — its configuration, with these lines too, and its words are
# in $CLUSTER. Each of a suite has a port of its own, and its nodes the three that follow.
cluster_start() {
	local port=$1 node host
	shift
	[ "$(id -u)" = 0 ] || {
		echo 'only root can start a Slurm' >&2
		return 1
	}
	host=$(hostname -s)
	export CLUSTER=$BATS_FILE_TMPDIR/cluster
	export SLURM_CONF=$CLUSTER/slurm.conf
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_SUITE_TMPDIR" "$BATS_FILE_TMPDIR"
	mkdir "$CLUSTER" "$CLUSTER/bin"
	cp "$FSD" "$CLUSTER/bin/fsd"
	export PATH=$CLUSTER/bin:$PATH
	umask 022
	dd if=/dev/urandom of="$CLUSTER/key" bs=1024 count=1 status=none
	chmod 400 "$CLUSTER/key"
	munged --force --socket="$CLUSTER/munge.socket" --key-file="$CLUSTER/key" \
		--pid-file="$CLUSTER/munged.pid" --log-file="$CLUSTER/munged.log" \
		--seed-file="$CLUSTER/seed" 2>>"$CLUSTER/munged.err" 3>&- 4>&-
	cat >"$SLURM_CONF" <<EOF
ClusterName=fsd
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
AuthInfo=socket=$CLUSTER/munge.socket
StateSaveLocation=$CLUSTER/state
SlurmctldPidFile=$CLUSTER/slurmctld.pid
SlurmctldLogFile=$CLUSTER/slurmctld.log
SlurmdSpoolDir=$CLUSTER/spool.%n
SlurmdPidFile=$CLUSTER/slurmd.%n.pid
SlurmdLogFile=$CLUSTER/slurmd.%n.log
SlurmdParameters=config_overrides
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=600
ReturnToService=2
SlurmdTimeout=10
KillWait=3
SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=1
GresTypes=fsd
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=4 RealMemory=2400 Gres=fsd:2
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=4 RealMemory=2400 Gres=fsd:2
NodeName=n3 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 3)) CPUs=4 RealMemory=2400 Gres=fsd:2
PartitionName=main Nodes=n1,n2,n3 Default=YES MaxTime=UNLIMITED State=UP
EOF
	printf '%s\n' "$@" >>"$SLURM_CONF"
	echo 'NodeName=n[1-3] Name=fsd Count=2' >"$CLUSTER/gres.conf"
	! declare -F cluster_files >/dev/null || cluster_files
	mkdir "$CLUSTER/state"
	slurmctld -f "$SLURM_CONF" 2>>"$CLUSTER/slurmctld.err" 3>&- 4>&-
	for node in n1 n2 n3; do
		mkdir "$CLUSTER/spool.$node"
		node_start $node
	done
	# shellcheck disable=SC2016 # for the other shell
	bounded 60 sh -c 'until [ "$(sinfo -h -o %T)" = idle ] && [ "$(sinfo -h -o %D)" = 3 ]
		do sleep 0.1; done' || {
		tail "$CLUSTER"/*.log "$CLUSTER"/*.err >&2
		return 1
	}
}

# node_start NODE — its slurmd, on a host of that name to what it starts.
node_start() {
	# shellcheck disable=SC2016 # for the other shell
	unshare --uts sh -c 'hostname "$0" && exec slurmd -f "$SLURM_CONF" -N "$0"' "$1" \
		2>>"$CLUSTER/slurmd.err" 3>&- 4>&-
}

# cluster_end — for teardown_file.
cluster_end() {
	local name pid
	for name in slurmd.n1 slurmd.n2 slurmd.n3 slurmctld munged; do
		pid=$(cat "$CLUSTER/$name.pid") || continue
		kill "$pid"
		bounded 30 tail --pid="$pid" -f /dev/null
	done
}

# user COMMAND... — an ordinary user's, in a directory of that user's.
user() {
	as nobody "$@"
}

# as NAME COMMAND... — another user's.
as() {
	local name=$1
	shift
	bounded 120 setpriv --reuid "$name" --regid nogroup --clear-groups env \
		HOME="$BATS_TEST_TMPDIR/$name" SLURM_CONF="$SLURM_CONF" PATH="$PATH" "$@"
}

setup() {
	local name
	chmod 755 "$BATS_TEST_TMPDIR" "${BATS_TEST_TMPDIR%/*}"
	for name in nobody games; do
		mkdir "$BATS_TEST_TMPDIR/$name"
		chown $name:nogroup "$BATS_TEST_TMPDIR/$name"
	done
	cd "$BATS_TEST_TMPDIR/nobody" || return
}

teardown() {
	scancel --user nobody
	scancel --user games
	if [ -z "${BATS_TEST_COMPLETED:-}" ]; then
		tail -n 20 "$CLUSTER"/*.log "$BATS_TEST_TMPDIR"/*/*.out >&2 || true
	fi
	# shellcheck disable=SC2016 # for the other shell
	bounded 60 sh -c 'while squeue -h | grep -q .; do sleep 0.1; done'
	[ -z "${DAEMON:-}" ] || mount_done
}

# ends JOB — it has left the queue.
ends() {
	# shellcheck disable=SC2016 # for the other shell
	bounded 120 sh -c 'while squeue -h -j "$1" 2>/dev/null | grep -q .; do sleep 0.2; done' x "$1"
}

# where JOB — the name of its node.
where() {
	squeue -h -o %N -j "$1"
}

# results N — so many are in out at least.
results() {
	# shellcheck disable=SC2016 # for the other shell
	bounded 60 sh -c 'until [ "$(find out/r -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)" -ge "$1" ]
		do sleep 0.1; done' x "$1"
}

# whole N — out has N results, each once.
whole() {
	run -0 user fsd batch --status out
	assert_output --partial "$1 of $1"
	assert_equal "$(user fsd batch --table out | tail -n +2 | cut -f1 | sort | uniq -d)" ''
}

# nothing_of USER — it has no process and no mount any more.
nothing_of() {
	# shellcheck disable=SC2016 # for the other shell
	bounded 60 sh -c 'while pgrep -u "$1" -f fsd; do sleep 0.1; done' x "$1"
	run grep "fuse.fsd.*user_id=$(id -u "$1")" /proc/self/mounts
	assert_output ''
}
