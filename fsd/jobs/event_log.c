/* SPDX-License-Identifier: Apache-2.0 */
/* Records the order of a run's events, and stores it. */
#include "event_log_int.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "job_watch.h"

/* Output of one stream within this time becomes one record, and so one line. */
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

static void add(struct job *job, enum order_kind kind, uint32_t count,
		uint64_t time_ms)
{
	struct events *e = job->events;
	struct order_record *last = &e->last;

	if (kind == ORDER_STATE)
		e->state = (enum job_state)ORDER_STATE_OF(count);
	else
		e->count[kind] += count;
	if (e->has_last && kind != ORDER_STATE && last->kind == kind &&
	    time_ms < last->time_ms + MERGE_MS &&
	    count <= EVENT_DATA_MAX - last->count) {
		last->count += count;
		return;
	}
	time_ms = MAX(time_ms, e->has_last ? last->time_ms : e->time_ms);
	events_seal(e);
	*last = (struct order_record){ .kind = kind, .count = count,
				       .time_ms = time_ms };
	e->has_last = true;
	if (e->order.len > GATHER_BYTES)
		job_log_begin(job);
	else
		job_log_soon(job);
}

static struct events *events_new(struct job *job)
{
	events_free(job->events);
	job->events = calloc(1, sizeof(*job->events));
	if (job->events) {
		job->events->run = job->meta.run;
		job->events->state = JOB_STATE_MAX;
	}
	return job->events;
}

static void note(struct events *e, const struct order_record *r)
{
	e->time_ms = r->time_ms;
	if (r->kind != ORDER_STATE)
		e->count[r->kind] += r->count;
	else if (ORDER_STATE_OF(r->count) < JOB_STATE_MAX)
		e->state = (enum job_state)ORDER_STATE_OF(r->count);
}

/* Reads the order that an earlier server stored, and cuts off a torn record, which no
 * reader has seen. Return: 0 or negative errno. */
static int load(struct job *job, struct events *e)
{
	auto_close int fd = store_run_open(job->d->store, job->meta.no, e->run,
					   ORDER_FILE);
	uint8_t room[4096];
	ssize_t n = 0;
	int len = 0;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	while ((n = pread(fd, room, sizeof(room), (off_t)e->stored)) > 0) {
		struct order_record r;
		size_t at = 0;

		while ((len = order_get(room + at, (size_t)n - at, e->time_ms,
					&r)) > 0) {
			note(e, &r);
			at += (size_t)len;
		}
		e->stored += at;
		if (len < 0 || !at)
			break;
	}
	if (n < 0)
		return -errno;
	return n ? store_run_cut(job->d->store, job->meta.no, e->run,
				 ORDER_FILE, e->stored)
		 : 0;
}

uint64_t events_queued_ms(struct store *store, uint64_t no, unsigned run)
{
	auto_close int fd = store_run_open(store, no, run, ORDER_FILE);
	uint8_t room[ORDER_RECORD_MAX];
	struct order_record first;
	ssize_t n = fd < 0 ? -1 : pread(fd, room, sizeof(room), 0);

	return n > 0 && order_get(room, (size_t)n, 0, &first) > 0 &&
			       first.kind == ORDER_STATE &&
			       ORDER_STATE_OF(first.count) == JOB_QUEUED
		       ? first.time_ms : 0;
}

/* Loads the stored order of a run. Return: NULL: it cannot be loaded, so the run has no
 * events. */
static struct events *events_load(struct job *job)
{
	struct events *e = events_new(job);
	int r = e ? load(job, e) : -ENOMEM;

	if (r == 0)
		return e;
	log_warn("job %s: the order of its output cannot be gone on with: %s",
		 job->meta.name, strerror(-r));
	events_free(take_ptr(job->events));
	return NULL;
}

/* Adds a state. Its time is that of the job's record, so the next server computes the
 * same. */
static void add_state(struct job *job, enum job_state state)
{
	if (job->events && state == JOB_RUNNING && job->events->awaits_pid)
		return;
	if (job->events && job->events->state != state)
		add(job, ORDER_STATE, state,
		    job->meta.changed_ns / NS_PER_MS);
}

