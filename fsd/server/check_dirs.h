/* SPDX-License-Identifier: Apache-2.0 */
/* Where a mount's directories lie, beside each other. */
#ifndef FSD_CHECK_DIRS_H
#define FSD_CHECK_DIRS_H

#include "layout/layout.h"

struct mount_options;

/* Checks that a new server reaches all its directories without the mount, which no server
 * serves at that moment, and that others may not write in the state directory (owners.h).
 * Return: 0 or negative errno with a sentence. */
int places_check(const struct mount_options *options, struct err *err);

/* Makes the directory path, if its parent is this user's. Return: it, absolute and
 * owned by the caller, or NULL with a sentence. */
char *place_make(const char *path, struct err *err);
/* How many entries has the directory, which a mount there hides? Sentence: which. */
unsigned place_hides(const char *path, struct err *err);

#endif
