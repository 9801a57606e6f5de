/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only place that changes a job's state: the pure table says which one
 * comes next, then the state is entered (written down, told to readers).
 */
#ifndef FSD_JOB_STATE_H
#define FSD_JOB_STATE_H

#include "job.h"

/* Return: 0, or -EINVAL if the event is not possible now (logged). */
int job_post(struct job *job, enum job_event event);
/* The same, when the store has the new state on record already, with that time
 * (CLOCK_REALTIME). */
int job_posted(struct job *job, enum job_event event, uint64_t at_ns);
/* The same of an end: end has the exit code and the times, as on record; the log says
 * it already. */
int job_ended(struct job *job, enum job_event event, const struct job_meta *end);
/*
 * Of a job that the server before has on record as queued, since it has promised
 * so to a close whose release is still to come: it is again what it was before.
 * The record stays.
 */
void job_take_back(struct job *job, bool reopened);
/* A close was answered: it is on record that the job starts. by: the open file of that
 * close, as 1 + fh; 0: unknown. no: its place in the queue. The second: no close waits
 * for the start any more. */
void job_promise(struct job *job, uint64_t by, uint64_t no);
void job_unpromise(struct job *job);
/* The job's next run: what its config says of retries and of results; what is on
 * record of an accepted one; another attempt of the same; one that is on no record,
 * since it ends at once. */
void job_take_limits(struct job *job, const struct job_config *config);
void job_take_accepted(struct job *job, const struct job_meta *accepted);
void job_next_attempt(struct job *job);
void job_begin_unrecorded(struct job *job);
/* Changes and writes the record. Return: 0 or negative errno. */
int job_set_mode(struct job *job, mode_t mode);
int job_set_held(struct job *job);
/* Adds to *meta, a copy of the job's record, what a close was promised: the job is
 * queued with its next run. Every writer of the record calls the second one, which
 * does so if a promise stands; meta may have another name than the job. */
void job_fill_promised(const struct job *job, uint64_t no, struct job_meta *meta);
void job_fill_accepted(const struct job *job, struct job_meta *meta);

#endif
