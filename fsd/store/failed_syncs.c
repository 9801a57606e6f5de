/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STATE/jobs/ID/unstored: inputs whose fsync(2) failed: for each its path below files/
 * and a NUL; an empty path means any input. Linux reports a failed write-back once, to the
 * first fsync(2), so a later server could not find out.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "store_io.h"

#define UNSYNCED_MAX (1u << 20) /* bytes */

static int write_list(struct store *s, uint64_t no, const struct buf *paths)
{
	char path[STORE_PATH_MAX];
	auto_close int fd = -1;
	ssize_t n;

	store_job_path(no, "unstored", path);
	fd = openat(store_jobs_fd(s), path,
		    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	if (fd < 0)
		return -errno;
	n = write(fd, paths->data, paths->len);
	return n == (ssize_t)paths->len ? 0 : n < 0 ? -errno : -ENOSPC;
}

int store_unsynced_write(struct store *s, uint64_t no, const struct buf *paths)
{
	int r = write_list(s, no, paths);

	if ((r == -ENOSPC || r == -EDQUOT) && store_give_reserve(s)) {
		r = write_list(s, no, paths);
		store_reserve_used(s);
	}
	return r < 0 ? r : store_sync_words(s, no, "unstored");
}

int store_unsynced_read(struct store *s, uint64_t no, struct buf *ret)
{
	char path[STORE_PATH_MAX];
	auto_close int fd = -1;
	ssize_t n;
	int r;

	store_job_path(no, "unstored", path);
	fd = open_quietly(store_jobs_fd(s), path, O_RDONLY);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	r = buf_reserve(ret, UNSYNCED_MAX);
	n = r < 0 ? r : read(fd, ret->data, UNSYNCED_MAX);
	if (n < 0)
		return r < 0 ? r : -errno;
	ret->len = (size_t)n;
	/* The list is torn: its writer was killed, or the disk was full. Add "any input". */
	if (!n || ret->data[n - 1])
		return buf_add(ret, "\0", 2);
	return 0;
}

int store_unsynced_drop(struct store *s, uint64_t no)
{
	char path[STORE_PATH_MAX];

	store_job_path(no, "unstored", path);
	return unlinkat(store_jobs_fd(s), path, 0) < 0 && errno != ENOENT
		       ? -errno
		       : 0;
}
