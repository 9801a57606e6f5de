/* SPDX-License-Identifier: Apache-2.0 */
/* readdir() ends in the same way when there is no more and when the disk does
 * not give more: a directory of which half was read must not count as read. */
#ifndef FSD_ENTRIES_H
#define FSD_ENTRIES_H

#include <dirent.h>
#include <errno.h>

#include "../layout/layout.h"

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
