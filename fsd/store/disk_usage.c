/* SPDX-License-Identifier: Apache-2.0 */
/* Sums the bytes of a job in the state directory, when a server loads it. On threads. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "store_io.h"

static uint64_t count_tree(int at, const char *path, unsigned depth,
			   const char *uncounted);

/* uncounted: the name of a file at the top that fsd wrote, or "". */
static uint64_t count_entry(int fd, const char *name, unsigned depth,
			    const char *uncounted)
{
	struct stat st;

	if (is_dots(name) || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		return count_tree(fd, name, depth + 1, uncounted);
	if (depth == 0 && !strcmp(name, uncounted))
		return 0;
	if (S_ISLNK(st.st_mode))
		return (uint64_t)st.st_size - strlen(STORE_LINK);
	return S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

static uint64_t count_tree(int at, const char *path, unsigned depth,
			   const char *uncounted)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
					  O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	uint64_t sum = 0;

	if (!dir) {
		fd_close(&fd);
		return 0;
	}
	while (depth <= LIMIT_DEPTH + 2 && (e = readdir(dir)))
		sum += count_entry(fd, e->d_name, depth, uncounted);
	closedir(dir);
	return sum;
}

uint64_t store_count(const struct store *s, uint64_t no, const char *part,
		     const char *uncounted)
{
	char path[STORE_ID_SIZE + 32], id[STORE_ID_SIZE];

	store_id(no, id);
	snprintf(path, sizeof(path), "%s/%s", id, part);
	return count_tree(store_jobs_fd(s), path, 0, uncounted);
}
