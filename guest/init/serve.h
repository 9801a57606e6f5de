/* SPDX-License-Identifier: Apache-2.0 */
/* Serves the host, from HELLO to the last frame. All functions run in init. */
#ifndef GUEST_SERVE_H
#define GUEST_SERVE_H

#include "guest/agent/agent.h"

void agent_hello(struct agent *a);
/* Starts the runners, heats each once, sends READY. */
int agent_ready(struct agent *a, struct err *err);
/*
 * Serves the host until it closes the port or breaks a rule, or until a runner
 * ends without a job: the host then makes another machine, before it has a job
 * that would be refused. Return: the reason.
 */
int agent_serve(struct agent *a, struct err *err);

#endif
