/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping the order of a run. */
#include "events_int.h"

#include <errno.h>
#include <string.h>

#include "run.h"

/* Neighbours of one stream that come within this time are one line. */
#define MERGE_MS 10
#define GATHER_BYTES 65536

void events_free(struct events *e)
{
	if (!e)
		return;
	buf_done(&e->order);
	free(e);
}

void events_seal(struct events *e)
{
	uint8_t room[ORDER_RECORD_MAX];
	size_t len;

	if (!e->has_last)
		return;
	e->has_last = false;
	if (e->lost)
		return;
	len = order_put(&e->last, e->time_ms, room);
	e->lost = buf_add(&e->order, room, len) < 0;
	e->time_ms = e->last.time_ms;
}

static void add(struct job *job, enum order_kind kind, uint32_t count)
{
	struct events *e = job->events;
	uint64_t now = realtime_ns() / NS_PER_MS;
	struct order_record *last = &e->last;

	if (e->has_last && kind != ORDER_STATE && last->kind == kind &&
	    now < last->time_ms + MERGE_MS &&
	    count <= EVENT_DATA_MAX - last->count) {
		last->count += count;
		return;
	}
	now = MAX(now, e->has_last ? last->time_ms : e->time_ms);
	events_seal(e);
	*last = (struct order_record){ .kind = kind, .count = count,
				       .time_ms = now };
	e->has_last = true;
	if (e->order.len > GATHER_BYTES)
		job_log_begin(job);
	else
		job_log_soon(job);
}

void events_state(struct job *job)
{
	enum job_state state = job->meta.state;

	if (state == JOB_QUEUED) {
		events_free(job->events);
		job->events = calloc(1, sizeof(*job->events));
		if (job->events)
			job->events->run = job->meta.run;
	}
	if (job->events && (state == JOB_QUEUED || state == JOB_RUNNING))
		add(job, ORDER_STATE, state);
}

void events_output(struct job *job, enum vm_stream stream, uint64_t count)
{
	while (job->events && count) {
		uint32_t n = (uint32_t)MIN(count, (uint64_t)EVENT_DATA_MAX);

		add(job, stream == VM_OUT ? ORDER_STDOUT : ORDER_STDERR, n);
		count -= n;
	}
}

void events_flush(struct job *job)
{
	struct events *e = job->events;
	auto_buf struct buf copy = { 0 };
	unsigned run;
	int r = 0;

	if (!e)
		return;
	run = e->run;
	events_seal(e);
	/* Until they are there, readers have them from memory, and more come. */
	if (e->order.len && !e->lost)
		r = buf_add(&copy, e->order.data, e->order.len);
	if (r == 0 && copy.len)
		r = depot_run_append(job->d->depot, job->meta.no, run,
				     ORDER_FILE, copy.data, copy.len);
	if (job->events != e || e->run != run)
		return; /* the job is run again, meanwhile */
	if (r == 0) {
		e->stored += copy.len;
		buf_eat(&e->order, e->lost ? e->order.len : copy.len);
	} else if (r != -ENOENT) { /* which it is before the machine is there */
		log_warn("job %s: the order of its output cannot be stored: %s",
			 job->meta.name, strerror(-r));
		e->lost = true;
	}
	/* From now on the store has it all. */
	if (!job->run && !e->order.len && !e->has_last)
		events_free(take_ptr(job->events));
}
