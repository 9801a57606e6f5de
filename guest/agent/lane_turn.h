/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane's state in its agent, and the agent's additional work in each turn.
 * All functions run in the lane's agent.
 */
#ifndef GUEST_LANE_TURN_H
#define GUEST_LANE_TURN_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#include "agent.h"
#include "guest/run/drain.h"

/* A message of init about the end of a process that is init's own child: a
 * runner that waited before the machine was shared. */
struct lane_told {
	pid_t pid;
	int status;
};

struct lane_end {
	unsigned lane, serial;
	int port;         /* owned; the lane's end of the socket */
	int told; /* owned; init sends a struct lane_told to it */
	enum wire_runner kind; /* runner that runs the lane's jobs */
	bool waits; /* a->runners[kind] was waiting when the lane opened */
	bool closing;     /* the host has sent CLOSE */
	bool killing;     /* that CLOSE had WIRE_CLOSE_KILL */
	bool killed;
};

#define LANE_POLL_MAX (DRAIN_MAX + 2)
/* Parts of agent_turn(): fills in p (returns the number of entries); hears from init
 * and reads drained pipes; handles CLOSE. */
int lane_poll(const struct agent *a, struct pollfd *p);
void lane_hear(struct agent *a);
void lane_close(struct agent *a, uint8_t how);
/* Continues to close the lane after CLOSE. Return: 0, or the port's error; it does not
 * return once CLOSED is sent. */
int lane_progress(struct agent *a);

#endif
