/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens and rotates STATE/fsd.log. Several processes write to it, each by its standard
 * error. The file's lock chooses the process that renames a full file; the others notice
 * the new file by its inode number.
 */
#include "daemon_log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/layout.h"

#define NAME "fsd.log"

struct daemon_log {
	int dir; /* owned */
	uint64_t limit;
	pthread_mutex_t lock; /* one thread at a time checks the file */
	int first; /* owned: the log until daemon_log_begin(), then -1 */
};

static int open_file(const struct daemon_log *l)
{
	return openat(l->dir, NAME,
		      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
		      0600);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* Makes the file that has the name now standard error. */
static void reopen(const struct daemon_log *l)
{
	auto_close int fd = open_file(l);

	/* If it cannot be opened, keep the old one. */
	if (fd >= 0)
		dup2(fd, STDERR_FILENO);
}

static bool shift(const struct daemon_log *l, unsigned from)
{
	char a[32] = NAME, b[32];

	if (from)
		snprintf(a, sizeof(a), NAME ".%u", from);
	snprintf(b, sizeof(b), NAME ".%u", from + 1);
	return renameat(l->dir, a, l->dir, b) == 0 || errno == ENOENT;
}

/* Renames a full file. st: that file. Only the process that has its lock does
 * so. */
static void rotate(const struct daemon_log *l, const struct stat *st)
{
	auto_close int fd = open_file(l);
	unsigned from = DAEMON_LOG_KEPT;
	struct stat named;

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 ||
	    fstatat(l->dir, NAME, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !is_same(st, &named))
		return;
	/*
	 * Stop at a file that could not be moved, so that none is overwritten.
	 */
	while (from-- && shift(l, from))
		;
}

static void look(void *arg)
{
	struct daemon_log *l = arg;
	struct stat own, named;

	pthread_mutex_lock(&l->lock);
	if (fstat(STDERR_FILENO, &own) == 0 &&
	    (uint64_t)own.st_size >= l->limit && S_ISREG(own.st_mode))
		rotate(l, &own);
	if (fstatat(l->dir, NAME, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !is_same(&own, &named))
		reopen(l);
	pthread_mutex_unlock(&l->lock);
}

struct daemon_log *daemon_log_open(const char *state_dir, uint64_t limit)
{
	struct daemon_log *l = calloc(1, sizeof(*l));
	int error;

	if (!l)
		return NULL;
	pthread_mutex_init(&l->lock, NULL);
	l->limit = limit;
	mkdir(state_dir, 0700); /* on failure store_open() reports the reason */
	l->dir = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	l->first = l->dir < 0 ? -1 : open_file(l);
	if (l->first >= 0)
		return l;
	error = errno;
	fd_close(&l->dir);
	free(l);
	errno = error;
	return NULL;
}

void daemon_log_begin(struct daemon_log *l)
{
	dup2(l->first, STDERR_FILENO);
	fd_close(&l->first);
	log_before(look, l);
}

void daemon_log_close(struct daemon_log *l)
{
	if (!l)
		return;
	log_before(NULL, NULL);
	fd_close(&l->first);
	fd_close(&l->dir);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
