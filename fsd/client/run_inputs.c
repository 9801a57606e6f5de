/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the inputs (-i) before the job is made: which files may be inputs, under which
 * paths the job gets them, and how its arguments name them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run_int.h"

bool input_is_taken(const char *name)
{
	return job_vfile_by_name(name) || !strcmp(name, "config.json") ||
	       !strcmp(name, "stdin") || code_kind(name) != CODE_NO;
}

/* Finds the last name: "data" of "in/data/". Return: false: the path has none, as "/" and
 * "..". */
static bool last_name(const char *path, char room[LIMIT_FILE_NAME + 1])
{
	size_t end = strlen(path), start;

	while (end && path[end - 1] == '/')
		end--;
	for (start = end; start && path[start - 1] != '/'; start--)
		;
	if (end == start || end - start > LIMIT_FILE_NAME)
		return false;
	memcpy(room, path + start, end - start);
	room[end - start] = '\0';
	return !is_dots(room);
}

/* True if the path ends in "." or "..": then it means the contents of that directory. */
static bool is_contents(const char *path)
{
	size_t end = strlen(path), start;

	while (end && path[end - 1] == '/')
		end--;
	for (start = end; start && path[start - 1] != '/'; start--)
		;
	return (end - start == 1 && path[start] == '.') ||
	       (end - start == 2 && !memcmp(path + start, "..", 2));
}

bool input_place(const struct run_client *c, const char *path, char ret[BELOW_PATH])
{
	if (is_set(c, RUN_RELATIVE))
		return below_path(path, ret) == 0;
	ret[0] = '\0';
	return is_contents(path) || last_name(path, ret);
}

/* Writes the first name of a path in the job to ret. */
static void top_name(const char *place, char ret[BELOW_PATH])
{
	snprintf(ret, BELOW_PATH, "%.*s", (int)strcspn(place, "/"), place);
}

bool input_has_name(const struct run_client *c, const char *path, const char *name,
		    const char *program)
{
	char place[BELOW_PATH], top[BELOW_PATH];
	auto_close int at = -1;
	struct stat st, of;

	if (!input_place(c, path, place))
		return false;
	top_name(place, top);
	if (place[0])
		return !strcmp(top, name);
	at = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return at >= 0 && fstatat(at, name, &st, 0) == 0 &&
	       (stat(program, &of) < 0 || !is_same_file(&st, &of));
}

int input_check(const struct run_client *c, const char *path, char place[BELOW_PATH],
		struct err *err)
{
	char top[BELOW_PATH];

	if (!input_place(c, path, place))
		return is_set(c, RUN_RELATIVE) ?
			       err_set(err, -EINVAL, "%s: with -R a path must be relative, "
				       "without \"..\" and of at most %d bytes", path,
				       BELOW_PATH - 1) :
			       err_set(err, -EINVAL, "%s has no last name; give a path "
				       "that ends in one", path);
	top_name(place, top);
	if (place[0] && input_is_taken(top))
		return err_set(err, -EINVAL, "%s: the name %s is taken by the job "
			       "itself; rename the input", path, top);
	return 0;
}

/* Checks that no earlier input has the same place in the job, or one inside it or around
 * it. */
static int check_others(const struct run_client *c, unsigned i, const char *place)
{
	char other[BELOW_PATH];
	bool in;

	for (unsigned j = 0; j < i; j++) {
		if (!input_place(c, c->inputs[j], other) || !other[0])
			continue;
		in = below_has(place, other);
		if (!strcmp(place, other))
			return client_complain(2, "-i %s and -i %s have the same %s",
					c->inputs[j], c->inputs[i],
					is_set(c, RUN_RELATIVE) ? "path" : "last name");
		if (in || below_has(other, place))
			return client_complain(2, "-i %s is in -i %s, which brings "
					"it; give one of them",
					c->inputs[in ? j : i], c->inputs[in ? i : j]);
	}
	return 0;
}

static int check_input(const struct run_client *c, unsigned i)
{
	char place[BELOW_PATH];
	const char *path = c->inputs[i];
	struct stat st;
	struct err err;

	if (stat(path, &st) < 0)
		return client_complain(2, "-i %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return client_complain(2, "-i %s is neither a file nor a "
				"directory", path);
	if (input_check(c, path, place, &err) < 0)
		return client_complain(2, "-i %s", err.text);
	if (!place[0])
		return 0; /* put_contents() checks the names in it */
	return check_others(c, i, place);
}

int inputs_check(const struct run_client *c)
{
	int r = 0;

	for (unsigned i = 0; i < c->input_count && r == 0; i++)
		r = check_input(c, i);
	return r;
}

/* --- arguments that name them --------------------------------------------- */

#define NAME "{}"

/* Adds the argument, with the name in place of each {}. name NULL: unchanged. */
static void add_arg(struct job_args *a, const char *arg, const char *name)
{
	const char *next;

	for (; name && (next = strstr(arg, NAME)); arg = next + strlen(NAME)) {
		buf_add(&a->text, arg, (size_t)(next - arg));
		buf_str(&a->text, name);
	}
	buf_add(&a->text, arg, strlen(arg) + 1);
	a->count++;
}

static void add_names(struct job_args *a, const char *const *name, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		add_arg(a, name[i], NULL);
}

int job_args_make(struct job_args *a, const struct run_client *c, const char *const *name,
		  unsigned count, bool last)
{
	bool named = false;
	char *at;

	a->count = 0;
	a->text.cap = LIMIT_ARGS_BYTES + LIMIT_ARGS; /* each has a NUL */
	buf_clear(&a->text);
	for (unsigned i = 0; i < c->arg_count; i++) {
		named = named || strstr(c->args[i], NAME);
		if (!strcmp(c->args[i], NAME))
			add_names(a, name, count);
		else
			add_arg(a, c->args[i], count ? name[0] : NULL);
	}
	if (!named && last)
		add_names(a, name, count);
	if (a->count > LIMIT_ARGS || a->text.failed == -EFBIG)
		return -E2BIG;
	at = a->text.data;
	for (unsigned i = 0; i < a->count && !a->text.failed; i++) {
		a->arg[i] = at;
		at += strlen(at) + 1;
	}
	return a->text.failed;
}

void job_args_done(struct job_args *a)
{
	buf_done(&a->text);
}
