/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies the results of a job into a directory that the caller then publishes by a
 * rename: `fsd run -o`, fsd batch and fsd spool.
 */
#include "results_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/layout.h"

const char *const result_names[] = { "stdout", "stderr", "result.json", "output",
				     "exit_code", NULL };

static bool is_empty_dir(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	bool empty = true;
	struct dirent *e;

	if (!dir) {
		fd_close(&fd);
		return false;
	}
	while (empty && (e = readdir(dir)))
		empty = is_dots(e->d_name);
	closedir(dir);
	return empty;
}

static bool is_empty(int at, const char *name)
{
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	return S_ISDIR(st.st_mode) ? is_empty_dir(at, name) : st.st_size == 0;
}

/* Gives a copy the mode of a file that the user makes: the job's files are private to the
 * user. */
static int open_to_others(struct results_copy *c, const char *name)
{
	struct stat st;

	if (fstatat(c->to, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    fchmodat(c->to, name, (S_ISDIR(st.st_mode) ? 0777 : 0666) & ~c->mask,
		     0) == 0)
		return 0;
	c->copy.writing = true;
	c->copy.why = strerror(errno);
	return -errno;
}

static int copy_one(struct results_copy *c, const char *name)
{
	struct tree_copy *t = &c->copy;
	int r;

	if (c->filled && is_empty(c->job, name))
		return 0;
	r = tree_copy(t, c->job, name, false, c->to, name);
	if (r == -ENOENT && !t->writing && !strcmp(t->path, name))
		return 0;
	return r ? r : open_to_others(c, name);
}

int results_copy(struct results_copy *c)
{
	const char *const *name = c->names ? c->names : result_names;
	int r = 0;

	for (; *name && r == 0; name++)
		r = copy_one(c, *name);
	return r;
}
