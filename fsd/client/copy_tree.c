/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies a tree by descriptors of its directories, so that nothing that changes
 * meanwhile leads elsewhere. Each call may be long where the mount is slow;
 * between two of them it looks whether it is to stop.
 */
#include "copy_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK (256u << 10)
#define DEPTH_MOST 64u /* as many names as a path in a job has */

static int copy_dir(struct copy *c, int from, const char *name, int to,
		    const struct stat *st, struct err *err);

static int failed(const struct copy *c, int r, struct err *err)
{
	return r == -EINTR ? r : err_sys(err, r, "%s", c->path);
}

/* --- one entry ---------------------------------------------------------------- */

static int copy_bytes(const struct copy *c, int from, int to)
{
	static char room[CHUNK]; /* one copy at a time */
	ssize_t n;

	while ((n = read(from, room, sizeof(room))) > 0) {
		for (ssize_t at = 0, w; at < n; at += w) {
			if (*c->stop)
				return -EINTR;
			w = write(to, room + at, (size_t)(n - at));
			if (w < 0 && errno != EINTR)
				return -errno;
			w = MAX(w, 0);
		}
	}
	return n < 0 ? -errno : *c->stop ? -EINTR : 0;
}

static int take_over(int fd, const struct stat *st)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   st->st_mtim };

	if (fchmod(fd, st->st_mode & 0777) < 0 || futimens(fd, times) < 0)
		return -errno;
	return 0;
}

int copy_file(struct copy *c, int from, const char *name, int to,
	      const char *to_name, struct err *err)
{
	auto_close int in = openat(from, name, O_RDONLY | O_CLOEXEC |
					      O_NONBLOCK |
					      (c->follow ? 0 : O_NOFOLLOW));
	auto_close int out = -1;
	struct stat st;
	int r = 0, fd;

	if (in < 0 || fstat(in, &st) < 0)
		return failed(c, -errno, err);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "%s: it is no file or directory",
			       c->path);
	out = openat(to, to_name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW |
					  O_CLOEXEC, 0600);
	if (out < 0)
		return failed(c, -errno, err);
	r = copy_bytes(c, in, out);
	if (r == 0)
		r = take_over(out, &st);
	fd = take_fd(&out);
	if (close(fd) < 0 && r == 0)
		r = -errno;
	return r < 0 ? failed(c, r, err) : 0;
}

static int copy_link(const struct copy *c, int from, const char *name, int to,
		     const struct stat *st, struct err *err)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   st->st_mtim };
	char target[PATH_MAX];
	ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);

	if (n < 0)
		return failed(c, -errno, err);
	target[n] = '\0';
	if (symlinkat(target, to, name) < 0)
		return err_set(err, -errno, "%s: a job cannot have this "
			       "symbolic link to %.200s: %s; -L copies what "
			       "links lead to", c->path, target,
			       strerror(errno));
	/* Its time is of no importance to anybody if it cannot be set. */
	utimensat(to, name, times, AT_SYMLINK_NOFOLLOW);
	return 0;
}

static int copy_entry(struct copy *c, int from, const char *name, int to,
		      struct err *err)
{
	struct stat st;

	if (*c->stop)
		return -EINTR;
	if (fstatat(from, name, &st, c->follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
		return failed(c, -errno, err);
	if (S_ISDIR(st.st_mode))
		return copy_dir(c, from, name, to, &st, err);
	if (S_ISLNK(st.st_mode))
		return copy_link(c, from, name, to, &st, err);
	if (S_ISREG(st.st_mode))
		return copy_file(c, from, name, to, name, err);
	return err_set(err, -EINVAL, "%s: a job has files, directories and "
		       "links only; leave this %s out", c->path,
		       S_ISFIFO(st.st_mode) ? "named pipe" :
		       S_ISSOCK(st.st_mode) ? "socket" : "device");
}

/* --- directories --------------------------------------------------------------- */

int copy_tree(struct copy *c, int from, int to, struct err *err)
{
	int fd = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	size_t len = strlen(c->path);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		fd_close(&fd);
		return failed(c, -errno, err);
	}
	while (r == 0 && (errno = 0, e = readdir(dir))) {
		if (is_dots(e->d_name) ||
		    (!c->depth && c->skip && c->skip(c->arg, e->d_name)))
			continue;
		snprintf(c->path + len, sizeof(c->path) - len, "/%s",
			 e->d_name);
		r = copy_entry(c, fd, e->d_name, to, err);
		c->path[len] = '\0';
	}
	if (r == 0 && errno)
		r = failed(c, -errno, err);
	closedir(dir);
	return r;
}

static int copy_dir(struct copy *c, int from, const char *name, int to,
		    const struct stat *st, struct err *err)
{
	auto_close int in = -1, out = -1;
	int r;

	if (c->depth == DEPTH_MOST)
		return err_set(err, -ELOOP, "%s: more than %u directories deep",
			       c->path, DEPTH_MOST);
	in = openat(from, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
					(c->follow ? 0 : O_NOFOLLOW));
	if (in < 0 || mkdirat(to, name, 0700) < 0)
		return failed(c, -errno, err);
	out = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (out < 0)
		return failed(c, -errno, err);
	c->depth++;
	r = copy_tree(c, in, out, err);
	c->depth--;
	if (r == 0) {
		r = take_over(out, st);
		r = r < 0 ? failed(c, r, err) : 0;
	}
	return r;
}

/* --- removing ------------------------------------------------------------------- */

/* A job's own files stay until their directory goes. */
static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

void remove_tree(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
