/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only place that changes a job's state: the pure table says which one
 * comes next, then the state is entered (written down, told to readers).
 */
#ifndef FSD_EVENT_H
#define FSD_EVENT_H

#include "job.h"

/* Return: 0, or -EINVAL if the event is not possible now (logged). */
int job_post(struct job *job, enum job_event event);
/* The same, when the store has the new state on record already, with that time
 * (CLOCK_REALTIME). */
int job_posted(struct job *job, enum job_event event, uint64_t at_ns);
/* The same, when the log says so, too. */
int job_ended(struct job *job, enum job_event event, uint64_t at_ns);
/*
 * Of a job that the server before has on record as queued, since it has promised
 * so to a close whose release is still to come: it is again what it was before.
 * The record stays.
 */
void job_take_back(struct job *job, bool reopened);
/* The store did not take the record of its state: it is tried again until it
 * does. */
void job_record_later(struct job *job);

#endif
