/* SPDX-License-Identifier: Apache-2.0 */
/* A lane's end in its agent, and its parts of the agent's turn. */
#ifndef GUEST_LANE_TURN_H
#define GUEST_LANE_TURN_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#include "agent.h"
#include "guest/run/drain.h"

/* By which init tells of the end of a process that is its own child: a runner
 * that waited before the machine was shared. */
struct lane_told {
	pid_t pid;
	int status;
};

struct lane_end {
	unsigned lane, serial;
	int port;         /* owned; the lane's end of the socket */
	int told;         /* owned; struct lane_told come here */
	enum wire_runner kind; /* who runs its jobs */
	bool waits;       /* a->runners[kind] has waited for it */
	bool closing;     /* CLOSE has come */
	bool killing;     /* ... with WIRE_CLOSE_KILL */
	bool killed;
};

#define LANE_POLL_MAX (DRAIN_MAX + 2)
/* Parts of a turn of the agent, see agent_turn(). */
int lane_poll(const struct agent *a, struct pollfd *p);
void lane_hear(struct agent *a);
void lane_close(struct agent *a, uint8_t how);
/* Does not return when the lane is closed. */
int lane_progress(struct agent *a);

#endif
