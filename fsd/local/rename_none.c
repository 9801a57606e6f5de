/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For systems without such renames. The callers then check first whether a name is free,
 * and swap by two plain renames.
 */
#include "rename.h"

#include <errno.h>
#include <sys/stat.h>

int rename_new(int from, const char *name, int to, const char *as)
{
	(void)from;
	(void)name;
	(void)to;
	(void)as;
	return -ENOSYS;
}

int rename_swap(int from, const char *name, int to, const char *as)
{
	return rename_new(from, name, to, as);
}

int rename_check(int from, int to)
{
	struct stat a, b;

	if (fstat(from, &a) < 0 || fstat(to, &b) < 0)
		return -errno;
	return a.st_dev != b.st_dev ? -EXDEV : 0;
}
