/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file `events`: the events of a run in order, one JSON object a line. While a job
 * runs only the order is recorded (which stream, how many bytes, when;
 * layout/event_line.h), in memory and soon in the run's directory. A read makes the lines
 * from the order, from the stored streams, and from result.json for the end. So every
 * reader gets the same lines, and an event without a reader costs one record. On the
 * loop's thread, unless a function says otherwise.
 */
#ifndef FSD_EVENT_LOG_H
#define FSD_EVENT_LOG_H

#include "job.h"

struct events;        /* the order of the newest run; job->events */
struct events_reader; /* the position of one open file */


/* Records the job's new state; JOB_QUEUED begins the order of a new run. */
void events_state(struct job *job);
/* Call it before the job enters `running`, if that event shall have the program's pid:
 * then events_started() records the event, when the program has begun. */
void events_await_pid(struct job *job);
void events_started(struct job *job, uint32_t pid);
/* Records that the stream has grown by count bytes. */
void events_output(struct job *job, enum vm_stream stream, uint64_t count);
/* events_go_on() continues the stored order of a run that an earlier server began.
 * awaits_pid: if the order has no `running` event yet, events_started() will record it.
 * events_reach(), called later, records that the stream has grown to size bytes. */
void events_go_on(struct job *job, bool awaits_pid);
void events_reach(struct job *job, enum vm_stream stream, uint64_t size);

/*
 * Storing records: events_take() takes those that can be stored, a thread calls
 * events_store(), then events_stored() notes the result. The caller's fiber holds the job
 * from the first to the last call.
 */
struct events_batch { /* zeroed, or filled by events_take() */
	struct events *events; /* borrowed; NULL: no records were taken */
	uint64_t no;
	unsigned run;
	struct buf records; /* owned by the caller of events_take() */
	int result;
};
void events_take(struct job *job, struct events_batch *ret);
/* Takes only records that a reader may have seen: at most the first record of a run. */
void events_take_seen(struct job *job, struct events_batch *ret);
void events_store(struct store *store, struct events_batch *batch);
void events_stored(struct job *job, const struct events_batch *batch);
/* Return: when the run was queued, by its stored order: CLOCK_REALTIME in ms; 0: unknown.
 * On any thread, but not while that run begins. */
uint64_t events_queued_ms(struct store *store, uint64_t no, unsigned run);
/* NULL is fine. */
void events_free(struct events *e);

/* Makes a reader, one for each open of the file. Return: owned by the caller; NULL: no
 * memory. */
struct events_reader *events_reader_new(const struct job *job);
void events_reader_free(struct events_reader *r);
/*
 * Makes the text from offset on. Return: bytes put in room; 0 at the end; -EAGAIN: no further
 * event yet; -EINPROGRESS: offset is far away, call again; another negative errno.
 */
int events_read(struct job *job, struct events_reader *r, char *room,
		size_t size, uint64_t offset);

#endif
