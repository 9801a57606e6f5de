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
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "num.h"

static const char *const level_names[] = {
	[LOG_ERROR] = "error",
	[LOG_WARN] = "warn",
	[LOG_INFO] = "info",
	[LOG_DEBUG] = "debug",
};
_Static_assert(ARRAY_SIZE(level_names) == LOG_LEVEL_MAX, "a name per level");

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
	for (size_t i = 0; i < ARRAY_SIZE(level_names); i++)
		if (!strcmp(level_names[i], name))
			return (int)i;
	return -EINVAL;
}

void log_at(enum log_level level, const char *fmt, ...)
{
	int saved = errno;
	char line[1024];
	struct timespec now;
	struct tm tm;
	size_t n;
	int len;
	va_list ap;

	if (level > threshold)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	n = strftime(line, sizeof(line), "%Y-%m-%dT%H:%M:%S", &tm);
	n += (size_t)snprintf(line + n, sizeof(line) - n, ".%03ldZ %s ",
			      now.tv_nsec / 1000000, level_names[level]);
	va_start(ap, fmt);
	len = vsnprintf(line + n, sizeof(line) - n, fmt, ap);
	va_end(ap);
	n = MIN(n + (size_t)MAX(len, 0), sizeof(line) - 2);
	for (size_t i = 0; i < n; i++) /* one event stays one line */
		if (line[i] == '\n')
			line[i] = ' ';
	line[n++] = '\n';
	if (before.fn)
		before.fn(before.arg);
	if (write(STDERR_FILENO, line, n) < 0) {
		/* there is nowhere left to say it */
	}
	errno = saved;
}
