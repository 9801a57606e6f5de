/* SPDX-License-Identifier: Apache-2.0 */
/* readdir() ends in the same way when there is no more and when the disk does
 * not give more: a directory of which half was read must not count as read. */
#ifndef FSD_READ_DIR_H
#define FSD_READ_DIR_H

#include <dirent.h>
#include <errno.h>

#include "layout/layout.h"

/* The entries of the directory fd, which is owned; or -1, and errno says why.
 * Return: 0 or negative errno, of the disk, too: fdopendir() asks it what this
 * is. */
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

/* The next entry but "." and ".."; *ret is NULL at the end, and on an error.
 * Return: 0 or negative errno. */
static inline int next_entry(DIR *dir, struct dirent **ret)
{
	do {
		errno = 0;
		*ret = readdir(dir);
	} while (*ret && is_dots((*ret)->d_name));
	return *ret ? 0 : -errno;
}

#endif
