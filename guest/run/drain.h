/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's processes may still write when the job is over: that is read, and goes
 * nowhere. A server that a program has left running says a line for each request,
 * and would fail at that if the pipe had no reader or were full.
 */
#ifndef GUEST_DRAIN_H
#define GUEST_DRAIN_H

#include <poll.h>

#define DRAIN_MAX 32 /* beyond, the oldest is closed */

struct drain {
	int fd[DRAIN_MAX]; /* owned; the oldest first */
	unsigned count;
};

/* Takes a copy of fd, the end of a pipe or a fifo that is read. It is closed when
 * the last writer has gone. */
void drain_add(struct drain *d, int fd);
/* Return: how many are put to be polled. */
int drain_poll(const struct drain *d, struct pollfd *p);
/* Reads what is there. */
void drain_read(struct drain *d);

#endif
