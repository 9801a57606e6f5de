/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "retry": a run that the appliance failed (failed, interrupted) is followed by
 * another one, in another machine, while the job has attempts left. The order
 * in which it is written down makes a crash at any point harmless: how the run
 * failed, by its number; then meta, with the next number; then the old run's
 * files go. What is left of them is tidied up at the next start.
 *
 * Whoever finds that a run has failed may hold the job or not; the next one
 * begins in a fiber that does. So nobody removes or kills the job in between,
 * and no other fiber is at the old run's machine or files.
 */
#include <string.h>

#include "fsd/jobs/event.h"
#include "fsd/jobs/leftover.h"
#include "fsd/jobs/statistics.h"
#include "run_int.h"

/* The program's own end is one, and so is what somebody asked for. */
bool run_may_again(const struct run *run, enum job_status status)
{
	const struct job_meta *m = &run->job->meta;

	return (status == STATUS_FAILED || status == STATUS_INTERRUPTED) &&
	       !run_has_exit(run) && !run->cancelled && !run->timed_out &&
	       !run->final && m->attempt && m->attempt <= m->retry;
}

static bool has_inputs(const struct run *run)
{
	struct job *job = run->job;
	struct err err = { 0 };

	/* An adopted one's next run is begun from what there is. */
	if (run->spec.parsed && !run->adopted ? run_has_inputs(job, &err)
					      : run_check_inputs(job, &err) == 0)
		return true;
	job_log(job, "it is not run again: %s", err.text);
	return false;
}

static int record(const struct run *run, enum job_status status,
		  const char *message)
{
	const struct result_attempt attempt = {
		.known = true, .status = status, .message = message,
		.started_ns = run->started_real_ns, .ended_ns = realtime_ns(),
	};
	struct job *job = run->job;
	int r = depot_attempt_add(run->d->depot, job->meta.no, run->number,
				  &attempt);

	/* The job is worth more than the record of how it failed. */
	if (r < 0)
		log_warn("job %s: how attempt %u failed cannot be stored: %s",
			 job->meta.name, job->meta.attempt, strerror(-r));
	return r;
}

/* The next run, that takes over what this one was to do, or NULL. */
static struct run *follower(struct run *run)
{
	struct run_spec spec = run->spec;
	struct node *code = spec.code;
	struct run *next;

	run->spec = (struct run_spec){ 0 };
	next = run_new(run->job, &spec, run->number + 1);
	if (code)
		node_unref(code); /* the next one has a reference of its own */
	return next;
}

/* meta, and what readers see. */
static void enter(struct job *job, struct run *next)
{
	job_results_hide(job);
	run_forget_tries(job);
	job->run = next;
	job_next_attempt(job);
	job_post(job, EV_AGAIN);
}

bool run_again(struct run *run, enum job_status status, const char *message)
{
	struct job *job = run->job;
	unsigned number = run->number;
	struct run *next = NULL;

	if (run->cancelled || !has_inputs(run))
		return false;
	/* Without a whole spec it was begun by a daemon before this one, and is
	 * taken up later. When the daemon ends, run_begin() leaves it to the
	 * next one. */
	if (run->spec.parsed && !run->adopted) {
		next = follower(run);
		if (!next)
			return false;
		run_enter(next, RUN_QUEUED);
	}
	record(run, status, message);
	job_log(job, "attempt %u of %u: %s: %s; it is run again",
		job->meta.attempt, job->meta.retry + 1, status_name(status),
		message ? message : "");
	statistics_retried(job->d);
	job_keep_results(job);
	enter(job, next);
	depot_run_drop(run->d->depot, job->meta.no, number);
	if (run->adopted)
		leftover_add(job);
	run_give_up(run);
	if (next)
		run_queue(next);
	return true;
}
