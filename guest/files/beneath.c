/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens paths below a directory by openat2(), so that the kernel itself refuses links
 * and whatever would leave the directory. All callers look at trees that a program may
 * change at the same time.
 */
#include "beneath.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/wire/wire.h"

static int open_how(int dir, const char *path, int flags, unsigned resolve)
{
	struct open_how how = {
		.flags = (unsigned)flags | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS | resolve,
	};
	long fd = syscall(SYS_openat2, dir, path[0] ? path : ".", &how,
			  sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

int beneath_open(int dir, const char *path, int flags)
{
	return open_how(dir, path, flags, RESOLVE_NO_XDEV);
}

int beneath_open_all(int dir, const char *path, int flags)
{
	return open_how(dir, path, flags, 0);
}

int beneath_parent(int dir, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char parent[WIRE_PATH_MAX + 1] = "";

	*ret_name = slash ? slash + 1 : path;
	if (slash)
		memcpy(parent, path, (size_t)(slash - path));
	return beneath_open(dir, parent, O_PATH | O_DIRECTORY);
}

int beneath_each(int fd, int (*fn)(void *arg, int dir, const char *name),
		 void *arg)
{
	DIR *dir = fdopendir(fd);
	struct dirent *e;
	int r = 0;

	if (!dir) {
		r = -errno;
		close(fd);
		return r;
	}
	while (!r && (e = readdir(dir)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = fn(arg, dirfd(dir), e->d_name);
	closedir(dir);
	return r;
}
