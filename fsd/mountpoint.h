/* SPDX-License-Identifier: Apache-2.0 */
/* The mount: made, its requests brought into the loop, taken away. */
#ifndef FSD_SESSION_H
#define FSD_SESSION_H

#include "fsd.h"

/*
 * Mounts d->options->mountpoint, which must be a directory. A mount of ours
 * there whose daemon is dead is taken away first; a living one is an error.
 * Return: 0 or negative errno with the remedy.
 */
int session_mount(struct fsd *d, struct err *err);
/* Lets the loop serve it. */
int session_serve(struct fsd *d, struct err *err);
void session_unmount(struct fsd *d); /* no-op if not mounted */

#endif
