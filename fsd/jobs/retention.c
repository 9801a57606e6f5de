/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when a finished job is removed. Each owner's finished jobs stand in a list, the
 * oldest first, for --retain-count and --retain-bytes; a timer of the job is for its age.
 * Doomed jobs wait in one list until no handle or request uses them, and are removed in time
 * slices.
 */
#include "retention.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jobs_int.h"

struct retain_owner {
	struct hash_node by_uid;
	uid_t uid;
	struct list finished;  /* jobs that are done, oldest first */
	uint64_t count;        /* number of jobs in finished */
	uint64_t doomed_bytes; /* bytes of the user's jobs that will be removed soon */
};

static const struct retain_limits *limits_of(const struct job *job)
{
	return job->d->options->retain;
}

/* Returns for how many seconds the job is kept after its end; 0: for ever. */
static uint64_t seconds_of(const struct job *job)
{
	uint64_t own = job->meta.retain_s, all = limits_of(job)->seconds;

	return own && all ? MIN(own, all) : MAX(own, all);
}

uint64_t retain_until(const struct job *job, uint64_t ended_ns)
{
	uint64_t seconds = seconds_of(job);

	return seconds ? ended_ns + seconds * NS_PER_S : 0;
}

bool retain_may_go(const struct job *job)
{
	const struct retain_limits *l = limits_of(job);

	return seconds_of(job) || l->count || l->bytes;
}

/* --- removal --------------------------------------------------------------- */

/* Return: true if others use the job. ours: references of the table and of the caller. */
static bool is_used(const struct job *job, unsigned ours)
{
	return job->refs > ours && !job->retain.held;
}

static void leave(struct job *job);
static void doom(struct job *job, const char *why);

/* The pause between two attempts, if the disk did not remove the job. */
#define AGAIN_NS (10 * NS_PER_S)

static void on_again(struct loop_timer *t)
{
	struct job *job = t->arg;

	doom(job, job->retain.why);
}

/* Return: 0; negative errno: the job stays, and another attempt follows. */
static int remove_now(struct job *job)
{
	const char *why = job->retain.why;
	int r;

	job_ref(job);
	r = job_remove(job);
	if (r == 0) {
		log_info("job %s of user %u: removed, %s", job->meta.name,
			 job->meta.uid, why);
	} else {
		leave(job);
		job->retain.timer.fn = on_again;
		job->retain.timer.arg = job;
		loop_timer_set(job->d->loop, &job->retain.timer, AGAIN_NS);
	}
	job_unref(job);
	return r;
}

int retain_take(struct job *job)
{
	bool holds = fiber_self() && job->lock.owner == fiber_self();

	/* references of the table, of the helper's note, of the helper's present
	 * request */
	if (job->retain.state != RETAIN_ASKED || is_used(job, 2 + holds))
		return -EBUSY;
	return remove_now(job);
}

static void remove_held(struct job *job)
{
	if (!job->removed)
		remove_now(job);
}

/* Removes the job without the helper. A job that must go although it is in use is removed
 * in a fiber, which waits for its lock. */
static void remove_here(struct job *job)
{
	if (job->retain.held)
		job_start(job, remove_held);
	else
		remove_now(job);
}

/* After a start of the server the helper may not be connected yet, but will be soon. If
 * the server removed the job itself, the kernel would keep the job's name in its cache
 * for a while. */
#define HELPER_NS (100 * NS_PER_MS)
#define HELPER_TRIES 10

static bool helper_may_come(struct job *job)
{
	if (!job->retain.held || !job->d->inotify ||
	    job->retain.tries++ >= HELPER_TRIES)
		return false;
	job->retain.timer.fn = on_again;
	job->retain.timer.arg = job;
	loop_timer_set(job->d->loop, &job->retain.timer, HELPER_NS);
	return true;
}

