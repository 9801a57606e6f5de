/* SPDX-License-Identifier: Apache-2.0 */
#include "beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wire.h"

int beneath_open(int dir, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned)flags | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};
	long fd = syscall(SYS_openat2, dir, path[0] ? path : ".", &how,
			  sizeof(how));

	return fd < 0 ? -errno : (int)fd;
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
