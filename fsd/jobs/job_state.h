/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes a job's state, and is the only code that does: the pure table of layout/state.h
 * gives the next state; then the record is written and the watchers are called. In a
 * fiber that holds the job, or on the loop before it serves.
 */
#ifndef FSD_JOB_STATE_H
#define FSD_JOB_STATE_H

#include "job.h"

/* Return: 0, or -EINVAL: the event is not possible in this state (logged). */
int job_post(struct job *job, enum job_event event);
/* Like job_post(), for a job whose record on the disk has the new state already. at_ns:
 * time of that record (CLOCK_REALTIME). */
int job_posted(struct job *job, enum job_event event, uint64_t at_ns);
/* Like job_posted(), for the end of a run. end: the exit code and the times, as recorded.
 * No line is added to the log, because it has the line of the end already. */
int job_ended(struct job *job, enum job_event event, const struct job_meta *end);
/*
 * For a job that the previous server accepted at close(2), before the kernel sent the
 * release: gives the job the state that it had before, `done` or draft. reopened: it was
 * a draft, even if it has results of an earlier run. The record keeps `queued`.
 */
void job_take_back(struct job *job, bool reopened);
/* job_promise() notes that close(2) has accepted the job. by: 1 + the handle (fh) that was
 * closed; 0: unknown. no: the queued_no of the record. job_unpromise() removes the note. */
void job_promise(struct job *job, uint64_t by, uint64_t no);
void job_unpromise(struct job *job);
/*
 * Set meta for the job's next run. The first sets retries and retention, from the job's
 * config; the second sets a run that was accepted, from its record; the third sets the
 * next attempt of the same submission; the fourth sets a run that ends at once and has no
 * record.
 */
void job_take_limits(struct job *job, const struct job_config *config);
void job_take_accepted(struct job *job, const struct job_meta *accepted);
void job_next_attempt(struct job *job);
void job_begin_unrecorded(struct job *job);
/* Changes and writes the record. Return: 0 or negative errno. */
int job_set_mode(struct job *job, mode_t mode);
int job_set_held(struct job *job);
/*
 * Both change *meta, a copy of the job's record, to "queued with the next run". Every
 * writer of the record calls job_fill_accepted(), which changes *meta only if the job was
 * accepted at close(2) and has not started. The name in meta may differ from the job's.
 */
void job_fill_promised(const struct job *job, uint64_t no, struct job_meta *meta);
void job_fill_accepted(const struct job *job, struct job_meta *meta);

#endif