/* Return: true if more jobs may be removed now. */
static bool on_slice(struct time_slice *t, uint64_t until)
{
	struct retention *r = container_of(t, struct retention, remove);

	list_for_each(pos, tmp, &r->doomed) {
		struct job *job = list_entry(pos, struct job, retain.node);

		if (is_used(job, 1))
			continue; /* retain_let_go() starts the slices again */
		list_del(&job->retain.node);
		job->retain.state = RETAIN_ASKED;
		if (!watch_ask_removal(job) && !helper_may_come(job))
			remove_here(job);
		if (now_ns() >= until)
			return true;
	}
	return false;
}

/* Starts the slices of `remove`. A timer calls it, so no function is in the middle of a
 * change of a job. */
static void on_soon(struct loop_timer *t)
{
	struct fsd *d = t->arg;
	struct time_slice *remove = &d->jobs->retention.remove;

	time_slice_stop(remove);
	remove->work = on_slice;
	time_slice_begin(&d->slices, remove);
}

static void soon(struct fsd *d)
{
	struct loop_timer *t = &d->jobs->retention.timer;

	t->fn = on_soon;
	t->arg = d;
	if (!t->loop)
		loop_timer_set(d->loop, t, 0);
}

void retain_let_go(struct job *job)
{
	if (job->retain.state == RETAIN_DOOMED && !job->removed)
		soon(job->d);
}

void retain_told(struct job *job)
{
	if (job->removed || job->retain.state != RETAIN_ASKED)
		return;
	if (!is_used(job, 1)) { /* the helper could not remove it: remove it here */
		remove_here(job);
		return;
	}
	job->retain.state = RETAIN_DOOMED;
	list_add_tail(&job->d->jobs->retention.doomed, &job->retain.node);
}

/* --- which jobs are doomed ------------------------------------------------------ */

static uint64_t bytes_of(const struct job *job)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < QUOTA_AREAS; i++)
		sum += job->file_owner.quota.bytes[i];
	return sum;
}

/* Return: NULL without memory: the job is not counted. */
static struct retain_owner *owner_of(struct job *job)
{
	struct hash *owners = &job->d->jobs->retention.owners;
	uint64_t hash = hash_u64(job->meta.uid);
	struct hash_node *h = hash_first(owners, hash);
	struct retain_owner *o = job->retain.owner;

	for (; !o && h; h = hash_next(h))
		if (container_of(h, struct retain_owner, by_uid)->uid ==
		    job->meta.uid)
			o = container_of(h, struct retain_owner, by_uid);
	if (!o) {
		o = calloc(1, sizeof(*o));
		if (!o || hash_add(owners, &o->by_uid, hash) < 0) {
			free(o);
			return NULL;
		}
		o->uid = job->meta.uid;
		list_init(&o->finished);
	}
	return job->retain.owner = o;
}

/* Takes the job out of the list or timer that it waits in. */
static void leave(struct job *job)
{
	struct retain *r = &job->retain;

	if (r->state == RETAIN_KEPT && !list_empty(&r->node))
		r->owner->count--;
	if (r->state != RETAIN_KEPT && r->owner)
		r->owner->doomed_bytes -= r->bytes;
	list_del(&r->node);
	loop_timer_del(&r->timer);
	r->state = RETAIN_KEPT;
}

static void doom(struct job *job, const char *why)
{
	struct retain_owner *owner;

	leave(job);
	owner = owner_of(job);
	job->retain.state = RETAIN_DOOMED;
	job->retain.bytes = bytes_of(job);
	if (owner)
		owner->doomed_bytes += job->retain.bytes;
	job->retain.why = why;
	list_add_tail(&job->d->jobs->retention.doomed, &job->retain.node);
	soon(job->d);
}

static void on_time(struct loop_timer *t)
{
	struct job *job = t->arg;
	uint64_t own = job->meta.retain_s;

	doom(job, own && own == seconds_of(job)
			  ? "its time (\"retain\") is over"
			  : "its time (--retain-seconds) is over");
}

/* Uses the monotonic clock, so that setting the wall clock removes no job. */
static void arm(struct job *job)
{
	uint64_t until = retain_until(job, job->meta.ended_ns);
	uint64_t now = realtime_ns();
	struct loop_timer *t = &job->retain.timer;

	if (!until)
		return;
	/* An end in the future, by a wall clock that was set back, counts as now. */
	until = MIN(until, now + seconds_of(job) * NS_PER_S);
	t->fn = on_time;
	t->arg = job;
	loop_timer_set(job->d->loop, t, until > now ? until - now : 0);
}

