/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a clone of the jailer into a relay. It executes nothing, so its list of permitted
 * calls needs neither execve nor the calls of a program's start.
 *
 * The clone has the jailer's memory, which holds no secret of a user: paths of QEMU and of
 * the image, numbers of processes. jail_child_stay() has closed the jailer's descriptors.
 */
#include "jail_relay.h"

#include <sys/prctl.h>
#include <unistd.h>

#include "vm/net/relay.h"

/* After standard input, output and error. */
enum { FD_ACCOUNT = 3, FD_PORT };

_Noreturn void jail_relay_main(struct jail_child *c)
{
	prctl(PR_SET_NAME, "fsd-relay");
	jail_child_stay(c);
	_exit(relay_main(FD_ACCOUNT, FD_PORT));
}
