/* SPDX-License-Identifier: Apache-2.0 */
/* fsd ls, fsd status: show the jobs of a mount, their states and the reasons. */
#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "fsd/client/job_view.h"
#include "fsd/client/which_mount.h"

static const struct cli_option ls_cli_options[] = {
	{ 'l', "long", NULL, "with state, exit code, owner, age and reason",
	  CLI_TEXT, NULL },
	{ 'a', "all", NULL, "also names that begin with a dot: drafts that\n"
	  "are being prepared", CLI_TEXT, NULL },
	{ 'j', "json", NULL, "a JSON object a line, for programs", CLI_TEXT,
	  NULL },
	{ 'M', "mount", "MNT", "the mount (default: $FSD_MOUNT, then\n"
	  SERVICE_MOUNT ")", CLI_MOUNT, NULL },
	{ 0 },
};

static const struct cli_option status_cli_options[] = {
	{ 'j', "json", NULL, "a JSON object a line, for programs", CLI_TEXT,
	  NULL },
	{ 'M', "mount", "MNT", "the mount of a JOB that is a name", CLI_MOUNT,
	  NULL },
	{ 0 },
};

struct names {
	char **name; /* owned, sorted */
	size_t count;
};

static void names_done(struct names *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->name[i]);
	free(n->name);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int names_add(struct names *n, const char *name)
{
	char **more = realloc(n->name, (n->count + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	n->name = more;
	more[n->count] = strdup(name);
	if (!more[n->count])
		return -ENOMEM;
	n->count++;
	return 0;
}

/* Return: 0 or negative errno. */
static int names_read(const char *mnt, bool all, struct names *ret)
{
	DIR *dir = opendir(mnt);
	struct dirent *e;
	int r = 0;

	if (!dir)
		return -errno;
	while (r == 0 && (errno = 0, e = readdir(dir)))
		if (!is_dots(e->d_name) && strcmp(e->d_name, FSD_DIR_NAME) &&
		    (all || !job_name_is_draft(e->d_name)))
			r = names_add(ret, e->d_name);
	if (r == 0 && errno)
		r = -errno;
	closedir(dir);
	if (ret->count)
		qsort(ret->name, ret->count, sizeof(*ret->name), by_name);
	return r;
}

/* --- a line each ---------------------------------------------------------- */

static const char *owner_of(uid_t uid, char room[16])
{
	const struct passwd *pw = getpwuid(uid);

	snprintf(room, 16, "%u", uid);
	return pw ? pw->pw_name : room;
}

static void long_line(const char *name, const struct job_view *v,
		      struct buf *out)
{
	char age[32] = "-", code[16] = "-", room[16];

	if (v->exit_code >= 0)
		snprintf(code, sizeof(code), "%d", v->exit_code);
	if (v->since_ms)
		job_view_age(job_view_now_ms() - v->since_ms, age);
	buf_fmt(out, "%-8s %4s  %-10s %8s  %s", state_name(v->state), code,
		owner_of(v->uid, room), age, name);
	if (job_view_reason(v)[0])
		buf_fmt(out, ": %s", job_view_reason(v));
}

static int print_line(const char *command, struct buf *line)
{
	buf_str(line, "\n");
	if (line->failed)
		return complain(command, 1, "%s", strerror(-line->failed));
	fputs(line->data, stdout);
	return 0;
}

struct ls {
	bool full, all, json;
	const char *mount;
};

/* Prints one job; skips it if it was removed meanwhile. */
static int ls_one(const struct ls *ls, const char *mnt, const char *name)
{
	auto_buf struct buf line = { 0 };
	struct job_place at;
	struct job_view v;
	char path[PATH_MAX + NAME_MAX + 2];
	auto_close int dir = -1;

	snprintf(at.mnt, sizeof(at.mnt), "%s", mnt);
	snprintf(at.name, sizeof(at.name), "%s", name);
	where_path(&at, path);
	if (!ls->full && !ls->json) {
		buf_str(&line, name);
		return print_line("ls", &line);
	}
	dir = where_open(&at, NULL);
	if (dir < 0 || job_view_read(dir, &v) < 0)
		return 0;
	if (ls->json)
		job_view_json(path, name, &v, &line);
	else
		long_line(name, &v, &line);
	return print_line("ls", &line);
}

static int parse(const struct cli_command *self, int argc, char **argv,
		 struct ls *ls)
{
	struct cli_getopt g;
	int opt;

	cli_getopt(self, &g);
	while ((opt = cli_next(self, argc, argv, &g)) != -1) {
		if (opt == 'l')
			ls->full = true;
		else if (opt == 'a')
			ls->all = true;
		else if (opt == 'j')
			ls->json = true;
		else if (opt == 'M')
			ls->mount = optarg;
		else
			return usage(self);
	}
	return 0;
}

static int command_ls(const struct cli_command *self, int argc, char **argv)
{
	struct names names = { 0 };
	struct ls ls = { 0 };
	struct err err = { 0 };
	char mnt[PATH_MAX];
	int r = parse(self, argc, argv, &ls);

	if (r || argc - optind > 1)
		return r ? r : usage(self);
	if (argc - optind == 1)
		ls.mount = argv[optind];
	if (where_mount(ls.mount, mnt, &err) < 0)
		return complain("ls", 1, "%s", err.text);
	r = names_read(mnt, ls.all, &names);
	if (r < 0)
		r = complain("ls", 1, "%s: %s", mnt, strerror(-r));
	if (r == 0 && ls.full && !ls.json && names.count)
		puts("STATE    EXIT  OWNER           AGE  JOB");
	for (size_t i = 0; r == 0 && i < names.count; i++)
		r = ls_one(&ls, mnt, names.name[i]);
	names_done(&names);
	return r;
}

/* --- status ----------------------------------------------------------------- */

static int status_one(const struct ls *ls, const char *text)
{
	auto_buf struct buf line = { 0 };
	struct job_place at;
	struct job_view v;
	struct err err = { 0 };
	char path[PATH_MAX + NAME_MAX + 2];
	auto_close int dir = -1;
	int r = where_job(ls->mount, text, &at, &err);

	if (r == 0)
		r = dir = where_open(&at, &err);
	if (r < 0)
		return complain("status", 1, "%s", err.text);
	where_path(&at, path);
	r = job_view_read(dir, &v);
	if (r < 0)
		return complain("status", 1, "%s: %s", path, r == -ENOENT ?
				"it was removed" : strerror(-r));
	if (ls->json)
		job_view_json(path, at.name, &v, &line);
	else
		job_view_line(at.name, &v, &line);
	return print_line("status", &line);
}

static int command_status(const struct cli_command *self, int argc, char **argv)
{
	struct ls ls = { 0 };
	int r = parse(self, argc, argv, &ls);

	if (r || optind == argc)
		return r ? r : usage(self);
	for (int i = optind; i < argc; i++)
		r |= status_one(&ls, argv[i]);
	return r;
}

const struct cli_command ls_command = {
	.name = "ls", .fn = command_ls, .group = "Jobs",
	.synopsis = "[OPTIONS] [MNT]", .summary = "list the jobs of a mount",
	.options = ls_cli_options, .operand = CLI_MOUNT,
};

const struct cli_command status_command = {
	.name = "status", .fn = command_status, .group = "Jobs",
	.synopsis = "[OPTIONS] JOB...",
	.summary = "tell how jobs are, and what they wait for",
	.options = status_cli_options, .operand = CLI_JOB, .notes = JOB_NOTE,
};
