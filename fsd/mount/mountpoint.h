/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mount. The supervisor makes it and unmounts it (mountpoint_make.c); the
 * server answers its requests, on the loop (mountpoint.c).
 */
#ifndef FSD_MOUNTPOINT_H
#define FSD_MOUNTPOINT_H

#include "fsd/fsd.h"

struct fuse_session;
struct fuse_lowlevel_ops;

/* Checks that the directory can be mounted on; unmounts a dead fsd from it.
 * Return: 0 or negative errno. */
int mountpoint_check(const char *path, struct err *err);
/* Mounts. Return: the kernel's descriptor, nonblocking, owned by *ret_session;
 * or negative errno. */
int mountpoint_make(const char *path, bool allow_other,
		    struct fuse_session **ret_session, dev_t *ret_device,
		    struct err *err);
/* Returns whether the kernel has ended the connection of the descriptor. */
bool mountpoint_has_ended(int fd);
/* Unmounts our mount, wherever it is now, unless it is unmounted already. Never unmounts
 * another mount in its place. session may be NULL. path: where it was made. */
void mountpoint_free(struct fuse_session *session, dev_t device,
		     const char *path);
/* Unmounts the mount, wherever it is now; its connection must be alive. Return: 0 or
 * negative errno. */
int mountpoint_remove(dev_t device);

/*
 * Starts to answer requests that come through fd (owned), first those that the
 * previous server left unanswered. Calls unmounted(d) once, on the loop, when
 * the mount is gone. Return: 0 or negative errno with a sentence.
 */
int mountpoint_serve(struct fsd *d, const struct fuse_lowlevel_ops *ops,
		     void (*unmounted)(struct fsd *d), int fd, struct err *err);
void mountpoint_close(struct fsd *d);
/* Returns when the last request was read and handled (now_ns()). Its answer may still be
 * missing, for example if it is a parked read. */
uint64_t mountpoint_asked_ns(const struct fsd *d);

#endif
