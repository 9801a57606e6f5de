/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the program that the command line means, before there is a mount: a wrong
 * one costs no start of a private mount. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run_int.h"

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_input(const struct run_client *c, const char *path)
{
	for (unsigned i = 0; i < c->input_count; i++)
		if (input_has_name(c, c->inputs[i], last_name(path), path))
			return true;
	return false;
}

/* True if a file of the job can have this name. Like a job's name it must be text without
 * control characters, which config.json can have. */
static bool can_be_named(const struct run_client *c, const char *path)
{
	const char *name = last_name(path);

	return strcmp(name, "-") != 0 && name[0] != '.' &&
	       job_name_check(name) == 0 && !input_is_taken(name) &&
	       !is_input(c, path);
}

static const struct lang *language_of(const struct run_client *c, const char *path)
{
	return is_set(c, RUN_LANGUAGE) ? lang_by_name(c->value[RUN_LANGUAGE])
				       : lang_by_ending(last_name(path));
}

/* True if the job's program may keep its own name. In a sandbox, where the files of
 * several jobs lie, config.json takes no "main". */
static bool may_be_named(const struct run_client *c)
{
	return !is_set(c, RUN_SANDBOX);
}

/* Sets the program's name in the job: its own name, which tracebacks show. If that is
 * taken: "code.py" for an ending of a language, else "code". */
static void set_name(const struct run_client *c, struct program *p,
		     const char *path)
{
	const struct lang *lang = language_of(c, path);

	/*
	 * The types of a program are erased only if its name has the ending of the
	 * language. So a file with another ending gets the language's usual name. It is
	 * also the only name that a warm interpreter knows; a start without one is
	 * slower.
	 */
	if (lang && lang->erased &&
	    lang_by_ending(last_name(path)) != lang) {
		snprintf(p->name, sizeof(p->name), "%s", lang->code);
		return;
	}
	p->named = may_be_named(c) && can_be_named(c, path) &&
		   !(lang && lang->warm_is_plain);
	if (p->named) {
		snprintf(p->name, sizeof(p->name), "%s", last_name(path));
		return;
	}
	if (is_set(c, RUN_LANGUAGE))
		snprintf(p->name, sizeof(p->name), "code");
	else
		code_name(path, p->name);
}

bool program_check(const struct run_client *c, const struct program *p,
		   const char *data, size_t len, struct err *ret)
{
	static const char bom[] = "\xef\xbb\xbf";

	if (len >= 3 && !memcmp(data, bom, 3)) {
		data += 3;
		len -= 3;
	}
	if (p->python || is_set(c, RUN_LANGUAGE) || lang_by_ending(p->name) ||
	    !len || (len >= 2 && !memcmp(data, "#!", 2)))
		return true;
	err_set(ret, -EINVAL, "%s: which language is it? Its name ends in none of %s, "
		"and it does not begin with #!; -l says it: %s", p->what,
		lang_extensions_text(), lang_names_text());
	return false;
}

