#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# "network": what a config may ask for, what the operator's policy allows, what programs
# reach, and what is told of it. The relay and the door are real, the program's machine is
# fake (vm/fake/fake_net_script.c has its commands); real ones are in qemu/55_network.bats.

load ../lib/common
load ../lib/network
load ../lib/environment
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

# given POLICY [OPTION...] — a mount with that policy.
given() {
	policy "$1"
	mount_start --network "$WORLD/policy.json" "${@:2}"
}

# net JOB CONFIG <SCRIPT — a job that has run.
net() {
	job_run "$1" "$(cat)" "$2" code.py
}

# told JOB SENTENCE... — lines of the log, without times.
told() {
	local job=$1 text
	shift
	for text; do
		grep -qF "network: $text" "$MNT/$job/log" || {
			cat "$MNT/$job/log" >&2
			fail "the log has not: network: $text"
		}
	done
}

# verdicts JOB — of all connections, in their order.
verdicts() {
	result "$1" '[.network.connections[].verdict] | join(" ")'
}

# audited JOB COUNT — the job's lines of the audit, once there are so many.
audited() {
	await becomes 20 bash -c "[ \$(grep -c 'audit: .*, $1: ' '$LOG') -ge $2 ]"
	sed -n "s/.*audit: network: uid 0, $1: //p" "$LOG"
}

# door — the process of the door.
door() {
	pgrep -x fsd-door -P "$(pgrep -x fsd-broker -P "$SERVER")"
}

OPEN='{"allow": ["*:*"]}'

@test "a user sees what the operator allows, and a config may ask for that" {
	mount_start --network "$WORLD/policy.json"
	assert_equal "$(head -n 2 "$MNT/.fsd/network")" $'network yes\nports yes'
	assert grep -qx 'limit connections 256' "$MNT/.fsd/network"
	assert grep -qx 'deny evil.test:\*' "$MNT/.fsd/network"
	wrong '{"network": ["evil.test"]}' '"network" has "evil.test", which the operator does not allow here; see .fsd/network'
	wrong '{"network": ["10.0.0.5"]}' '"network" has "10.0.0.5"; an address needs its port, such as "10.0.0.5:443"'
	wrong '{"network": ["localhost"]}' '"network" has "localhost"; that is the job'"'s own machine, which needs no rule"
	run mkdir "$MNT/.fsd/sandboxes/box"
	run bash -c "echo '{\"network\": [\"evil.test\"]}' >'$MNT/.fsd/sandboxes/box/config.json'"
	assert_failure
}

@test ".fsd/network shows rules, nets and limits, and whether there are ports" {
	given '{"allow": ["*:*", "10.0.0.0/8:*"], "deny": ["*:25"], "reach": ["10.0.0.0/8"], "connections": 7,
		"rate": 9, "bytes": 12345, "ports": false}'
	assert_equal "$(cat "$MNT/.fsd/network")" $'network yes\nports no\nallow *:*\nallow 10.0.0.0/8:*\ndeny *:25
reach 10.0.0.0/8\nlimit connections 7\nlimit rate 9\nlimit bytes 12345'
	assert_equal "$(stat -c %a "$MNT/.fsd/network")" 444
	policy '{}'
	echo reload-network >"$MNT/.fsd/ctl"
	assert_equal "$(cat "$MNT/.fsd/network")" $'network yes\nports yes\nlimit connections 64\nlimit rate 20\nlimit bytes 1073741824'
	wrong '{"network": ["example.test"]}' '"network" has "example.test", which the operator does not allow here; see .fsd/network'
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

# --- what a config may say ----------------------------------------------------

@test "each mistake in a rule has a sentence with the rule and what is right" {
	given "$OPEN"
	local rule sentence
	while IFS='|' read -r rule sentence; do
		wrong "{\"network\": [\"$rule\"]}" "\"network\" has \"$rule\"; $sentence"
	done <<-'END'
		https://example.org/|leave "https://" and the path out: "example.org"
		http://example.org|leave "http://" and the path out: "example.org:80"
		example.org/path|leave the path out: "example.org"
		api.*.org|"*" can only be the whole first label
		10.0.0.5|an address needs its port, such as "10.0.0.5:443"
		localhost|that is the job's own machine, which needs no rule
		127.0.0.1:80|that is the job's own machine, which needs no rule
		198.18.0.1:80|that is the job's own machine, which needs no rule
	END
	wrong '{"network": ["bücher.example"]}' '"network" has "bücher.example"; write it as programs send it: "xn--..."'
	wrong "{\"network\": [$(printf '"a.test", %.0s' {1..256})\"a.test\"]}" '"network" has 257 rules; at most 256 are allowed'
	wrong '{"network": {"alow": []}}' '"network" may have "allow" and "deny" only'
	wrong '{"network": ["a.test"], "retry": 1}' '"retry" with "network": what the program did to others would be done twice; "retry_network": true says that this is fine'
	wrong '{"ports": [80]}' '"ports" has 80; programs cannot listen below 1024: allowed are 1024 to 65535'
	wrong '{"ports": [8080, 8080]}' '"ports" has 8080 twice'
	wrong '{"ports": []}' '"ports" must be a list of 1 to 10 ports, or true'
	wrong '{"ports": [2001, 2002, 2003, 2004, 2005, 2006, 2007, 2008, 2009, 2010, 2011]}' '"ports" must be a list of 1 to 10 ports, or true'
	wrong '{"ports": [65536]}' '"ports" has 65536; allowed are 1024 to 65535'
	net a '{"network": ["a.test"], "retry": 1, "retry_network": true}' <<<'out x'
	stdout_is a x
}

