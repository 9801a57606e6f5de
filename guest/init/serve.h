/* SPDX-License-Identifier: Apache-2.0 */
/* Init and the host: from HELLO to the last frame. */
#ifndef GUEST_SERVE_H
#define GUEST_SERVE_H

#include "guest/agent/agent.h"

void agent_hello(struct agent *a);
/* Starts the runners, heats each once, says READY. */
int agent_ready(struct agent *a, struct err *err);
/* Serves the host until it has gone or breaks a rule, or a runner has ended that no
 * job had: the host makes another machine before it has a job that is refused.
 * Return: why. */
int agent_serve(struct agent *a, struct err *err);

#endif
