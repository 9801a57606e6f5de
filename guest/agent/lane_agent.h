/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent of one lane of a shared machine: a process that init forks when the
 * lane opens. It serves the lane's jobs as init serves a machine's only one, by
 * the same code; its port is a socket to init (mux.h). It inherits the lane's
 * orphans, and goes on after CLOSED as long as the lane's group has a process.
 */
#ifndef GUEST_LANE_AGENT_H
#define GUEST_LANE_AGENT_H

#include "lane_turn.h"

/* In the forked process: serves the lane until it is closed. */
_Noreturn void lane_live(struct agent *a, struct lane_end *end);

#endif
