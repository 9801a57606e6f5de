/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STATE/fsd.log, the log of a daemon in the background. Before a process writes
 * a line, it checks the file:
 *
 *   moved or removed     it opens a new one; so logrotate need not signal it
 *   larger than the limit   fsd.log -> fsd.log.1 -> .2 -> .3 -> removed
 *
 * Several processes may do that at the same time: they take a lock to move the
 * file, and otherwise find it moved. A line is appended by one write, so it is
 * complete in one of the files. A process that cannot reach the directory
 * writes to the file that it was started with. Any thread may log.
 */
#ifndef FSD_DAEMON_LOG_H
#define FSD_DAEMON_LOG_H

#include <stdint.h>

#define DAEMON_LOG_LIMIT (8u << 20)
#define DAEMON_LOG_KEPT 3u

struct daemon_log;

/* Opens the log; makes it and its directory if they are missing. limit: bytes.
 * Return: NULL on failure, with errno. */
struct daemon_log *daemon_log_open(const char *state_dir, uint64_t limit);
/* Makes the log standard error, and so the target of log.h. */
void daemon_log_begin(struct daemon_log *l);
/* Ends the checks; standard error stays as it is. l may be NULL. */
void daemon_log_close(struct daemon_log *l);

#endif
