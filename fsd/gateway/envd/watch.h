/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by watch*.c: what the program in the sandbox says. */
#ifndef GATEWAY_WATCH_H
#define GATEWAY_WATCH_H

#include "fsd/gateway/http/request.h"
#include "fsd/gateway/jobs/sandbox.h"

#define WATCH_SAID_MAX (1u << 20) /* bytes of one line of it */

/* One of its events as clients know it. Return: owned; NULL: it is none. */
json_t *watch_show_event(const json_t *event);
/* event: of the job, with its output. Calls fn for each line of the program that is
 * whole; the rest is in line. */
void watch_take_output(struct buf *line, const json_t *event,
		       void (*fn)(void *arg, const json_t *said), void *arg);
/* The job, "gw.H.w.ID", of the request's watcher. Return: false: it has replied. */
bool watch_take_job(struct request *r, char job[64]);

#endif
