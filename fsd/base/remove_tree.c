/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deletes a tree by descriptors, so a rename meanwhile cannot lead it elsewhere. It
 * recurses once for each level of directories.
 */
#include "remove_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/layout.h"

/* Entries are removed through the stream's own descriptor. */
static void delete_children(int fd)
{
	DIR *dir = fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		close(fd);
		return;
	}
	while ((e = readdir(dir)))
		if (!is_dots(e->d_name))
			remove_tree(dirfd(dir), e->d_name);
	closedir(dir);
}

void remove_tree(int at, const char *name)
{
	int fd;

	if (unlinkat(at, name, 0) == 0 || (errno != EISDIR && errno != EPERM))
		return;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	fchmod(fd, 0700);
	delete_children(fd);
	unlinkat(at, name, AT_REMOVEDIR);
}
