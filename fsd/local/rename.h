/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renames that POSIX has not. Return: 0 or negative errno; -ENOSYS, -EINVAL or -EOPNOTSUPP:
 * the system or this filesystem cannot do it, and has done nothing.
 */
#ifndef FSD_RENAME_H
#define FSD_RENAME_H

/* Replaces nothing: -EEXIST if `as` is there. */
int rename_new(int from, const char *name, int to, const char *as);
/* Each of the two gets the other one's name. */
int rename_swap(int from, const char *name, int to, const char *as);

#endif