/* Opens the program. A pipe or a device is read only once, when it is copied. */
static int open_program(const struct run_client *c, struct program *p, int at,
			const char *path)
{
	struct stat st;
	struct err err;
	char start[8];
	ssize_t n;

	p->fd = openat(at, path, O_RDONLY | O_CLOEXEC);
	if (p->fd < 0 || fstat(p->fd, &st) < 0)
		return client_complain(2, "%s: %s", p->what, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return client_complain(2, "%s is a directory; -C runs the "
				"program of a directory", p->what);
	if (!S_ISREG(st.st_mode))
		return 0;
	if (st.st_size > (off_t)LIMIT_CODE_BYTES)
		return client_complain(2, "%s has %lld bytes; a program may have "
				"1 MiB, -i takes other files", p->what,
				(long long)st.st_size);
	n = pread(p->fd, start, sizeof(start), 0);
	if (n < 0)
		return client_complain(2, "%s: %s", p->what, strerror(errno));
	return program_check(c, p, start, (size_t)n, &err) ?
		       0 : client_complain(2, "%s", err.text);
}

/* Return: how many programs DIR contains, which are copied with the rest; ret: the name
 * of the last one. */
static unsigned count_code(int at, char ret[16])
{
	const char *ending = "";
	unsigned count = 0;

	for (size_t i = 0; ending; ending = lang_endings[i++]) {
		char name[16];

		snprintf(name, sizeof(name), "code%s", ending);
		if (faccessat(at, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		memcpy(ret, name, sizeof(name));
		count++;
	}
	return count;
}

static int only_code(const char *dir, int at)
{
	char name[16];
	unsigned count = count_code(at, name);

	if (count == 1)
		return 0;
	return client_complain(2, "%s has %s program code.*; --main FILE says "
			"which of its files is the program", dir,
			count ? "more than one" : "no");
}

/* Finds a program below DIR. It is run where it is, so that it finds the files beside
 * it. */
static int main_below(const struct run_client *c, struct program *p)
{
	const struct lang *lang = language_of(c, c->value[RUN_MAIN]);

	if (is_set(c, RUN_MODE) || is_set(c, RUN_SESSION) ||
	    (lang && lang->erased))
		return client_complain(2, "--main is %s; with --mode, --session "
				"or in TypeScript it must be a file of the "
				"directory %s itself", c->value[RUN_MAIN],
				c->value[RUN_PROJECT]);
	p->named = false;
	p->interpreter = lang ? lang->interpreter : NULL;
	p->itself = !lang;
	fd_close(&p->fd);
	return 0;
}

static int find_in_project(const struct run_client *c, struct program *p)
{
	const char *dir = c->value[RUN_PROJECT], *path = c->value[RUN_MAIN];
	auto_close int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char code[16] = "";
	int r;

	if (at < 0)
		return client_complain(2, "-C %s: %s", dir, strerror(errno));
	if (!path)
		return only_code(dir, at);
	while (!strncmp(path, "./", 2))
		path += 2;
	if (path[0] == '/' || !strncmp(path, "../", 3) || strstr(path, "/../"))
		return client_complain(2, "--main is %s; it must be a path in "
				"the directory %s", c->value[RUN_MAIN], dir);
	if (count_code(at, code) && strcmp(code, path) != 0)
		return client_complain(2, "%s has a program %s already; with "
				"--main it may have none", dir, code);
	p->what = path;
	set_name(c, p, path);
	r = open_program(c, p, at, path);
	if (r)
		return r;
	if (strchr(path, '/'))
		return main_below(c, p);
	if (p->named || code_kind(path) != CODE_NO)
		fd_close(&p->fd); /* the file is copied with the rest of DIR */
	return 0;
}

/* Sets the name of a program given by -c, so that tracebacks show what the language's own
 * command shows. The name is no module's, as code.py would be. For languages without such
 * a name it stays as it is. */
static void name_text(const struct run_client *c, struct program *p)
{
	const char *language = c->value[RUN_LANGUAGE];
	const struct lang *lang = language ? lang_by_name(language)
					   : &langs[LANG_DEFAULT];
	const char *name = lang ? lang->inline_name : NULL;

	p->what = "-c";
	p->python = !language;
	p->named = name && may_be_named(c) && !is_input(c, name);
	snprintf(p->name, sizeof(p->name), "%s",
		 p->named				    ? name
		 : p->python || (lang && lang->erased) ? lang->code
							    : "code");
}

int program_find(const struct run_client *c, struct program *p)
{
	*p = (struct program){ .fd = -1 };
	if (is_set(c, RUN_PROJECT))
		return find_in_project(c, p);
	if (is_set(c, RUN_CODE)) {
		name_text(c, p);
		return 0;
	}
	p->what = c->file;
	set_name(c, p, c->file);
	if (strcmp(c->file, "-") != 0)
		return open_program(c, p, AT_FDCWD, c->file);
	p->what = "standard input";
	return 0;
}

void program_done(struct program *p)
{
	fd_close(&p->fd);
}
