/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the kernel and libfuse: reads requests, stores them in memory that
 * outlives this process (handover.h) until their answer is written, and passes
 * them to libfuse. The next server finds all unanswered ones, in their order.
 * So none is lost, and operations can tell half-done work from work not begun.
 *
 *   read -> message -> libfuse -> op_*() -> answered       the message is free
 *                                        -> parked, slow    it becomes a request
 *                                                           until its answer
 *
 * All functions run on the loop.
 */
#ifndef FSD_REQUESTS_H
#define FSD_REQUESTS_H

#include <stddef.h>

#include "fsd/fsd.h"

struct fuse_lowlevel_ops;
struct requests;

/*
 * Opens libfuse's session on the kernel's descriptor fd (nonblocking, owned
 * from now on), which an earlier server may have initialised. Return: 0 or
 * negative errno.
 */
int requests_open(struct fsd *d, const struct fuse_lowlevel_ops *ops, int fd);
void requests_close(struct fsd *d);
/* Returns whether libfuse has seen the end of the mount. */
bool requests_ended(const struct fsd *d);
int requests_fd(const struct fsd *d);

/* Replays the requests that the previous server has not answered. */
void requests_take_over(struct fsd *d);

/* Reads one request and passes it to libfuse. Return: 1; 0: there is none now;
 * negative errno: -ENODEV when the mount is gone. */
int requests_next(struct fsd *d);

/* Returns the kernel's handle for notifications (fuse_poll_in.kh), if the running
 * request is a poll. 0: it is no poll, or a poll that wants no notification. */
uint64_t requests_poll(const struct fsd *d);
/* Notifies the kernel of an event. poll: a handle from requests_poll(). */
void requests_wake(struct fsd *d, uint64_t poll);

/*
 * For an operation whose answer would differ if it were done twice (mkdir:
 * EEXIST). requests_begin() notes that it begins now, with a value by which the
 * next server can see whether it was done. requests_again() returns whether a
 * dead server had noted that. Both concern the running request.
 */
void requests_begin(struct fsd *d, uint64_t before);
bool requests_again(const struct fsd *d, uint64_t *ret_before);

#endif
