/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsd wait: until jobs have ended. One job is waited for after the other, so any
 * number of them takes two descriptors; the time is one limit for all.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "fsd/client/job_view.h"

#define EXIT_TIME_OVER 124

static const struct cli_option wait_cli_options[] = {
	{ 't', "timeout", "SECONDS", "wait no longer; then the status is 124",
	  CLI_TEXT, NULL },
	{ 'j', "json", NULL, "a JSON object a line for each job when it ends",
	  CLI_TEXT, NULL },
	{ 'M', "mount", "MNT", "the mount of a JOB that is a name", CLI_MOUNT,
	  NULL },
	{ 0 },
};

struct waiter {
	const char *mount;
	bool json;
	uint64_t until_ns; /* 0: for ever */
};

/* Milliseconds for poll(2); -1: for ever. */
static int left_ms(const struct waiter *w)
{
	uint64_t now = now_ns();

	if (!w->until_ns)
		return -1;
	return now >= w->until_ns ? 0 :
		(int)MIN((w->until_ns - now) / NS_PER_MS + 1,
			 (uint64_t)INT_MAX);
}

/* Waits until the job's state may have changed, or the job has ended. The file `wait`
 * reports the end; the file `state` also reports that the job became a draft again.
 * Return: 0, -ETIME, or negative errno. */
static int await_change(const struct waiter *w, int dir, int state)
{
	char word[16];
	struct pollfd p[2] = {
		{ .fd = openat(dir, "wait", O_RDONLY | O_NONBLOCK | O_CLOEXEC),
		  .events = POLLIN },
		{ .fd = openat(dir, "state", O_RDONLY | O_CLOEXEC),
		  .events = POLLPRI },
	};
	ssize_t len = p[1].fd < 0 ? -1 : read(p[1].fd, word, sizeof(word) - 1);
	int r = 0, n = 1;

	if (p[0].fd < 0 || len < 0) {
		r = -errno;
	} else {
		word[len] = '\0';
		word[strcspn(word, "\n")] = '\0';
		/* Skip the wait if the state has changed since the files were read. */
		if (state_parse(word) == state)
			while ((n = poll(p, 2, left_ms(w))) < 0)
				if (errno != EINTR)
					break;
		r = n < 0 ? -errno : n == 0 ? -ETIME : 0;
	}
	fd_close(&p[0].fd);
	fd_close(&p[1].fd);
	return r;
}

/* Prints how the wait for a job has ended. Return: 0: all is well; 1; or
 * EXIT_TIME_OVER. */
static int tell_end(const struct waiter *w, const struct job_place *at,
		    const struct job_view *v, int r)
{
	auto_buf struct buf line = { 0 };
	char path[PATH_MAX + NAME_MAX + 2];

	where_path(at, path);
	if (w->json)
		job_view_json(path, at->name, v, &line);
	else if (!job_view_is_good(v))
		job_view_line(at->name, v, &line);
	if (line.failed)
		return complain("wait", 1, "%s", strerror(-line.failed));
	if (line.len) {
		puts(line.data);
		fflush(stdout);
	}
	return r == -ETIME ? EXIT_TIME_OVER : job_view_is_good(v) ? 0 : 1;
}

/* True if the job exists. Called for every name first, so that a wrong name is reported
 * before the command waits. */
static bool is_job(const struct waiter *w, const char *text)
{
	struct job_place at;
	struct err err = { 0 };

	if (where_job(w->mount, text, &at, &err) < 0)
		complain("wait", 1, "%s", err.text);
	return !err.code;
}

static int wait_one(const struct waiter *w, const char *text)
{
	struct job_place at = { .name = "" };
	struct job_view v = { .state = -1 };
	struct err err = { 0 };
	auto_close int dir = -1;
	int r = where_job(w->mount, text, &at, &err);

	if (r == -ENOENT && at.name[0]) /* the job existed, and was removed while we
					 * waited for others */
		return tell_end(w, &at, &v, r);
	if (r == 0)
		r = dir = where_open(&at, &err);
	if (r < 0)
		return complain("wait", 1, "%s", err.text);
	do {
		r = job_view_read(dir, &v);
		if (r == 0 && v.state != JOB_QUEUED && v.state != JOB_RUNNING)
			break;
		if (r == 0)
			r = await_change(w, dir, v.state);
	} while (r == 0);
	if (r == -ENOENT || r == -ESTALE)
		v.state = -1;
	else if (r < 0 && r != -ETIME)
		return complain("wait", 1, "%s/%s: %s", at.mnt, at.name,
				strerror(-r));
	return tell_end(w, &at, &v, r);
}

static int set_time(struct waiter *w, const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds >= 0 && seconds <= 1e9))
		return complain("wait", 2, "-t is \"%s\"; it must be a number "
				"of seconds from 0 to 1000000000", text);
	w->until_ns = now_ns() + (uint64_t)(seconds * NS_PER_S) + 1;
	return 0;
}

static int wait_all(const struct waiter *w, char **text, int count)
{
	int r = 0, jobs = 0;

	for (int i = 0; i < count; i++)
		if (is_job(w, text[i]))
			text[jobs++] = text[i];
	r = jobs < count;
	for (int i = 0; i < jobs; i++) {
		int one = wait_one(w, text[i]);

		r = MAX(r, one);
	}
	return r;
}

static int command_wait(const struct cli_command *self, int argc, char **argv)
{
	struct waiter w = { 0 };
	struct cli_getopt g;
	int opt;

	cli_getopt(self, &g);
	while ((opt = cli_next(self, argc, argv, &g)) != -1) {
		if (opt == 't' && set_time(&w, optarg))
			return 2;
		else if (opt == 'j')
			w.json = true;
		else if (opt == 'M')
			w.mount = optarg;
		else if (opt == '?')
			return usage(self);
	}
	if (optind == argc)
		return usage(self);
	return wait_all(&w, argv + optind, argc - optind);
}

const struct cli_command wait_command = {
	.name = "wait", .fn = command_wait, .group = "Jobs",
	.synopsis = "[OPTIONS] JOB...", .summary = "wait until jobs have ended",
	.options = wait_cli_options, .operand = CLI_JOB,
	.notes = "The exit status is 0 if each ended with exit code 0. It is 1 if any\n"
		 "did not, was refused or is a draft: each of them is a line on\n"
		 "standard output. It is 124 if the time was over first.\n\n"
		 JOB_NOTE,
};
