/* SPDX-License-Identifier: Apache-2.0 */
/* Renames that POSIX does not have, and a check whether a rename is possible. */
#ifndef FSD_RENAME_H
#define FSD_RENAME_H

/* Return: 0 or negative errno; -ENOSYS, -EINVAL or -EOPNOTSUPP: the system or this file
 * system cannot do it. */

/* Replaces nothing: -EEXIST if `as` is there. */
int rename_new(int from, const char *name, int to, const char *as);
/* Each of the two gets the other one's name. */
int rename_swap(int from, const char *name, int to, const char *as);

/* Checks whether a rename between these directories is possible. Return: 0; -EXDEV: they
 * are on two file systems, or in two mounts of one; or another negative errno. */
int rename_check(int from, int to);

#endif
