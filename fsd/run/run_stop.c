/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends runs for a reason from outside: a user cancels or removes the job, the server stops,
 * a new server finds the run of a dead one, an accepted job cannot run. Begins the next
 * run of a job with "retry". It also sends signals.
 *
 * All functions run on the loop or in a fiber; run_killed() and run_again() wait.
 * run_found() needs the disk: it blocks before the loop runs, and waits in a fiber.
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

/* Makes a run object for a run of which only the store knows, so that it can be ended. It
 * becomes job->run. Return: NULL without memory. */
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
	/* The job was queued again: drops the events of the earlier try, unless readers may
	 * have seen them (tries). */
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

	if (!run && job->meta.state == JOB_QUEUED) { /* this server has no run for it yet */
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
		return; /* on_again() sees `cancelled` and begins no other run */
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
		on_leaving(job); /* the next server queues it again */
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
 * "retry": if fsd or the machine has failed a run (failed, interrupted), another one
 * follows in another machine, while the job has attempts left. The order of the writes
 * makes a crash at any point harmless:
 *
 *   1. a line in `attempts`: how run N failed
 *   2. meta, with the number N + 1
 *   3. the files of run N are deleted; the next start deletes what a crash left of them
 *
 * The failure may be found with or without the job's lock. The next run begins in a fiber
 * that holds the job (on_again()). So no other fiber removes or kills the job in between,
 * or uses the old run's machine or files.
 */

/* True if another run may follow. A program that has ended by itself, or was cancelled or
 * timed out, is not run again. */
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

	/* The retry follows all the same: it matters more than this line. */
	if (r < 0)
		log_warn("job %s: how attempt %u failed cannot be stored: %s",
			 job->meta.name, job->meta.attempt, strerror(-r));
	return r;
}

/* Makes the next run, which takes the spec of this one. NULL: no memory. */
static struct run *follower(struct run *run)
{
	struct run_spec spec = run->spec;
	struct node *code = spec.code;
	struct run *next;

	run->spec = (struct run_spec){ 0 };
	next = run_new(run->job, &spec, run->number + 1);
	if (code)
		node_unref(code); /* run_new() has taken a reference for the next run */
	return next;
}

/* Makes `next` the job's run, writes meta, and shows readers that the job is queued. */
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
	/* A run of an earlier server has no complete spec: the job is queued without a run,
	 * and submit/restart.c makes one later. If this server ends, run_begin() leaves the
	 * run to the next server. */
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
