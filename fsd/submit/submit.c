/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Acts on a verdict: queues the job, refuses it with a sentence, or leaves it a draft.
 * examine.c finds the verdict, deferred.c defers a slow examination. On the loop's thread,
 * in a fiber that holds the job or before other fibers can.
 */
#include "submit_int.h"
#include "draft.h"

#include <errno.h>
#include <string.h>

#include "fsd/jobs/job_state.h"
#include "fsd/jobs/statistics.h"
#include "fsd/run/run.h"
#include "fsd/users/last_error.h"

static enum refused count_as(int failure)
{
	switch (failure) {
	case 0:
		return REFUSED_CONFIG;
	case -EAGAIN:
	case -ESHUTDOWN:
		return REFUSED_QUEUE;
	case -EDQUOT:
		return REFUSED_QUOTA;
	default:
		return REFUSED_ROOM;
	}
}

void submit_refuse(struct job *job, enum verdict v, const struct err *err)
{
	bool same = job->meta.state == JOB_REFUSED &&
		    !strncmp(job_error(job), err->text, strlen(err->text));

	job->submit.failure = v == WRONG ? 0 : err->code ? err->code : -EIO;
	last_error_set(job->d->users, job->meta.uid, job->meta.name, err->text);
	if (same)
		return;
	job_set_error(job, err->text);
	job_log(job, "refused: %s", err->text);
	statistics_refused(job->d, count_as(job->submit.failure));
	job_post(job, EV_REFUSE);
}

static enum verdict start(struct job *job, struct run_spec *spec,
			  struct err *err)
{
	enum verdict v = submit_check_limits(job, spec->config, err);

	if (v != READY) {
		run_spec_done(spec);
		return v;
	}
	sched_give_place(&job->submit.place); /* run_start() takes one at once */
	v = verdict_of(run_start(job, spec, err));
	if (v == READY)
		log_debug("job %s: queued", job->meta.name);
	return v;
}

static void evaluate(struct job *job, bool config_closed)
{
	struct run_spec spec = { 0 };
	struct err err = { 0 };
	enum verdict v;

	job->submit.failure = 0;
	if (job->removed || job_is_frozen(job))
		return;
	/* A finished job runs again only if its config.json was closed just now, or if
	 * close(2) has accepted the new run, and this is the release of its last part. */
	if (job->meta.state == JOB_DONE && !config_closed && !job->accept.promised)
		return;
	if (submit_defer(job)) {
		job->submit.later->evaluate = true;
		job->submit.later->config_closed |= config_closed;
		return;
	}
	v = submit_examine(job, false, &spec, &err);
	if (v == READY && job_name_is_draft(job->meta.name)) {
		run_spec_done(&spec);
		v = HELD;
	}
	if (v == READY)
		v = start(job, &spec, &err);
	/* The mount is read-only: the next server that can write starts the job. */
	if (job->accept.promised && store_read_only(job->d->store))
		return;
	if (v == FAILED && job->accept.promised) {
		err_wrap(&err, SUBMIT_ACCEPTED_BEFORE);
		run_reject_promised(job, err.text);
	} else if (verdict_is_no(v)) {
		submit_refuse(job, v, &err);
	} else if (verdict_is_wait(v) && job->meta.state == JOB_REFUSED) {
		job_set_error(job, NULL);
		job_post(job, EV_REOPEN);
	} else if (verdict_is_wait(v) && v != HELD &&
		   job->meta.state == JOB_DONE &&
		   (config_closed || !job->accept.promised)) {
		/* The owner wants a new run, which starts when all parts are there. */
		job_post(job, EV_REOPEN);
	}
}

void submit_evaluate(struct job *job, bool config_closed)
{
	evaluate(job, config_closed);
	submit_give_place(job);
	draft_changed(job);
}

bool submit_restart(struct job *job)
{
	if (!submit_is_leftover(job))
		return false;
	if (submit_defer(job)) {
		job->submit.later->restart = true;
		return true;
	}
	submit_take_up(job);
	return false;
}

int submit_start(struct job *job, struct err *err)
{
	struct run_spec spec = { 0 };
	enum verdict v;

	if (job_is_frozen(job))
		return err_set(err, -EBUSY, "ctl: the job is %s already",
			       state_name(job->meta.state));
	if (job_name_is_draft(job->meta.name))
		return err_set(err, -EINVAL,
			       "ctl: a job whose name begins with \".\" is "
			       "being prepared and never starts; rename it");
	*err = (struct err){ 0 };
	v = submit_examine(job, true, &spec, err);
	if (verdict_is_wait(v))
		return err_set(err, -EINVAL,
			       "ctl: the job is not complete: it needs exactly "
			       "one closed code.* file and its \"inputs\"");
	if (v == READY)
		v = start(job, &spec, err);
	else
		submit_refuse(job, v, err);
	return v == READY ? 0 : v == WRONG ? -EINVAL : err->code;
}
