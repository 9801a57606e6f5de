/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file `events`: what happens in a run, one JSON object a line, in the
 * order in which it happens. While a job runs only that order is kept (which
 * stream, how many bytes, when; layout/event_line.h), in memory and soon in
 * the run's directory; the lines are made from it and from the stored streams
 * when somebody reads. The end is made from result.json. So a line reads the
 * same whoever reads it and whenever, and costs nothing while nobody does.
 */
#ifndef FSD_EVENT_LOG_H
#define FSD_EVENT_LOG_H

#include "job.h"

struct events;        /* the order of the newest run; job->events */
struct events_reader; /* the place of one open file */


/* The job has entered a state, as its record says; a run begins with
 * JOB_QUEUED. */
void events_state(struct job *job);
/* That it runs is told by the second, when its program has begun. */
void events_await_pid(struct job *job);
void events_started(struct job *job, uint32_t pid);
/* So many bytes came to the stream's end. */
void events_output(struct job *job, enum vm_stream stream, uint64_t count);
/* A server before had kept the order of the run that is on record as running:
 * goes on with it. awaits_pid: unless it is told already, events_started() tells that
 * it runs. The second: then, or later, the stream has size bytes. */
void events_go_on(struct job *job, bool awaits_pid);
void events_reach(struct job *job, enum vm_stream stream, uint64_t size);

/*
 * Into the store: what is to be put there, by a thread, as far as there is a
 * place for it; then how that went. The job is held all the time.
 */
struct events_batch { /* zeroed, or by events_take() */
	struct events *events; /* borrowed; NULL: nothing */
	uint64_t no;
	unsigned run;
	struct buf records; /* owned by who took it */
	int result;
};
void events_take(struct job *job, struct events_batch *ret);
/* No more than some reader has seen, which is but the first record of a run. */
void events_take_seen(struct job *job, struct events_batch *ret);
void events_store(struct store *store, struct events_batch *batch);
void events_stored(struct job *job, const struct events_batch *batch);
/* When that run was queued, as its stored order says: CLOCK_REALTIME in ms, or 0. By any
 * thread, of a run that does not begin meanwhile. */
uint64_t events_queued_ms(struct store *store, uint64_t no, unsigned run);
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
