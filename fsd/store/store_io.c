/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wraps the system calls on STATE/jobs. Each is a pair: call_X() fills in a struct call
 * and pauses its fiber; do_X() runs on a thread for the disk.
 *
 * The struct lies on the fiber's stack, which is safe because the fiber waits for the
 * thread. read_number(), call_read_now() and store_link_read() run on the caller's
 * thread.
 */
#include "store_io.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

int read_number(int at, const char *path, const char *begins, uint64_t *ret)
{
	auto_close int fd = openat(at, path, O_RDONLY | O_CLOEXEC |
						     O_NOFOLLOW | O_NONBLOCK);
	size_t skip = strlen(begins);
	char text[64];
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	if (n == 0 || strncmp(text, begins, skip) != 0 || text[n - 1] != '\n')
		return -EINVAL;
	text[n - 1] = '\0';
	return parse_u64(text + skip, 0, UINT64_MAX, ret) < 0 ? -EINVAL : 0;
}

/* The arguments of a call, on the stack of the waiting fiber. */
struct call {
	int at, fd, flags;
	const char *path;
	mode_t mode;
	const struct timespec *times;
	const void *data;
	void *room;
	size_t size;
	off_t off;
	struct stat *st;
};

static int result(int r)
{
	return r < 0 ? -errno : r;
}

static int do_mkdir(void *arg)
{
	const struct call *c = arg;

	return result(mkdirat(c->at, c->path, 0700));
}

int call_mkdir(struct store *s, const char *path)
{
	struct call c = {.at = store_jobs_fd(s), .path = path};

	return store_do(s, do_mkdir, &c);
}

static int do_chmod(void *arg)
{
	const struct call *c = arg;

	return result(fchmodat(c->at, c->path, c->mode, 0));
}

int call_chmod(struct store *s, const char *path, mode_t mode)
{
	struct call c = {.at = store_jobs_fd(s), .path = path, .mode = mode};

	return store_do(s, do_chmod, &c);
}

static int do_utimens(void *arg)
{
	const struct call *c = arg;

	return result(utimensat(c->at, c->path, c->times, AT_SYMLINK_NOFOLLOW));
}

int call_utimens(struct store *s, const char *path,
		 const struct timespec times[2])
{
	struct call c = {.at = store_jobs_fd(s), .path = path, .times = times};

	return store_do(s, do_utimens, &c);
}

static int do_open(void *arg)
{
	const struct call *c = arg;

	return result(open_quietly(c->at, c->path, c->flags));
}

int call_open(struct store *s, const char *path, int flags)
{
	struct call c = {.at = store_jobs_fd(s), .path = path, .flags = flags};

	return store_do(s, do_open, &c);
}

static int do_write(void *arg)
{
	struct call *c = arg;
	const char *p = c->data;
	size_t left = c->size;

	while (left) {
		ssize_t n = pwrite(c->fd, p, left, c->off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			c->size -= left;
			return n < 0 ? -errno : -ENOSPC;
		}
		p += n;
		c->off += n;
		left -= (size_t)n;
	}
	return 0;
}

ssize_t call_write(struct store *s, int fd, const void *data, size_t size,
		   off_t off)
{
	struct call c = {.fd = fd, .data = data, .size = size, .off = off};
	int r = store_do(s, do_write, &c);

	return c.size || r == 0 ? (ssize_t)c.size : r;
}

ssize_t call_read_now(int fd, void *room, size_t size, off_t off)
{
	char *p = room;
	size_t done = 0;
	ssize_t n;

	do {
		struct iovec v = {p + done, size - done};

		n = preadv2(fd, &v, 1, off + (off_t)done, RWF_NOWAIT);
		if (n < 0 && errno == EOPNOTSUPP)
			n = pread(fd, p + done, size - done, off + (off_t)done);
		if (n < 0)
			return -errno;
		done += (size_t)n;
	} while (n > 0 && done < size); /* a short read may end at a page that is not cached */
	return (ssize_t)done;
}

static int do_read(void *arg)
{
	struct call *c = arg;
	ssize_t n = pread(c->fd, c->room, c->size, c->off);

	c->size = n < 0 ? 0 : (size_t)n;
	return n < 0 ? -errno : 0;
}

ssize_t call_read(struct store *s, int fd, void *room, size_t size, off_t off)
{
	struct call c = {.fd = fd, .room = room, .size = size, .off = off};
	int r = store_do(s, do_read, &c);

	return r < 0 ? r : (ssize_t)c.size;
}

static int do_truncate(void *arg)
{
	const struct call *c = arg;

	return result(ftruncate(c->fd, c->off));
}

int call_truncate(struct store *s, int fd, off_t size)
{
	struct call c = {.fd = fd, .off = size};

	return store_do(s, do_truncate, &c);
}

static int do_make_file(void *arg)
{
	struct call *c = arg;
	auto_close int fd = openat(
		c->at, c->path,
		c->flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	if (fchmod(fd, c->mode) < 0 || fstat(fd, c->st) < 0) {
		r = -errno;
		unlinkat(c->at, c->path, 0);
		return r;
	}
	return take_fd(&fd);
}

int call_make_file(struct store *s, const char *path, int flags, mode_t mode,
		   struct stat *ret, int *ret_fd)
{
	struct call c = {.at = store_jobs_fd(s),
			 .path = path,
			 .st = ret,
			 .flags = flags,
			 .mode = mode};
	int r = store_do(s, do_make_file, &c);

	*ret_fd = r;
	return MIN(r, 0);
}

static int do_make_link(void *arg)
{
	const struct call *c = arg;
	int r;

	if (symlinkat(c->room, c->at, c->path) < 0)
		return -errno;
	if (fstatat(c->at, c->path, c->st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	r = -errno;
	unlinkat(c->at, c->path, 0);
	return r;
}

int call_make_link(struct store *s, const char *path, const char *target,
		   struct stat *ret)
{
	char stored[sizeof(STORE_LINK) + LIMIT_PATH];
	struct call c = {.at = store_jobs_fd(s), .path = path, .st = ret,
			 .room = stored};
	int n = snprintf(stored, sizeof(stored), STORE_LINK "%s", target);

	return n >= (int)sizeof(stored) ? -ENAMETOOLONG
					: store_do(s, do_make_link, &c);
}

int store_link_read(int at, const char *path, char *room, size_t size)
{
	const size_t begin = strlen(STORE_LINK);
	char stored[sizeof(STORE_LINK) + LIMIT_PATH];
	ssize_t n = readlinkat(at, path, stored, sizeof(stored) - 1);

	if (n < 0)
		return -errno;
	if ((size_t)n <= begin || memcmp(stored, STORE_LINK, begin) != 0)
		return -EINVAL;
	n -= (ssize_t)begin;
	if ((size_t)n >= size)
		return -ENAMETOOLONG;
	memcpy(room, stored + begin, (size_t)n);
	room[n] = '\0';
	return (int)n;
}

static int do_make_dir(void *arg)
{
	struct call *c = arg;
	int r;

	if (mkdirat(c->at, c->path, 0700) < 0)
		return -errno;
	if (fchmodat(c->at, c->path, c->mode, 0) == 0 &&
	    fstatat(c->at, c->path, c->st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	r = -errno;
	unlinkat(c->at, c->path, AT_REMOVEDIR);
	return r;
}

int call_make_dir(struct store *s, const char *path, mode_t mode,
		  struct stat *ret)
{
	struct call c = {
		.at = store_jobs_fd(s), .path = path, .mode = mode, .st = ret};

	return store_do(s, do_make_dir, &c);
}
