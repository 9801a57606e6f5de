#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh OUTDIR — the recipes of fsd-batch(8) with the real engines, as root: a root file
# system of Debian 13 is made (in OUTDIR) that has them, fsd is built there, and each command
# of the manual runs on real machines. `make check` skips the engines that its host lacks;
# here none may be skipped. TAP on standard output.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
out=$(realpath -m "${1:?usage: run.sh OUTDIR}")
more='make openssh-client openssh-server parallel procps snakemake xxd'
# shellcheck source=tests/debian13/root.sh
. "$here/../debian13/root.sh"

echo 'TAP version 13'
echo '1..4'
root_ready
says 'fsd is built there' inside 'make -j"$(nproc)" all'
says 'its template is made there' inside '
	ln -sfn /image build/image && tests/lib/template.sh build/test-state'
says 'each command of fsd-batch(8) prints what is said' inside '
	SLOW=4 tests/docs/run.py fsd/fsd-batch.8 | tee /tmp/said
	[ "${PIPESTATUS[0]}" = 0 ] && ! grep "# SKIP" /tmp/said'
exit $failed
