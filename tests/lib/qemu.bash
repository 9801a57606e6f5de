# SPDX-License-Identifier: Apache-2.0
#
# For the tests on real machines: one mount a file, and one state directory
# for all files, so that the template is made once.
#
#   FSD_IMAGE       the guest image (default build/image)
#   FSD_ACCEL       auto, kvm or tcg (default auto)
#   FSD_TEST_STATE  the state directory (default build/test-state)

FSD=${FSD:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)/build/fsd}
load ../lib/common

IMAGE=${FSD_IMAGE:-$TESTS/../build/image}
JOB_SECONDS=120

# forked — are this file's machines forked off a zygote? By its name; some files
# have two, for what has to be true of both kinds of machines.
forked() {
	[[ $BATS_TEST_FILENAME == *_forked.bats ]]
}

# forking — from now on machines are forked.
forking() {
	await becomes 60 grep -q 'a zygote is ready' "$LOG"
}

# file_given [OPTION...] — what each mount of the file has; no mount yet.
file_given() {
	[ -e "$IMAGE/manifest" ] || need "there is no guest image in $IMAGE"
	STATE=${FSD_TEST_STATE:-$TESTS/../build/test-state}
	MOUNT_OPTIONS="--image $IMAGE --accel ${FSD_ACCEL:-auto}"
	! forked || set -- --fork yes --pool 0 --heat quick
	MOUNT_OPTIONS="$MOUNT_OPTIONS $*"
	export STATE MOUNT_OPTIONS
}

# file_setup [OPTION...] — the file's mount, and its template is there. What both
# kinds of machines are tried with: --fork no. Files with --shared [POOL] that one
# bats runs have one mount together: its first machines and its zygote take 8 s of
# processor. Without a pool a job takes a tenth less.
file_setup() {
	SHARED=
	if [ "${1:-}" = --shared ]; then
		set -- --pool "${2:-2}" --heat quick
		SHARED=$BATS_SUITE_TMPDIR/shared_mount
		if [ -e "$SHARED" ]; then
			# shellcheck disable=SC1090
			source "$SHARED"
			return
		fi
	fi
	MOUNT_DIR=${SHARED:+$BATS_SUITE_TMPDIR}
	MOUNT_DIR=${MOUNT_DIR:-$BATS_FILE_TMPDIR}
	file_given "$@"
	mount_start || return
	# The first job waits for the template.
	job_start first 'echo ready' || return
	bounded 900 cat "$MNT/first/wait" >/dev/null || {
		cat "$MNT/first/error" "$LOG" >&2
		return 1
	}
	rm -r "$MNT/first"
	! forked || forking || return
	[ -z "$SHARED" ] || {
		local name
		for name in MNT STATE LOG DAEMON SERVER MOUNT_OPTIONS; do
			printf 'export %s=%q\n' "$name" "${!name}"
		done >"$SHARED"
	}
}

file_teardown() {
	if [ -z "$SHARED" ]; then
		BATS_TEST_COMPLETED=1 mount_done
		return
	fi
	log_clean || {
		tail -n 60 "$LOG" >&2
		return 1
	}
	cat "$LOG" >>"$LOG.before"
	: >"$LOG" # the next file expects other things
}

# suite_teardown — ends the mount that files had together.
suite_teardown() {
	local shared=$BATS_SUITE_TMPDIR/shared_mount

	[ -e "$shared" ] || return 0
	# shellcheck disable=SC1090
	source "$shared"
	kill -TERM "$DAEMON"
	await ended "$DAEMON" 20 "$MNT" "$STATE"
}

# prog FILE [CONFIG] <PROGRAM — runs it; the job's name is then in $J.
prog() {
	job_made "$1"
	job_put "$J" config.json "${2:-{\}}" &&
		job_wait "$J" $JOB_SECONDS >/dev/null
}

# in_sandbox FILE [MORE] <PROGRAM — in the sandbox of the directory $S, to its end; its job is $J.
in_sandbox() {
	prog "$1" "{\"sandbox\": \"${S##*/}\"${2:+, $2}}"
}

# job_made FILE <PROGRAM — a draft $J with its program.
job_made() {
	N=$((${N:-0} + 1))
	J=t$BATS_TEST_NUMBER.$N
	mkdir "$MNT/$J" && cat >"$MNT/$J/$1"
}

# go CONFIG — the draft $J to its end.
go() {
	job_put "$J" config.json "${1:-{\}}" &&
		job_wait "$J" $JOB_SECONDS >/dev/null
}

# ok [TEXT] — $J ended with 0, and its output is TEXT.
ok() {
	if [ "$(cat "$MNT/$J/exit_code")" != 0 ]; then
		cat "$MNT/$J/stderr" "$MNT/$J/error" >&2
	fi
	ended "$J" 0 exited
	[ $# = 0 ] || stdout_is "$J" "$1"
}

# machines — the process of each machine, a line each.
machines() {
	local jailer
	jailer=$(jailer) && pgrep -P "$jailer" -r D,R,S,t,T qemu
}

# at_rest — machines are there, and none is being made or heated any more.
at_rest() {
	await becomes 60 awk '{ is[$1] = $2 }
		END { exit !(is["fsd_machines_warm"] >= 2 &&
			is["fsd_machines_starting"] == 0 &&
			is["fsd_fork_sources_wanted"] == 0 &&
			is["fsd_machines_unheated"] == 0) }' "$MNT/.fsd/stats"
}

# zygote — its process.
zygote() {
	pgrep -P "$(jailer)" -x fsd-zygote
}

jailer() {
	pgrep -P "$SERVER" -x fsd-jailer
}

# own_mount [copy] — the rest of a subshell has a daemon of its own. Its templates
# are links to the others' files: what is to be damaged there is a copy.
own_mount() {
	local shared=$STATE how=-al
	[ "${1:-}" != copy ] || how=-a

	OWN=1 DAEMON=
	# shellcheck disable=SC2034 # for the library
	MNT=$BATS_TEST_TMPDIR/mnt LOG=$BATS_TEST_TMPDIR/log
	STATE=$BATS_TEST_TMPDIR/state
	mkdir -p "$STATE"
	cp $how --sparse=always "$shared/templates" "$STATE/" 2>/dev/null ||
		cp -a --sparse=always "$shared/templates" "$STATE/"
}

# plain_mount [copy] — the same with the template of a plain machine, which boots in
# a quarter of the time: for tests that make a template. A program has a #! there.
plain_mount() {
	STATE=$TESTS/../build/test-state/plain
	[ -d "$STATE/templates" ] || # run.py has made it
		"$TESTS/lib/template.sh" "$STATE" --plain
	own_mount "$@"
	MOUNT_OPTIONS="$MOUNT_OPTIONS --plain"
}

out() {
	cat "$MNT/$J/stdout"
}

# For teardown: what a failed test's jobs say, then they go.
jobs_done() {
	local job file

	for job in "$MNT"/t"$BATS_TEST_NUMBER".*; do
		[ -e "$job" ] || continue
		if [ -z "${BATS_TEST_COMPLETED:-}" ]; then
			for file in state log error stdout stderr; do
				[ -e "$job/$file" ] || continue
				echo "--- ${job##*/}/$file" >&2
				head -c 2000 "$job/$file" | cat -v >&2
			done
			[ ! -e "$job/result.json" ] ||
				jq -c '.output |= .[0:5]' "$job/result.json" >&2
		fi
		rm -rf "$job"
	done
	[ -n "${BATS_TEST_COMPLETED:-}" ] || tail -n 20 "$LOG" >&2
}
