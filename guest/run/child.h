/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a runner's process, from fork() to the wait for its message. */
#ifndef GUEST_CHILD_H
#define GUEST_CHILD_H

#include "runner.h"

/* Makes the process the runner, with control as its socket. Call it in the
 * child. */
_Noreturn void child_become_runner(struct runner *r, int control);

#endif
