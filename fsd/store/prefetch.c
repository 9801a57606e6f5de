/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the directories and inodes of a job ahead, for a job that an earlier server left. */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "store_io.h"

/* A bound: users of larger trees do not need all of it at once. */
#define ENTRIES_MAX 4096

struct warm {
	int at;
	char id[STORE_ID_SIZE];
};

static void warm_dir(int at, const char *name, unsigned *left, unsigned depth);

static void warm_entry(int at, const char *name, unsigned *left,
		       unsigned depth)
{
	struct stat st;

	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return;
	--*left;
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISDIR(st.st_mode) && depth)
		warm_dir(at, name, left, depth - 1);
}

/* Errors are ignored: the later lookup gets and reports them. */
static void warm_dir(int at, const char *name, unsigned *left, unsigned depth)
{
	int fd = open_quietly(at, name, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		fd_close(&fd);
		return;
	}
	while (*left && (e = readdir(dir)))
		warm_entry(fd, e->d_name, left, depth);
	closedir(dir);
}

static int do_warm(void *arg)
{
	const struct warm *w = arg;
	unsigned left = ENTRIES_MAX;

	warm_dir(w->at, w->id, &left, LIMIT_DEPTH + 2);
	return 0;
}

void store_prefetch(struct store *s, uint64_t no)
{
	struct warm w = { .at = store_jobs_fd(s) };

	store_id(no, w.id);
	store_do(s, do_warm, &w);
}
