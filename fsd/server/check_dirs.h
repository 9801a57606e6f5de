/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that the mount hides none of its own directories, and makes a missing
 * mount point. Call these before there is a thread; they read the disk.
 */
#ifndef FSD_CHECK_DIRS_H
#define FSD_CHECK_DIRS_H

#include "layout/layout.h"

struct mount_options;

/* Checks that a new server reaches all its directories without the mount, which no server
 * serves at that moment, and that others may not write in the state directory (owners.h).
 * Return: 0 or negative errno with a sentence. */
int places_check(const struct mount_options *options, struct err *err);

/* Makes the directory path, if its parent belongs to this user. Return: the
 * absolute path, owned by the caller; or NULL with a sentence. */
char *place_make(const char *path, struct err *err);
/* Returns how many entries the directory has: a mount there would hide them. If
 * there are any, err gets a warning that names the first. */
unsigned place_hides(const char *path, struct err *err);

#endif
