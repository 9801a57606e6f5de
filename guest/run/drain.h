/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and drops what a job's processes write after the job's end. A server
 * that a program left behind logs a line for each request, and would fail if
 * the pipe had no reader or were full. Runs in a lane's agent.
 */
#ifndef GUEST_DRAIN_H
#define GUEST_DRAIN_H

#include <poll.h>

#define DRAIN_MAX 32 /* pipes at a time; a further one closes the oldest */

struct drain {
	int fd[DRAIN_MAX]; /* owned; the oldest first */
	unsigned count;
};

/* Takes a copy of fd, the read end of a pipe or FIFO. The copy is closed when
 * the last writer has gone. */
void drain_add(struct drain *d, int fd);
/* Fills in p. Return: how many entries. */
int drain_poll(const struct drain *d, struct pollfd *p);
/* Reads and drops all available bytes. */
void drain_read(struct drain *d);

#endif