void events_state(struct job *job)
{
	enum job_state state = job->meta.state;
	const struct events *e = job->events;

	if (state != JOB_QUEUED && state != JOB_RUNNING)
		return;
	if (state == JOB_QUEUED && job->leftover.tries && (!e || e->run != job->meta.run))
		events_load(job); /* an earlier server had queued this run again */
	else if (state == JOB_QUEUED && !job->leftover.tries)
		events_new(job);
	add_state(job, state);
}

void events_await_pid(struct job *job)
{
	if (job->events && job->events->state != JOB_RUNNING)
		job->events->awaits_pid = true;
}

void events_started(struct job *job, uint32_t pid)
{
	struct events *e = job->events;

	if (!e || !e->awaits_pid)
		return;
	e->awaits_pid = false;
	add(job, ORDER_STATE, ORDER_STATE_PID(JOB_RUNNING, pid),
	    realtime_ns() / NS_PER_MS);
	job_changed(job);
}

static enum order_kind kind_of(enum vm_stream stream)
{
	return stream == VM_OUT	  ? ORDER_STDOUT
	       : stream == VM_ERR ? ORDER_STDERR
				  : ORDER_SHOWN;
}

void events_output(struct job *job, enum vm_stream stream, uint64_t count)
{
	uint64_t now = realtime_ns() / NS_PER_MS;

	while (job->events && count) {
		uint32_t n = (uint32_t)MIN(count, (uint64_t)EVENT_DATA_MAX);

		add(job, kind_of(stream), n, now);
		count -= n;
	}
}

void events_go_on(struct job *job, bool awaits_pid)
{
	if (job->meta.state != JOB_RUNNING || !events_load(job))
		return;
	if (job->events->state == JOB_STATE_MAX)
		add_state(job, JOB_QUEUED);
	if (awaits_pid)
		events_await_pid(job);
	add_state(job, JOB_RUNNING);
}

void events_reach(struct job *job, enum vm_stream stream, uint64_t size)
{
	const struct events *e = job->events;
	enum order_kind kind = kind_of(stream);

	if (e && e->count[kind] < size)
		events_output(job, stream, size - e->count[kind]);
}

void events_take(struct job *job, struct events_batch *ret)
{
	struct events *e = job->events;

	*ret = (struct events_batch){ .events = e, .no = job->meta.no };
	if (!e)
		return;
	ret->run = e->run;
	events_seal(e);
	if (e->order.len && !e->lost)
		ret->result = buf_add(&ret->records, e->order.data,
				      e->order.len);
}

void events_take_seen(struct job *job, struct events_batch *ret)
{
	*ret = (struct events_batch){ 0 };
	if (job->events && job->events->seen && !job->events->stored)
		events_take(job, ret);
}

void events_store(struct store *store, struct events_batch *b)
{
	if (b->result == 0 && b->records.len)
		b->result = store_run_append(store, b->no, b->run, ORDER_FILE,
					     b->records.data, b->records.len);
}

/* Notes the result of a write. Does nothing if the job was queued again meanwhile: then
 * job->events belongs to another run. */
void events_stored(struct job *job, const struct events_batch *b)
{
	struct events *e = job->events;
	bool wanted;

	if (!e || e != b->events || e->run != b->run)
		return;
	wanted = e->wanted;
	e->wanted = false;
	if (b->result == 0) {
		e->stored += b->records.len;
		buf_eat(&e->order, e->lost ? e->order.len : b->records.len);
	} else if (b->result != -ENOENT || wanted || !job_is_frozen(job)) {
		/* -ENOENT is no error before the machine is there: rN/ does not exist
		 * yet. */
		log_warn("job %s: the order of its output cannot be stored: %s",
			 job->meta.name, strerror(-b->result));
		e->lost = true;
		buf_eat(&e->order, e->order.len);
	}
	/* All records are stored, so the memory is not needed any more. */
	if (!job->run && !e->order.len && !e->has_last)
		events_free(take_ptr(job->events));
	if (wanted)
		job_changed(job);
}
