# SPDX-License-Identifier: Apache-2.0
#
# The vocabulary of the bats files: mounts that a test owns, jobs by name, and
# what is expected of them. Every wait has a bound and ends by a signal (a read
# that returns, a process that ends), never by sleeping.
#
#   FSD     the program under test (default build/fsd-fake)
#   STRICT  1: a feature that the machine lacks fails the test, it is no skip
#   SLOW    all bounds are multiplied by this (sanitizers: 4)

bats_require_minimum_version 1.5.0

# What bats_load_library of bats-support and bats-assert does, without the
# process that their load.bash starts for each of their files.
for LIBRARY in /usr/lib/bats/bats-{support,assert}/src/*.bash; do
	# shellcheck disable=SC1090
	source "$LIBRARY"
done
unset LIBRARY

# Where a test failed is found when it has failed. Bats notes it before each
# command, which takes a fifth of a test's processors; `bats --trace` still does.
if [ "${BATS_TRACE_LEVEL:-0}" = 0 ]; then
	bats_debug_trap() {
		trap - DEBUG
	}
	bats_error_trap() {
		bats_check_status_from_trap
		[ -n "${BATS_DEBUG_LAST_STACK_TRACE_IS_VALID:-}" ] ||
			bats_capture_stack_trace
		# shellcheck disable=SC2034 # for bats
		BATS_DEBUG_LAST_STACK_TRACE_IS_VALID=1
	}
fi

if [ -z "${TESTS:-}" ]; then
	TESTS=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
	FSD=${FSD:-$TESTS/../build/fsd-fake}
	[[ $FSD == /* ]] || FSD=$PWD/$FSD # a test may go elsewhere
	case $FSD in
	*/asan/*)
		SLOW=${SLOW:-4}
		export ASAN_OPTIONS=${ASAN_OPTIONS:-handle_sigill=1}
		;;
	esac
	SLOW=${SLOW:-1}
	export TESTS FSD SLOW
fi

# Options of `fsd mount` for every mount of a file.
MOUNT_OPTIONS=${MOUNT_OPTIONS:-}

check() {
	timeout -k 5 $((60 * SLOW)) /usr/bin/python3 -I -S \
		"$TESTS/lib/check.py" "$@"
}

# await WAIT ARGUMENT... — as lib/await.c says; it multiplies by SLOW itself.
await() {
	"$TESTS/../build/tests/await" "$@"
}

# sanitized — is the program under test one with sanitizers? Its memory is not
# that of the real one.
sanitized() {
	[[ $FSD == */asan/* ]]
}

# patient MS — a program's own timeout, in seconds: so many milliseconds, times
# what now shares a processor, but SLOW at most. What comes before the timeout
# has to fit in it.
patient() {
	local running ms times
	read -r _ _ _ running _ </proc/loadavg
	times=$((1 + ${running%/*} / $(nproc)))
	ms=$(($1 * (times < SLOW ? times : SLOW)))
	printf '%d.%03d' $((ms / 1000)) $((ms % 1000))
}

# bounded SECONDS COMMAND... — the bound is for what goes wrong only.
bounded() {
	local seconds=$1
	shift
	timeout -k 5 $((seconds * SLOW)) "$@"
}

need() {
	[ "${STRICT:-0}" != 1 ] || fail "STRICT: $1"
	skip "$1"
}

# --- mounts -----------------------------------------------------------------

# mount_start [OPTION...] — $MNT kept by $DAEMON and served by $SERVER, their
# words in $LOG. The state directory stays between two starts in one test.
mount_start() {
	local dir=${MOUNT_DIR:-$BATS_TEST_TMPDIR}

	MNT=${MNT:-$dir/mnt} STATE=${STATE:-$dir/state} LOG=${LOG:-$dir/log}
	# A dead daemon's mount can neither be made nor looked at.
	[ -d "$MNT" ] || mkdir -p "$MNT" 2>/dev/null || true
	# A session of its own, so that what it leaves can be found.
	# shellcheck disable=SC2086
	setsid "$FSD" mount --state "$STATE" $MOUNT_OPTIONS "$@" "$MNT" \
		>>"$LOG" 2>&1 </dev/null 3>&- 4>&- &
	DAEMON=$!
	export MNT STATE LOG DAEMON
	# Not by await(): a function in a command substitution is one process more.
	SERVER=$("$TESTS/../build/tests/await" mount "$MNT" "$DAEMON" \
		"${MOUNT_SECONDS:-20}") || {
		cat "$LOG" >&2
		return 1
	}
	export SERVER
}

# file_mount [OPTION...] — for setup_file: a mount that the tests of a file have
# together, by file_mount_left and file_mount_done. A daemon's start and end take as
# long as a small test.
file_mount() {
	MOUNT_DIR=$BATS_FILE_TMPDIR mount_start "$@"
}

# alone — the test starts a mount of its own instead.
alone() {
	OWN=1
	unset MNT STATE LOG DAEMON SERVER
}

# file_mount_left — for teardown: the test's jobs go, and its words in the log.
file_mount_left() {
	local failed=0 name

	if [ -n "${OWN:-}" ]; then
		mount_done
		return
	fi
	gate_end || failed=1
	shopt -s dotglob
	for name in "$MNT"/*; do
		[ "$name" = "$MNT/.fsd" ] || set -- "$@" "$name"
	done
	shopt -u dotglob
	[ $# = 0 ] || rm -rf "$@" || failed=1
	[ -d "$MNT/.fsd" ] && kill -0 "$SERVER" || failed=1
	log_clean || failed=1
	if [ -z "${BATS_TEST_COMPLETED:-}" ] || [ "$failed" = 1 ]; then
		echo "--- the daemon's log" >&2
		tail -n 60 "$LOG" >&2
	fi
	cat "$LOG" >>"$LOG.before"
	: >|"$LOG"
	return $failed
}

# file_mount_done — for teardown_file. It sees what came between two tests, too.
file_mount_done() {
	local BATS_TEST_COMPLETED=1 failed=0

	mount_done || failed=1
	[ ! -e "$LOG.before" ] || LOG=$LOG.before log_clean || failed=1
	return $failed
}

# mount_public [OPTION] — instead of the test's own mount, one that other users
# can reach (with --allow-other, unless told otherwise).
mount_public() {
	[ -z "${DAEMON:-}" ] || mount_stop || return
	[ -z "${PUBLIC:-}" ] || rm -r "$PUBLIC"
	PUBLIC=$(mktemp -d /tmp/fsd-test.XXXXXX)
	chmod 755 "$PUBLIC"
	MNT=$PUBLIC/mnt
	mkdir "$MNT"
	# shellcheck disable=SC2086
	mount_start ${1---allow-other}
}

# small_disk SIZE [OPTION...] — instead of the test's own mount, one whose state
# directory lies on a disk of that size, $SMALL.
small_disk() {
	mount_stop
	mkdir "$BATS_TEST_TMPDIR/small"
	mount -t tmpfs -o size="$1" tmpfs "$BATS_TEST_TMPDIR/small" ||
		need 'a tmpfs can be mounted'
	SMALL=$BATS_TEST_TMPDIR/small
	STATE=$SMALL/state
	mount_start "${@:2}"
}

# mount_stop [SIGNAL] — ends it and looks for what it left behind.
mount_stop() {
	kill -"${1:-TERM}" "$DAEMON" 2>/dev/null
	mount_ended "$@"
}

# mount_ended [SIGNAL] — the same of one that was told to end already.
mount_ended() {
	local status=0 left=0 pid=$DAEMON

	DAEMON=
	await ended "$pid" 20 "$MNT" "$STATE" || {
		left=1
		kill -KILL "$pid" 2>/dev/null
	}
	wait "$pid" || status=$?
	[ "$status" = 0 ] || [ "${1:-TERM}" = KILL ] || {
		echo "the daemon ended with status $status" >&2
		return 1
	}
	return $left
}

# mount_gone SESSION — no mount, no process, no open file of it remains.
mount_gone() {
	await gone "$1" "$MNT" "$STATE"
}

# server_pid — the process that serves $MNT now.
server_pid() {
	getfattr --absolute-names --only-values -n user.fsd.pid "$MNT"
}

# server_kill [PID] — the process that serves dies; the mount does not. A server
# that a tracer holds may not say its number: it is given then.
server_kill() {
	local pid=${1:-}

	[ -n "$pid" ] || pid=$(server_pid)
	kill -KILL "$pid"
	await exit "$pid" 20
}

# mount_crash — all of it at once, as when the host dies; the dead mount stays.
mount_crash() {
	local pid=$DAEMON server

	DAEMON=
	server=$(server_pid)
	kill -STOP "$pid" # nobody follows the server
	# Until both are dead whoever closes a file of the mount waits.
	kill -KILL "$server" "$pid"
	await exit "$server" 20
	await exit "$pid" 20
	wait "$pid" 2>/dev/null || true
}

# log_clean — nothing in the daemon's log that no test announced with
# expect_log.
log_clean() {
	local bad text=

	[ -e "$LOG" ] || return 0
	# The shell's own look, which ends at a NUL, costs no process. The words are
	# those below.
	IFS= read -r -d '' text <"$LOG" ||
		[[ $text =~ 'Z error '|'ERROR: '[A-Z]|'runtime error:' ]] || return 0
	bad=$(grep -E 'Z error |ERROR: [A-Z]|runtime error:' "$LOG") || return 0
	[ -z "${LOG_EXPECTED:-}" ] ||
		bad=$(grep -vE "$LOG_EXPECTED" <<<"$bad") || return 0
	echo "unexpected in the daemon's log:" >&2
	echo "$bad" >&2
	return 1
}

# expect_log REGEX — an error line that belongs to the test.
expect_log() {
	LOG_EXPECTED=${LOG_EXPECTED:+$LOG_EXPECTED|}$1
	export LOG_EXPECTED
}

# gate RULE... — the server's next calls on its state directory fail or are held,
# as lib/gate.py says.
gate() {
	local line

	coproc GATE { exec /usr/bin/python3 -B "$TESTS/lib/gate.py" \
		"$SERVER" "$STATE" "$@" 3>&- 4>&-; }
	IFS= read -r -t $((20 * SLOW)) line <&"${GATE[0]}"
	assert_equal "$line" ready
}

# gate_held — until the call that is to be held is.
gate_held() {
	local line

	IFS= read -r -t $((20 * SLOW)) line <&"${GATE[0]}"
	assert_equal "$line" held
}

# gate_open [ERRNO] — it goes on, or fails.
gate_open() {
	echo "${1:-go}" >&"${GATE[1]}"
}

# gate_end — nothing is held or looked at any more.
gate_end() {
	local pid=${GATE_PID:-} to

	[ -n "$pid" ] || return 0
	to=${GATE[1]}
	exec {to}>&-
	wait "$pid"
}

# mount_done — for teardown: shows the log of a test that failed.
mount_done() {
	local failed=0

	gate_end || failed=1
	if [ -n "${DAEMON:-}" ]; then
		mount_stop || failed=1
	elif [ -n "${MNT:-}" ] && grep -qF " $MNT " /proc/self/mounts; then
		umount -l "$MNT"
	fi
	[ -z "${PUBLIC:-}" ] || rm -r "$PUBLIC" || failed=1
	[ -z "${SMALL:-}" ] || umount -l "$SMALL" || failed=1
	log_clean || failed=1
	if [ -z "${BATS_TEST_COMPLETED:-}" ] || [ "$failed" = 1 ]; then
		echo "--- the daemon's log" >&2
		tail -n 60 "$LOG" >&2
	fi
	return $failed
}

# --- jobs -------------------------------------------------------------------

# job_put JOB FILE TEXT — one file of a job, with a newline at its end.
job_put() {
	printf '%s\n' "$3" >"$MNT/$1/$2"
}

# job_start JOB PROGRAM [CONFIG [FILE]] — a job that is complete.
job_start() {
	mkdir "$MNT/$1" || return
	job_put "$1" "${4:-code.sh}" "$2" || return
	job_put "$1" config.json "${3:-{\}}"
}

# job_wait JOB [SECONDS] — until it has ended; prints exit_code's line.
job_wait() {
	"$TESTS/../build/tests/await" read "$MNT/$1/wait" "${2:-20}"
}

# job_run JOB PROGRAM [CONFIG [FILE]] — started and ended.
job_run() {
	job_start "$@" && job_wait "$1" "${JOB_SECONDS:-20}" >/dev/null
}

# job_follow JOB TEXT — until its standard output begins with that line.
job_follow() {
	local line

	IFS= read -r -t $((20 * SLOW)) line <"$MNT/$1/stdout.follow"
	assert_equal "$line" "$2"
}

# goes_on JOB — its program's `await` is over.
goes_on() {
	echo 'signal USR1' >"$MNT/$1/ctl"
}

job_state() {
	local state
	IFS= read -r state <"$MNT/$1/state" && echo "$state"
}

# health_becomes TEXT [OPTION] — .fsd/health has this in it, in time.
health_becomes() {
	await becomes 30 grep -qF ${2:+"$2"} -- "$1" "$MNT/.fsd/health"
}

# health_is_ok — now or soon: a mount answers before its first machine is made.
health_is_ok() {
	await becomes 30 grep -qE '^ok( \(.*)?$' "$MNT/.fsd/health"
}

# result JOB FILTER — from result.json, as jq -r prints it.
result() {
	"$TESTS/../build/tests/result" get "$MNT/$1/result.json" "$2"
}

state_is() {
	assert_equal "$(job_state "$1")" "$2"
}

exit_is() {
	"$TESTS/../build/tests/result" exit "$MNT/$1" "$2"
}

status_is() {
	assert_equal "$(result "$1" .status)" "$2"
}

# The bytes, but for newlines at the end.
stdout_is() {
	assert_equal "$(<"$MNT/$1/stdout")" "$2"
}

stderr_is() {
	assert_equal "$(<"$MNT/$1/stderr")" "$2"
}

result_is() {
	assert_equal "$(result "$1" "$2")" "$3"
}

# ended JOB CODE STATUS — the whole of an end.
ended() {
	"$TESTS/../build/tests/result" end "$MNT/$1" "$2" "$3"
}

# refused JOB TEXT — refused with a sentence that has this in it.
refused() {
	state_is "$1" refused
	run cat "$MNT/$1/error"
	assert_output --partial "$2"
	run cat "$MNT/.fsd/last_error"
	assert_output --partial "$2"
}

# fails ERRNO COMMAND... — the tool says the errno's own words.
fails() {
	local words
	case $1 in
	EAGAIN) words='Resource temporarily unavailable' ;;
	EDQUOT) words='Disk quota exceeded' ;;
	ENOSPC) words='No space left on device' ;;
	EPERM) words='Operation not permitted' ;;
	EACCES) words='Permission denied' ;;
	EBUSY) words='Device or resource busy' ;;
	EINVAL) words='Invalid argument' ;;
	EEXIST) words='File exists' ;;
	ENOENT) words='No such file or directory' ;;
	EFBIG) words='File too large' ;;
	ENOTCONN) words='Transport endpoint is not connected' ;;
	EILSEQ) words='Invalid or incomplete multibyte' ;;
	ENAMETOOLONG) words='File name too long' ;;
	ENOTEMPTY) words='Directory not empty' ;;
	ENOTDIR) words='Not a directory' ;;
	EISDIR) words='Is a directory' ;;
	ESTALE) words='Stale file handle' ;;
	EIO) words='Input/output error' ;;
	ESRCH) words='No such process' ;;
	EXDEV) words='Invalid cross-device link' ;;
	ENODATA) words='No such attribute' ;;
	EROFS) words='Read-only file system' ;;
	EMFILE) words='Too many open files' ;;
	ESHUTDOWN) words='Cannot send after transport endpoint shutdown' ;;
	*) fail "fails: unknown errno $1" ;;
	esac
	shift
	run bounded 20 /usr/bin/env LC_ALL=C "$@"
	assert_failure
	assert_output --partial "$words"
}

# names DIR — what is in it, on one line.
names() {
	find "$1" -mindepth 1 -maxdepth 1 -printf '%f\n' | LC_ALL=C sort | xargs
}

# exists/absent JOB NAME
exists() {
	[ -e "$MNT/$1/$2" ] || fail "$1/$2 does not exist"
}

absent() {
	[ ! -e "$MNT/$1/$2" ] || fail "$1/$2 exists"
}

# by_hand TEXT... >FILE — through one write(2) of a real process, so that every
# error is its status.
writes() {
	bounded 20 /usr/bin/env LC_ALL=C dd status=none of="$1" conv=notrunc
}

daemon_fds() {
	find "/proc/$SERVER/fd" -mindepth 1 2>/dev/null | wc -l
}

# daemon_starve — it gets no more descriptors; daemon_feed ends that.
daemon_starve() {
	FILES=$(prlimit --pid "$SERVER" --nofile --output SOFT --noheadings)
	# a machine that is made just then is none
	expect_log 'Too many open files'
	prlimit --pid "$SERVER" --nofile=1:
}

daemon_feed() {
	prlimit --pid "$SERVER" --nofile="$FILES:"
}

daemon_rss_kb() {
	awk '/^VmRSS/ { print $2 }' "/proc/$SERVER/status"
}

# stat NAME — a figure from .fsd/stats.
figure() {
	awk -v name="$1" '$1 == name { print $2 }' "$MNT/.fsd/stats"
}