@test "without a policy \"network\" is refused, and \"ports\" is not" {
	mount_start
	wrong '{"network": ["example.test"]}' '"network": this mount gives programs no network; its operator can (fsd mount --network FILE)'
	assert_equal "$(head -n 2 "$MNT/.fsd/network")" $'network no\nports yes'
	net a '{"ports": [8080]}' <<<'net told'
	stdout_is a ' ports'
	result_is a .network null
}

@test "\"ports\": false in a policy forbids them" {
	given '{"allow": ["*:*"], "ports": false}'
	assert_equal "$(head -n 2 "$MNT/.fsd/network")" $'network yes\nports no'
	wrong '{"ports": [8080]}' '"ports": the operator lets no other program connect to programs here; see .fsd/network'
}

# --- what programs reach -------------------------------------------------------

# bats test_tags=smoke
@test "a name of a rule resolves to its ports and is reached there, and result.json has it" {
	given "$OPEN"
	net a '{"network": ["Example.test.:80-81"]}' <<-'END'
		net told
		net resolve example.test
		net open example.test 81
		net send hello
		net read
		net end
		net read
	END
	stdout_is a $'names\nexample.test 80-81\nexample.test:81 open\nhello\nend'
	told a 'example.test:81 (93.184.216.10) open' 'example.test:81 (93.184.216.10) closed after 0.'
	grep -q ' s, 6 bytes out, 6 in$' "$MNT/a/log"
	result_is a '.network.connections[0] | [.host, .port, .address, .sent, .received, .verdict, .reason] | map(tostring) | join(" ")' \
		'example.test 81 93.184.216.10 6 6 ok null'
	result_is a '.network | "\(.sent) \(.received) \(.dropped)"' '6 6 0'
	assert_equal "$(figure 'fsd_network_verdicts_total{verdict="ok"}')" 1
}

@test "a name that no rule names does not exist, and its port, address and metadata are refused" {
	given '{"allow": ["*:*", "0.0.0.0/0:*"], "deny": ["*:25", "evil.test:*"]}'
	net a '{"network": ["example.test:81"]}' <<-'END'
		net resolve other.test
		net resolve none.example.test
		net open example.test 80
		net open 93.184.216.10 81
		net open 169.254.169.254 80
		net open localhost 80
		net open a..b 80
	END
	stdout_is a $'other.test none\nnone.example.test none\nexample.test:80 refused
93.184.216.10:81 refused\n169.254.169.254:80 refused\nlocalhost:80 refused\na..b:80 refused'
	assert_equal "$(verdicts a)" 'denied denied denied denied denied denied denied'
	told a 'other.test refused: no rule names it' 'example.test:80 refused: no rule names this port' \
		'93.184.216.10:81 refused: no rule names it' "localhost:80 refused: that is the job's own machine"
	# the operator's deny wins
	wrong '{"network": ["example.test:25"]}' '"network" has "example.test:25", which the operator does not allow here; see .fsd/network'
	net b '{"network": true}' <<-'END'
		net resolve evil.test
		net open example.test 25
	END
	stdout_is b $'evil.test none\nexample.test:25 refused'
	# of the job's own, "allow" wins
	net c '{"network": {"deny": ["*.test:*"], "allow": ["example.test:81"]}}' <<-'END'
		net open example.test 81
		net open other.test 81
	END
	stdout_is c $'example.test:81 open\nother.test:81 refused'
}

@test "a wildcard is every name below, a list without rules is nothing, and /tcp is a rule of its own" {
	given '{"allow": ["*.test:81", "wild.test:81"]}'
	net a '{"network": ["*.wild.test:81"]}' <<-'END'
		net resolve a.wild.test
		net resolve wild.test
		net resolve example.test
		net open a.wild.test 81
	END
	stdout_is a $'a.wild.test 81\nwild.test none\nexample.test none\na.wild.test:81 open'
	assert_equal "$(verdicts a)" 'denied denied ok'
	net b '{"network": []}' <<<$'net told\nnet resolve example.test\nnet open 93.184.216.10 81'
	stdout_is b $'names\nexample.test none\n93.184.216.10:81 refused'
	net c '{"network": true}' <<<$'net open example.test 81\nnet open example.test 80'
	stdout_is c $'example.test:81 open\nexample.test:80 refused'
	wrong '{"network": ["example.test:81/tcp"]}' '"network" has "example.test:81/tcp", which the operator does not allow here; see .fsd/network'
	wrong '{"network": ["test:81"]}' '"network" has "test:81", which the operator does not allow here; see .fsd/network'
}

@test "a net that is wider than /8 stands for the public addresses in it" {
	given '{"allow": ["0.0.0.0/0:*", "::/0:*"]}'
	net a '{"network": ["0.0.0.0/0:81", "::/0:81"]}' <<-'END'
		net told
		net open 93.184.216.10 81
		net open 93.184.216.10 80
		net open 10.9.9.1 81
		net open ::ffff:10.9.9.1 81
		net open 64:ff9b::a09:901 81
		net open 169.254.169.254 81
		net open 93.184.216.2 81
		net resolve example.test
	END
	stdout_is a $'names 0.0.0.0/0 ::/0\n93.184.216.10:81 open\n93.184.216.10:80 refused\n10.9.9.1:81 refused
::ffff:10.9.9.1:81 refused\n64:ff9b::a09:901:81 refused\n169.254.169.254:81 refused\n93.184.216.2:81 refused\nexample.test none'
	assert_equal "$(result a '[.network.connections[] | select(.verdict != "ok") | .verdict] | unique | join(" ")')" 'denied own private'
	told a '10.9.9.1:81 refused: it leads to 10.9.9.1, a private address' '93.184.216.2:81 refused: it leads to 93.184.216.2, an address of this host'
}

