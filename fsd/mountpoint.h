/* SPDX-License-Identifier: Apache-2.0 */
/* The mount: made, its requests brought into the loop, taken away. */
#ifndef FSD_MOUNTPOINT_H
#define FSD_MOUNTPOINT_H

#include "fsd.h"

/*
 * Mounts d->options->mountpoint, which must be a directory. A mount of ours
 * there whose daemon is dead is taken away first; a living one is an error.
 * Return: 0 or negative errno with the remedy.
 */
int mountpoint_open(struct fsd *d, struct err *err);
/* Lets the loop serve it. */
int mountpoint_serve(struct fsd *d, struct err *err);
/* When the newest request came; 0: none yet. */
uint64_t mountpoint_asked_ns(struct fsd *d);
void mountpoint_close(struct fsd *d); /* no-op if not mounted */

#endif
