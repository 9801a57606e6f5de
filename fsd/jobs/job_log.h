/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a job's log and events to the store, for those who store something
 * else of the job as well: lines are gathered for a moment, and what is told of
 * a job is to be there no later than what makes it known.
 */
#ifndef FSD_JOB_LOG_H
#define FSD_JOB_LOG_H

#include "event_log.h"

/* One line of now, as in a log. Return: 0 or negative errno, as all of buf. */
int job_log_line(struct buf *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Stores the gathered lines of all jobs. */
void job_logs_flush(struct fsd *d);
/* Lines behind those that are gathered. */
void job_log_lines(struct job *job, const struct buf *lines);

/*
 * What is gathered: taken when the job is held, which it is until it is stored;
 * in between a thread puts it there. What fails is gathered again, if it is not
 * too much.
 */
struct job_lines {
	uint64_t no;
	struct buf log; /* what is not stored; more may be added */
	int result;     /* of the log */
	struct events_batch events;
};
void job_lines_take(struct job *job, struct job_lines *ret);
void job_lines_store_log(struct store *store, struct job_lines *lines);
void job_lines_stored(struct job *job, struct job_lines *lines);
void job_lines_done(struct job_lines *lines); /* the job is no more */

#endif
