#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs in the box, once it has booted: the tests, then it is switched off.
stty -F /dev/ttyS1 raw -echo
modprobe -a kvm_amd fuse || exit
# Nothing here is a tenth as quick as it would be.
export SLOW=10 MOUNT_SECONDS=20 LC_ALL=C.UTF-8
export FSD=/mnt/build/fsd FSD_IMAGE=/mnt/build/image FSD_ACCEL=kvm
export FSD_TEST_STATE=/var/tmp/state TMPDIR=/var/tmp STRICT=1
umask 022
mapfile -t options < <(grep . /mnt/options)
bats --tap --filter-tags kvm "${options[@]}" \
	/mnt/tests/box/10_host.bats /mnt/tests/qemu/73_walls.bats
echo "# status $?"
