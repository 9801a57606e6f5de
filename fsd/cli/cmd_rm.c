/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsd rm: removes whole jobs. A job that somebody has held goes when nobody holds it any
 * more (jobtree(5)), with all that is in it. So to hold it for a moment is one call, where
 * rm -r makes one for each file.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "fsd/client/tree_copy.h"
#include "fsd/client/where.h"

#define WAIT_NS (2 * NS_PER_S) /* for one that is let go of; somebody may hold it too */

const struct cli_option rm_cli_options[] = {
	{ 'M', "mount", "MNT", "the mount of a JOB that is a name", CLI_MOUNT,
	  NULL },
	{ 0 },
};

struct removal {
	struct job_place at;
	int dir; /* owned: the job's, or -1: it is not to be removed */
};

/* Finds it and lets go of it. Return: 0 or 1. */
static int begin(const char *mount, const char *text, struct removal *r)
{
	struct err err = { 0 };
	int hold;

	r->dir = where_job(mount, text, &r->at, &err);
	if (r->dir == 0)
		r->dir = where_open(&r->at, &err);
	if (r->dir < 0)
		return complain("rm", 1, "%s", err.text);
	/* A mount of an older fsd has no such file: end() removes the job. */
	hold = openat(r->dir, "hold", O_RDONLY | O_CLOEXEC);
	if (hold >= 0)
		close(hold);
	return 0;
}

static bool is_there(const struct removal *r)
{
	char path[PATH_MAX + NAME_MAX + 2];

	where_path(&r->at, path);
	return access(path, F_OK) == 0 && faccessat(r->dir, "state", F_OK, 0) == 0;
}

/* `state` reports the end of the job, and that it has gone. */
static void await_end(const struct removal *r)
{
	const uint64_t until = now_ns() + WAIT_NS;
	auto_close int state = openat(r->dir, "state", O_RDONLY | O_CLOEXEC);
	struct pollfd p = { .fd = state, .events = POLLPRI };
	char word[16];

	while (state >= 0 && pread(state, word, sizeof(word), 0) > 0 &&
	       is_there(r) && now_ns() < until)
		poll(&p, 1, (int)((until - now_ns()) / NS_PER_MS) + 1);
}

/* Waits until it has gone; removes by file what somebody else holds. Return: 0 or 1. */
static int end(const struct removal *r)
{
	char path[PATH_MAX + NAME_MAX + 2];
	int e;

	await_end(r);
	if (!is_there(r))
		return 0;
	where_path(&r->at, path);
	e = tree_remove(AT_FDCWD, path);
	return e < 0 && e != -ENOENT ? complain("rm", 1, "%s: %s", path, strerror(-e))
				     : 0;
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

int command_rm(int argc, char **argv)
{
	const char *mount = NULL;
	struct cli_getopt g;
	int opt, r = 0;

	cli_getopt(rm_cli_options, false, &g);
	while ((opt = cli_next("rm", argc, argv, &g)) != -1) {
		if (opt != 'M')
			return usage("rm");
		mount = optarg;
	}
	if (optind == argc)
		return usage("rm");
	for (int i = optind; i < argc; i += AT_ONCE)
		r |= remove_some(mount, argv + i, MIN(argc - i, AT_ONCE));
	return r;
}
