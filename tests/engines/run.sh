#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh OUTDIR — the recipes of fsd-batch(8) with the real engines, as root: a root file
# system of Debian 13 is made (in OUTDIR) that has them, fsd is built there, and each command
# of the manual runs on real machines, also those that `make check` leaves out: Snakemake
# takes 1.3 GB and three minutes on Debian 12, which has no HTCondor. They run in a network
# of their own. TAP on standard output.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
out=$(realpath -m "${1:?usage: run.sh OUTDIR}")
more='make minicondor openssh-client openssh-server parallel procps snakemake xxd'
# shellcheck source=tests/debian13/root.sh
. "$here/../debian13/root.sh"

# engines COMMAND — in the root, in a network of its own with a host name that it knows, and
# with /dev/fuse for all users, as udev(7) makes it.
engines() {
	inside "unshare --net --uts sh -ec '
		ifconfig lo up
		hostname localhost
		cp -a /dev/fuse /fuse && chmod 666 /fuse && mount --bind /fuse /dev/fuse
		SLOW=4 $1'"
}

echo 'TAP version 13'
echo '1..5'
root_ready
says 'fsd is built there' inside '
	make -j"$(nproc)" all && ln -sfn /image build/image &&
	ln -sfn /src/build/fsd /usr/bin/fsd'
says 'its template is made there' inside '
	mkdir -p build/test-state/templates && fsd template'
says 'each command of fsd-batch(8) prints what is said' engines '
	tests/docs/run.py --engines fsd/fsd-batch.8'
says 'below HTCondor a failed program is held, and condor_rm leaves no machine' engines '
	tests/engines/condor_ends.sh'
exit $failed
