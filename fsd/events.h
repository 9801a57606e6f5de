/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file `events`: what happens in a run, one JSON object a line, in the
 * order in which it happens. While a job runs only that order is kept (which
 * stream, how many bytes, when; layout/event_line.h), in memory and soon in
 * the run's directory; the lines are made from it and from the stored streams
 * when somebody reads. The end is made from result.json. So a line reads the
 * same whoever reads it and whenever, and costs nothing while nobody does.
 */
#ifndef FSD_EVENTS_H
#define FSD_EVENTS_H

#include "job.h"

struct events;        /* the order of the newest run; job->events */
struct events_reader; /* the place of one open file */

/* The job has entered a state; a run begins with JOB_QUEUED. */
void events_state(struct job *job);
/* So many bytes came to the stream's end. */
void events_output(struct job *job, enum vm_stream stream, uint64_t count);
/* Into the store, as far as there is a place for it. The job is held. */
void events_flush(struct job *job);
/* Memory is short of it. NULL is fine. */
void events_free(struct events *e);

/* Made at open. Return: NULL if there is no memory. */
struct events_reader *events_reader_new(const struct job *job);
void events_reader_free(struct events_reader *r);
/*
 * Return: bytes of room; 0 at the end; -EAGAIN: nothing more has happened yet;
 * -EINPROGRESS: it is a long way to offset, call again; else negative errno.
 */
int events_read(struct job *job, struct events_reader *r, char *room,
		size_t size, uint64_t offset);

#endif
