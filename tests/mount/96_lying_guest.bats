#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A guest whose kernel and PID 1 were taken over: every byte on the wire is
# hostile. tests/lib/lies.py has the tables; each row is a job of its own. What
# holds for all: its job ends within a bound with a reason, others run on, and
# the daemon is none the worse.

load ../lib/common

setup() {
	mount_start --max-machines 64 --pool 4
	job_start beside $'out up\nsleep 600000' '{"timeout": 3600}'
}
teardown() { mount_done; }

# lies GROUP
lies() {
	bounded 180 /usr/bin/python3 -I -S "$TESTS/lib/lies.py" "$MNT" \
		"$STATE" "$1"
}

# The job beside them runs as if there were no other.
unmoved() {
	state_is beside running
	echo kill >"$MNT/beside/ctl"
	job_wait beside
	ended beside 137 cancelled
	stdout_is beside up
	assert_equal "$(cat "$MNT/.fsd/health")" ok
}

# told GROUP [KIB] — its cases, once to come to the full size, then again: the daemon
# holds nothing of them (KIB: what the C library keeps at most). A daemon with
# sanitizers is told them once: what it holds is not measured. Tests of this have
# the tag release, others measure nothing.
told() {
	local fds rss

	lies "$1"
	find "$MNT" -mindepth 1 -maxdepth 1 -name "$1-*" -exec rm -r {} +
	job_run after 'out well'
	stdout_is after well
	! sanitized || {
		unmoved
		return
	}
	fds=$(daemon_fds)
	rss=$(daemon_rss_kb)
	lies "$1"
	find "$MNT" -mindepth 1 -maxdepth 1 -name "$1-*" -exec rm -r {} +
	job_run again 'out well'
	stdout_is again well
	[ "$(daemon_fds)" -le $((fds + 8)) ] ||
		fail "the daemon has $(daemon_fds) open files, before it were $fds"
	[ "$(daemon_rss_kb)" -lt $((rss + ${2:-32768})) ] ||
		fail "the daemon has $(daemon_rss_kb) KiB, before it were $rss"
	unmoved
}

# bats test_tags=release
@test "frames with a wrong version, type or length" {
	told headers
}

# bats test_tags=release
@test "frames whose payload is not what it should be" {
	told payloads
}

# bats test_tags=release
@test "frames in the wrong order" {
	told order
}

# bats test_tags=release
@test "output names that lead elsewhere, or that no file may have" {
	told paths
}

# bats test_tags=release
@test "output that is neither a file nor a directory, or has special rights" {
	told kinds
}

# bats test_tags=release
@test "output whose size is not what was announced" {
	told sizes
}

@test "output that the host cannot keep is not there in half" {
	prlimit --pid "$SERVER" --fsize=$((256 * 1024))
	lies full
}

@test "many directories on the way to few files" {
	lies unannounced
	[ "$(find "$STATE/jobs" -path '*/output/*' | wc -l)" = 65536 ]
	unmoved
}

# bats test_tags=release
@test "figures that cannot be" {
	told figures
}

# bats test_tags=release
@test "values that are no JSON, forged, or made to take memory" {
	told results 131072
}

# bats test_tags=release
@test "more of everything than the limits allow" {
	told floods
}

# bats test_tags=release
@test "a wire that is closed at any moment" {
	told closing
}

# bats test_tags=release
@test "a guest that never answers, or so slowly that it makes no difference" {
	told waiting
}

# bats test_tags=release
@test "frames before the inputs were sent" {
	told early
}

