/* SPDX-License-Identifier: Apache-2.0 */
/*
 * -o DIR. The results are copied to .DIR.XXXXXX beside it, which is renamed when it
 * is complete: DIR is there with all of them or not at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run_int.h"
#include "tree_copy.h"

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
	if (is_dots(dir) || dir[0] == '/' || strlen(dir) > LIMIT_FILE_NAME - 8)
		return false;
	snprintf(p->name, sizeof(p->name), "%s", dir);
	return snprintf(p->made, sizeof(p->made), "%s/.%s.XXXXXX", p->parent,
			p->name) < (int)sizeof(p->made);
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
	auto_close int to = -1;
	struct place p;
	mode_t mask;
	int r;

	if (!find_place(dir, &p) || !mkdtemp(p.made))
		return client_fail(k, 1, "-o %s: %s", dir, strerror(errno));
	to = open(p.made, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (to < 0)
		return client_fail(k, 1, "-o %s: %s", dir, strerror(errno));
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
