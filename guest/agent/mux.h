/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shared machine: init moves frames between the port and the lanes' agents, a
 * process each (lane_agent.h). It takes one frame of each lane in turn, and as
 * long as one lane does not take what has come for it no further frame is read.
 * It answers PING and FS itself.
 *
 * The runners that waited are handed to the first lanes that can use them. For
 * Python another begins to wait then, which runs when no job wants to.
 */
#ifndef GUEST_MUX_H
#define GUEST_MUX_H

#include "agent.h"

/* At SHARE. */
int mux_open(struct agent *a, const struct frame *frame, struct err *err);
/* Waits for what comes next and does it. Return: 0, or why the host cannot be
 * served any more. */
int mux_turn(struct agent *a, struct err *err);

#endif