@test "a name that leads to a private address, to this host or nowhere does not resolve" {
	given '{"allow": ["*:*"]}'
	net a '{"network": ["*:*"]}' <<-'END'
		net resolve private.test
		net resolve meta.test
		net resolve own.test
		net resolve nothing.test
		net resolve alias.test
		net open private.test 81
	END
	stdout_is a $'private.test none\nmeta.test none\nown.test none\nnothing.test none
alias.test 1-65535\nprivate.test:81 refused'
	assert_equal "$(verdicts a)" 'private private own unresolved private'
	told a 'private.test refused: it leads to 10.9.9.1, a private address (the operator'"'s"' "reach" does not cover it)' \
		'own.test refused: it leads to 93.184.216.2, an address of this host' 'nothing.test does not exist' \
		'private.test:81 refused: it leads to 10.9.9.1'
	policy '{"allow": ["*:*"], "reach": ["10.0.0.0/8"]}'
	echo reload-network >"$MNT/.fsd/ctl"
	net b '{"network": ["private.test:81"]}' <<<'net open private.test 81'
	stdout_is b 'private.test:81 open'
}

@test "name servers that do not answer are told, and the program may ask again" {
	given "$OPEN"
	net a '{"network": ["silent.test"]}' <<<'net resolve silent.test'
	stdout_is a 'silent.test again'
	told a "silent.test could not be looked up: the host's name servers did not answer"
	assert_equal "$(verdicts a)" unresolved
}

@test "a closed port, a way that leads nowhere and a reset are told with their reasons" {
	given "$OPEN"
	net a '{"network": ["*.test:*"]}' <<-'END'
		net open closed.test 444
		net open far.test 80
		net open example.test 82
		net send x
		net read
	END
	stdout_is a $'closed.test:444 failed\nfar.test:80 failed\nexample.test:82 open\nreset peer'
	assert_equal "$(verdicts a)" 'refused unreachable reset'
	told a 'closed.test:444: connection refused' 'far.test:80: no route' \
		'example.test:82 (93.184.216.10) reset after'
}

@test "a server that does not answer in 10 s is told" {
	given "$OPEN"
	net a '{"network": ["dead.test:81"]}' <<<'net open dead.test 81'
	stdout_is a 'dead.test:81 failed'
	assert_equal "$(verdicts a)" timeout
	told a 'dead.test:81: no answer in 10 s'
}

@test "another server name, none, and an encrypted hello are cut, and /tcp lets all pass" {
	given '{"allow": ["*:*", "*:*/tcp"]}'
	net a '{"network": ["example.test"]}' <<-'END'
		net open example.test 443
		net hello example.test
		net open example.test 443
		net hello other.test
		net read
		net open example.test 443
		net send plain
		net read
		net open example.test 443
		net hello example.test ech
		net read
		net use 1
		net read
	END
	assert_equal "$(head -n 7 "$MNT/a/stdout")" \
		"$(printf 'example.test:443 open\n%.0s' 1 2; printf 'reset refused\nexample.test:443 open\n%.0s' 1 2; echo reset refused)"
	# the server answers the hello of the first
	assert_equal "$(result a '.network.connections[0].received > 0')" true
	told a 'example.test:443 cut: the TLS server name is "other.test"' \
		'example.test:443 cut: no TLS server name was sent; a rule with /tcp lets it pass' \
		'example.test:443 cut: its ClientHello is encrypted (ECH); a rule with /tcp or the operator'"'s"' "ech" lets it pass'
	assert_equal "$(result a '[.network.connections[].verdict] | sort | unique | join(" ")')" 'ech ok sni'
	net b '{"network": ["example.test:443/tcp"]}' <<-'END'
		net open example.test 443
		net hello other.test
		net read
	END
	result_is b '.network.connections[0] | .verdict == "ok" and .received > 0' true
}

@test "an address of a rule is routed and reached as it is written" {
	given '{"allow": ["93.184.216.0/24:*", "10.9.9.1:81"]}'
	net a '{"network": ["93.184.216.10:81", "10.9.9.1:81"]}' <<-'END'
		net told
		net open 93.184.216.10 81
		net open 10.9.9.1 81
		net open 93.184.216.11 81
	END
	stdout_is a $'names 93.184.216.10/32 10.9.9.1/32\n93.184.216.10:81 open\n10.9.9.1:81 open\n93.184.216.11:81 refused'
	told a '93.184.216.10:81 open' '93.184.216.11:81 refused: no rule names it'
	wrong '{"network": ["10.9.9.0/24:81"]}' '"network" has "10.9.9.0/24:81", which the operator does not allow here; see .fsd/network'
}

@test "a user has the values of his own, and his answers are not another's" {
	chmod o+x "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/file" "$BATS_FILE_TMPDIR"
	given '{"allow": ["example.test:81"], "users": {"65534": {"allow": ["other.test:81"], "connections": 2, "ports": false}}}' --allow-other
	local user="setpriv --reuid 65534 --regid 65534 --clear-groups"
	assert grep -qx 'allow example.test:81' "$MNT/.fsd/network"
	assert_equal "$($user grep -v '^limit [rb]' "$MNT/.fsd/network")" $'network yes\nports no\nallow other.test:81\nlimit connections 2'
	wrong '{"network": ["other.test:81"]}' '"network" has "other.test:81", which the operator does not allow here; see .fsd/network'
	umask 000
	$user sh -c 'mkdir "$1" && printf "%s\n" "$2" >"$1/code.py" && echo "{\"network\": true}" >"$1/config.json"' - \
		"$MNT/a" $'net open example.test 81\nnet many 3 other.test 81'
	$user "$TESTS/../build/tests/await" read "$MNT/a/wait" 20
	assert_equal "$($user cat "$MNT/a/stdout")" $'example.test:81 refused\n2 open, 1 limit'
	net b '{"network": true}' <<<'net open example.test 81'
	stdout_is b 'example.test:81 open'
}

