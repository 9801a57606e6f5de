/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsd env build: starts the program that resolves, fetches and runs the jobs
 * (fsd/env/build.py). That one gives what it has made to `fsd env seal`, so that
 * only vm/environment knows how a set and its name come to be.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd_env.h"

#define PYTHON "/usr/bin/python3"
#define FACTS_MAX 512

/* Help and completion use this table. The program reads the options itself. */
const struct cli_option env_build_cli_options[] = {
	{ CLI_LONG, "stock", "data|web|builder", "the recipe of that name, which "
	  "comes with fsd", CLI_WORDS, "data web builder" },
	{ CLI_LONG, "from", "ENV", "on top of this environment", CLI_TEXT, NULL },
	{ CLI_LONG, "debian", "PKG[=VER]", "a package of Debian; repeatable",
	  CLI_TEXT, NULL },
	{ CLI_LONG, "debian-dir", "DIR", "take Debian's packages from DIR only",
	  CLI_DIR, NULL },
	{ CLI_LONG, "exclude", "PKG", "leave PKG out, * for any letters;\n"
	  "repeatable", CLI_TEXT, NULL },
	{ CLI_LONG, "requirements", "FILE", "wheels, one NAME==VER a line;\n"
	  "repeatable", CLI_FILE, NULL },
	{ CLI_LONG, "pypi", "NAME==VER", "a wheel; repeatable", CLI_TEXT, NULL },
	{ CLI_LONG, "wheelhouse", "DIR", "take wheels from DIR only", CLI_DIR,
	  NULL },
	{ CLI_LONG, "sdist", NULL, "make wheels of sources where there are none",
	  CLI_TEXT, NULL },
	{ CLI_LONG, "npm", "NAME@VER|package.json", "packages of npm; repeatable",
	  CLI_FILE, NULL },
	{ CLI_LONG, "npm-dir", "DIR", "take npm's tarballs from DIR only",
	  CLI_DIR, NULL },
	{ CLI_LONG, "warm", "LIST", "modules that wait imported, as\n"
	  "numpy,npm:lodash", CLI_TEXT, NULL },
	{ CLI_LONG, "warm-program", "FILE", "Python that runs once after them",
	  CLI_FILE, NULL },
	{ CLI_LONG, "env", "K=V", "a variable of its programs; repeatable",
	  CLI_TEXT, NULL },
	ENV_DIR_OPTION,
	{ CLI_LONG, "image", "DIR", "the guest image it is for", CLI_DIR, NULL },
	{ CLI_LONG, "keep-tests", NULL, "keep the packages' tests", CLI_TEXT,
	  NULL },
	{ CLI_LONG, "offline", NULL, "use no network", CLI_TEXT, NULL },
	{ CLI_LONG, "plan", NULL, "stop after resolving, print the lock", CLI_TEXT,
	  NULL },
	{ CLI_LONG, "json", NULL, "one JSON object a step", CLI_TEXT, NULL },
	{ 0 },
};

/* --- the program ------------------------------------------------------------- */

static int find_program(char ret[PATH_MAX + 64], char exe[PATH_MAX])
{
	/* beside a program in build/, in build/VARIANT/bin/, and where it is installed */
	static const char *const places[] = { "../fsd/env/build.py",
					      "../../../fsd/env/build.py",
					      "../share/fsd/env/build.py" };
	ssize_t n = readlink("/proc/self/exe", exe, PATH_MAX - 1);
	const char *slash;

	exe[MAX(n, 0)] = '\0';
	slash = strrchr(exe, '/');
	for (size_t i = 0; slash && i < ARRAY_SIZE(places); i++) {
		snprintf(ret, PATH_MAX + 64, "%.*s/%s", (int)(slash - exe), exe,
			 places[i]);
		if (access(ret, R_OK) == 0)
			return 0;
	}
	return complain("env", 1, "%s was not found; install fsd anew", ret);
}

/* Return: the value of --NAME, which the program reads as well; or NULL. */
static const char *value_of(const char *name, int argc, char **argv)
{
	size_t len = strlen(name);

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], name) && i + 1 < argc)
			return argv[i + 1];
		if (!strncmp(argv[i], name, len) && argv[i][len] == '=')
			return argv[i] + len + 1;
	}
	return NULL;
}

static int set_variables(const struct environment_dirs *dirs,
			 const char *image, const char *exe)
{
	const char *const *all_dirs = dirs->places.dirs;
	const char *own = environment_dirs_own(dirs);
	auto_buf struct buf all = { 0 };

	for (int i = 0; i < ENVIRONMENT_PLACES && all_dirs[i]; i++)
		buf_fmt(&all, "%s%s", i ? ":" : "", all_dirs[i]);
	buf_add(&all, "", 1);
	if (all.failed || !own || setenv("FSD_PROGRAM", exe, 1) < 0 ||
	    setenv("FSD_IMAGE", image, 1) < 0 ||
	    setenv("FSD_ENVIRONMENTS_DIR", own, 1) < 0 ||
	    setenv("FSD_ENVIRONMENTS_DIRS", all.data, 1) < 0)
		return complain("env", 1, "out of memory");
	return 0;
}