# bats test_tags=release
@test "a session's machine between two steps" {
	told steps
	rmdir "$MNT"/.fsd/sessions/*
}

@test "an interpreter that says it lives on when it was to be killed is given up" {
	local lives
	lives=$(/usr/bin/python3 -I -S -c "import sys; sys.path.insert(0, '$TESTS/lib')
import lies; print(lies.raw(lies.ended(lives=1), lies.output_end(0)))")
	job_run a $'deaf\nmute\nsleep 1200\n'"$lives" \
		'{"session": "s", "timeout": 0.3}'
	ended a 124 timeout
	result_is a .session_state lost
	job_run b 'out anew' '{"session": "s"}'
	stdout_is b anew
	unmoved
}

# --- answers about a session's files ------------------------------------------

# hex WIDTH NUMBER... — little-endian.
hex() {
	local width=$1 n i
	shift
	for n; do
		for ((i = 0; i < width; i++)); do
			printf '%02x' $((n >> 8 * i & 255))
		done
	done
}

# stat_of KIND MODE SIZE SECONDS [NANOSECONDS] — a reply's bytes: no errno, and a stat.
stat_of() {
	hex 4 0 "$1" $(($2))
	hex 8 "$3" "$4"
	hex 4 "${5:-0}"
}

# asked STATE OP HEX COMMAND... — a session whose machine answers OP with HEX;
# then COMMAND, in its files/, ends badly, and the session is in that state.
asked() {
	local state=$1 op=$2 bytes=$3 name=s$BATS_TEST_NUMBER-$((++ASKED))

	shift 3
	FILES=$MNT/.fsd/sessions/$name/files
	job_run "$name" $'write f 1\nfsfault '"$op $bytes" "{\"session\": \"$name\"}"
	# shellcheck disable=SC2016
	run bounded 40 sh -c 'cd "$1" && shift && "$@"' - "$FILES" "$@"
	[ "$status" != 124 ] || fail "$op $bytes: $* does not end"
	[ "$status" != 0 ] || fail "$op $bytes: $* gave $output"
	assert_equal "$op $bytes: $(cat "$MNT/.fsd/sessions/$name/state")" \
		"$op $bytes: $state"
	rmdir "$MNT/.fsd/sessions/$name"
	rm -r "${MNT:?}/$name"
}

@test "what a machine says of a file that cannot be" {
	local good
	good=$(stat_of 0 0644 1 0)
	asked lost 0 "" cat f
	asked lost 0 "$(hex 4 0)" cat f
	asked lost 0 "${good%??}" cat f
	asked lost 0 "${good}00" cat f
	asked lost 0 "$(stat_of 2 0644 1 0)" cat f
	asked lost 0 "$(stat_of -1 0644 1 0)" cat f
	asked lost 0 "$(stat_of 0 04755 1 0)" cat f
	asked lost 0 "$(stat_of 0 0120777 1 0)" cat f
	asked lost 0 "$(stat_of 0 0644 $((1 << 63)) 0)" cat f
	asked lost 0 "$(stat_of 0 0644 -1 0)" cat f
	asked lost 0 "$(stat_of 0 0644 1 0 1000000000)" cat f
	asked lost 0 "$(stat_of 0 0644 1 1 -1)" cat f
	asked lost 0 "$(hex 4 4096)" cat f
	asked lost 0 "$(hex 4 -1)" cat f
	asked lost 0 "$(hex 4 2)00" cat f
	unmoved
}

@test "times and sizes at the ends of what there is are shown as they are" {
	local name=s$BATS_TEST_NUMBER n
	for n in '0 0' '0 999999999' '1 1' '-1 999999999' "$(((1 << 63) - 1)) 0" "$((1 << 63)) 0" '0 -1'; do
		# shellcheck disable=SC2086
		job_run "$name" "fsfault 0 $(stat_of 1 0755 $(((1 << 63) - 1)) $n)" \
			"{\"session\": \"$name\"}"
		bounded 10 stat "$MNT/.fsd/sessions/$name/files" >/dev/null
		assert_equal "$(cat "$MNT/.fsd/sessions/$name/state")" idle
		rm -r "${MNT:?}/$name"
	done
	unmoved
}

@test "lists that lie, or never end" {
	local one
	one=$(hex 8 7)$(hex 4 0 1)
	asked lost 1 "$(hex 4 0)" ls
	asked lost 1 "$(hex 4 0)$(hex 8 -1)" ls
	asked lost 1 "$(hex 4 0)$(hex 8 0)$(hex 4 2 1)61" ls
	asked lost 1 "$(hex 4 0)$(hex 8 0)$(hex 4 0 9)61" ls
	asked lost 1 "$(hex 4 0)$(hex 8 0)$(hex 4 0 256)$(printf '61%.0s' {1..256})" \
		ls
	asked lost 1 "$(hex 4 0)$(hex 8 0)$(hex 4 0 2)6100" ls
	asked idle 1 "$(hex 4 0)$(hex 8 7)" ls
	asked idle 1 "$(hex 4 0)${one}01" ls
	asked idle 1 "$(hex 4 0)${one}61" ls
	unmoved
}

@test "names that lead elsewhere are not listed" {
	local name=s$BATS_TEST_NUMBER text entries=
	for text in 2e 2e2e 2f 2e2e2f78 2f657463 610a62 1b5b324a ff 61; do
		entries+=$(hex 4 0 $((${#text} / 2)))$text
	done
	job_run "$name" "fsfault 1 $(hex 4 0)$(hex 8 0)$entries" \
		"{\"session\": \"$name\"}"
	assert_equal "$(bounded 10 ls -Ub "$MNT/.fsd/sessions/$name/files" 2>/dev/null)" \
		$'a\\nb\n\\033[2J\n\\377\na'
	unmoved
}

@test "bytes that were not asked for, or not written" {
	asked lost 2 "$(hex 4 0)$(printf '61%.0s' {1..40000})" cat f
	asked lost 3 "$(hex 4 0 0)" sh -c 'echo x >f'
	asked lost 3 "$(hex 4 0 3)" sh -c 'echo x >f'
	asked lost 3 "$(hex 4 0 -1)" sh -c 'echo x >f'
	asked lost 3 "$(hex 4 0)" sh -c 'echo x >f'
	asked lost 7 "$(hex 4 0 0)" rm f
	asked lost 9 "$(hex 4 0 0)" mv f g
	asked idle 5 "$(stat_of 1 0755 0 0)" sh -c ': >new'
	asked idle 6 "$(stat_of 0 0644 0 0)" mkdir new
	unmoved
}

# frame LANE TYPE — an empty one of the guest's, in hex.
frame() {
	local header=$TESTS/../guest/wire/wire.h version type
	version=$(sed -n 's/^#define WIRE_VERSION \([0-9]*\)u/\1/p' "$header")
	type=$(sed -n "s/^\tWIRE_$2 = \([0-9]*\),/\1/p" "$header")
	printf '000000%02x%02xf5%02x00' "$1" "$version" "$type"
}

@test "in a sandbox a lie ends the job that told it, and one about lanes the sandbox" {
	local s=$MNT/.fsd/sandboxes/s
	mkdir "$s"
	job_run step 'remember kept' '{"sandbox": "s", "session": "a"}'
	job_run lie "raw $(frame 0 STARTED)"$'\nsleep 600000' '{"sandbox": "s"}'
	status_is lie failed
	run cat "$MNT/lie/error"
	assert_output --partial 'sent a STARTED frame that is not allowed now'
	assert_equal "$(cat "$s/state")" idle
	job_run next recall '{"sandbox": "s", "session": "a"}'
	stdout_is next kept
	expect_log 'sandbox s of user .*: its machine is lost: '
	job_start other $'out up\nsleep 600000' '{"sandbox": "s", "session": "a"}'
	await becomes 10 grep -q running "$MNT/other/state"
	job_run lanes "raw $(frame 9 OUT)"$'\nsleep 600000' '{"sandbox": "s"}'
	for job in lanes other; do
		job_wait "$job"
		status_is "$job" failed
		run cat "$MNT/$job/error"
		assert_output --partial 'the machine spoke on a lane that is not open'
	done
	assert_equal "$(cat "$s/state")" lost
	unmoved
}
