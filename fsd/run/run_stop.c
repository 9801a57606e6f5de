/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that end before their program does, or that are only found in the store; and
 * runs that are followed by another one.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "fsd/jobs/job_state.h"
#include "fsd/jobs/leftover.h"
#include "fsd/jobs/statistics.h"
#include "run_adopt.h"
#include "run_int.h"
#include "fsd/users/users.h"

/* Of a run that this daemon knows nothing of but what the store has. */
static struct run *run_found(struct job *job)
{
	struct run *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	run_drop_output(job);
	run->job = job;
	run->d = job->d;
	run->host = run_host_of(job->d, NULL);
	run->number = job->meta.run;
	run->why = RUN_NOT_FAILED;
	run_enter(run, RUN_FOUND);
	run_tree_init(run);
	feed_init(run);
	run_streams_init(run);
	run_record_found(run, store_run_has(job->d->store, job->meta.no,
					    run->number));
	run_queued_since(run, now_ns());
	run_streams_find(run);
	job->run = run;
	/* What was stored of its order before it was queued again is no more. */
	if (job->meta.state == JOB_QUEUED && !job->events &&
	    store_run_reset(job->d->store, job->meta.no, run->number,
			    job->leftover.tries ? ORDER_FILE : NULL) == 0)
		events_state(job);
	events_go_on(job, false);
	return run;
}

void run_kill(struct job *job)
{
	struct run *run = job->run;

	if (!run && job->meta.state == JOB_QUEUED) { /* not taken up yet */
		leftover_done(job);
		run_found(job);
		run = job->run;
	}
	if (!run || (run_is_ending(run) ? run->ending.step == RUN_END_PUBLISH
					: run_has_exit(run)))
		return;
	run->cancelled = true;
	if (run->vm_job.replay)
		run->vm_job.replay->cancelled = 1;
	job_log(job, "cancelled by ctl");
	if (run->ending.step == RUN_END_AGAIN)
		return; /* it ends so, and no other one follows */
	if (run_has_started(run))
		vm_kill(run->lease, WIRE_KILL_ALL, SIGKILL);
	else
		run_finish(run, STATUS_CANCELLED, NULL);
}

int run_killed(struct job *job)
{
	struct run *run = job->run;

	if (!run || job->meta.state != JOB_QUEUED || !run_is_ending(run))
		return 0;
	return run_wait_end(run);
}

static bool has_program(const struct run *run)
{
	return run && run->phase == RUN_STARTED && !run_is_ending(run);
}

int run_signal(struct job *job, unsigned signal)
{
	char room[16];

	if (!has_program(job->run))
		return -ESRCH;
	job_log(job, "signal %s by ctl", signal_name(signal, room));
	vm_kill(job->run->lease, WIRE_KILL_FIRST, signal);
	return 0;
}

int run_interrupt_program(struct job *job)
{
	if (!has_program(job->run))
		return -ESRCH;
	job_log(job, "interrupted by ctl");
	vm_kill(job->run->lease, WIRE_KILL_INTERRUPT, SIGINT);
	return 0;
}

static void on_leaving(struct job *job)
{
	if (job->run)
		run_give_up(take_ptr(job->run));
}

static void on_stays(struct job *job)
{
	struct run *run;

	if (!job_is_frozen(job))
		return;
	node_root_free(job_take_output(job));
	run = run_found(job);
	if (!run)
		return;
	run->cancelled = true;
	job_log(job, "cancelled: it was to be removed");
	run_finish(run, STATUS_CANCELLED, NULL);
}

const struct job_watcher run_watcher = {
	.leaving = on_leaving,
	.stays = on_stays,
};

bool run_is_endless(const struct job *job)
{
	return job->run && job->run->counts.endless;
}

void run_interrupt(struct job *job)
{
	if (!job->run || run_is_ending(job->run))
		return;
	if (job->meta.state == JOB_QUEUED)
		on_leaving(job); /* the next daemon takes it up */
	else
		run_finish(job->run, STATUS_INTERRUPTED,
			   "fsd was stopped before the program had ended");
}

void run_recover(struct job *job)
{
	struct run *run = run_found(job);

	if (!run)
		return;
	run->cancelled = run_was_cancelled(job);
	if (run->cancelled) {
		run_finish(run, STATUS_CANCELLED, NULL);
		return;
	}
	run_enter(run, RUN_LOST);
	run_finish(run, STATUS_INTERRUPTED, RUN_NO_END);
}

void run_reject(struct job *job, const char *message)
{
	struct run *run = run_found(job);

	if (!run)
		return;
	run->final = true;
	run_finish(run, STATUS_FAILED, message);
}

void run_reject_promised(struct job *job, const char *message)
{
	job_unpromise(job);
	job_keep_results(job);
	job_results_hide(job);
	job_begin_unrecorded(job);
	job_posted(job, EV_SUBMIT, job->meta.changed_ns);
	run_reject(job, message);
}

/* --- another run ------------------------------------------------------------ */

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

/* The program's own end is one, and so is what somebody asked for. */
bool run_may_again(const struct run *run, enum job_status status)
{
	const struct job_meta *m = &run->job->meta;

	return (status == STATUS_FAILED || status == STATUS_INTERRUPTED) &&
	       !run_has_exit(run) && !run->cancelled && !run->timed_out &&
	       !run->final && m->attempt && m->attempt <= m->retry;
}

static int record(const struct run *run, enum job_status status,
		  const char *message)
{
	const struct result_attempt attempt = {
		.known = true, .status = status, .message = message,
		.started_ns = run->times.started_real_ns, .ended_ns = realtime_ns(),
	};
	struct job *job = run->job;
	int r = store_attempt_add(run->d->store, job->meta.no, run->number,
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

	if (run->cancelled)
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
	store_run_drop(run->d->store, job->meta.no, number);
	if (run->adopted)
		leftover_add(job);
	run_give_up(run);
	if (next)
		run_queue(next);
	return true;
}
