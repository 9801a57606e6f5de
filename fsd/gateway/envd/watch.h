/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of watch*.c: the output of the watching program in the sandbox. */
#ifndef GATEWAY_WATCH_H
#define GATEWAY_WATCH_H

#include "fsd/gateway/http/request.h"
#include "fsd/gateway/jobs/sandbox.h"

#define WATCH_SAID_MAX (1u << 20) /* most bytes of a line that the program prints */

/* Translates an event for clients. Return: owned; NULL: it is none. */
json_t *watch_show_event(const json_t *event);
/* Calls fn for each complete line of the program in a job's event; keeps the
 * rest in line. */
void watch_take_output(struct buf *line, const json_t *event,
		       void (*fn)(void *arg, const json_t *said), void *arg);
/* Sets job to the name of the request's watcher: "gw.H.w.ID", H: the sandbox's name.
 * Return: false: it has replied. */
bool watch_take_job(struct request *r, char job[64]);

#endif
