/* SPDX-License-Identifier: Apache-2.0 */
/*
 * -g PATH: the program's file or directory PATH appears at PATH here. All copies are
 * complete beside their places (beside.h) before the first of them is renamed. No link of
 * the user's or of the program's is followed on the way: the paths stay below this
 * directory and below the job's output/. The copies are not synced, as those of a
 * compiler are not: thousands of targets of make(1) would each wait for the disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/local/beside.h"
#include "fsd/local/below.h"
#include "fsd/local/tree_copy.h"
#include "run_int.h"
#include "where.h"

struct target {
	const char *given;
	char path[BELOW_PATH]; /* cut in two: */
	const char *dir, *name;
	struct beside b;
};

/* Opens the directory that the path is in. Return: 0 or negative errno. Call beside_end()
 * also after an error. */
static int open_target(struct target *t, const char *given)
{
	int r = below_path(given, t->path), at;

	t->given = given;
	t->b = (struct beside)BESIDE_NONE;
	if (r < 0 || !t->path[0])
		return r < 0 ? r : -EINVAL;
	t->name = below_split(t->path, &t->dir);
	at = below_open(AT_FDCWD, t->dir);
	return at < 0 ? at : beside_begin(&t->b, at, t->name);
}

/* Return: the file type of the entry, or 0. */
static mode_t kind_at(int at, const char *name)
{
	struct stat st;

	return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : st.st_mode & S_IFMT;
}

/* --- before there is a job ------------------------------------------------ */

static int not_opened(const struct target *t, int error)
{
	if (error == EINVAL || error == ENAMETOOLONG)
		return client_complain(2, "-g %s: it must be a path in this directory: "
				"relative, without \"..\" and of at most %d bytes",
				t->given, BELOW_PATH - 1);
	if (error == ELOOP)
		return client_complain(2, "-g %s: %s is behind a symbolic link, which -g "
				"does not follow", t->given, t->dir);
	return client_complain(2, "-g %s: %s: %s", t->given, *t->dir ? t->dir : ".",
			strerror(error));
}

/* Checks that no two targets are the same, and that none is inside another one. */
static int check_pairs(const struct run_client *c, unsigned i)
{
	char path[BELOW_PATH], other[BELOW_PATH];

	below_path(c->gets[i], path);
	for (unsigned j = 0; j < i; j++) {
		below_path(c->gets[j], other);
		if (below_has(path, other) || below_has(other, path))
			return client_complain(2, "-g %s and -g %s are the same, or one is "
					"in the other; give one of them", c->gets[j],
					c->gets[i]);
	}
	return 0;
}

/* Refuses a target that is a directory with something in it that the user gives to the
 * job: the whole directory would be replaced. */
static int check_holds(const struct target *t, const char *real, const char *option,
		       const char *path)
{
	char other[PATH_MAX];

	if (!path || !strcmp(path, "-") || !realpath(path, other) ||
	    !below_has(real, other))
		return 0;
	return client_complain(2, "-g %s replaces the directory, and %s%s is in it; give the "
			"files in it that the program makes", t->given, option, path);
}

static int check_old(const struct run_client *c, const struct target *t)
{
	mode_t kind = kind_at(t->b.parent, t->name);
	char real[PATH_MAX];
	int r;

	if (kind && kind != S_IFREG && kind != S_IFLNK && kind != S_IFDIR)
		return client_complain(2, "-g %s is neither a file nor a directory",
				t->given);
	if (kind != S_IFDIR || !realpath(t->given, real))
		return 0;
	r = check_holds(t, real, "", c->file);
	if (r == 0)
		r = check_holds(t, real, "-C ", c->value[RUN_PROJECT]);
	for (unsigned i = 0; i < c->input_count && r == 0; i++)
		r = check_holds(t, real, "-i ", c->inputs[i]);
	return r;
}

