/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and removes trees. It opens each directory relative to its parent's descriptor,
 * follows links only if the caller asks for that, and reports the path of the first
 * error.
 */
#include "tree_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/layout.h"

#define BLOCK 65536
#define DEPTH_MAX 200 /* a job has fewer; each level has a descriptor open */

struct where {
	int from, to;
	unsigned depth;
};

static int copy_entry(struct tree_copy *t, const struct where *w,
		      const char *name, bool follow, const char *as);

static int ask(const struct tree_copy *t)
{
	return t->may ? t->may(t->arg) : 0;
}

static int failed(struct tree_copy *t, bool writing, const char *why)
{
	int r = -errno;

	t->writing = writing;
	t->why = why ? why : strerror(-r);
	return r;
}

static int refuse(struct tree_copy *t, const char *why)
{
	errno = EINVAL;
	return failed(t, false, why);
}

int write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		at += MAX(n, 0);
		len -= (size_t)MAX(n, 0);
	}
	return 0;
}

static int copy_bytes(struct tree_copy *t, int from, int to)
{
	char room[BLOCK];
	ssize_t n;
	int r;

	while ((r = ask(t)) == 0) {
		n = read(from, room, sizeof(room));
		if (n == 0)
			return 0;
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue; /* another process that shares the pipe has set
				   * O_NONBLOCK */
		if (n < 0)
			return failed(t, false, NULL);
		if (write_all(to, room, (size_t)n) < 0)
			return failed(t, true, NULL);
	}
	return r;
}

/* Times of a copy are a help for programs like make; a mount may not take them. */
static void set_times(const struct tree_copy *t, int fd, const struct stat *st)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };

	if (!t->now && futimens(fd, times) < 0) {
		/* the content counts */
	}
}

static int copy_file(struct tree_copy *t, int from, const struct stat *st,
		     int to_dir, const char *as)
{
	auto_close int to = openat(to_dir, as, O_WRONLY | O_CREAT | O_EXCL |
						       O_CLOEXEC,
				   (st->st_mode & 0777) | S_IWUSR);
	int r;

	if (to < 0)
		return failed(t, true, NULL);
	r = copy_bytes(t, from, to);
	if (r)
		return r;
	set_times(t, to, st);
	if (!(st->st_mode & S_IWUSR) && fchmod(to, st->st_mode & 0777) < 0)
		return failed(t, true, NULL);
	if (t->sync && fsync(to) < 0)
		return failed(t, true, NULL);
	return close(take_fd(&to)) < 0 ? failed(t, true, NULL) : 0;
}

/* Return: true if the target of a link, so deep in the tree, leads out of the tree. Only
 * ".." at its beginning is evaluated: behind a name, which may be a link itself, it may
 * lead anywhere. */
static bool leads_out(const char *target, unsigned depth)
{
	unsigned up = 1; /* the tree itself, in which the first level is */
	bool down = false;

	if (target[0] == '/')
		return true;
	while (*target) {
		size_t len = strcspn(target, "/");

		if (len == 2 && !memcmp(target, "..", 2)) {
			if (down || ++up > depth)
				return true;
		} else if (len > 1 || target[0] != '.') {
			down = true;
		}
		target += len + strspn(target + len, "/");
	}
	return up > depth;
}

static int copy_link(struct tree_copy *t, const struct where *w,
		     const char *name, const char *as)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(w->from, name, target, sizeof(target) - 1);

	if (n < 0)
		return failed(t, false, NULL);
	target[n] = '\0';
	if (t->closed && leads_out(target, w->depth))
		return refuse(t, "it is a symbolic link that leads out of what is taken");
	t->link = symlinkat(target, w->to, as) < 0;
	if (t->link)
		return failed(t, true, errno == EPERM ? "a symbolic link that a "
			      "job does not take; one must be relative and stay "
			      "inside the job" : NULL);
	return 0;
}

