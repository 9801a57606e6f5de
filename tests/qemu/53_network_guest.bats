#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The guest's side of a network on machines that QEMU boots by itself, with a host written
# by hand at the other end of both ports. There is no mount. lib/net_guest.py has the cases.

load ../lib/qemu

setup_file() { file_given; }

# guest CASE — each of its checks is a line of TAP.
guest() {
	FSD_IMAGE=$IMAGE run bounded 300 /usr/bin/python3 -B "$TESTS/lib/net_guest.py" "$1"
	echo "$output"
	assert_success
}

@test "a machine without a network has lo, knows no name and reaches no address" {
	guest without
}

@test "names that the host allows resolve, and their ports are streams; no other is" {
	guest names
}

@test "a thousand streams at once each have their own bytes" {
	guest many
}

@test "streams of which no side reads stall no other, and take no more memory than there is" {
	guest full
}

@test "certificates of the operator are trusted by Python and Node" {
	guest trust
}

@test "the host connects to a program that listens" {
	guest ports
}

@test "a host that closes the port resets streams, and the program runs on" {
	guest ends
}

@test "a host that breaks the protocol ends the helper, and the program runs on" {
	guest breaks
}
