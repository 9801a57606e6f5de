/* SPDX-License-Identifier: Apache-2.0 */
/*
 * -o DIR. The results are copied to .DIR.fsd-XXXXXX beside it, which is renamed when
 * it is complete: DIR is there with all of them or not at all.
 *
 * A client that is killed leaves such a directory. Each client locks its own, so the
 * next one with the same DIR knows those of dead ones, and removes them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run_int.h"
#include "tree_copy.h"

#define MARK ".fsd-"
#define RANDOM_SIZE 6 /* of mkdtemp() */
#define TRIES 10

struct place {
	char parent[PATH_MAX], name[LIMIT_FILE_NAME + 1];
	char made[PATH_MAX]; /* of the directory that is renamed */
};

/* Return: false: DIR has no name that a directory could get. */
static bool find_place(const char *dir, struct place *p)
{
	char copy[PATH_MAX];
	size_t len = strlen(dir);

	if (len >= sizeof(copy))
		return false;
	memcpy(copy, dir, len + 1);
	snprintf(p->parent, sizeof(p->parent), "%s", dirname(copy));
	memcpy(copy, dir, len + 1);
	dir = basename(copy);
	if (is_dots(dir) || dir[0] == '/' ||
	    strlen(dir) > LIMIT_FILE_NAME - sizeof("." MARK) - RANDOM_SIZE)
		return false;
	snprintf(p->name, sizeof(p->name), "%s", dir);
	return snprintf(p->made, sizeof(p->made), "%s/.%s" MARK "XXXXXX",
			p->parent, p->name) < (int)sizeof(p->made);
}

/* Is it a name that find_place() gives? */
static bool is_made(const struct place *p, const char *name)
{
	size_t len = strlen(p->name);

	return name[0] == '.' && !strncmp(name + 1, p->name, len) &&
	       !strncmp(name + 1 + len, MARK, strlen(MARK)) &&
	       strlen(name + 1 + len + strlen(MARK)) == RANDOM_SIZE;
}

/* One of our own that nobody locks was left by a client that is dead. */
static void remove_left(int parent, const char *name)
{
	auto_close int fd = openat(parent, name, O_RDONLY | O_DIRECTORY |
						 O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0)
		tree_remove(parent, name);
}

static void remove_all_left(const struct place *p)
{
	DIR *d = opendir(p->parent);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (is_made(p, e->d_name))
			remove_left(dirfd(d), e->d_name);
	if (d)
		closedir(d);
}

/* The directory that is to be renamed, locked. Another client may take it for
 * one that was left before it is locked. Return: its descriptor or negative
 * errno. */
static int make_locked(struct place *p)
{
	size_t end = strlen(p->made);
	struct stat st;

	for (int i = 0; i < TRIES; i++) {
		int fd;

		memset(p->made + end - RANDOM_SIZE, 'X', RANDOM_SIZE);
		if (!mkdtemp(p->made))
			return -errno;
		fd = open(p->made, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
		    fstat(fd, &st) == 0 && st.st_nlink)
			return fd;
		fd_close(&fd);
	}
	return -EAGAIN;
}

int results_check(const char *dir)
{
	struct place p;
	struct stat st;

	if (!find_place(dir, &p))
		return client_complain(2, "-o %s: a new directory cannot have "
				"this name", dir);
	if (lstat(dir, &st) == 0)
		return client_complain(2, "-o %s is there already; it must be a "
				"new directory", dir);
	if (errno != ENOENT)
		return client_complain(2, "-o %s: %s", dir, strerror(errno));
	if (access(p.parent, W_OK | X_OK) < 0)
		return client_complain(2, "-o %s: %s: %s", dir, p.parent,
				strerror(errno));
	remove_all_left(&p);
	return 0;
}

static int copy_all(struct client *k, int to, const char *dir)
{
	static const char *const names[] = { "stdout", "stderr", "result.json",
					     "output", "exit_code" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct tree_copy t = { 0 };
		int r = tree_copy(&t, k->dir, names[i], false, to, names[i]);

		if (r == -ENOENT && !t.writing && !strcmp(t.path, names[i]))
			continue; /* a job that never ran has no streams */
		if (r < 0)
			return client_fail(k, 1, "-o %s: %s: %s", dir, t.path, t.why);
	}
	return 0;
}

int results_take(struct client *k)
{
	const char *dir = k->c->value[RUN_OUTPUT];
	struct place p;
	auto_close int to = find_place(dir, &p) ? make_locked(&p) : -EINVAL;
	mode_t mask;
	int r;

	if (to < 0)
		return client_fail(k, 1, "-o %s: %s", dir, strerror(-to));
	mask = umask(0);
	umask(mask);
	r = copy_all(k, to, dir);
	if (r == 0 &&
	    (fchmod(to, 0777 & ~mask) < 0 ||
	     renameat2(AT_FDCWD, p.made, AT_FDCWD, dir, RENAME_NOREPLACE) < 0))
		r = client_fail(k, 1, "-o %s: %s", dir, strerror(errno));
	if (r)
		tree_remove(AT_FDCWD, p.made);
	return r;
}