# --- limits --------------------------------------------------------------------

@test "connections over the limit are reset, and one that ends makes place" {
	given '{"allow": ["*:*"], "connections": 3}'
	net a '{"network": ["*:*"]}' <<-'END'
		net many 5 example.test 81
		net use 1
		net reset
		net open example.test 81
		net open example.test 81
	END
	stdout_is a $'3 open, 2 limit\nexample.test:81 open\nexample.test:81 limit'
	told a 'more than 3 connections at a time; some were refused' \
		'more than 3 connections at a time; some were refused, 3 times'
	result_is a '[.network.connections[] | select(.verdict == "limit")] | length' 1
	result_is a '[.network.connections[] | select(.verdict == "ok")] | length' 4
}

@test "bytes over the limit cut all connections, and no other begins" {
	given '{"allow": ["*:*"], "bytes": 100000}'
	net a '{"network": ["*:*"]}' <<-'END'
		net open example.test 81
		net open other.test 81
		net bytes 60000
		net end
		net eat
		net use 1
		net read
		net open example.test 81
	END
	run cat "$MNT/a/stdout"
	assert_line --regexp '^[0-9]+ bytes, reset limit$'
	assert_equal "${lines[3]} ${lines[4]}" 'reset limit example.test:81 limit'
	told a 'over 100000 bytes; cut'
	result_is a '.network | .sent + .received >= 100000' true
}

@test "connections over the rate wait, 5 s at most, and then are reset" {
	given '{"allow": ["*:*"], "rate": 1}'
	# five at once, and for 5 s one a second
	net a '{"network": ["*:*"]}' <<<'net many 14 example.test 81'
	assert grep -qE '^(9|10|11) open, [345] limit$' "$MNT/a/stdout"
	told a 'slowed down to 1 connections a second' 'too many new connections a second'
	result_is a '[.network.connections[] | select(.verdict == "limit")] | length' 1
}

@test "a run with a network counts for the quota of runs as any other" {
	given "$OPEN" --quota-running 1
	job_start a $'net open example.test 81\nout up\nawait' '{"network": ["*:*"]}' code.py
	await becomes 20 grep -q up "$MNT/a/stdout"
	job_start b 'net open example.test 81' '{"network": true}' code.py
	await becomes 20 grep -qF 'at most 1 at a time (--quota-running)' "$MNT/b/log"
	state_is b queued
	goes_on a
	job_wait a
	job_wait b
	stdout_is b 'example.test:81 open'
}

@test "\"log\" of the policy leaves connections, totals or nothing in results" {
	given '{"allow": ["*:*"], "log": "totals"}'
	net a '{"network": ["*:*"]}' <<-'END'
		net open example.test 81
		net send x
		net read
		net resolve none.test
	END
	result_is a '.network | "\(.sent) \(.received) \(.connections | length) \(.dropped)"' '2 2 0 2'
	policy '{"allow": ["*:*"], "log": "none"}'
	echo reload-network >"$MNT/.fsd/ctl"
	net b '{"network": ["*:*"]}' <<<'net open example.test 81'
	result_is b .network null
	policy '{"allow": ["*:*"], "audit": true}'
	echo reload-network >"$MNT/.fsd/ctl"
	net c '{"network": ["*:*"]}' <<<$'net open example.test 81\nnet send x\nnet read'
	run audited c 2
	assert_line --index 0 'example.test:81 (93.184.216.10) open (ok)'
	assert_line --index 1 --regexp '^example\.test:81 \(93\.184\.216\.10\) ended after [0-9.]+ s: 2 bytes out, 2 in \(ok\)$'
}

@test "the audit counts what an ended job left open, and says what a look-up refused" {
	given '{"allow": ["*:*"], "audit": true}'
	net a '{"network": ["example.test:81"]}' <<<$'net resolve other.test\nnet open example.test 81\nnet resolve example.test'
	run audited a 3
	assert_line --index 0 'other.test refused: no rule names it (denied)'
	assert_line --index 1 'example.test:81 (93.184.216.10) open (ok)'
	assert_line --index 2 --partial 'example.test:81 (93.184.216.10) ended'
	assert_equal "${#lines[@]}" 3
}

@test "equal refusals are one entry and one line with a count" {
	given '{"allow": ["*:*"], "rate": 10000, "connections": 300}'
	net a '{"network": ["example.test"]}' <<<"$(printf 'net resolve other.test\n%.0s' {1..40})"
	result_is a '.network.connections | length' 1
	told a 'other.test refused: no rule names it' 'other.test refused: no rule names it, 40 times'
	assert_equal "$(grep -c 'other.test refused' "$MNT/a/log")" 2
	assert grep -qx 'fsd_network_verdicts_total{verdict="denied"} 40' "$MNT/.fsd/stats"
	# over 200, refusals have precedence
	net b '{"network": ["*:81"]}' <<-'END'
		net many 205 example.test 81
		net resolve a.none
		net resolve b.none
		net resolve c.none
	END
	result_is b '.network | "\(.connections | length) \(.dropped)"' '200 8'
	result_is b '[.network.connections[] | select(.verdict == "unresolved")] | length' 3
}

