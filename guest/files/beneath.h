/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths below a directory whose tree is a hostile program's, which changes it
 * meanwhile: no symbolic link, mount or ".." on the way is ever followed.
 */
#ifndef GUEST_BENEATH_H
#define GUEST_BENEATH_H

/* flags are those of open(). "" is dir itself. Return: a descriptor or
 * negative errno. */
int beneath_open(int dir, const char *path, int flags);
/* The same, and other file systems that are mounted there as well. */
int beneath_open_all(int dir, const char *path, int flags);
/* The directory that path is in, as O_PATH. *ret_name is the rest, in path. */
int beneath_parent(int dir, const char *path, const char **ret_name);
/* Calls fn for what is in the directory fd, which is consumed, until that
 * returns other than 0. Return: that, or negative errno. */
int beneath_each(int fd, int (*fn)(void *arg, int dir, const char *name),
		 void *arg);

#endif
