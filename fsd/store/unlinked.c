/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STATE/unlinked: second names of open files that a user has removed or replaced, so that
 * the next server finds them. A second name is made before the file's own name is removed,
 * and deleted with the file's last user. A server that is killed in between leaves too
 * many names; the next server deletes those that it does not need.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "store_io.h"
#include "fsd/base/read_dir.h"
#include "fsd/base/remove_tree.h"

struct second {
	int at;
	const char *path, *to;
};

static int do_link(void *arg)
{
	const struct second *l = arg;

	return linkat(l->at, l->path, l->at, l->to, 0) < 0 && errno != EEXIST ? -errno
									     : 0;
}

int store_unlinked_add(struct store *s, const char *path, const char *name)
{
	char to[STORE_PATH_MAX];
	struct second l = { store_jobs_fd(s), path, to };

	snprintf(to, sizeof(to), STORE_UNLINKED "%s", name);
	return store_do(s, do_link, &l);
}

void store_unlinked_drop(struct store *s, const char *name)
{
	if (store_erase_later(s, store_unlinked_fd(s), name) < 0)
		remove_tree(store_unlinked_fd(s), name);
}

void store_unlinked_sweep(struct store *s, bool (*is_needed)(void *arg, const char *name),
			  void *arg)
{
	struct dirent *e;
	DIR *dir;
	int r = begin_entries(openat(store_unlinked_fd(s), ".",
				     O_RDONLY | O_DIRECTORY | O_CLOEXEC), &dir);

	if (r < 0)
		return;
	while (next_entry(dir, &e) == 0 && e)
		if (!is_needed(arg, e->d_name))
			remove_tree(dirfd(dir), e->d_name);
	closedir(dir);
}
