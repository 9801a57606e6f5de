/* SPDX-License-Identifier: Apache-2.0 */
/*
 * -o DIR. The results are copied to .DIR.fsd-XXXXXX/results beside it, which is renamed
 * when it is complete: DIR is there with all of them or not at all.
 *
 * A client that is killed leaves .DIR.fsd-XXXXXX. The next one with the same DIR removes
 * it: see own_dir.h.
 *
 * With --force the new directory and the results of a run before change places in one
 * step, so that one of them is there at any time.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/local/own_dir.h"
#include "results_copy.h"
#include "run_int.h"

#define ENDING ".fsd-"
#define INNER "results"

struct place {
	char parent[PATH_MAX];
	char prefix[LIMIT_FILE_NAME + 1]; /* of the names of our own directories */
	char made[PATH_MAX]; /* the directory that has INNER */
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
	    strlen(dir) > LIMIT_FILE_NAME - sizeof("." ENDING OWN_DIR_RANDOM))
		return false;
	snprintf(p->prefix, sizeof(p->prefix), ".%.*s" ENDING,
		 LIMIT_FILE_NAME - (int)sizeof("." ENDING), dir);
	return snprintf(p->made, sizeof(p->made), "%s/%s" OWN_DIR_RANDOM,
			p->parent, p->prefix) < (int)sizeof(p->made);
}

static bool is_result(const char *name)
{
	for (size_t i = 0; result_names[i]; i++)
		if (!strcmp(name, result_names[i]))
			return true;
	return false;
}

/* Is dir what a run has left, or an empty directory? --force replaces only these. Return:
 * 0, or the exit code, and standard error says what it is. */
static int check_old(struct client *k, const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	unsigned found = 0;
	struct dirent *e;
	int r = 0;

	if (!d) {
		r = errno;
		fd_close(&fd);
		return client_fail(k, 2, "-o %s: --force replaces a directory of "
				   "results, and this is none: %s", dir, strerror(r));
	}
	while (r == 0 && (e = readdir(d))) {
		if (is_dots(e->d_name))
			continue;
		found++;
		if (!is_result(e->d_name))
			r = client_fail(k, 2, "-o %s: %s is in it, which no run has "
					"made; --force replaces the results of a run "
					"alone", dir, e->d_name);
	}
	if (r == 0 && found && (faccessat(fd, "result.json", F_OK, 0) < 0 ||
				faccessat(fd, "exit_code", F_OK, 0) < 0))
		r = client_fail(k, 2, "-o %s: no result.json and exit_code are in it; "
				"--force replaces the results of a run alone", dir);
	closedir(d);
	return r;
}

static int check_there(struct client *k, const char *dir)
{
	if (is_set(k->c, RUN_FORCE))
		return check_old(k, dir);
	return client_complain(2, "-o %s is there already; it must be a new directory, "
			"or --force replaces the results in it", dir);
}

int results_check(struct client *k)
{
	const char *dir = k->c->value[RUN_OUTPUT];
	struct place p;
	struct stat st;
	int r;

	if (!find_place(dir, &p))
		return client_complain(2, "-o %s: a new directory cannot have "
				"this name", dir);
	r = lstat(dir, &st) == 0 ? check_there(k, dir) : 0;
	if (r)
		return r;
	if (lstat(dir, &st) < 0 && errno != ENOENT)
		return client_complain(2, "-o %s: %s", dir, strerror(errno));
	if (access(p.parent, W_OK | X_OK) < 0)
		return client_complain(2, "-o %s: %s: %s", dir, p.parent,
				strerror(errno));
	own_dir_clean(p.parent, p.prefix, NULL);
	return 0;
}

/* Renames INNER to dir. With --force the old directory gets the name INNER. */
static int put_in_place(struct client *k, int own, const char *dir)
{
	if (renameat2(own, INNER, AT_FDCWD, dir, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno == EEXIST && is_set(k->c, RUN_FORCE)) {
		if (check_old(k, dir))
			return 1;
		if (renameat2(own, INNER, AT_FDCWD, dir, RENAME_EXCHANGE) == 0)
			return 0;
	}
	return client_fail(k, 1, "-o %s: %s", dir, strerror(errno));
}

/* Copies into INNER of the directory `own`, and gives it its name. */
static int take_into(struct client *k, int own, const char *dir)
{
	struct results_copy c = { .job = k->draft.dir };
	auto_close int to = -1;

	c.mask = umask(0);
	umask(c.mask);
	if (mkdirat(own, INNER, 0700) == 0)
		to = openat(own, INNER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (to < 0)
		return client_fail(k, 1, "-o %s: %s", dir, strerror(errno));
	c.to = to;
	if (results_copy(&c) < 0)
		return client_fail(k, 1, "-o %s: %s: %s", dir, c.copy.path, c.copy.why);
	if (fchmod(to, 0777 & ~c.mask) < 0)
		return client_fail(k, 1, "-o %s: %s", dir, strerror(errno));
	return put_in_place(k, own, dir);
}

int results_take(struct client *k)
{
	const char *dir = k->c->value[RUN_OUTPUT];
	struct place p;
	auto_close int own = find_place(dir, &p) ? own_dir_make(p.made) :
						   -EINVAL;
	int r;

	if (own < 0)
		return client_fail(k, 1, "-o %s: %s", dir, strerror(-own));
	r = take_into(k, own, dir);
	own_dir_remove(p.made);
	return r;
}
