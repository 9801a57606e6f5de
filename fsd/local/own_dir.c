/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes directories that are removed when their process ends, and removes those of killed
 * processes. A file marks such a directory. It is deleted last, so if a removal is killed
 * the next process recognizes the rest.
 */
#include "own_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/layout.h"
#include "tree_copy.h"

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

/* Gives a directory that was just made its lock and its mark. Return: its descriptor, or
 * negative errno. */
static int lock_and_mark(int at, const char *name, bool lock)
{
	auto_close int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
						     O_CLOEXEC);
	int r;

	if (fd < 0 || (lock && flock(fd, LOCK_EX) < 0))
		return -errno;
	r = write_mark(fd, name);
	return r < 0 ? r : take_fd(&fd);
}

/* Makes PREFIX, random characters and `maker`, which is "" for one with a lock. */
static int make_one(int at, const char *prefix, const char *maker,
		    char ret[NAME_MAX + 1])
{
	unsigned char bytes[OWN_DIR_RANDOM];
	char random[OWN_DIR_RANDOM + 1] = "";
	int r;

	if (getentropy(bytes, sizeof(bytes)) < 0)
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		random[i] = letters[bytes[i] % (sizeof(letters) - 1)];
	snprintf(ret, NAME_MAX + 1, "%s%s%s", prefix, random, maker);
	if (mkdirat(at, ret, MODE) < 0)
		return -errno;
	r = lock_and_mark(at, ret, !*maker);
	if (r < 0)
		own_dir_remove(at, ret);
	return r;
}

/* Errors of flock(2) where directories have no locks. */
static bool has_no_lock(int error)
{
	return error == EBADF || error == EINVAL || error == ENOSYS ||
	       error == EOPNOTSUPP || error == ENOLCK;
}

/* Tries again after -ENOENT: own_dir_clean() in another process has removed the new
 * directory before this process locked it. */
int own_dir_make(int at, const char *prefix, char ret[NAME_MAX + 1])
{
	char maker[MAKER_TEXT] = "";
	int r = -ENOENT;

	if (strlen(prefix) > OWN_DIR_PREFIX_MAX)
		return -ENAMETOOLONG;
	for (int i = 0; i < TRIES && (r == -ENOENT || r == -EEXIST); i++) {
		r = make_one(at, prefix, maker, ret);
		if (has_no_lock(-r) && !*maker)
			r = maker_text(maker) < 0 ? r : -EEXIST; /* the name has the
								  * process in it */
	}
	return r;
}

/* --- removing one ---------------------------------------------------------- */

void own_dir_remove(int at, const char *name)
{
	auto_close int dir = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
						      O_CLOEXEC);

	if (dir < 0)
		return;
	tree_remove_all(dir, OWN_DIR_MARK);
	/* The mark exists as long as any other entry does. */
	if (!has_mark_only(dir))
		return;
	unlinkat(dir, OWN_DIR_MARK, 0);
	unlinkat(at, name, AT_REMOVEDIR);
}

/* --- those that were left --------------------------------------------------- */

/* Checks whether make_one() makes such names. Return: the text behind the random
 * characters, "" for a directory with a lock; NULL: another name. */
static const char *maker_of(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	if (strncmp(name, prefix, len) != 0)
		return NULL;
	name += len;
	if (strspn(name, letters) != OWN_DIR_RANDOM)
		return NULL;
	name += OWN_DIR_RANDOM;
	return !*name || *name == '-' ? name : NULL;
}

static bool is_own(int fd, const char *name)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	       (has_mark(fd, name) ||
		((st.st_mode & (0777 | S_ISVTX)) == MODE && has_mark_only(fd)));
}

/* True if the directory is ours and its process is dead. *ret: its lock, if it has
 * one. */
static bool is_left(int parent, const char *name, const char *prefix, int *ret)
{
	auto_close int fd = -1;
	const char *maker = maker_of(name, prefix);

	if (!maker || (*maker && !maker_has_ended(maker)))
		return false;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
					  O_CLOEXEC);
	if (fd < 0 || !is_own(fd, name) || (!*maker && flock(fd, LOCK_EX | LOCK_NB) < 0))
		return false;
	*ret = take_fd(&fd);
	return true;
}

void own_dir_clean(int at, const char *prefix,
		   void (*before)(void *arg, const char *name), void *arg)
{
	int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d)
		fd_close(&fd);
	while (d && (e = readdir(d))) {
		auto_close int lock = -1;

		if (!is_left(at, e->d_name, prefix, &lock))
			continue;
		if (before)
			before(arg, e->d_name);
		own_dir_remove(at, e->d_name);
	}
	if (d)
		closedir(d);
}
