/* SPDX-License-Identifier: Apache-2.0 */
/* Reaps processes, in init and in a lane's agent. */
#ifndef GUEST_REAP_H
#define GUEST_REAP_H

#include <sys/types.h>

#include "agent.h"

/*
 * Reaps every child that has ended, and passes each end to the job that the process
 * belongs to. Only this function, and reap() of mux.c in a shared machine, call
 * waitpid(): PID 1 inherits every orphan, and a lane's agent those of its lane.
 */
void agent_reap(struct agent *a);
/* In init: if the process was the network's helper, reports its end to the host. Return:
 * whether it was. */
bool agent_net_ended(struct agent *a, pid_t pid);
/* Handles the end of a process, if it is a runner. */
void agent_ended(struct agent *a, pid_t pid, int status);

#endif
