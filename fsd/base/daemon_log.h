/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STATE/fsd.log, where a daemon in the background logs. Before a process writes
 * a line there it looks whether the file is still the one of that name, and not
 * too large:
 *
 *   it was moved or removed    it goes on in a new one; so logrotate needs to
 *                              tell nobody
 *   it has come to the limit   fsd.log -> fsd.log.1 -> .2 -> .3 -> gone
 *
 * Any number of processes may do so, whatever each has inherited: they take a
 * lock to move it, and find it moved otherwise. A line goes out by one write to
 * the end of a file, so it is in one of them, whole, wherever that lies by then.
 * A process that cannot reach the directory goes on in the file that it was
 * started with.
 */
#ifndef FSD_DAEMON_LOG_H
#define FSD_DAEMON_LOG_H

#include <stdint.h>

#define DAEMON_LOG_LIMIT (8u << 20)
#define DAEMON_LOG_KEPT 3u

struct daemon_log;

/* Opens or makes it, and the directory. Return: NULL if it cannot be had. */
struct daemon_log *daemon_log_open(const char *state_dir, uint64_t limit);
/* From now on it is standard error, and all that log.h writes. */
void daemon_log_begin(struct daemon_log *l);
/* Standard error stays what it is; nobody looks any more. NULL is fine. */
void daemon_log_close(struct daemon_log *l);

#endif
