#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The same of machines that were forked: their zygote dies with the server, and
# they go on.

load ../lib/qemu
load ../lib/kept

export LOG_EXPECTED='zygote'

setup_file() { file_setup; }
teardown_file() { file_teardown; }
setup() { server_now; }
teardown() { jobs_done; }

@test "a forked machine runs on while the servers of its mount are killed" {
	local i jailer zygote
	counts
	jailer=$(jailer)
	zygote=$(zygote)
	for i in 1 2 3 4 5; do
		kill_server
		state_is "$J" running
	done
	await exit "$zygote" 2
	job_wait "$J" $JOB_SECONDS >/dev/null
	counted
	await exit "$jailer" 2
}

@test "two that were forked off one go on at the same time" {
	local first=${N:-0} i
	forking
	for i in 1 2; do
		counts
	done
	kill_server
	for i in 1 2; do
		J=t$BATS_TEST_NUMBER.$((first + i))
		job_wait "$J" $JOB_SECONDS >/dev/null
		counted
	done
}
