/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of processes. */
#ifndef GUEST_REAP_H
#define GUEST_REAP_H

#include <sys/types.h>

#include "agent.h"

/* The only waitpid there is: PID 1 inherits every orphan, and a lane's agent those
 * of its lane, so each end is taken here and given to whom it belongs. */
void agent_reap(struct agent *a);
/* The process has ended, if it is a runner. */
void agent_ended(struct agent *a, pid_t pid, int status);

#endif
