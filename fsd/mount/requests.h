/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the kernel and libfuse: requests are read, kept in memory that
 * outlives this process (inherit.h) until their answer is written, and given to
 * libfuse. Who takes over from a server that was killed has them all again, in
 * their order; none is lost, and what was half done is told from what was not.
 *
 *   read -> message -> libfuse -> op_*() -> answered       the message is free
 *                                       -> parked, slow    it becomes a request
 *                                                          until its answer
 */
#ifndef FSD_REQUESTS_H
#define FSD_REQUESTS_H

#include <stddef.h>

#include "fsd/fsd.h"

struct fuse_lowlevel_ops;
struct requests;

/* libfuse's session on the kernel's descriptor fd (nonblocking, owned from now
 * on), as an earlier server has begun it. Return: 0 or negative errno. */
int requests_open(struct fsd *d, const struct fuse_lowlevel_ops *ops, int fd);
void requests_close(struct fsd *d);
/* libfuse has seen the end of the mount. */
bool requests_ended(const struct fsd *d);
int requests_fd(const struct fsd *d);

/* What the server before this one has not answered. */
void requests_take_over(struct fsd *d);

/* Reads one and gives it to libfuse. Return: 1; 0: there is none now; negative
 * errno: -ENODEV when the mount has gone. */
int requests_next(struct fsd *d);

/* The poll that the running request is, as the kernel numbers it; 0: it is none. */
uint64_t requests_poll(const struct fsd *d);
/* Tells the kernel that something happened to such a poll. */
void requests_wake(struct fsd *d, uint64_t poll);

/*
 * For an operation that would answer otherwise if it were done twice (mkdir:
 * EEXIST): it says that it begins now, with what the next one must know to see
 * whether it had been done. requests_again(): did it say so before its server
 * died? Both concern the request that is being looked at.
 */
void requests_begin(struct fsd *d, uint64_t before);
bool requests_again(const struct fsd *d, uint64_t *ret_before);

#endif
