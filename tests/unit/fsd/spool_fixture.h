/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A spool's directory `new` in a temporary directory, and its struct entries with a clock
 * that the test sets (the Makefile wraps clock_gettime). Times are therefore exact, however
 * busy the machine is.
 */
#ifndef TESTS_UNIT_SPOOL_FIXTURE_H
#define TESTS_UNIT_SPOOL_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fsd/spool/entries.h"
#include "tests/unit/tap.h"

#define SETTLE 1000
#define POLL 2000
#define SECOND INT64_C(1000)
#define WATCH_QUIET 10000 /* the longest time between two examinations */

static const struct entries_options usual = { .settle_ms = SETTLE, .poll_ms = POLL };

static char base[] = "/tmp/fsd-spool-test.XXXXXX"; /* and the current directory */
static int new_dir, run_dir;
static int64_t now = 1000000; /* milliseconds of CLOCK_MONOTONIC */
static struct entries *entries;
static struct err err;

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	(void)clock;
	t->tv_sec = (time_t)(now / 1000);
	t->tv_nsec = (long)(now % 1000) * 1000000;
	return 0;
}

/* A shell's commands, in `new`. */
__attribute__((format(printf, 1, 2), unused)) static void run(const char *fmt, ...)
{
	char command[4000];
	size_t n = (size_t)snprintf(command, sizeof(command), "cd %s/new || exit; ", base);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command + n, sizeof(command) - n, fmt, ap);
	va_end(ap);
	if (system(command) != 0)
		ok(false, "(%s)", command);
}

/* An empty `new` and its entries. */
__attribute__((unused)) static void begin(const struct entries_options *options)
{
	if (system("rm -rf new run tmp && mkdir new run tmp") != 0)
		ok(false, "(the directories are made)");
	new_dir = open("new", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	run_dir = open("run", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	entries = entries_new(new_dir, options, now, &err);
	if (!entries)
		ok(false, "entries_new: %s", err.text);
}

__attribute__((unused)) static void end(void)
{
	entries_free(entries);
	entries = NULL;
	close(new_dir);
	close(run_dir);
}

static bool has_events(void)
{
	struct pollfd p = { .fd = entries_fd(entries), .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

/* Lets ms pass, and does as a caller does: updates when the descriptor is readable or the
 * time is over. */
__attribute__((unused)) static void pass(int64_t ms)
{
	int64_t until = now + ms, due;

	for (int n = 0; n < 100000; n++) {
		due = now + entries_timeout_ms(entries, now);
		if (due > until && !has_events())
			break;
		if (due > now && !has_events())
			now = due;
		if (entries_update(entries, now, &err) < 0)
			ok(false, "entries_update: %s", err.text);
	}
	now = until;
}

__attribute__((unused)) static const char *next(void)
{
	return entries_next(entries, now);
}

/* Claims the next entry, if it has this name. Return: of entries_claimed(), or -ENOENT. */
__attribute__((unused)) static int claim(const char *name)
{
	const char *found = next();

	if (!found || strcmp(found, name) != 0)
		return -ENOENT;
	if (system("rm -rf run/*") != 0 ||
	    renameat(new_dir, name, run_dir, "input") < 0)
		return -errno;
	return entries_claimed(entries, name, run_dir, "input", &err);
}

/* The entry goes back into `new` after a claim. */
__attribute__((unused)) static void put_back(const char *name)
{
	if (renameat(run_dir, "input", new_dir, name) < 0)
		ok(false, "(%s goes back)", name);
	entries_returned(entries, name, now);
}

__attribute__((unused)) static bool start(void)
{
	return mkdtemp(base) && chdir(base) == 0 && chmod(base, 0755) == 0;
}

__attribute__((unused)) static int finish(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", base);
	ok(system(command) == 0, "(the temporary directory is removed)");
	return done_testing();
}

#endif
