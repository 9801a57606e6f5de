/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame loop of init and of each lane's agent: one poll for the port, the
 * children and the job. All functions run in that process, which has one
 * thread.
 */
#ifndef GUEST_AGENT_H
#define GUEST_AGENT_H

#include "guest/net/net.h"
#include "guest/run/job.h"
#include "guest/os/port.h"
#include "guest/run/runner.h"

struct agent {
	struct port port;
	struct runner runners[WIRE_RUN_MAX];
	/* runners for heating; only the one for EXEC is used */
	struct runner warmup_program[WIRE_RUN_MAX];
	struct job job;
	/* &job; or heat.c's own job while the warm-up program runs */
	struct job *current;
	bool spends; /* heat.c lets a runner itself run its program; the runner ends
		      * with it */
	bool starved; /* whole frames may wait in port.in; no event of poll() reports
		       * them */
	int children; /* owned; signalfd of SIGCHLD */
	unsigned later; /* index of the next entry of later[] in agent.c */
	struct net *net; /* borrowed; PID 1's */
	bool owned; /* OWN has come: this machine has secrets of its own */
	/* Borrowed: a HEAT or a SHARE that the caller of agent_turn() must handle; type
	 * WIRE_NONE: none. */
	struct frame aside;
	struct mux *mux; /* owned; set once SHARE has come: see mux.h */
	/* borrowed; set in a lane's agent: see lane_turn.h */
	struct lane_end *end;
	/* borrowed; a runner that ended before any job came */
	const struct runner *lost;
};

/*
 * Waits for the next event and handles it; waits at most until sys_now() is
 * end. While the warm-up program runs, the frames come from heat.c and the host gets
 * none. A HEAT or a SHARE ends the reading of frames: the caller handles
 * a->aside before the next turn. Return: 0, -ETIMEDOUT, -EPIPE (the host has
 * closed the port), else an error that makes it impossible to serve the host.
 */
int agent_turn(struct agent *a, uint64_t end, struct err *err);
/* Handles a NET frame. Return: 0, or a negative errno that ends the machine. */
int agent_on_network(struct agent *a, const struct frame *f, struct err *err);

#endif
