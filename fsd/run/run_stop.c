/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that end before their program does, or that are only found in the store. */
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

#include "fsd/jobs/event.h"
#include "fsd/jobs/leftover.h"
#include "run_adopt.h"
#include "run_int.h"
#include "fsd/users/people.h"

/* Twice, if that is what it takes: a made-up zero would stay for ever. */
uint64_t run_found_size(const struct job *job, enum vm_stream stream)
{
	struct stat st;
	int r = -EIO;

	for (int i = 0; i < 2 && r < 0 && r != -ENOENT; i++)
		r = depot_run_stat(job->d->depot, job->meta.no, job->meta.run,
				   run_stream_names[stream], &st);
	if (r < 0)
		return r == -ENOENT ? 0 : RESULT_UNKNOWN;
	return (uint64_t)st.st_size;
}

void run_drop_output(struct job *job)
{
	/* Nobody knows which of its files came whole. */
	depot_output_drop(job->d->depot, job->meta.no, job->meta.run);
	job_output_find(job);
	quota_run_recount(&job->file_owner);
	quota_unpublish(&job->file_owner);
}

/* Of a run that this daemon knows nothing of but what the store has. */
static struct run *run_found(struct job *job)
{
	struct run *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	run_drop_output(job);
	run->job = job;
	run->d = job->d;
	run->number = job->meta.run;
	run->why = RUN_NOT_FAILED;
	run_enter(run, RUN_FOUND);
	run->file_fd = run->feed_in = -1;
	for (int s = 0; s < VM_STREAM_MAX; s++)
		run->stream[s].fd = -1;
	run->stored = depot_run_has(job->d->depot, job->meta.no, run->number);
	run->queued_ns = now_ns();
	run->stream[VM_OUT].size = run_found_size(job, VM_OUT);
	run->stream[VM_ERR].size = run_found_size(job, VM_ERR);
	job->run = run;
	/* What was stored of its order before it was queued again is no more. */
	if (job->meta.state == JOB_QUEUED && !job->events &&
	    depot_run_reset(job->d->depot, job->meta.no, run->number,
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
	if (run->vm_job.tape)
		run->vm_job.tape->cancelled = 1;
	job_log(job, "cancelled by ctl");
	if (run->ending.step == RUN_END_AGAIN)
		return; /* it ends so, and no other one follows */
	if (run->ending.step == RUN_END_RETRY)
		run_cancel_unended(run);
	else if (run_has_started(run))
		vm_kill(run->lease, WIRE_KILL_ALL, SIGKILL);
	else
		run_finish(run, STATUS_CANCELLED, NULL);
}

int run_killed(struct job *job)
{
	struct run *run = job->run;
	int r;

	if (!run || job->meta.state != JOB_QUEUED || !run_is_ending(run) ||
	    run->end.waiter || !fiber_self())
		return 0;
	run_hold(run);
	run->end.waiter = fiber_self();
	jobs_let_go();
	fiber_pause();
	r = run->end.waits ? run->end.result : 0;
	run_let_go(run);
	return r;
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

void run_give_up(struct run *run)
{
	if (!run->busy) {
		run_free(run);
		return;
	}
	loop_timer_del(&run->timer);
	run_leave(run);
	run_unprepare(run);
	sched_leave(&run->slot);
	run->job = NULL; /* who is at it frees it */
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

void run_lose_input(struct job *job)
{
	struct run *run = job->run;
	char why[160];

	if (!run || run_has_started(run) || run_has_exit(run) ||
	    run_is_ending(run))
		return;
	snprintf(why, sizeof(why), "inputs were removed before it began, and "
		 "no more than %llu that are open or waited for can be held "
		 "for one user",
		 (unsigned long long)users_open_most(job->d->users));
	run->final = true;
	run_finish(run, STATUS_FAILED, why);
}

void run_reject_promised(struct job *job, const char *message)
{
	job_unpromise(job);
	job_keep_results(job);
	job_results_hide(job);
	job_begin_unrecorded(job);
	job_posted(job, EV_COMMIT, job->meta.changed_ns);
	run_reject(job, message);
}
