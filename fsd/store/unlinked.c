/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STATE/unlinked: second names of open files that a user has removed or replaced,
 * so that the next server finds them; of open directories, empty copies. A second name is
 * made before the file's own name is removed, and deleted with the file's last user. A
 * server that is killed in between leaves too many names; the next server deletes those
 * that it does not need.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store_io.h"
#include "fsd/base/read_dir.h"
#include "fsd/base/remove_tree.h"

struct second {
	int at;
	const char *path, *to;
};

/* Makes an empty directory with the mode and the times of the one at l->path. */
static int copy_dir(const struct second *l, const struct stat *st)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };

	if (mkdirat(l->at, l->to, st->st_mode & 0777) < 0)
		return errno == EEXIST ? 0 : -errno;
	return utimensat(l->at, l->to, times, 0) < 0 ? -errno : 0;
}

/* Gives a file a second name. A directory can have no second link, so it gets an empty
 * copy: a directory that is removed is empty, so its readers see the same in the copy. */
static int do_link(void *arg)
{
	const struct second *l = arg;
	struct stat st;

	if (linkat(l->at, l->path, l->at, l->to, 0) == 0 || errno == EEXIST)
		return 0;
	if (errno != EPERM || fstatat(l->at, l->path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? copy_dir(l, &st) : -EPERM;
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
