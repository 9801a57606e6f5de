/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's log: one line an event on standard error,
 * "2026-01-02T03:04:05.678Z level text". Where systemd has connected standard error to
 * the journal, "<P>level text": the journal has times of its own, and P is the priority.
 * Every function keeps errno, allocates nothing and may be called on any thread.
 * Only the layer that decides what to do logs; lower ones return an error.
 */
#ifndef LAYOUT_BASE_LOG_H
#define LAYOUT_BASE_LOG_H

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_LEVEL_MAX };

/* Drops messages above this level. Default LOG_INFO. */
void log_set_level(enum log_level level);

/* Returns the level of a name (error, warn, info, debug), or -EINVAL. */
int log_level_parse(const char *name);

/* Sets a function that is called before each line, on the thread that writes
 * it. It may replace standard error. NULL: none. */
void log_before(void (*fn)(void *arg), void *arg);

/* Returns the prefix by which the journal knows a line's priority (sd-daemon(3)): "<3>" for
 * LOG_ERROR. "": standard error is not the journal. */
const char *log_priority(enum log_level level);

void log_at(enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_at(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_at(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)

#endif
