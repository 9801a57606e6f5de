/* SPDX-License-Identifier: Apache-2.0 */
/* fsd rm: removes whole jobs. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "fsd/client/job_drop.h"
#include "fsd/client/where.h"

static const struct cli_option rm_cli_options[] = {
	{ 'M', "mount", "MNT", "the mount of a JOB that is a name", CLI_MOUNT,
	  NULL },
	{ 0 },
};

struct removal {
	struct job_place at;
	int dir; /* owned: the job's, or -1: it is not to be removed */
};

/* Finds the job and asks for its removal. Return: 0 or 1. */
static int begin(const char *mount, const char *text, struct removal *r)
{
	struct err err = { 0 };

	r->dir = where_job(mount, text, &r->at, &err);
	if (r->dir == 0)
		r->dir = where_open(&r->at, &err);
	if (r->dir < 0)
		return complain("rm", 1, "%s", err.text);
	job_drop(r->dir);
	return 0;
}

/* Waits until it has gone. Return: 0 or 1. */
static int end(const struct removal *r)
{
	char path[PATH_MAX + NAME_MAX + 2];
	int e;

	where_path(&r->at, path);
	e = job_dropped(AT_FDCWD, path, r->dir);
	return e < 0 ? complain("rm", 1, "%s: %s", path, strerror(-e)) : 0;
}

/* A few at a time, as each takes a descriptor. */
#define AT_ONCE 64

static int remove_some(const char *mount, char **text, int count)
{
	struct removal *some = calloc(AT_ONCE, sizeof(*some));
	int r = some ? 0 : complain("rm", 1, "out of memory");

	for (int i = 0; some && i < count; i++)
		r |= begin(mount, text[i], &some[i]);
	for (int i = 0; some && i < count; i++) {
		if (some[i].dir < 0)
			continue;
		r |= end(&some[i]);
		fd_close(&some[i].dir);
	}
	free(some);
	return r;
}

static int command_rm(const struct cli_command *self, int argc, char **argv)
{
	const char *mount = NULL;
	struct cli_getopt g;
	int opt, r = 0;

	cli_getopt(self, &g);
	while ((opt = cli_next(self, argc, argv, &g)) != -1) {
		if (opt != 'M')
			return usage(self);
		mount = optarg;
	}
	if (optind == argc)
		return usage(self);
	for (int i = optind; i < argc; i += AT_ONCE)
		r |= remove_some(mount, argv + i, MIN(argc - i, AT_ONCE));
	return r;
}

const struct cli_command rm_command = {
	.name = "rm", .fn = command_rm, .group = "Jobs",
	.synopsis = "[OPTIONS] JOB...",
	.summary = "remove jobs with all that is in them",
	.options = rm_cli_options, .operand = CLI_JOB,
	.notes = "A job that runs is ended. It is quicker than to remove file by file.\n\n"
		 JOB_NOTE,
};
