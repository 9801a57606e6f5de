/* SPDX-License-Identifier: Apache-2.0 */
/* The child's way from fork() to the wait for the message. */
#ifndef GUEST_CHILD_H
#define GUEST_CHILD_H

#include "runner.h"

/* In the child: becomes the runner, with control as its socket. */
_Noreturn void child_become_runner(struct runner *r, int control);

#endif
