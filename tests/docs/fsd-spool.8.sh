# SPDX-License-Identifier: Apache-2.0
#
# Before the examples of fsd-spool(8): the host's mount.
fsd mount --daemon /run/fsd/jobs >/dev/null 2>&1
