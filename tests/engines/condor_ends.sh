#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# condor_ends.sh — below HTCondor, as root: the job of a program that fails is held, and
# condor_rm of one that runs leaves no process of its user's.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
HOME=$(mktemp -d)
cd "$HOME"
# shellcheck source=tests/engines/condor.sh
. "$top/tests/engines/condor.sh"
trap condor_end EXIT

until_true() {
	timeout $((60 * ${SLOW:-1})) bash -c "until $1; do sleep 0.2; done"
}

# submit CODE — prints the job's number.
submit() {
	cat >end.py <<<"$1"
	condor_submit -terse <<-'END' | cut -d ' ' -f 1
		executable = /usr/bin/fsd
		transfer_executable = false
		arguments = run --private -g result end.py
		should_transfer_files = YES
		transfer_input_files = end.py
		transfer_output_files = result
		request_memory = 640
		error = error.$(Cluster)
		queue
	END
}

failing=$(submit 'import sys; sys.exit("no result")')
until_true "[ \"\$(condor_q $failing -af JobStatus)\" = 5 ]"
condor_q "$failing" -af HoldReason | grep /result
grep -x 'no result' "error.${failing%.*}"

running=$(submit 'import time; time.sleep(3600)')
until_true 'pgrep -u anna -f qemu-system'
condor_rm "$running"
until_true '! pgrep -u anna .'