@test "the log has 200 lines of a network at most, and what does not fit is counted" {
	given '{"allow": ["*:*"], "rate": 10000}'
	net a '{"network": ["example.test:81"]}' <<<"$(printf 'net resolve n%d.test\n' {1..230})"
	assert_equal "$(grep -c 'network: ' "$MNT/a/log")" 200
	result_is a '.network | "\(.connections | length) \(.dropped)"' '200 30'
}

@test "statistics count connections that are open, that were made, how they ended, and bytes" {
	given '{"allow": ["*:*"], "connections": 2}'
	job_start a $'net open example.test 81\nnet send 123456789\nnet read\nnet open example.test 81\nnet open example.test 81
net open other.test 25000\nout up\nawait' '{"network": ["*:*"]}' code.py
	await becomes 20 grep -q up "$MNT/a/stdout"
	assert_equal "$(figure fsd_network_connections)" 2
	assert_equal "$(figure fsd_network_connections_total)" 2
	goes_on a
	job_wait a
	await becomes 20 grep -qx 'fsd_network_connections 0' "$MNT/.fsd/stats"
	assert_equal "$(figure 'fsd_network_ended_total{verdict="ok"}')" 2
	assert_equal "$(figure 'fsd_network_ended_total{verdict="limit"}')" 2
	assert_equal "$(figure 'fsd_network_bytes_total{direction="sent"}')" 10
	assert_equal "$(figure 'fsd_network_bytes_total{direction="received"}')" 10
}

@test "fsd run --network asks for rules, and in a private mount they are the policy" {
	mkdir "$BATS_TEST_TMPDIR/run"
	cd "$BATS_TEST_TMPDIR/run" || return
	printf '%s\n' 'net open example.test 81' 'net open other.test 81' >a.py
	export XDG_STATE_HOME=$BATS_TEST_TMPDIR/home
	run bounded 30 "$FSD" run --private --network example.test:81 a.py
	assert_success
	assert_line 'example.test:81 open'
	assert_line 'other.test:81 refused'
	run bounded 30 "$FSD" run --private --network 'api.*.org' a.py
	assert_failure
	assert_output --partial '"api.*.org"; "*" can only be the whole first label'
	given '{"allow": ["other.test:81"]}'
	run bounded 30 "$FSD" run --mount "$MNT" --network other.test:81 --network other.test:81 a.py
	assert_line 'other.test:81 open'
	run bounded 30 "$FSD" run --mount "$MNT" --network example.test:81 a.py
	assert_failure
	assert_output --partial 'network has "example.test:81", which the operator does not allow here; see .fsd/network'
}

@test "certificates and variables of the policy reach the machine" {
	given "{\"allow\": [\"*:*\"], \"ca\": \"ca.pem\", \"env\": {\"PIP_INDEX_URL\": \"https://mirror.test/simple\", \"A\": \"policy\"}}"
	net a '{"network": [], "env": {"A": "job"}}' <<<$'net told\nenv'
	assert grep -qx "names ca $(stat -c %s "$WORLD/ca.pem")" "$MNT/a/stdout"
	assert grep -qx 'PIP_INDEX_URL=https://mirror.test/simple' "$MNT/a/stdout"
	assert grep -qx A=job "$MNT/a/stdout"
	net b '{}' <<<env
	refute grep -q PIP_INDEX_URL "$MNT/b/stdout"
}

@test "a variable of the policy replaces the environment's, and each name is sent once" {
	local image=$BATS_TEST_TMPDIR/image
	mkdir -p "$image" "${ENVIRONMENTS:=$BATS_TEST_TMPDIR/environments}"
	printf 'format 1\nabi %s\n' 'debian-13-amd64 python-3.13 node-20' >"$image/manifest"
	echo 'python3 3.13.5-1' >"$image/packages.list"
	environment_make data '' '{"env": {"A": "set", "B": "set", "TERM": "set"}}'
	given '{"allow": ["*:*"], "env": {"A": "policy", "HOME": "/policy"}}' \
		--environments "$ENVIRONMENTS" --image "$image"
	net a '{"network": [], "environment": "data", "env": {"B": "job"}}' <<<env
	run grep -E '^(A|B|HOME|TERM)=' "$MNT/a/stdout"
	assert_equal "$(sort <<<"$output" | xargs)" 'A=policy B=job HOME=/policy TERM=set'
}

# --- a policy, a sandbox, a door that changes ------------------------------------

@test "reload-network ends the connections that the new rules refuse, and no other" {
	given "$OPEN"
	job_start a $'net open example.test 81\nnet open other.test 81\nout up\nawait\nnet read\nnet use 1
net send still\nnet read\nnet open other.test 81' '{"network": ["*:*"]}' code.py
	job_follow a 'example.test:81 open'
	await becomes 20 grep -q up "$MNT/a/stdout"
	policy '{"allow": ["example.test:81"]}'
	echo reload-network >"$MNT/.fsd/ctl"
	await becomes 20 grep -q 'network: other.test:81 refused' "$MNT/a/log"
	goes_on a
	job_wait a
	stdout_is a $'example.test:81 open\nother.test:81 open\nup\nreset refused\nstill\nother.test:81 refused'
	# each refusal is told once: that of the open connection, and that of the third
	told a 'other.test:81 refused: the rules have changed' 'other.test:81 refused: no rule names it'
	refute grep -q '2 times' "$MNT/a/log"
	assert_equal "$(verdicts a | tr ' ' '\n' | sort | xargs)" 'denied denied ok'
	# a job that would not be accepted any more keeps to what it had, within the new rules
	wrong '{"network": ["other.test:81"]}' '"network" has "other.test:81", which the operator does not allow here; see .fsd/network'
}

