/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths that stay below a directory. The text of a path is checked once, and the kernel
 * checks again when the path is opened: a link that somebody puts there in between is
 * refused, not followed.
 */
#include "below.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "layout/layout.h"

int below_path(const char *path, char ret[BELOW_PATH])
{
	size_t len = 0;

	if (!path[0] || path[0] == '/')
		return -EINVAL;
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && !memcmp(path, "..", 2))
			return -EINVAL;
		if (n > 1 || path[0] != '.') {
			if (len + !!len + n >= BELOW_PATH)
				return -ENAMETOOLONG;
			if (len)
				ret[len++] = '/';
			memcpy(ret + len, path, n);
			len += n;
		}
		path += n + strspn(path + n, "/");
	}
	ret[len] = '\0';
	return 0;
}

bool below_has(const char *dir, const char *path)
{
	size_t len = strlen(dir);

	return !len || (!strncmp(path, dir, len) && (!path[len] || path[len] == '/'));
}

const char *below_split(char *path, const char **dir)
{
	char *slash = strrchr(path, '/');

	*dir = slash ? path : "";
	if (!slash)
		return path;
	*slash = '\0';
	return slash + 1;
}

int below_open(int at, const char *dir)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, at, dir[0] ? dir : ".", &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* Makes one directory, unless it is there. Return: as below_open(). */
static int make_one(int at, const char *name, size_t len)
{
	char room[BELOW_PATH];

	memcpy(room, name, len);
	room[len] = '\0';
	if (mkdirat(at, room, 0777) < 0 && errno != EEXIST)
		return -errno;
	return below_open(at, room);
}

int below_make(int at, const char *dir)
{
	auto_close int here = below_open(at, "");

	while (here >= 0 && *dir) {
		size_t len = strcspn(dir, "/");
		int next = make_one(here, dir, len);

		fd_close(&here);
		here = next;
		dir += len + strspn(dir + len, "/");
	}
	return here < 0 ? here : take_fd(&here);
}
