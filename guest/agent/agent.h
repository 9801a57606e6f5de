/* SPDX-License-Identifier: Apache-2.0 */
/* The frame loop: one poll for the port, the children and the job. */
#ifndef GUEST_AGENT_H
#define GUEST_AGENT_H

#include "guest/run/job.h"
#include "guest/os/port.h"
#include "guest/run/runner.h"

struct agent {
	struct port port;
	struct runner runners[WIRE_RUN_MAX];
	struct runner warmup_program[WIRE_RUN_MAX]; /* for heating: only EXEC is used */
	struct job job;
	struct job *current; /* &job, but while the warmup program runs */
	bool spends;         /* the warmup program is a runner itself, for the last time */
	bool starved; /* frames are there that nothing announces */
	int children; /* owned; signalfd for SIGCHLD */
	unsigned later; /* of what is due some time after the start: the next */
	bool owned;   /* OWN has come: no other machine has these secrets */
	struct frame aside; /* borrowed, of type WIRE_NONE if there is none: a HEAT or
			       a SHARE, for the caller of agent_turn() */
	struct mux *mux;   /* owned; SHARE has come: see mux.h */
	struct lane_end *end; /* borrowed; this is a lane's agent: see lane_turn.h */
	const struct runner *lost; /* borrowed; it has ended before any job came */
};

/*
 * Waits for what comes next and does it, until sys_now() is end at most. While
 * the warmup program runs, the frames are those that heat.c has put there and the host
 * hears nothing. A HEAT or a SHARE ends the reading of frames: the caller takes it
 * from a->aside before the next turn. Return: 0, -ETIMEDOUT, -EPIPE (the host has
 * gone), else why the host cannot be served any more.
 */
int agent_turn(struct agent *a, uint64_t end, struct err *err);

#endif