@test "reload-network gives a living sandbox with all that the operator allows its new addresses" {
	given '{"allow": ["*:*"]}'
	local box=$MNT/.fsd/sandboxes/s
	mkdir "$box"
	echo '{"network": true}' >"$box/config.json"
	job_start a $'net told\nout up\nawait\nnet told\nnet open 93.184.216.10 81' '{"sandbox": "s"}' code.py
	await becomes 20 grep -q up "$MNT/a/stdout"
	policy '{"allow": ["*:*", "93.184.216.0/24:*"]}'
	echo reload-network >"$MNT/.fsd/ctl"
	goes_on a
	job_wait a
	stdout_is a $'names\nup\nnames 93.184.216.0/24\n93.184.216.10:81 open'
	rmdir "$box"
}

@test "a door that is killed is replaced, and connections go on meanwhile" {
	given "$OPEN"
	job_start a $'net open example.test 81\nout up\nawait\nnet send first\nnet read\nnet open example.test 81
net send second\nnet read' '{"network": ["*:*"]}' code.py
	await becomes 20 grep -q up "$MNT/a/stdout"
	kill -9 "$(door)"
	goes_on a
	job_wait a
	stdout_is a $'example.test:81 open\nup\nfirst\nexample.test:81 open\nsecond'
	assert grep -q "the host's network helper ended; another one is started" "$LOG"
}

@test "without a door requests wait 5 s and fail, and connections go on" {
	given "$OPEN"
	expect_log "network.s helper|network helper"
	job_start a $'net open example.test 81\nout up\nawait\nnet open example.test 81\nnet resolve other.test\nnet use 1
net send on\nnet read' '{"network": ["*:*"]}' code.py
	await becomes 20 grep -q up "$MNT/a/stdout"
	chmod 666 "$WORLD/policy.json" # no other door takes it
	kill -9 "$(door)"
	await becomes 20 grep -q '^door  absent  ' "$MNT/.fsd/security"
	goes_on a
	job_wait a
	stdout_is a $'example.test:81 open\nup\nexample.test:81 failed\nother.test again\non'
	told a "the host's network helper ended"
	# the rules are those that were read last
	assert grep -qx 'allow \*:\*' "$MNT/.fsd/network"
	chmod 600 "$WORLD/policy.json"
	echo reload-network >"$MNT/.fsd/ctl"
	net b '{"network": ["*:*"]}' <<<'net open example.test 81'
	stdout_is b 'example.test:81 open'
	local wall
	for wall in user capabilities seccomp landlock; do
		assert grep -qE "^door-$wall  (active|degraded|absent)  " "$MNT/.fsd/security"
	done
}

@test "a server that is killed takes its door along, and the next one has its own" {
	given "$OPEN"
	local before
	before=$(door)
	net a '{"network": ["*:*"]}' <<<'net open example.test 81'
	stdout_is a 'example.test:81 open'
	kill_server
	await becomes 20 bash -c '! kill -0 "$1" 2>/dev/null' - "$before"
	net b '{"network": ["*:*"]}' <<<'net open example.test 81'
	stdout_is b 'example.test:81 open'
	assert_equal "$(door | wc -l)" 1
	# the results of its jobs are those of before
	result_is a '.network.connections[0].verdict' ok
	# and it takes another policy
	policy '{"allow": ["other.test:81"]}'
	echo reload-network >"$MNT/.fsd/ctl"
	wrong '{"network": ["example.test:81"]}' '"network" has "example.test:81", which the operator does not allow here; see .fsd/network'
}

@test "a relay that is killed is told, and the program runs on without" {
	given "$OPEN"
	job_start a $'net open example.test 81\nout up\nawait\nnet read\nnet resolve example.test' '{"network": ["*:*"]}' code.py
	await becomes 20 grep -q up "$MNT/a/stdout"
	kill -9 "$(relays)"
	await becomes 20 grep -qF 'network: lost: the relay ended; the program runs on without' "$MNT/a/log"
	goes_on a
	job_wait a
	ended a 0 exited
	stdout_is a $'example.test:81 open\nup\nreset peer\nexample.test none'
	result_is a '.network.connections[0].verdict' lost
}

# relays — the processes of all relays.
relays() { pgrep -x fsd-relay -P "$(pgrep -x fake-relays -P "$SERVER")"; }

# taken PID <COMMANDS — what a relay does that was taken over (tests/network/relay.py).
taken() {
	bounded 30 /usr/bin/python3 -B "$TESTS/network/relay.py" "$1"
}

