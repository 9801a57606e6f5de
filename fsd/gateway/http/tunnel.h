/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection whose request is passed on to a program in a sandbox, and the program's
 * answer back. The guard of a route with `tunnel` has connected to the program and has
 * put a struct tunnel_way into r->state; then the loop moves bytes.
 */
#ifndef GATEWAY_TUNNEL_H
#define GATEWAY_TUNNEL_H

#include "request.h"

#define TUNNEL_BYTES (256u << 10) /* most bytes that wait in one direction */
#define TUNNEL_IDLE_MS (10u * 60 * 1000) /* most time without a byte */
#define TUNNELS_OF_SANDBOX 64u /* most tunnels of a sandbox at a time */

/* Begins the tunnel of a request. On the loop. */
void tunnel_begin(struct request *r);

#endif
