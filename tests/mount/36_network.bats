#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# "network" against the operator's policy: what the door reads, what a config may ask for,
# what .fsd/network shows, how a policy is replaced. What programs reach is in
# qemu/55_network.bats.

load ../lib/common
load ../lib/network
load ../lib/kept

setup_file() { world_up; }
teardown_file() { world_down; }
setup() {
	MNT=$WORLD/mnt
	mkdir -p "$MNT"
	policy '{"allow": ["*.wheels.test", "10.0.0.5:5432"], "deny": ["*:25"], "reach": ["10.0.0.0/8"],
		"users": {"root": {"allow": ["*:*", "0.0.0.0/0:*"], "deny": ["evil.test:*"], "connections": 256}}}'
}
teardown() { mount_done; }

# wrong CONFIG SENTENCE — close(2) fails, and the job says why.
wrong() {
	rm -rf "$MNT/w"
	mkdir "$MNT/w"
	echo 'out x' >"$MNT/w/code.py"
	run job_put w config.json "$1"
	assert_failure
	assert_equal "$(cat "$MNT/w/error")" "config.json: $2"
	rm -r "$MNT/w"
}

@test "a user sees what the operator allows, and a config may ask for that" {
	mount_start --network "$WORLD/policy.json"
	# these machines have no relay, so nothing connects to their ports
	assert_equal "$(head -n 2 "$MNT/.fsd/network")" $'network yes\nports no'
	assert grep -qx 'limit connections 256' "$MNT/.fsd/network"
	assert grep -qx 'deny evil.test:\*' "$MNT/.fsd/network"
	wrong '{"network": ["evil.test"]}' '"network" has "evil.test", which the operator does not allow here; see .fsd/network'
	wrong '{"network": ["10.0.0.5"]}' '"network" has "10.0.0.5"; an address needs its port, such as "10.0.0.5:443"'
	wrong '{"network": ["localhost"]}' '"network" has "localhost"; that is the job'"'s own machine, which needs no rule"
	run mkdir "$MNT/.fsd/sandboxes/box"
	run bash -c "echo '{\"network\": [\"evil.test\"]}' >'$MNT/.fsd/sandboxes/box/config.json'"
	assert_failure
}

@test "a policy that is wrong stops the mount with a sentence" {
	policy '{"allow": ["https://x"]}'
	run mount_start --network "$WORLD/policy.json"
	assert_failure
	assert_output --partial "policy.json"
	assert_output --partial 'leave "https://" and the path out'
	policy '{}'
	chmod 666 "$WORLD/policy.json"
	run mount_start --network "$WORLD/policy.json"
	assert_failure
	unset DAEMON MNT
}

@test "the path of a policy may be relative, also for the next server and reload-network" {
	cd "$WORLD" || return
	mount_start --network policy.json
	assert grep -qx 'limit connections 256' "$MNT/.fsd/network"
	kill_server
	await becomes 20 grep -qx 'limit connections 256' "$MNT/.fsd/network"
	policy '{"allow": ["only.test"]}'
	echo reload-network >"$MNT/.fsd/ctl"
	assert grep -qx 'allow only.test' "$MNT/.fsd/network"
	mount_done
	run mount_start --network no/policy.json
	assert_failure
	assert_output --partial "$WORLD/no/policy.json: No such file or directory"
	unset DAEMON MNT
}

@test "reload-network takes another policy, and a wrong one changes nothing" {
	mount_start --network "$WORLD/policy.json"
	policy '{"users": {"root": {"allow": ["only.test"]}}}'
	echo reload-network >"$MNT/.fsd/ctl"
	assert grep -qx 'allow only.test' "$MNT/.fsd/network"
	wrong '{"network": ["other.test"]}' '"network" has "other.test", which the operator does not allow here; see .fsd/network'
	policy '{"alow": []}'
	run bash -c "echo reload-network >'$MNT/.fsd/ctl'"
	assert_failure
	assert grep -q 'reload-network' "$MNT/.fsd/last_error"
	assert grep -qx 'allow only.test' "$MNT/.fsd/network"
}

@test "rules on the command line are a policy, and a door that dies is replaced" {
	mount_start --network-allow example.test --network-allow '10.0.0.5:80'
	assert grep -qx 'allow example.test' "$MNT/.fsd/network"
	assert grep -q '^door-user  ' "$MNT/.fsd/security"
	assert grep -q '^door-capabilities  active  ' "$MNT/.fsd/security"
	assert grep -qx 'fsd_network_verdicts_total{verdict="denied"} 0' "$MNT/.fsd/stats"
	local door
	door=$(pgrep -f "fsd-door --allow example.test" | head -n 1)
	kill -9 "$door"
	await becomes 20 bash -c "pgrep -f 'fsd-door --allow example.test' | grep -qvx $door"
	mount_done
	run mount_start --network-allow 'api.*.org'
	assert_failure
	assert_output --partial '--network-allow is "api.*.org"; "*" can only be the whole first label'
	unset DAEMON MNT
}
