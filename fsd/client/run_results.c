/* SPDX-License-Identifier: Apache-2.0 */
/*
 * -o DIR. The results are copied to a directory beside DIR, which is renamed when it is
 * complete (beside.h): DIR is there with all of them or not at all. They are synced
 * before the rename, so that this holds after a loss of power, too: a script of many runs
 * asks only whether DIR is there. With --replace they take the place of the results of a
 * run before.
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

#include "fsd/local/beside.h"
#include "results_copy.h"
#include "run_int.h"
#include "where.h"

/* Opens the parent directory of DIR, and finds DIR's last name. Return: 0; -EINVAL: no
 * directory can have that name; or the errno for the parent, whose path is in
 * `parent`. */
static int find_place(const char *dir, struct beside *b, char parent[PATH_MAX])
{
	char copy[PATH_MAX];
	size_t len = strlen(dir);
	int r, at;

	if (len >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, dir, len + 1);
	r = beside_begin(b, -1, basename(copy));
	if (r < 0)
		return r;
	memcpy(copy, dir, len + 1);
	snprintf(parent, PATH_MAX, "%s", dirname(copy));
	at = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return -errno;
	b->parent = at;
	return faccessat(at, ".", W_OK | X_OK, 0) < 0 ? -errno : 0;
}

static bool is_result(const char *name)
{
	for (size_t i = 0; result_names[i]; i++)
		if (!strcmp(name, result_names[i]))
			return true;
	return false;
}

/* Checks that DIR is the result of an earlier run, or empty: --replace replaces only
 * these. Return: 0, or the exit code; standard error has the sentence. */
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
		return client_fail(k, 2, "-o %s: --replace replaces a directory of "
				   "results, and this is none: %s", dir, strerror(r));
	}
	while (r == 0 && (e = readdir(d))) {
		if (is_dots(e->d_name))
			continue;
		found++;
		if (!is_result(e->d_name))
			r = client_fail(k, 2, "-o %s: %s is in it, which no run has "
					"made; --replace replaces the results of a run "
					"alone", dir, e->d_name);
	}
	if (r == 0 && found && (faccessat(fd, "result.json", F_OK, 0) < 0 ||
				faccessat(fd, "exit_code", F_OK, 0) < 0))
		r = client_fail(k, 2, "-o %s: no result.json and exit_code are in it; "
				"--replace replaces the results of a run alone", dir);
	closedir(d);
	return r;
}

static int check_there(struct client *k, const char *dir)
{
	if (is_set(k->c, RUN_REPLACE))
		return check_old(k, dir);
	return client_complain(2, "-o %s is there already; it must be a new directory, "
			"or --replace replaces the results in it", dir);
}

int results_check(struct client *k)
{
	const char *dir = k->c->value[RUN_OUTPUT];
	struct beside b = BESIDE_NONE;
	char parent[PATH_MAX];
	struct err err = { 0 };
	struct stat st;
	int place = find_place(dir, &b, parent), r = 0;

	if (place == 0 && where_takes(b.parent, parent, &err) == 0)
		beside_clean(&b);
	if (place == -EINVAL)
		r = client_complain(2, "-o %s: a new directory cannot have this name",
				    dir);
	else if (lstat(dir, &st) == 0)
		r = check_there(k, dir);
	else if (errno != ENOENT)
		r = client_complain(2, "-o %s: %s", dir, strerror(errno));
	if (r == 0 && place < 0)
		r = client_complain(2, "-o %s: %s: %s", dir, parent, strerror(-place));
	if (r == 0 && err.code)
		r = client_complain(2, "-o %s: %s", dir, err.text);
	beside_end(&b);
	return r;
}

static int put_in_place(struct client *k, struct beside *b, const char *dir)
{
	int r = beside_put(b, BESIDE_FRESH);

	if (r == -EEXIST && is_set(k->c, RUN_REPLACE)) {
		if (check_old(k, dir))
			return 1;
		r = beside_put(b, BESIDE_OVER);
	}
	return r < 0 ? client_fail(k, 1, "-o %s: %s", dir, strerror(-r)) : 0;
}

/* Copies into BESIDE_NEW, and gives it its name. */
static int take_into(struct client *k, struct beside *b, const char *dir)
{
	struct results_copy c = { .job = k->draft.dir, .copy.sync = true };
	auto_close int to = -1;

	c.mask = umask(0);
	umask(c.mask);
	if (mkdirat(b->own, BESIDE_NEW, 0700) == 0)
		to = openat(b->own, BESIDE_NEW, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (to < 0)
		return client_fail(k, 1, "-o %s: %s", dir, strerror(errno));
	c.to = to;
	if (results_copy(&c) < 0)
		return client_fail(k, 1, "-o %s: %s: %s", dir, c.copy.path, c.copy.why);
	if (fchmod(to, 0777 & ~c.mask) < 0 || fsync(to) < 0)
		return client_fail(k, 1, "-o %s: %s", dir, strerror(errno));
	return put_in_place(k, b, dir);
}

int results_take(struct client *k)
{
	const char *dir = k->c->value[RUN_OUTPUT];
	struct beside b = BESIDE_NONE;
	char parent[PATH_MAX];
	int r = find_place(dir, &b, parent);

	if (r == 0)
		r = beside_make(&b);
	r = r < 0 ? client_fail(k, 1, "-o %s: %s", dir, strerror(-r))
		  : take_into(k, &b, dir);
	beside_end(&b);
	return r;
}
