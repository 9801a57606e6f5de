# SPDX-License-Identifier: Apache-2.0
#
# Before the examples of fsd-batch(8): host1 and host2 are this host, in a shell that gets
# what sshd(8) gives it and no more. Where there is an sshd(8), it is that. ENGINES is set
# where all engines are.
if [ -x /usr/sbin/sshd ]; then
	. "$TOP/tests/engines/sshd.sh"
	trap sshd_end EXIT
else
	ssh() {
		env -i HOME="$HOME" PATH="$PATH" FSD_IMAGE="$FSD_IMAGE" bash -c "$2"
	}
fi
if [ -n "$ENGINES" ]; then
	. "$TOP/tests/engines/condor.sh"
	trap 'sshd_end; condor_end' EXIT
fi