@test "a relay that was taken over gets no names of others and forges no record" {
	given '{"allow": ["*:*"], "audit": true}'
	local relay script=$'net open %s 81\nout up\nawait\nnet send on\nnet read'
	# shellcheck disable=SC2059 # two programs
	job_start a "$(printf "$script" example.test)" '{"network": ["example.test:81"]}' code.py
	await becomes 20 grep -q up "$MNT/a/stdout"
	relay=$(relays)
	# shellcheck disable=SC2059
	job_start b "$(printf "$script" other.test)" '{"network": ["other.test:81"]}' code.py
	await becomes 20 grep -q up "$MNT/b/stdout"
	run taken "$relay" <<-'END'
		connect other.test 81
		resolve other.test
		connect example.test 82
		connect example.test 81
		ended 77 ok 999 forged
		ended 78 denied 999 bank.test:443 was reached
		ended 1 ok 999 forged
		total 123456
	END
	assert_output $'denied\ndenied\ndenied\nok'
	goes_on a
	goes_on b
	job_wait a
	job_wait b
	# what it asked for is told, of the job whose socket it has
	told a 'other.test:81 refused: no rule names it' 'example.test:82 refused: no rule names this port'
	assert grep -q 'audit: network: uid 0, a: other.test:81 refused: no rule names it (denied)$' "$LOG"
	# its own words are counts and reasons, of no server that the door has not named
	assert_equal "$(result a '[.network.connections[] | select(.verdict == "ok") | .host] | unique | join(" ")')" example.test
	assert_equal "$(result a '[.network.connections[] | select(.reason // "" | test("bank")) | .host] | join(" ")')" ''
	run grep -E 'audit: .*(bank|forged)' "$LOG"
	refute_output
	# the other job is as it was
	stdout_is b $'other.test:81 open\nup\non'
	result_is b '.network | "\(.sent) \(.received) \(.connections | length)"' '3 3 1'
	run audited b 2
	assert_line --index 0 'other.test:81 (93.184.216.11) open (ok)'
	assert_line --index 1 --regexp 'other\.test:81 \(93\.184\.216\.11\) ended after .*: 3 bytes out, 3 in \(ok\)'
	assert_equal "${#lines[@]}" 2
}

@test "a relay that sends the server what is no message loses its machine's network alone" {
	given "$OPEN"
	local relay script=$'net open example.test 81\nout up\nawait\nnet send on\nnet read'
	job_start a "$script" '{"network": ["*:*"]}' code.py
	await becomes 20 grep -q up "$MNT/a/stdout"
	relay=$(relays)
	job_start b "$script" '{"network": ["*:*"]}' code.py
	await becomes 20 grep -q up "$MNT/b/stdout"
	taken "$relay" <<<wrong
	await becomes 20 grep -qF 'network: lost: the relay sent a wrong message; the program runs on without' "$MNT/a/log"
	goes_on a
	goes_on b
	job_wait a
	ended a 0 exited
	stdout_is a $'example.test:81 open\nup\nreset peer'
	told a 'example.test:81 (93.184.216.10) lost'
	result_is a '.network.connections[0] | [.verdict, .sent, .received, .ms] | map(tostring) | join(" ")' 'lost null null null'
	job_wait b
	stdout_is b $'example.test:81 open\nup\non'
}

@test "a machine that breaks the protocol fails its job" {
	given "$OPEN"
	expect_log 'broke the network|a job of'
	net a '{"network": ["*:*"]}' <<<$'net open example.test 81\nnet raw 0000000000000000\nsleep 20000'
	status_is a failed
	result_is a .message "the program's outcome is unknown: the machine broke the network's protocol: a frame that a machine does not send, of type 0"
	# WINDOW of a stream that was never opened
	net b '{"network": ["*:*"]}' <<<$'net raw 0800000001fe0a000900000001000000\nsleep 20000'
	result_is b .message "the program's outcome is unknown: the machine broke the network's protocol: WINDOW for a stream that was never opened"
}

@test "the steps of a session have the network of its first, and each its own connections" {
	given "$OPEN"
	net a '{"session": "s", "network": ["*.test:81"]}' <<<$'net open example.test 81\nnet send x\nnet read'
	stdout_is a $'example.test:81 open\nx'
	# the connection is open still
	net b '{"session": "s"}' <<<$'net send y\nnet read\nnet open other.test 81'
	stdout_is b $'y\nother.test:81 open'
	result_is a '[.network.connections[].host] | join(" ")' example.test
	result_is b '[.network.connections[].host] | join(" ")' other.test
	# it was open when its step ended
	result_is a '.network.connections[0] | "\(.verdict) \(.ms)"' 'ok null'
	net c '{"session": "s", "network": ["*.test:81"]}' <<<'out same'
	stdout_is c same
	mkdir "$MNT/d"
	job_put d code.py 'out x'
	job_put d config.json '{"session": "s", "network": true}'
	await becomes 20 grep -q refused "$MNT/d/state"
	refused d '"network" differs from that of session "s", which was started with ["*.test:81"]: use another name, or end it by rmdir .fsd/sessions/s'
	rmdir "$MNT/.fsd/sessions/s"
}

@test "the rules of a sandbox change while its machine runs, and end what they refuse" {
	given '{"allow": ["*:*", "93.184.216.10:*"]}'
	local S=$MNT/.fsd/sandboxes
	mkdir "$S/a" "$S/b"
	echo '{"network": []}' >"$S/a/config.json"
	net j '{"sandbox": "a"}' <<<$'net told\nnet open example.test 81'
	stdout_is j $'names\nexample.test:81 refused'
	fails EINVAL bash -c 'mkdir "$1/k" && echo x >"$1/k/code.py" && echo "{\"sandbox\": \"a\", \"network\": []}" >"$1/k/config.json"' - "$MNT"
	echo '{"network": ["example.test:81", "other.test:81"]}' >"$S/a/config.json"
	job_start l $'net open example.test 81\nnet open other.test 81\nout up\nawait\nnet read\nnet use 2\nnet send on\nnet read' '{"sandbox": "a"}' code.py
	await becomes 20 grep -q up "$MNT/l/stdout"
	echo '{"network": ["example.test:81", "93.184.216.10:81"]}' >"$S/a/config.json"
	await becomes 20 grep -q other.test "$S/a/network"
	goes_on l
	job_wait l
	stdout_is l $'example.test:81 open\nother.test:81 open\nup\nreset refused\non'
	result_is l .network null
	# the machine hears of a new address
	net m '{"sandbox": "a"}' <<<$'net told\nnet open 93.184.216.10 81\nnet open other.test 81'
	stdout_is m $'names 93.184.216.10/32\n93.184.216.10:81 open\nother.test:81 refused'
	await becomes 20 grep -q '"93.184.216.10", "port": 81' "$S/a/network"
	assert_equal "$(jq -r '"\(.host) \(.verdict)"' "$S/a/network" | sort -u | paste -sd ,)" \
		'93.184.216.10 ok,example.test denied,example.test ok,other.test denied'
	fails EINVAL bash -c 'echo "{\"network\": [\"10.0.0.5\"]}" >"$1"' - "$S/a/config.json"
	job_run n 'out x' '{"sandbox": "b"}' code.py
	fails EBUSY bash -c 'echo "{\"network\": [\"example.test\"]}" >"$1"' - "$S/b/config.json"
	assert grep -qF '"network" cannot be added, since the machine has begun without; "network": [] can be widened' "$MNT/.fsd/last_error"
	rmdir "$S/a" "$S/b"
}

