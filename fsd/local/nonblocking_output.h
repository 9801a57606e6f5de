/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of ours whose reader may pause (a pager, Ctrl-S): to write never
 * waits, so that the writer can wait for something else as well. The flags of
 * the descriptor stay as they are, since others may share them.
 */
#ifndef FSD_NONBLOCKING_OUTPUT_H
#define FSD_NONBLOCKING_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct nonblocking_output {
	int fd;         /* what is written and polled */
	bool owned;     /* it is a second opening of the stream, */
	bool socket;
	bool would_wait; /* or the stream itself, and a write may wait */
};

/* fd is borrowed until nonblocking_output_close(). */
void nonblocking_output_open(struct nonblocking_output *o, int fd);
void nonblocking_output_close(struct nonblocking_output *o);
/* Return: how much was taken, -EAGAIN: nothing until poll() says POLLOUT, or
 * negative errno. */
ssize_t nonblocking_output_write(const struct nonblocking_output *o,
				 const char *data, size_t len);

#endif
