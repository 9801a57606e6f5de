/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads directories so that an error differs from the end. readdir() returns
 * NULL for both, and half of a directory must not count as all of it. The
 * functions wait for the disk; any thread.
 */
#ifndef FSD_READ_DIR_H
#define FSD_READ_DIR_H

#include <dirent.h>
#include <errno.h>

#include "layout/layout.h"

/*
 * Opens the directory fd for reading; takes ownership of fd. fd may be -1, with
 * errno set. Return: 0 or negative errno: of the caller's open(2), or of
 * fdopendir(3).
 */
static inline int begin_entries(int fd, DIR **ret)
{
	int r;

	*ret = fd < 0 ? NULL : fdopendir(fd);
	if (*ret)
		return 0;
	r = -errno;
	fd_close(&fd);
	return r;
}

/* Returns the next entry except "." and ".."; *ret is NULL at the end and on an
 * error. Return: 0 or negative errno. */
static inline int next_entry(DIR *dir, struct dirent **ret)
{
	do {
		errno = 0;
		*ret = readdir(dir);
	} while (*ret && is_dots((*ret)->d_name));
	return *ret ? 0 : -errno;
}

#endif