@test "what is sent at the end arrives, and a connection that is open then is told" {
	given "$OPEN"
	net a '{"network": ["*:*"]}' <<<$'net open example.test 81\nnet bytes 200000'
	result_is a '.network.sent' 200000
	result_is a '.network.connections[0].verdict' ok
}

# --- a network that ends before its program ----------------------------------------

# lost_of JOB — the connections of the result that a lost network took with it.
lost_of() {
	result "$1" '[.network.connections[] | select(.verdict == "lost") | [.host, .sent, .reason] | map(tostring) | join(" ")] | join("; ")'
}

@test "the machine's helper that ends is told with its reason, and connections are reset" {
	given "$OPEN"
	net a '{"network": ["*:*"]}' <<-'END'
		net open example.test 81
		net send x
		net read
		net helper
		net read
		net open example.test 81
		out on
	END
	ended a 0 exited
	stdout_is a $'example.test:81 open\nx\nreset peer\nexample.test:81 peer\non'
	told a "lost: the machine's network helper ended; the program runs on without" \
		"example.test:81 (93.184.216.10) lost: the machine's network helper ended"
	assert_equal "$(lost_of a)" \
		"example.test null the machine's network helper ended; null null the machine's network helper ended"
	# of a program without a connection, too
	net b '{"network": ["*:*"]}' <<<'net helper'
	assert_equal "$(lost_of b)" "null null the machine's network helper ended"
	# in a sandbox its file says it
	mkdir "$MNT/.fsd/sandboxes/s"
	echo '{"network": ["*:*"]}' >"$MNT/.fsd/sandboxes/s/config.json"
	net c '{"sandbox": "s"}' <<<$'net open example.test 81\nnet helper\nnet read'
	stdout_is c $'example.test:81 open\nreset peer'
	await becomes 20 grep -q '"host": null.*"verdict": "lost", "reason": "the machine.s network helper ended"' \
		"$MNT/.fsd/sandboxes/s/network"
	rmdir "$MNT/.fsd/sandboxes/s"
}

@test "each later step of a session is told that its machine's network is lost" {
	given "$OPEN"
	net a '{"session": "s", "network": ["*.test:81"]}' <<<$'net open example.test 81\nnet helper'
	net b '{"session": "s"}' <<<'net open example.test 81'
	told b "lost: the machine's network helper ended; the program runs on without"
	assert_equal "$(lost_of b)" "null null the machine's network helper ended"
	rmdir "$MNT/.fsd/sessions/s"
}

@test "a job is told that the door ended while it runs" {
	given "$OPEN"
	job_start a $'net open example.test 81\nout up\nawait\nnet open example.test 81' '{"network": ["*:*"]}' code.py
	await becomes 20 grep -q up "$MNT/a/stdout"
	kill -9 "$(door)"
	await becomes 20 grep -qF "network: the host's network helper ended; another one is started" "$MNT/a/log"
	goes_on a
	job_wait a
	stdout_is a $'example.test:81 open\nup\nexample.test:81 open'
}

# --- a sandbox whose rules change ---------------------------------------------------

@test "an address that a living sandbox is allowed later is routed, and one that is taken away is refused" {
	given '{"allow": ["*:*", "93.184.216.0/24:*", "10.9.9.1:81"]}'
	local box=$MNT/.fsd/sandboxes/s
	mkdir "$box"
	echo '{"network": []}' >"$box/config.json"
	job_start a $'net told\nnet open 93.184.216.10 81\nout first\nawait\nnet told\nnet open 93.184.216.10 81
net open 10.9.9.1 81\nout second\nawait\nnet use 2\nnet read\nnet open 93.184.216.10 81\nnet open 10.9.9.1 81' '{"sandbox": "s"}' code.py
	await becomes 20 grep -q first "$MNT/a/stdout"
	echo '{"network": ["93.184.216.10:81", "10.9.9.1:81"]}' >"$box/config.json"
	goes_on a
	await becomes 20 grep -q second "$MNT/a/stdout"
	echo '{"network": ["10.9.9.1:81"]}' >"$box/config.json"
	await becomes 20 bash -c 'tail -n 1 "$1" | grep -q "\"verdict\": \"denied\""' - "$box/network"
	goes_on a
	job_wait a
	stdout_is a $'names\n93.184.216.10:81 refused\nfirst\nnames 93.184.216.10/32 10.9.9.1/32
93.184.216.10:81 open\n10.9.9.1:81 open\nsecond\nreset refused\n93.184.216.10:81 refused\n10.9.9.1:81 open'
	rmdir "$box"
}