static int find_places(int argc, char **argv, const char *exe)
{
	const char *asked = value_of("--image", argc, argv);
	auto_free char *image = asked ? absolute_path(asked)
				      : default_image_dir();
	struct environment_dirs dirs = { 0 };
	int r;

	if (!image)
		return complain("env", 1, "%s: %s", asked ? asked : "the image",
				strerror(errno));
	r = environment_dirs_find(value_of("--environments", argc, argv), image,
				  &dirs);
	r = r < 0 ? complain("env", 1, "out of memory")
		  : set_variables(&dirs, image, exe);
	environment_dirs_done(&dirs);
	return r;
}

int env_build(const struct cli_command *self, int argc, char **argv)
{
	char program[PATH_MAX + 64] = "", exe[PATH_MAX];
	auto_free char **words = calloc((size_t)argc + 4, sizeof(*words));
	int r = find_program(program, exe), n = 0;

	(void)self;
	if (r == 0)
		r = find_places(argc, argv, exe);
	if (r || !words)
		return r ? r : complain("env", 1, "out of memory");
	words[n++] = (char *)(uintptr_t)PYTHON;
	words[n++] = (char *)(uintptr_t)"-IB";
	words[n++] = program;
	for (int i = 1; i < argc; i++)
		words[n++] = argv[i];
	execv(PYTHON, words);
	return complain("env", 1, "%s: %s; run: apt-get install python3", PYTHON,
			strerror(errno));
}

/* --- its new set -------------------------------------------------------------- */

struct facts {
	struct environment_facts facts;
	char *text;                 /* owned: text of the file; the fields above point
				     * into it */
	const char *needs[FACTS_MAX + 1];
	unsigned need_count;
};

static int take_fact(struct facts *f, char *line)
{
	char *value = strchr(line, ' ');

	if (!value)
		return complain("env", 2, "facts: \"%s\" is no fact", line);
	*value++ = '\0';
	if (!strcmp(line, "abi"))
		f->facts.abi = value;
	else if (!strcmp(line, "parent"))
		f->facts.parent = strcmp(value, ENVIRONMENT_BASE) ? value : NULL;
	else if (!strcmp(line, "heap"))
		f->facts.heap = strtoull(value, NULL, 10);
	else if (!strcmp(line, "needs") && f->need_count < FACTS_MAX)
		f->needs[f->need_count++] = value;
	else
		return complain("env", 2, "facts: \"%s\" is no fact", line);
	return 0;
}

static int read_facts(int dir, struct facts *f)
{
	auto_close int fd = openat(dir, "facts", O_RDONLY | O_CLOEXEC);
	const size_t size = 65536;
	char *at, *line;
	ssize_t n;
	int r = 0;

	f->text = calloc(1, size);
	n = fd < 0 || !f->text ? -1 : read(fd, f->text, size - 1);
	if (n < 0)
		return complain("env", 1, "facts: %s", strerror(errno));
	for (at = f->text; r == 0 && (line = strsep(&at, "\n"));)
		r = *line ? take_fact(f, line) : 0;
	if (r == 0 && !f->facts.abi)
		r = complain("env", 2, "facts: there is no abi");
	f->facts.needs = f->needs;
	return r;
}

static int move_parts(int from, int to)
{
	static const char *const parts[] = { "layer.erofs", "lock.json",
					     "warm.json", "recipe.json" };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (renameat(from, parts[i], to, parts[i]) < 0)
			return complain("env", 1, "%s: %s", parts[i],
					strerror(errno));
	return 0;
}

/* Moves the parts in `from` into a new set of top. */
static int seal_in(const char *top, int from, const char *name,
		   const struct environment_facts *facts)
{
	auto_free char *dirs = strdup(getenv("FSD_ENVIRONMENTS_DIRS") ?: "");
	struct environment_places places = { .dirs = { top } };
	struct environment_new n = ENVIRONMENT_NEW_INIT;
	char id[SHA_HEX], *at = dirs, *dir;
	struct err err = { 0 };
	int r;

	for (int i = 1; i < ENVIRONMENT_PLACES && (dir = strsep(&at, ":"));)
		if (*dir && strcmp(dir, top) != 0)
			places.dirs[i++] = dir;
	if (environment_begin(top, &n, &err) < 0)
		return complain("env", 1, "%s", err.text);
	r = move_parts(from, n.dir);
	if (r == 0 && environment_seal(&places, &n, facts, name, id, &err) < 0)
		r = complain("env", 1, "%s", err.text);
	else if (r == 0)
		puts(id);
	environment_abandon(&n);
	return r;
}

/* seal TOP DIR NAME: DIR has the four parts and `facts`. Prints the id. */
int env_seal(const struct cli_command *self, int argc, char **argv)
{
	struct facts f = { 0 };
	auto_close int from = -1;
	int r;

	if (argc != 4)
		return usage(self);
	from = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (from < 0)
		return complain("env", 1, "%s: %s", argv[2], strerror(errno));
	r = read_facts(from, &f);
	if (r == 0)
		r = seal_in(argv[1], from, argv[3], &f.facts);
	free(f.text);
	return r;
}
