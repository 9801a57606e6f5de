/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes one line per event to standard error with a single write(2), so that lines of
 * several threads do not mix.
 *
 * The file has two static variables: the level, and a function that runs before each
 * line (log_before). Both are set at the start; log_at() may run on any thread.
 */
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "num.h"

static const struct {
	const char *name, *priority; /* name of the level; "<N>" with its number in
				      * syslog(3) */
} levels[] = {
	[LOG_ERROR] = { "error", "<3>" },
	[LOG_WARN] = { "warn", "<4>" },
	[LOG_INFO] = { "info", "<6>" },
	[LOG_DEBUG] = { "debug", "<7>" },
};
_Static_assert(ARRAY_SIZE(levels) == LOG_LEVEL_MAX, "a name per level");

static enum log_level threshold = LOG_INFO;
static struct {
	void (*fn)(void *arg);
	void *arg;
} before;

void log_before(void (*fn)(void *arg), void *arg)
{
	before.fn = fn;
	before.arg = arg;
}

void log_set_level(enum log_level level)
{
	threshold = level;
}

int log_level_parse(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		if (!strcmp(levels[i].name, name))
			return (int)i;
	return -EINVAL;
}

/* Compares standard error with $JOURNAL_STREAM, which has the device and the inode of the
 * journal's stream. Each line asks anew, since standard error may become a file
 * (log_before). */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device &&
	       st.st_ino == inode;
}

const char *log_priority(enum log_level level)
{
	return is_journal() ? levels[level].priority : "";
}

/* Writes what a line begins with. Return: its length, below size. */
static size_t begin_line(enum log_level level, char *line, size_t size)
{
	const char *priority = log_priority(level);
	struct timespec now;
	struct tm tm;
	size_t n;

	if (priority[0])
		return (size_t)snprintf(line, size, "%s%s ", priority,
					levels[level].name);
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	n = strftime(line, size, "%Y-%m-%dT%H:%M:%S", &tm);
	return n + (size_t)snprintf(line + n, size - n, ".%03ldZ %s ",
				    now.tv_nsec / 1000000, levels[level].name);
}

void log_at(enum log_level level, const char *fmt, ...)
{
	int saved = errno;
	char line[1024];
	size_t n;
	int len;
	va_list ap;

	if (level > threshold)
		return;
	if (before.fn)
		before.fn(before.arg);
	n = begin_line(level, line, sizeof(line));
	va_start(ap, fmt);
	len = vsnprintf(line + n, sizeof(line) - n, fmt, ap);
	va_end(ap);
	n = MIN(n + (size_t)MAX(len, 0), sizeof(line) - 2);
	for (size_t i = 0; i < n; i++) /* keep one event on one line */
		if (line[i] == '\n')
			line[i] = ' ';
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, n) < 0) {
		/* no other place is left to report it */
	}
	errno = saved;
}
