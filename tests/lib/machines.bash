# SPDX-License-Identifier: Apache-2.0
#
# For the tests of machines and zygotes that die.

load ../lib/qemu

# is_forked PID — is this machine's process a zygote's child?
is_forked() {
	grep -q fsd-zygote "/proc/$1/maps"
}

# killed_at_start COUNT SIGNAL — a job $J waits for its machine, and those that
# are started for it are ended from outside, in a row. No zygote may be on its
# way then: it would be hit in a machine's place.
killed_at_start() {
	prog code.py <<<'print("fine")'
	ok fine
	job_made code.py <<<'print("run at last")'
	echo '{}' >"$MNT/$J/tmp"
	/usr/bin/python3 -I "$TESTS/lib/killer.py" "$(jailer)" "$1" "$2" \
		mv "$MNT/$J/tmp" "$MNT/$J/config.json"
}

# same_template — $J has run, and what came before was not laid at its door.
same_template() {
	job_wait "$J" 120
	ok 'run at last'
	assert_equal "$(figure fsd_templates_made_total)" 0
	health_is_ok
	fails_to_match 'is thrown away'
}

fails_to_match() {
	run grep -e "$1" "$LOG"
	assert_failure
}

# kernel_ends — the one machine's processor gets a machine check, which the
# guest's kernel has no code for: a triple fault, which is also how a panic ends
# there (panic=-1 reboot=t). Of a later QEMU than 7.2 it has no effect: the reset
# that follows a triple fault is asked for.
kernel_ends() {
	local how='mce -b 0 0 0xbd00000000000134 4 0 0'
	grep -q '^qemu .* QEMU 7\.2' "$MNT/.fsd/security" ||
		how=system_reset
	/usr/bin/python3 -I -S "$TESTS/lib/monitor.py" "$SERVER" "$(machines)" \
		"$how"
}
