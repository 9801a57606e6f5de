/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A spool's directory `new` in a temporary directory, and its struct entries with a clock
 * that the test sets. Times are therefore exact, however busy the machine is.
 */
#ifndef TESTS_UNIT_SPOOL_FIXTURE_H
#define TESTS_UNIT_SPOOL_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/spool/entries.h"
#include "tap.h"

#define SETTLE 1000
#define POLL 2000

static char base[] = "/tmp/fsd-spool-test.XXXXXX";
static int new_dir, run_dir;
static int64_t now;
static struct entries *entries;
static struct err err;

__attribute__((format(printf, 1, 2), unused)) static void run(const char *fmt, ...)
{
	char command[2000];
	int n = snprintf(command, sizeof(command), "cd %s/new && { ", base);
	va_list ap;

	va_start(ap, fmt);
	n += vsnprintf(command + n, sizeof(command) - (size_t)n, fmt, ap);
	va_end(ap);
	snprintf(command + n, sizeof(command) - (size_t)n, "\n}");
	if (system(command) != 0)
		ok(false, "(%s)", command);
}

/* An empty `new` and its entries. */
__attribute__((unused)) static void begin(const struct entries_options *options)
{
	run("rm -rf %s/new %s/run %s/tmp && mkdir %s/new %s/run %s/tmp", base, base, base,
	    base, base, base);
	new_dir = open("new", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	run_dir = open("run", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	now += 1000000;
	entries = entries_new(new_dir, options, now, &err);
	if (!entries)
		ok(false, "entries_new: %s", err.text);
}

__attribute__((unused)) static void end(void)
{
	entries_free(entries);
	close(new_dir);
	close(run_dir);
}

/* Lets ms pass, and does what is due as a caller does. */
__attribute__((unused)) static void pass(int64_t ms)
{
	int64_t until = now + ms;
	int step;

	do {
		if (entries_update(entries, now, &err) < 0)
			ok(false, "entries_update: %s", err.text);
		step = entries_timeout_ms(entries, now);
		now += step < until - now ? step : until - now;
	} while (now < until || step == 0);
	entries_update(entries, now, &err);
}

__attribute__((unused)) static const char *next(void)
{
	return entries_next(entries, now);
}

/* Claims what is next, if it has this name. Return: of entries_claimed(), or -ENOENT. */
__attribute__((unused)) static int claim(const char *name)
{
	const char *found = next();

	if (!found || strcmp(found, name) != 0 ||
	    renameat(new_dir, name, run_dir, "input") < 0)
		return -ENOENT;
	return entries_claimed(entries, name, run_dir, "input", &err);
}

__attribute__((unused)) static int finish(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", base);
	ok(system(command) == 0, "(the temporary directory is removed)");
	return done_testing();
}

#endif
