# SPDX-License-Identifier: Apache-2.0
#
# For the tests of machines that outlive their server.

# kill_server — and the one that follows is $SERVER.
kill_server() {
	server_kill
	server_now
}

server_now() {
	SERVER=$(server_pid)
	export SERVER
}

# counts [CONFIG] — a job $J that says forty numbers in four seconds.
counts() {
	job_made code.py <<<'
import sys, time
for i in range(40):
    print(i, flush=True)
    time.sleep(0.1)
open("made", "w").write("by one run\n")
sys.exit(5)'
	job_put "$J" config.json "${1:-{\}}"
	job_follow "$J" 0
}

# counted — it did all of that, once.
counted() {
	ended "$J" 5 exited
	stdout_is "$J" "$(seq 0 39)"
	assert_equal "$(cat "$MNT/$J/output/made")" 'by one run'
	assert_equal "$(names "$MNT/$J/output")" made
	result_is "$J" '.attempts' '[]'
}
