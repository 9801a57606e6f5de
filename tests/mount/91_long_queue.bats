#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# alone: what it measures is the daemon, not its neighbours.

# bats file_tags=release

load ../lib/common
load ../lib/queue

teardown() { mount_done; }

QUEUE=${LOAD_QUEUE:-2000}

@test "a long queue makes nothing slower, holds no descriptors and little memory" {
	local before after fds rss n i
	one
	read -ra before <<<"$(queue measure "$MNT" first)"
	fds=$(daemon_fds) rss=$(daemon_rss_kb)
	queue fill "$MNT" 1 "$QUEUE"
	# the release of the last file comes behind its close
	await becomes 10 grep -qxF "fsd_jobs{state=\"queued\"} $QUEUE" "$MNT/.fsd/stats"
	[ "$(daemon_fds)" -le $((fds + 2)) ] || fail "descriptors: $fds, then $(daemon_fds)"
	n=$((($(daemon_rss_kb) - rss) * 1024 / QUEUE))
	read -ra after <<<"$(queue measure "$MNT" first)"
	echo "# stat, state, submit: ${before[*]} us; with $QUEUE that wait ${after[*]} us; $n bytes each" >&3
	# with sanitizers it keeps more of everything
	sanitized || [ "$n" -le 6144 ] || fail "$n bytes a job"
	for i in 0 1 2; do
		[ "${after[i]}" -le $((before[i] * 3 + 300)) ] ||
			fail "it was ${before[*]} us, and is ${after[*]}"
	done
	queue empty "$MNT" 1 "$QUEUE"
	assert_equal "$(figure fsd_runs_waiting)" 0
	first_ends
}
