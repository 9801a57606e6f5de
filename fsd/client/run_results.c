/* SPDX-License-Identifier: Apache-2.0 */
/*
 * -o DIR. The results are copied to .DIR.fsd-XXXXXX/results beside it, which is renamed
 * when it is complete: DIR is there with all of them or not at all.
 *
 * A client that is killed leaves .DIR.fsd-XXXXXX. The next one with the same DIR removes
 * it: see own_dir.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "own_dir.h"
#include "run_int.h"
#include "tree_copy.h"

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
	own_dir_clean(p.parent, p.prefix, NULL);
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

/* Copies into INNER of the directory `own`, and gives it its name. */
static int take_into(struct client *k, int own, const char *dir)
{
	auto_close int to = -1;
	mode_t mask = umask(0);
	int r;

	umask(mask);
	if (mkdirat(own, INNER, 0700) == 0)
		to = openat(own, INNER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (to < 0)
		return client_fail(k, 1, "-o %s: %s", dir, strerror(errno));
	r = copy_all(k, to, dir);
	if (r)
		return r;
	if (fchmod(to, 0777 & ~mask) < 0 ||
	    renameat2(own, INNER, AT_FDCWD, dir, RENAME_NOREPLACE) < 0)
		return client_fail(k, 1, "-o %s: %s", dir, strerror(errno));
	return 0;
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
