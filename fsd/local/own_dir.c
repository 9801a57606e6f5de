/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes directories that go with their process, and removes those that a killed process
 * left. The mark is the last file to go: until then the next process recognizes the rest of
 * a removal that was killed.
 */
#include "own_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/layout.h"

#define RANDOM_SIZE (sizeof(OWN_DIR_RANDOM) - 1)
#define MARK_MAX (NAME_MAX + 100)
#define MODE (S_IRWXU | S_ISVTX)
#define TRIES 10

static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";

/* --- the mark ------------------------------------------------------------- */

static int mark_text(const char *name, char ret[MARK_MAX])
{
	return snprintf(ret, MARK_MAX, "fsd made %s and removes it when the "
			"process that made it has ended.\n", name);
}

static int write_mark(int dir, const char *name)
{
	auto_close int fd = openat(dir, OWN_DIR_MARK, O_WRONLY | O_CREAT |
				   O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	char text[MARK_MAX];
	int len = mark_text(name, text);
	ssize_t n = fd < 0 ? -1 : write(fd, text, (size_t)len);

	if (n < 0)
		return -errno;
	return n == len ? 0 : -ENOSPC;
}

static bool has_mark(int dir, const char *name)
{
	auto_close int fd = openat(dir, OWN_DIR_MARK, O_RDONLY | O_NOFOLLOW |
						      O_NONBLOCK | O_CLOEXEC);
	char text[MARK_MAX], found[MARK_MAX];
	int len = mark_text(name, text);

	return fd >= 0 && read(fd, found, sizeof(found)) == len &&
	       !memcmp(found, text, (size_t)len);
}

/* Is the mark the only file in it? */
static bool has_mark_only(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool others = false;
	struct dirent *e;

	if (!d) {
		fd_close(&fd);
		return false;
	}
	while (!others && (e = readdir(d)))
		others = !is_dots(e->d_name) && strcmp(e->d_name, OWN_DIR_MARK) != 0;
	closedir(d);
	return !others;
}

/* --- making one ------------------------------------------------------------ */

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int make_random(char *path)
{
	unsigned char bytes[RANDOM_SIZE];
	char *end = path + strlen(path) - RANDOM_SIZE;

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < RANDOM_SIZE; i++)
		end[i] = letters[bytes[i] % (sizeof(letters) - 1)];
	return mkdir(path, MODE) < 0 ? -errno : 0;
}

static int lock_and_mark(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
					       O_CLOEXEC);
	int r;

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return -errno;
	r = write_mark(fd, last_name(path));
	return r < 0 ? r : take_fd(&fd);
}

/* ENOENT: one that cleans has seen it before it was locked. */
int own_dir_make(char *path)
{
	int r = -ENOENT;

	for (int i = 0; i < TRIES && (r == -ENOENT || r == -EEXIST); i++) {
		r = make_random(path);
		if (r == 0) {
			r = lock_and_mark(path);
			if (r < 0)
				own_dir_remove(path);
		}
	}
	return r;
}

/* --- removing one ---------------------------------------------------------- */

/* The mark is there as long as anything else is. */
static void remove_top(const char *path)
{
	auto_close int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
						O_CLOEXEC);

	if (dir < 0 || !has_mark_only(dir))
		return;
	unlinkat(dir, OWN_DIR_MARK, 0);
	rmdir(path);
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	if (ftw->level == 0)
		remove_top(path);
	else if (ftw->level > 1 || strcmp(path + ftw->base, OWN_DIR_MARK) != 0)
		remove(path);
	return 0;
}

void own_dir_remove(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* --- those that were left --------------------------------------------------- */

/* Is it a name that make_random() gives? */
static bool is_name(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	return !strncmp(name, prefix, len) &&
	       strlen(name + len) == RANDOM_SIZE &&
	       strspn(name + len, letters) == RANDOM_SIZE;
}

static bool is_own(int fd, const char *name)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	       (has_mark(fd, name) ||
		((st.st_mode & (0777 | S_ISVTX)) == MODE && has_mark_only(fd)));
}

/* Ours, and the process that made it is dead. *ret: then the lock. */
static bool is_left(int parent, const char *name, const char *prefix, int *ret)
{
	auto_close int fd = -1;

	if (!is_name(name, prefix))
		return false;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
					  O_CLOEXEC);
	if (fd < 0 || !is_own(fd, name) || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return false;
	*ret = take_fd(&fd);
	return true;
}

void own_dir_clean(const char *parent, const char *prefix,
		   void (*before)(const char *path))
{
	DIR *d = opendir(parent);
	char path[PATH_MAX];
	struct dirent *e;

	while (d && (e = readdir(d))) {
		auto_close int lock = -1;

		if (!is_left(dirfd(d), e->d_name, prefix, &lock) ||
		    snprintf(path, sizeof(path), "%s/%s", parent, e->d_name) >=
			    (int)sizeof(path))
			continue;
		if (before)
			before(path);
		own_dir_remove(path);
	}
	if (d)
		closedir(d);
}
