# SPDX-License-Identifier: Apache-2.0
#
# For the tests of jobs that wait.

# one OPTION... — a mount with one machine, which `first` has.
one() {
	mount_start --max-machines 1 --pool 1 "$@"
	job_start first $'out up\nsleep 600000' '{"timeout": 3600}'
	job_follow first up
}

# first_ends — the machine is free.
first_ends() {
	echo kill >"$MNT/first/ctl"
	job_wait first
}

queue() {
	bounded 300 /usr/bin/python3 -I -S "$TESTS/lib/queue.py" "$@"
}
