/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent of one lane of a shared machine: a process that init forks when the
 * lane opens. It serves the lane's jobs with the code with which init serves
 * the job of a machine that is not shared; its port is a socket to init
 * (mux.h). It inherits the lane's orphans, and lives on after CLOSED while the
 * lane's group has a process.
 */
#ifndef GUEST_LANE_AGENT_H
#define GUEST_LANE_AGENT_H

#include "lane_turn.h"

/* Serves the lane until it is closed. Call it in the forked process. */
_Noreturn void lane_live(struct agent *a, struct lane_end *end);

#endif
