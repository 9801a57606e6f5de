/* SPDX-License-Identifier: Apache-2.0 */
/* fsd env export, fsd env import: an environment as one file. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd_env.h"

const struct cli_option env_export_cli_options[] = {
	{ ENV_OPT_SOURCES, "with-sources", NULL,
	  "write the downloads beside it, to FILE.sources", CLI_TEXT, NULL },
	ENV_DIR_OPTION,
	{ 0 },
};

const struct cli_option env_import_cli_options[] = {
	{ ENV_OPT_NAME, "name", "NAME", "its name here (default: FILE's, up to "
	  "the\nfirst dot)", CLI_TEXT, NULL },
	ENV_DIR_OPTION,
	{ 0 },
};

/* --- export ----------------------------------------------------------------- */

/* Writes FILE completely or not at all: until the rename the old FILE stays. */
static int export_file(const struct environment *e, const char *path)
{
	char part[PATH_MAX], size[32];
	struct err err = { 0 };
	auto_close int fd = -1;
	struct stat st;
	int r;

	if (snprintf(part, sizeof(part), "%s.XXXXXX", path) >=
	    (int)sizeof(part))
		return complain("env", 1, "%s: %s", path,
				strerror(ENAMETOOLONG));
	fd = mkostemp(part, O_CLOEXEC);
	if (fd < 0)
		return complain("env", 1, "%s: %s", path, strerror(errno));
	r = environment_export(e, fd, NULL, &err);
	if (r == 0 && (fchmod(fd, 0644) < 0 || fsync(fd) < 0 ||
		       fstat(fd, &st) < 0 || rename(part, path) < 0))
		r = err_sys(&err, -errno, "%s", path);
	if (r < 0) {
		unlink(part);
		return complain("env", 1, "%s", err.text);
	}
	env_size((uint64_t)st.st_size, size);
	printf("%s %.12s: %s\n", e->name, e->id, size);
	return 0;
}

static int export_pipe(const struct environment *e)
{
	struct err err = { 0 };

	if (isatty(STDOUT_FILENO))
		return complain("env", 2, "standard output is a terminal; "
				"write to a file or a pipe");
	if (environment_export(e, STDOUT_FILENO, NULL, &err) < 0)
		return complain("env", 1, "%s", err.text);
	return 0;
}

static int export_sources(const struct env_call *call,
			  const struct environment *e, const char *path)
{
	char dir[PATH_MAX];
	struct err err = { 0 };

	snprintf(dir, sizeof(dir), "%.*s.sources", PATH_MAX - 16, path);
	if (environment_export_sources(&call->dirs.places, e, dir, &err) < 0)
		return complain("env", 1, "%s", err.text);
	return 0;
}

int env_export(const struct cli_command *self, int argc, char **argv)
{
	struct env_call call;
	struct environment *e = NULL;
	const char *path;
	int r = env_begin(self, argc, argv, &call);

	if (r)
		return r;
	path = argc - optind == 2 ? argv[optind + 1] : NULL;
	if (!path)
		r = usage(self);
	else if (call.sources && !strcmp(path, "-"))
		r = complain("env", 2, "--with-sources writes beside a file, "
			     "and - is none; name a file");
	else
		r = env_open(&call, argv[optind], &e);
	if (r == 0)
		r = strcmp(path, "-") ? export_file(e, path) : export_pipe(e);
	if (r == 0 && call.sources)
		r = export_sources(&call, e, path);
	environment_unref(e);
	env_end(&call);
	return r;
}

/* --- import ----------------------------------------------------------------- */

/* "dir/data.env.zst" is data. Nothing inside the file names it. */
static void name_of(const char *path, char ret[ENVIRONMENT_NAME_MAX + 2])
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;

	snprintf(ret, ENVIRONMENT_NAME_MAX + 2, "%.*s",
		 (int)MIN(strcspn(base, "."), ENVIRONMENT_NAME_MAX + 1), base);
}

static int import_fd(const struct env_call *call, int fd, const char *path,
		     const char *name)
{
	auto_free char *image_dir = default_image_dir();
	const char *top = environment_dirs_own(&call->dirs);
	struct env_image image = { 0 };
	struct environment *e = NULL;
	char id[SHA_HEX];
	struct err err = { 0 };

	if (environment_import(&call->dirs.places, top, fd, name, NULL, id,
			       &err) < 0)
		return complain("env", 1, "%s: %s", path, err.text);
	printf("%s %.12s\n", name, id);
	/* The import is done; warn if the environment does not fit the image. */
	if (image_dir)
		env_image_read(image_dir, &image, NULL);
	if (image.known &&
	    environment_open(&call->dirs.places, name, &e, NULL) == 0 &&
	    environment_misfit(e, image.abi, image.packages.data, &err) < 0)
		fprintf(stderr, "fsd env: %s is stale here: %s\n", name,
			err.text);
	environment_unref(e);
	env_image_done(&image);
	return 0;
}

int env_import(const struct cli_command *self, int argc, char **argv)
{
	char name[ENVIRONMENT_NAME_MAX + 2];
	struct env_call call;
	struct err err = { 0 };
	auto_close int fd = -1;
	const char *path;
	int r = env_begin(self, argc, argv, &call);

	if (r)
		return r;
	path = argc - optind == 1 ? argv[optind] : NULL;
	if (!path) {
		r = usage(self);
	} else if (!call.name && !strcmp(path, "-")) {
		r = complain("env", 2, "standard input has no name; give one "
			     "by --name");
	} else {
		if (call.name)
			snprintf(name, sizeof(name), "%s", call.name);
		else
			name_of(path, name);
		fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) :
			fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
		if (environment_name_check(name, &err) < 0)
			r = complain("env", 2, "%s%s", err.text,
				     call.name ? "" : ": --name gives another");
		else if (fd < 0)
			r = complain("env", 1, "%s: %s", path,
				     strerror(errno));
		else
			r = import_fd(&call, fd, path, name);
	}
	env_end(&call);
	return r;
}
