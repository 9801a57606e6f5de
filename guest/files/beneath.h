/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens paths below a directory whose tree belongs to a hostile program that may change
 * it at the same time: no symbolic link, mount or ".." on the way is followed. Any
 * process of the guest may call these functions.
 */
#ifndef GUEST_BENEATH_H
#define GUEST_BENEATH_H

/* Opens path below dir; "" is dir itself. flags: as for open(). Return: a
 * descriptor or negative errno. */
int beneath_open(int dir, const char *path, int flags);
/* As beneath_open(), but also enters other filesystems that are mounted in the
 * tree. */
int beneath_open_all(int dir, const char *path, int flags);
/* Opens the directory that path is in, as O_PATH. *ret_name: the last name, a
 * pointer into path. Return: a descriptor or negative errno. */
int beneath_parent(int dir, const char *path, const char **ret_name);
/* Calls fn for each entry of the directory fd until fn returns other than 0.
 * Consumes fd. Return: that value, or negative errno. */
int beneath_each(int fd, int (*fn)(void *arg, int dir, const char *name),
		 void *arg);

#endif
