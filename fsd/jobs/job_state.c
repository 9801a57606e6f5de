/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes a job's state: the table of layout/state.c gives the next one, the record is
 * written, then the watchers are called. A record that the disk refuses ends the server
 * (store_on_refusal()).
 */
#include "job_state.h"

#include <errno.h>
#include <string.h>

#include "event_log.h"
#include "jobs_int.h"
#include "fsd/users/users.h"

/* Sets no limits in m: they are in the config, and the start of the job reads them. */
void job_fill_promised(const struct job *job, uint64_t no, struct job_meta *m)
{
	m->state = JOB_QUEUED;
	m->run = job->meta.run + 1;
	m->attempt = 1;
	m->queued_no = no;
}

void job_fill_accepted(const struct job *job, struct job_meta *m)
{
	if (job->accept.promised && !job_is_frozen(job) && !job_name_is_draft(m->name))
		job_fill_promised(job, job->accept.no, m);
}

/* Writes the job's record. If the disk is full the old record stays, and the next server
 * shows that state. */
static void job_record(struct job *job, bool again)
{
	struct job_meta meta = job->meta;
	int r;

	if (job->meta.state == JOB_DRAFT)
		job_fill_accepted(job, &meta);
	r = again ? store_meta_again(job->d->store, &meta)
		  : store_meta_write(job->d->store, &meta);
	if (r < 0)
		log_error("job %s: its state cannot be written: %s",
			  job->meta.name, strerror(-r));
}

/* Does what is common to all entries of a state; idempotent. */
static void job_enter(struct job *job, bool log)
{
	events_state(job);
	job_changed(job);
	if (log)
		job_log(job, "%s", state_name(job->meta.state));
	watch_entered(job);
}

static void set_state(struct job *job, enum job_state state)
{
	user_count(job->owner, job->meta.state, -1);
	job->meta.state = state;
	user_count(job->owner, state, 1);
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
	/* Queued again means another run, which must be recorded. */
	if (next == job->meta.state && event != EV_AGAIN)
		return 0;
	set_state(job, next);
	if (record) {
		job_touch(job);
		job_record(job, event == EV_AGAIN);
	} else {
		user_changed(job->d->users, job->owner);
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

int job_ended(struct job *job, enum job_event event, const struct job_meta *end)
{
	job->meta.exit_code = end->exit_code;
	job->meta.ended_ns = end->ended_ns;
	job->meta.changed_ns = end->changed_ns;
	return post(job, event, false, false);
}

void job_take_back(struct job *job, bool reopened)
{
	unsigned before = job->meta.run - 1;
	bool has = before && store_run_has(job->d->store, job->meta.no, before);

	job->meta.run = before;
	if (has && !job->meta.ended_ns) /* a run had started, so its start deleted the
					 * time of the end */
		job->meta.ended_ns = realtime_ns();
	set_state(job, has && !reopened ? JOB_DONE : JOB_DRAFT);
	job_results_take_back(job, has);
	job_enter(job, true);
}

/* --- what else only this file changes of the record -------------------------- */

void job_promise(struct job *job, uint64_t by, uint64_t no)
{
	job->accept.promised = true;
	job->accept.by = by;
	job->accept.no = no;
}

void job_unpromise(struct job *job)
{
	job->accept.promised = false;
	job->accept.by = 0;
}

void job_take_limits(struct job *job, const struct job_config *config)
{
	job->meta.retry = (unsigned)config->retry;
	job->meta.retain_s = (uint32_t)config->retain_s;
}

void job_take_accepted(struct job *job, const struct job_meta *accepted)
{
	job->meta.run = accepted->run;
	job->meta.attempt = accepted->attempt;
	job->meta.retry = accepted->retry;
	job->meta.retain_s = accepted->retain_s;
	job->meta.queued_no = accepted->queued_no;
	job->meta.ended_ns = accepted->ended_ns;
}

void job_next_attempt(struct job *job)
{
	job->meta.run++;
	job->meta.attempt++;
}

void job_begin_unrecorded(struct job *job)
{
	job->meta.run++;
	job->meta.attempt = 1;
	job->meta.queued_no = store_next_no(job->d->store);
	job->meta.ended_ns = 0;
}

static int write_accepted(struct job *job)
{
	struct job_meta meta = job->meta;

	job_fill_accepted(job, &meta);
	return store_meta_write(job->d->store, &meta);
}

int job_set_mode(struct job *job, mode_t mode)
{
	const mode_t before = job->meta.mode;
	int r;

	job->meta.mode = mode;
	r = write_accepted(job);
	if (r < 0)
		job->meta.mode = before;
	return r;
}

int job_set_held(struct job *job)
{
	int r;

	if (job->meta.held)
		return 0;
	job->meta.held = true;
	r = write_accepted(job);
	job->meta.held = r == 0;
	return r;
}