static int copy_entries(struct tree_copy *t, const struct where *w)
{
	int fd = openat(w->from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int r = 0;

	if (!dir) {
		r = failed(t, false, NULL);
		fd_close(&fd);
		return r;
	}
	while (r == 0 && (errno = 0, e = readdir(dir))) {
		if (is_dots(e->d_name) ||
		    (!w->depth && t->skip && t->skip(t->arg, e->d_name)))
			continue;
		r = copy_entry(t, w, e->d_name, t->follow, e->d_name);
	}
	if (r == 0 && errno)
		r = failed(t, false, NULL);
	closedir(dir);
	return r;
}

static int copy_dir(struct tree_copy *t, int from, const struct stat *st,
		    const struct where *w, const char *as)
{
	struct where below = { .from = from, .to = -1, .depth = w->depth + 1 };
	int r;

	if (below.depth > DEPTH_MAX)
		return refuse(t, "too many directories below each other");
	if (mkdirat(w->to, as, (st->st_mode & 0777) | S_IRWXU) == 0)
		below.to = openat(w->to, as, O_RDONLY | O_DIRECTORY |
						     O_NOFOLLOW | O_CLOEXEC);
	if (below.to < 0)
		return failed(t, true, NULL);
	r = copy_entries(t, &below);
	if (r == 0)
		set_times(t, below.to, st);
	if (r == 0 && t->sync && fsync(below.to) < 0)
		r = failed(t, true, NULL);
	close(below.to);
	return r;
}

#define NOT_COPIED "; only files, directories and links are copied: leave it out"

static const char *kind_of(mode_t mode)
{
	return S_ISFIFO(mode) ? "it is a named pipe" NOT_COPIED :
	       S_ISSOCK(mode) ? "it is a socket" NOT_COPIED :
				"it is a device" NOT_COPIED;
}

static int copy_opened(struct tree_copy *t, const struct where *w,
		       const char *name, bool follow, const char *as)
{
	auto_close int from = -1;
	struct stat st;

	if (fstatat(w->from, name, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
		return failed(t, false, NULL);
	if (S_ISLNK(st.st_mode))
		return copy_link(t, w, name, as);
	/* Never a device or a pipe, which could block. */
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return refuse(t, kind_of(st.st_mode));
	from = openat(w->from, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC |
					     (follow ? 0 : O_NOFOLLOW));
	if (from < 0 || fstat(from, &st) < 0)
		return failed(t, false, NULL);
	/* the owner may have replaced it since, and reading a pipe may never end */
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return refuse(t, kind_of(st.st_mode));
	return S_ISDIR(st.st_mode) ? copy_dir(t, from, &st, w, as)
				   : copy_file(t, from, &st, w->to, as);
}

/* Copies an entry. t->path is that of the entry meanwhile, and stays so after an
 * error. */
static int copy_entry(struct tree_copy *t, const struct where *w,
		      const char *name, bool follow, const char *as)
{
	size_t len = strlen(t->path);
	int r;

	snprintf(t->path + len, sizeof(t->path) - len, "%s%s", len ? "/" : "",
		 name);
	r = ask(t);
	if (r == 0)
		r = copy_opened(t, w, name, follow, as);
	if (r == 0)
		t->path[len] = '\0';
	return r;
}

int tree_copy(struct tree_copy *t, int from, const char *name, bool follow,
	      int to, const char *as)
{
	const struct where w = { .from = from, .to = to };

	t->path[0] = '\0';
	return copy_entry(t, &w, name, follow, as);
}

int tree_copy_all(struct tree_copy *t, int from, int to)
{
	const struct where w = { .from = from, .to = to };

	t->path[0] = '\0';
	return copy_entries(t, &w);
}

void tree_remove_all(int dir, const char *but)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		fd_close(&fd);
		return;
	}
	while ((e = readdir(d)))
		if (!is_dots(e->d_name) && (!but || strcmp(e->d_name, but) != 0))
			tree_remove(dir, e->d_name);
	closedir(d);
}

/* Return: true if a removal may enter the directory: it is on the file system of its
 * parent. Also makes it writable for its owner, so that its entries can be removed. */
static bool may_empty(int at, int dir)
{
	struct stat in, st;

	if (fstatat(at, ".", &in, 0) < 0 || fstat(dir, &st) < 0 || st.st_dev != in.st_dev)
		return false;
	if (!(st.st_mode & S_IWUSR))
		fchmod(dir, (st.st_mode & 07777) | S_IRWXU);
	return true;
}

int tree_remove(int at, const char *name)
{
	auto_close int dir = -1;

	if (unlinkat(at, name, 0) == 0)
		return 0;
	dir = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir >= 0 && may_empty(at, dir))
		tree_remove_all(dir, NULL);
	return unlinkat(at, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}
