/* SPDX-License-Identifier: Apache-2.0 */
#include "event.h"

#include <errno.h>
#include <string.h>

#include "fsd/submit/commit.h"
#include "events.h"
#include "fsd/mount/notify.h"
#include "fsd/users/people.h"
#include "fsd/run/run.h"
#include "fsd/mount/wait.h"

#define RECORD_NS NS_PER_S /* between two attempts */

static void on_late(struct loop_timer *t);

static void arm(struct fsd *d)
{
	d->record_timer.fn = on_late;
	d->record_timer.arg = d;
	if (!d->record_timer.loop)
		loop_timer_set(d->loop, &d->record_timer, RECORD_NS);
}

/* What a job shows that is not on record, by a thread. */
struct late {
	struct depot *depot;
	struct job_meta meta; /* its name is borrowed */
	char *error;          /* owned; NULL: none, or it is stored */
	const struct buf *result; /* borrowed: result.json, or empty: */
	bool unlisted;        /* it has one that is not shown */
};

/* What a start would make of a record that says that it runs. */
static int store_late(const struct late *l)
{
	depot_output_drop(l->depot, l->meta.no, l->meta.run);
	return depot_run_publish(l->depot, l->meta.no, l->meta.run,
				 job_rows[JOB_ROW_RESULT].name, l->result->data,
				 l->result->len);
}

static int do_late(void *arg)
{
	const struct late *l = arg;
	int r = l->error ? depot_error_write(l->depot, l->meta.no, l->error)
			 : 0;

	if (r == 0 && l->result->len)
		r = store_late(l);
	if (r == 0 && l->result->len)
		r = depot_sync_run(l->depot, l->meta.no, l->meta.run);
	if (r == 0 && l->unlisted)
		r = depot_run_unpublish(l->depot, l->meta.no, l->meta.run,
					job_rows[JOB_ROW_RESULT].name);
	return r < 0 ? r : depot_meta_commit(l->depot, &l->meta);
}

static int record_late(struct job *job)
{
	struct late l = {
		.depot = job->d->depot, .meta = job->meta,
		.error = job->error ? strdup(job->error) : NULL,
		.result = &job->late,
		.unlisted = job->has_results &&
			    job->hidden & 1u << JOB_ROW_RESULT,
	};
	int r;

	commit_on_record(job, &l.meta);
	r = job->error && !l.error ? -ENOMEM : depot_do(l.depot, do_late, &l);
	free(l.error);
	if (job->late.len)
		/* also of what was done of it */
		quota_run_recount(&job->file_owner);
	if (r == 0)
		buf_done(&job->late);
	return r;
}

static void on_record_late(void *arg)
{
	struct fsd *d = arg;
	struct job *job;

	while ((job = list_first(&d->unrecorded, struct job, unrecorded))) {
		list_del(&job->unrecorded);
		if (run_end_again(job)) {
			if (!list_empty(&d->unrecorded))
				arm(d);
			return; /* the others a second later */
		}
		job_hold(job);
		if (!job->removed && record_late(job) < 0) {
			job_record_later(job);
			jobs_let_go();
			return; /* nor will it take the others' */
		}
		jobs_let_go();
	}
}

static void on_late(struct loop_timer *t)
{
	fiber_run(on_record_late, t->arg);
}

void job_record_later(struct job *job)
{
	if (job->removed)
		return;
	if (list_empty(&job->unrecorded))
		list_add_tail(&job->d->unrecorded, &job->unrecorded);
	arm(job->d);
}

static void job_record(struct job *job, bool again)
{
	struct job_meta meta = job->meta;
	int r;

	if (job->meta.state == JOB_DRAFT)
		commit_on_record(job, &meta);
	r = again ? depot_meta_again(job->d->depot, &meta)
		  : depot_meta_write(job->d->depot, &meta);
	if (r < 0)
		log_error("job %s: its state cannot be written: %s",
			  job->meta.name, strerror(-r));
	if (r < 0)
		job_record_later(job);
}

/* What every entry has in common; may be done twice. */
static void job_enter(struct job *job, bool log)
{
	events_state(job);
	wait_kick(job);
	if (log)
		job_log(job, "%s", state_name(job->meta.state));
	notify_state(job);
	retain_entered(job);
}

static void set_state(struct job *job, enum job_state state)
{
	person_count(job->owner, job->meta.state, -1);
	job->meta.state = state;
	person_count(job->owner, state, 1);
}

static int post(struct job *job, enum job_event event, bool record, bool log)
{
	enum job_state next = state_next(job->meta.state, event);

	if (next == JOB_BAD) {
		log_error("job %s: event %s is not possible when %s",
			  job->meta.name, event_name(event),
			  state_name(job->meta.state));
		return -EINVAL;
	}
	/* Queued again is another run, which is to be on record. */
	if (next == job->meta.state && event != EV_AGAIN)
		return 0;
	set_state(job, next);
	if (record) {
		job_touch(job);
		job_record(job, event == EV_AGAIN);
	} else {
		person_changed(job->d->users, job->owner);
	}
	job_enter(job, log);
	return 0;
}

int job_post(struct job *job, enum job_event event)
{
	return post(job, event, true, true);
}

int job_posted(struct job *job, enum job_event event, uint64_t at_ns)
{
	job->meta.changed_ns = at_ns;
	return post(job, event, false, true);
}

int job_ended(struct job *job, enum job_event event, uint64_t at_ns)
{
	job->meta.changed_ns = at_ns;
	return post(job, event, false, false);
}

void job_take_back(struct job *job, bool reopened)
{
	unsigned before = job->meta.run - 1;
	bool has = before && depot_run_has(job->d->depot, job->meta.no, before);

	job->meta.run = before;
	if (has && !job->meta.ended_ns) /* a start was on record, not a promise */
		job->meta.ended_ns = realtime_ns();
	set_state(job, has && !reopened ? JOB_DONE : JOB_DRAFT);
	job->has_results = has;
	job->output_unseen = has && !job->output;
	job->hidden = job_kept_hidden(job);
	job_enter(job, true);
}
