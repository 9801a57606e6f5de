/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mount. The supervisor makes it and takes it away; the server answers what
 * comes through it.
 */
#ifndef FSD_MOUNTPOINT_H
#define FSD_MOUNTPOINT_H

#include "fsd/fsd.h"

struct fuse_session;
struct fuse_lowlevel_ops;

/* The directory can be mounted on; the mount of a dead fsd is taken away. */
int mountpoint_check(const char *path, struct err *err);
/* Mounts. Return: the kernel's descriptor (nonblocking; *ret_session's), or
 * negative errno. */
int mountpoint_make(const char *path, bool allow_other,
		    struct fuse_session **ret_session, dev_t *ret_device,
		    struct err *err);
/* Says the kernel, of its descriptor. */
bool mountpoint_has_ended(int fd);
/* Takes it away if that was not done, wherever it is now, and nothing else that
 * is mounted there; no session is fine. path: where it was made. */
void mountpoint_free(struct fuse_session *session, dev_t device,
		     const char *path);
/* Takes it away, wherever it is now; its connection must be alive. Return: 0 or
 * negative errno. */
int mountpoint_remove(dev_t device);

/* Answers from now on what comes through fd (owned), and first what the previous
 * server left unanswered. Calls unmounted(d) once, on the loop, when the mount has
 * gone. Return: 0 or negative errno with a sentence. */
int mountpoint_serve(struct fsd *d, const struct fuse_lowlevel_ops *ops,
		     void (*unmounted)(struct fsd *d), int fd, struct err *err);
void mountpoint_close(struct fsd *d);
/* When the last request was answered, now_ns(). */
uint64_t mountpoint_asked_ns(const struct fsd *d);

#endif