/* Return: bytes of the owner's jobs, without those of doomed jobs. */
static uint64_t bytes_kept(const struct job *job)
{
	uint64_t sum = quota_bytes(job->file_owner.quota.user);

	return sum - MIN(sum, job->retain.owner->doomed_bytes);
}

/* Dooms the owner's oldest jobs while they exceed a limit. The newest job stays. */
static void enforce(struct job *job)
{
	const struct retain_limits *l = limits_of(job);
	struct retain_owner *o = job->retain.owner;
	uint64_t bytes = l->bytes ? bytes_kept(job) : 0;
	struct job *oldest;

	while (o->finished.next != o->finished.prev) {
		oldest = list_first(&o->finished, struct job, retain.node);
		if (l->count && o->count > l->count) {
			bytes -= MIN(bytes, bytes_of(oldest));
			doom(oldest, "for a newer one (--retain-count)");
		} else if (l->bytes && bytes > l->bytes) {
			bytes -= MIN(bytes, bytes_of(oldest));
			doom(oldest, "for room (--retain-bytes)");
		} else {
			return;
		}
	}
}

/* Return: the node of the owner's list behind which the job belongs, by its end. Usually
 * the last one; at a start some jobs end before all earlier ends are in the list. */
static struct list *behind_older(struct job *job)
{
	struct list *head = &job->retain.owner->finished, *at = head;

	while (at->prev != head &&
	       list_entry(at->prev, struct job, retain.node)->meta.ended_ns >
		       job->meta.ended_ns)
		at = at->prev;
	return at;
}

static void on_entered(struct job *job)
{
	const struct retain_limits *l = limits_of(job);

	if (job->retain.held)
		return;
	leave(job);
	if (job->meta.state != JOB_DONE)
		return;
	arm(job);
	if ((!l->count && !l->bytes) || !owner_of(job))
		return;
	list_add_tail(behind_older(job), &job->retain.node);
	job->retain.owner->count++;
	enforce(job);
}

void retain_held_end(struct job *job)
{
	if (job->retain.held)
		return;
	job->retain.held = true;
	if (job->retain.state == RETAIN_KEPT)
		doom(job, "nobody holds it any more");
	else
		soon(job->d);
}

const struct job_watcher retain_watcher = {
	.entered = on_entered,
	.removed = leave,
	.unloaded = leave,
};

/* --- the start ----------------------------------------------------------------- */

void retain_found(struct fsd *d, const struct job_meta *m)
{
	const struct retain_limits *l = d->options->retain;

	if (m->state != JOB_DONE ||
	    !(l->count || l->bytes || l->seconds || m->retain_s))
		return;
	if (sorted_ids_add(&d->jobs->retention.left, m->ended_ns, m->no) < 0)
		log_warn("job %s: no memory to look whether its time is over; "
			 "the next start does", m->name);
}

static bool on_begin(struct time_slice *t, uint64_t until)
{
	struct fsd *d = container_of(t, struct jobs, retention.begin)->d;
	uint64_t no;

	while (!jobs_ended(d) && (no = sorted_ids_next(&d->jobs->retention.left))) {
		struct job *job = job_by_no(d, no);

		if (job && !job->removed && job->retain.state == RETAIN_KEPT)
			on_entered(job);
		if (now_ns() >= until)
			return true;
	}
	return false;
}

void retain_begin(struct fsd *d)
{
	sorted_ids_sort(&d->jobs->retention.left);
	d->jobs->retention.begin.work = on_begin;
	time_slice_later(&d->slices, &d->jobs->retention.begin);
}

void retention_end(struct retention *r)
{
	struct hash_node *h;
	size_t from = 0;

	loop_timer_del(&r->timer);
	sorted_ids_done(&r->left);
	while ((h = hash_any(&r->owners, &from))) {
		hash_del(&r->owners, h);
		free(container_of(h, struct retain_owner, by_uid));
	}
	hash_done(&r->owners);
}