static int check_one(const struct run_client *c, unsigned i)
{
	struct target t;
	struct err err = { 0 };
	char top[LIMIT_FILE_NAME + 1];
	int r = open_target(&t, c->gets[i]);

	if (r == 0 && faccessat(t.b.parent, ".", W_OK | X_OK, 0) < 0)
		r = -errno;
	if (r < 0) {
		r = not_opened(&t, -r);
		beside_end(&t.b);
		return r;
	}
	snprintf(top, sizeof(top), "%.*s", (int)strcspn(t.dir, "/"), t.dir);
	if (top[0] && input_is_taken(top))
		r = client_complain(2, "-g %s: the name %s is taken by the job itself; "
				"rename the directory", t.given, top);
	if (r == 0 && where_takes(t.b.parent, *t.dir ? t.dir : ".", &err) < 0)
		r = client_complain(2, "-g %s: %s", t.given, err.text);
	if (r == 0)
		r = check_pairs(c, i);
	if (r == 0)
		r = check_old(c, &t);
	if (r == 0)
		beside_clean(&t.b);
	beside_end(&t.b);
	return r;
}

int gets_check(const struct run_client *c)
{
	char word[32];
	enum run_opt opt = is_set(c, RUN_SANDBOX) ? RUN_SANDBOX : RUN_SESSION;
	int r = 0;

	if (c->get_count && is_set(c, opt))
		return client_complain(2, "-g takes no file with %s: it stays where the "
				"programs of that work", run_option_word(opt, word));
	for (unsigned i = 0; i < c->get_count && r == 0; i++)
		r = check_one(c, i);
	return r;
}

/* --- when the job is done ------------------------------------------------- */

static int missing(struct client *k, const struct target *t)
{
	client_fail(k, 1, "-g %s: the program has left no such file or directory", t->given);
	return -ENOENT;
}

/* Copies the file beside its place. Return: 0; -ENOENT: the job has none; 1: another
 * failure. Each is reported. */
static int copy_one(struct client *k, struct target *t, int output, const char *given)
{
	struct tree_copy c = { .closed = true, .now = true };
	auto_close int from = -1;
	mode_t old, new;
	int r = open_target(t, given);

	if (r < 0)
		return client_fail(k, 1, "-g %s: %s", given, strerror(-r));
	from = below_open(output, t->dir);
	if (from == -ELOOP)
		return client_fail(k, 1, "-g %s: %s is behind a symbolic link of the "
				   "program, which -g does not follow", given, t->dir);
	if (from < 0 || !kind_at(from, t->name))
		return missing(k, t);
	r = beside_make(&t->b);
	if (r < 0)
		return client_fail(k, 1, "-g %s: %s", given, strerror(-r));
	r = tree_copy(&c, from, t->name, false, t->b.own, BESIDE_NEW);
	if (r < 0)
		return client_fail(k, 1, "-g %s: %s: %s", given, c.path, c.why);
	old = kind_at(t->b.parent, t->name);
	new = kind_at(t->b.own, BESIDE_NEW);
	if (old && (old == S_IFDIR) != (new == S_IFDIR))
		return client_fail(k, 1, "-g %s: the program has made a %s, and here is a "
				   "%s, which it does not replace", given,
				   new == S_IFDIR ? "directory" : "file",
				   old == S_IFDIR ? "directory" : "file");
	return 0;
}

/* Copies all, and prints each requested path that does not exist. */
static int copy_all(struct client *k, struct target *t)
{
	auto_close int output = openat(k->draft.dir, "output", O_PATH | O_DIRECTORY |
				       O_CLOEXEC);
	bool complete = true;
	int r = 0;

	for (unsigned i = 0; i < k->c->get_count && r <= 0; i++) {
		r = copy_one(k, &t[i], output, k->c->gets[i]);
		complete &= r == 0;
	}
	return complete ? 0 : 1;
}

int gets_take(struct client *k)
{
	unsigned count = k->c->get_count;
	auto_free struct target *t = calloc(MAX(count, 1u), sizeof(*t));
	int r;

	if (!t)
		return client_fail(k, 1, "out of memory");
	for (unsigned i = 0; i < count; i++)
		t[i].b = (struct beside)BESIDE_NONE;
	r = copy_all(k, t);
	for (unsigned i = 0; i < count && r == 0; i++) {
		r = beside_put(&t[i].b, BESIDE_OVER);
		if (r < 0)
			r = client_fail(k, 1, "-g %s: %s", t[i].given, strerror(-r));
	}
	for (unsigned i = 0; i < count; i++)
		beside_end(&t[i].b);
	return r;
}
