#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh [FSD [OPTION...]] — the ways of fsd-slurm(7), on a Slurm of three nodes that it
# starts on this host, as root. TAP on standard output. FSD: the program, by default that
# with fake machines. OPTION: of bats, such as -f PATTERN.
#
# munged, slurmctld and three slurmd live in namespaces of their own: no port is in use
# there, and the kernel ends all of them with this script.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
FSD=$(realpath "${1:-$here/../../build/fsd-fake}")
export FSD PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
# shellcheck disable=SC2016 # for the other shell
exec unshare --pid --fork --kill-child --mount --propagation private --net bash -ec '
	mount -t proc proc /proc
	mount -t tmpfs -o mode=755 tmpfs /run
	cp -a /dev/fuse /run/fuse && chmod 666 /run/fuse && mount --bind /run/fuse /dev/fuse
	ip link set lo up
	ip address add 192.0.2.1/32 dev lo # without a second one no name is resolved
	bats --tap --timing --print-output-on-failure "$@"' slurm "${@:2}" "$here"
