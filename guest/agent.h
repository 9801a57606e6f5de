/* SPDX-License-Identifier: Apache-2.0 */
/* The frame loop: one poll for the port, the children and the job. */
#ifndef GUEST_AGENT_H
#define GUEST_AGENT_H

#include "job.h"
#include "port.h"
#include "runner.h"

struct agent {
	struct port port;
	struct runner runners[WIRE_RUN_MAX];
	struct job job;
	int children; /* owned; signalfd for SIGCHLD */
};

void agent_hello(struct agent *a);
/* Waits for every runner, heats each once, says READY. */
int agent_ready(struct agent *a, struct err *err);
/* Serves the host until it has gone or breaks a rule. Return: why. */
int agent_serve(struct agent *a, struct err *err);

#endif
