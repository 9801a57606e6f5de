/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shared machine: init moves frames between the port and the lanes' agents, one
 * process each (lane_agent.h). It takes one frame of each agent in turn. While an agent
 * does not take a frame that has come for its lane, init reads no further frame. Init
 * itself answers PING, FS and NET.
 *
 * Waiting runners are handed to the first lanes that can use them. For Python a
 * replacement is then started, with the lowest priority. All functions run in init.
 */
#ifndef GUEST_MUX_H
#define GUEST_MUX_H

#include "agent.h"

/* Makes the machine a shared one; call it when SHARE comes. */
int mux_open(struct agent *a, const struct frame *frame, struct err *err);
/* Waits for the next event and handles it. Return: 0, or an error that makes it
 * impossible to serve the host. */
int mux_turn(struct agent *a, struct err *err);

#endif
