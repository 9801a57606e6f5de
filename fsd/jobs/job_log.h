/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores a job's gathered log lines and events. For code that writes other data of the
 * job at the same time: a log line must reach the store no later than the data that it
 * reports. On the loop's thread, unless a function says otherwise.
 */
#ifndef FSD_JOB_LOG_H
#define FSD_JOB_LOG_H

#include "event_log.h"

/* Appends a log line with the present time. Return: 0 or negative errno; out->failed
 * stays set, as with all functions of buf.h. */
int job_log_line(struct buf *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Stores the gathered lines of all jobs. */
void job_logs_flush(struct fsd *d);
/* Adds finished lines after the gathered ones. */
void job_log_lines(struct job *job, const struct buf *lines);

/*
 * The gathered lines of a job. A fiber that holds the job takes them; a thread writes
 * them; then the fiber, which has held the job all the time, calls job_lines_stored().
 * Lines whose write failed are gathered again, up to a limit.
 */
struct job_lines {
	uint64_t no;
	struct buf log; /* lines; the caller may add more */
	int result;     /* result of the write */
	struct events_batch events;
};
void job_lines_take(struct job *job, struct job_lines *ret);
void job_lines_store_log(struct store *store, struct job_lines *lines);
void job_lines_stored(struct job *job, struct job_lines *lines);
void job_lines_done(struct job_lines *lines); /* frees them: the job was removed */

#endif
