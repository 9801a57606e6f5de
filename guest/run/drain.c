/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and drops the output of pipes that a job has ended with, in the agent
 * of a lane. Owns the pipes; closes the oldest when there are too many.
 */
#include "drain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 8 /* bounds a turn: a program may write for ever */

static void forget(struct drain *d, unsigned i)
{
	close(d->fd[i]);
	d->count--;
	memmove(d->fd + i, d->fd + i + 1, (d->count - i) * sizeof(d->fd[0]));
}

void drain_add(struct drain *d, int fd)
{
	char path[40];

	if (fd < 0)
		return;
	/* Open it for reading only: otherwise our own write end would hide that
	 * the last writer has gone. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	if (d->count == DRAIN_MAX)
		forget(d, 0);
	d->fd[d->count++] = fd;
}

int drain_poll(const struct drain *d, struct pollfd *p)
{
	for (unsigned i = 0; i < d->count; i++)
		p[i] = (struct pollfd){.fd = d->fd[i], .events = POLLIN};
	return (int)d->count;
}

/* Return: whether the last writer has gone. */
static bool read_one(int fd)
{
	char bytes[16384];

	for (int i = 0; i < ROUNDS; i++) {
		ssize_t n = read(fd, bytes, sizeof(bytes));

		if (n < 0)
			return errno != EAGAIN && errno != EINTR;
		if (n == 0)
			return true;
	}
	return false;
}

void drain_read(struct drain *d)
{
	for (unsigned i = 0; i < d->count;)
		if (read_one(d->fd[i]))
			forget(d, i);
		else
			i++;
}
