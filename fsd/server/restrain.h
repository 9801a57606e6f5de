/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon gives up once it serves. It parses what guests and users
 * send, so it is to be of little use to whoever takes it over:
 *
 *   start    as it was started: opens image and state, starts the jailer and
 *            the keeper, mounts
 *   serving  no capability but to write what it owns; no new privileges; below
 *            the state directory it may do as before and nowhere else may it
 *            open a file (Landlock); it can start no process, make no socket,
 *            mount nothing, look into no other process nor signal it, and
 *            make no setuid program (seccomp)
 */
#ifndef FSD_RESTRAIN_H
#define FSD_RESTRAIN_H

#include "fsd/fsd.h"

struct mount_options;

/* Before there is a thread. What was given up is told in d->own_walls; it is an
 * error when one of them cannot be built, but not that the kernel lacks
 * Landlock. */
int restrain(struct fsd *d, const struct mount_options *options,
	     struct err *err);

#endif
