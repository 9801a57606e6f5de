/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes to a stream whose reader may pause (a pager, Ctrl-S), without waiting, so that
 * the writer can wait for other events, too. The flags of the descriptor do not change,
 * since other processes may share it.
 */
#ifndef FSD_NONBLOCKING_OUTPUT_H
#define FSD_NONBLOCKING_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct nonblocking_output {
	int fd;         /* the descriptor to write to and to poll */
	bool owned;     /* fd is a second opening of the stream */
	bool socket;
	bool would_wait; /* fd is the stream itself, so a write may wait */
};

/* fd is borrowed until nonblocking_output_close(). */
void nonblocking_output_open(struct nonblocking_output *o, int fd);
void nonblocking_output_close(struct nonblocking_output *o);
/* Return: how much was taken, -EAGAIN: nothing until poll() says POLLOUT, or
 * negative errno. */
ssize_t nonblocking_output_write(const struct nonblocking_output *o,
				 const char *data, size_t len);

#endif
