/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles the events of a run's machine: granted, started, output, exited, finished,
 * failed. It also has the timeout, and the reaction to a lost machine or jailer. A guest
 * chooses every number and text in these events, so none of them is trusted.
 *
 * The file writes run->times, run->machine and run->exit. All functions run on the loop
 * and do not wait; on_begin() is a fiber that holds the job.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "fsd/jobs/job_state.h"
#include "fsd/jobs/event_log.h"
#include "run_int.h"
#include "run_network.h"
#include "fsd/jobs/lifecycle.h"

/* Asks the program to end; the kill follows after "grace". In a session only the step is
 * interrupted, since the interpreter must live for the next step. */
static void ask_to_end(struct run *run)
{
	bool is_step = wire_mode_is_step(run->vm_job.wire.mode);

	job_log(run->job, "timeout: %s", is_step ? "interrupted" : "SIGTERM");
	if (is_step)
		vm_kill(run->lease, WIRE_KILL_INTERRUPT, SIGINT);
	else
		vm_kill(run->lease, WIRE_KILL_ALL, SIGTERM);
}

static void on_timer(struct loop_timer *t)
{
	struct run *run = t->arg;
	const struct job_config *c = run->spec.config;

	if (run->vm_job.replay)
		run->vm_job.replay->timed_out = 1;
	if (!run->timed_out && c->grace_ms) {
		run->timed_out = true;
		ask_to_end(run);
		loop_timer_set(run->d->loop, t, c->grace_ms * NS_PER_MS);
		return;
	}
	run->timed_out = true;
	job_log(run->job, "timeout: SIGKILL");
	vm_kill(run->lease, WIRE_KILL_ALL, SIGKILL);
}

#define NOT_STORED "the job's results cannot be stored in the state directory"

/* Logs the start for the operator. run_result.c logs the end. */
static void log_start(const struct run *run)
{
	const struct job_meta *meta = &run->job->meta;
	char id[STORE_ID_SIZE];

	store_id(meta->no, id);
	log_info("job %s/%s of user %u (%s): starts, %s",
		 run->d->options->mountpoint, meta->name, meta->uid, id,
		 run->spec.lang ? run->spec.lang->name : "no language");
}

void run_go(struct run *run)
{
	struct err err = { 0 };

	if (run_network_begin(run, &run_network_hooks, &err) < 0) {
		run_fail(run, VM_FAILED_START, err.text);
		return;
	}
	run_enter(run, RUN_RUNNING);
	if (run->host->stays)
		events_await_pid(run->job);
	vm_run(run->lease, &run->vm_job);
	log_start(run);
	if (run->job->meta.state != JOB_RUNNING)
		job_posted(run->job, EV_GRANT, run->record.at_ns);
}

void run_unsend(struct run *run)
{
	run->lease = NULL;
	if (run_is_sent(run))
		run_enter(run, RUN_GRANTED);
}

static void not_stored(struct run *run, int r)
{
	char message[200];

	log_error("job %s: its results cannot be stored in the state "
		  "directory %s: %s", run->job->meta.name,
		  store_dir(run->d->store), strerror(-r));
	snprintf(message, sizeof(message), NOT_STORED ": %s", strerror(-r));
	run_finish(run, STATUS_FAILED, message);
}

/* Called when the record "running" could not be written; r: why. If the disk is full, the
 * run gives back its machine and is queued again. Return: false: the run must end. */
static bool wait_again(struct run *run, int r)
{
	bool full = r == -ENOSPC || r == -EDQUOT;

	store_note_error(run->d->store, r);
	if (!full || run->host->stays || run->cancelled ||
	    run->why != RUN_NOT_FAILED)
		return false;
	if (!run_is_granted(run))
		return true; /* the run lost its jailer and is queued, as its record
			      * says */
	if (!run_put_back_queued(run))
		return false;
	vm_end(take_ptr(run->lease));
	run_replay_end(run);
	run_enter(run, RUN_QUEUED);
	run_forget_inputs(run);
	lifecycle_post_idle(run->d->lifecycle);
	return true;
}

static void on_begin(void *arg)
{
	struct run *run = arg;
	int r = 0;

	job_hold(run->job);
	/* While the fiber waited for the job, the machine may have gone, and the run may
	 * be queued again, or a second call for another machine may have been faster. */
	if (run->job && !run_is_ending(run) && run_is_granted(run) &&
	    run->lease && run->job->meta.state != JOB_RUNNING)
		r = run_record(run, JOB_RUNNING);
	/* During run_record() the run may have been cancelled, or have lost its
	 * machine. */
	if (run->job && !run_is_ending(run) && r < 0 && !wait_again(run, r))
		not_stored(run, r);
	else if (run->job && !run_is_ending(run) && r == 0 &&
		 run->phase == RUN_GRANTED && run->lease)
		run_go(run);
	jobs_let_go();
	run_let_go(run);
}

void run_queued_since(struct run *run, uint64_t at_ns)
{
	run->times.queued_ns = at_ns;
}

void run_granted_since(struct run *run, uint64_t at_ns)
{
	run->times.granted_ns = at_ns;
}

static void note_machine(struct run *run)
{
	struct vm_lease_info info;

	vm_lease_info(run->lease, &info);
	run->machine.source = vm_source_names[info.source];
	run->machine.accel = vm_accel_names[info.accel];
	snprintf(run->machine.template_id, sizeof(run->machine.template_id), "%s",
		 info.template_id ? info.template_id : "");
}

void run_begin(struct run *run, struct vm_lease *lease)
{
	struct fsd *d = run->d;

	run->lease = lease;
	vm_hear(lease, &run_events, run);
	/* This server ends, and the next one runs the job. A run that had a machine
	 * already is completed first: the server waits for it. */
	if (!lifecycle_begins_runs(d->lifecycle) && !run_is_granted(run))
		return;
	note_machine(run);
	run_granted_since(run, now_ns());
	if (!run_is_granted(run)) /* it has one: this is the second machine, the first
				   * died */
		run_enter(run, run_is_accepted(run) ? RUN_GRANTED : RUN_EARLY);
	if (!run_is_accepted(run))
		return; /* start.c begins the run when it is accepted */
	run_hold(run);
	fiber_run(on_begin, run);
}

static void on_granted(void *arg)
{
	struct run *run = arg;

	run_begin(run, run->lease);
}

static int on_open_input(void *arg, unsigned i)
{
	return run_open_input(arg, i);
}

static void on_input_read(void *arg, uint64_t bytes)
{
	feed_read(arg, bytes);
}

static void on_input_closed(void *arg)
{
	feed_closed(arg);
}

void run_started(struct run *run, uint64_t at_ns, uint64_t at_real_ns)
{
	const struct job_config *c = run->spec.config;
	uint64_t limit = c->timeout_ms + (run->timed_out ? c->grace_ms : 0);
	uint64_t since = now_ns() - at_ns;

	run_enter(run, RUN_STARTED);
	note_machine(run); /* again: vm may have replaced a machine that was dead */
	run->times.started_ns = at_ns;
	run->times.started_real_ns = at_real_ns;
	run->timer.fn = on_timer;
	run->timer.arg = run;
	if (!c->timeout_ms)
		return; /* no timeout: it may run until its sandbox ends */
	limit *= NS_PER_MS;
	loop_timer_set(run->d->loop, &run->timer, limit - MIN(since, limit));
}

static void on_started(void *arg, uint32_t pid)
{
	struct run *run = arg;
	struct vm_replay *t = run->vm_job.replay;

	if (!run_has_started(run))
		run_started(run, now_ns(), realtime_ns());
	if (run->job)
		events_started(run->job, pid);
	if (run->job)
		run_forget_tries(run->job);
	if (t) {
		t->started_real_ns = run->times.started_real_ns;
		t->pid = pid;
		/* last: a started_ns says that the two fields above are set */
		__atomic_store_n(&t->started_ns, run->times.started_ns,
				 __ATOMIC_RELEASE);
	}
	run_sent_inputs(run);
}

static int on_output(void *arg, enum vm_stream stream, const void *data,
		     size_t len)
{
	return stream == VM_RESULT ? output_queue_result(arg, data, len)
				   : output_queue_output(arg, stream, data, len);
}

/* Corrects the start. STARTED may come late, for a short program together with EXITED.
 * The guest's own measurement is used if it fits between our times. */
static void correct_start(struct run *run, uint64_t wall_ns)
{
	struct run_times *t = &run->times;
	uint64_t late;

	if (!run_has_started(run) || wall_ns >= t->exited_ns - t->granted_ns ||
	    t->exited_ns - wall_ns >= t->started_ns)
		return;
	late = t->started_ns - (t->exited_ns - wall_ns);
	t->started_ns -= late;
	t->started_real_ns -= late;
}

static void on_exited(void *arg, const struct wire_exit *e)
{
	struct run *run = arg;

	loop_timer_del(&run->timer);
	run_enter(run, RUN_ENDED);
	run->exit = *e;
	run->times.exited_ns = now_ns();
	correct_start(run, e->wall_ns);
	output_queue_exited(run, e);
	run_network_exited(run);
	if (e->left)
		job_log(run->job, "%" PRIu32 " process%s of the program still "
			"ran after its end and %s killed; \"linger\" is %g s",
			e->left, e->left == 1 ? "" : "es",
			e->left == 1 ? "was" : "were",
			(double)run->spec.config->linger_ms / 1000);
}

/* Divides a number that the guest has sent, which can be any value. A value above
 * INT64_MAX counts as unknown: some JSON readers cannot represent it. */
static uint64_t scaled(uint64_t value, uint64_t divisor)
{
	return value > INT64_MAX ? RESULT_UNKNOWN : value / divisor;
}

void run_fill_usage(const struct run *run, struct job_result *res)
{
	const struct wire_exit *e = &run->exit;

	res->wall_ms = res->user_ms = res->system_ms = RESULT_UNKNOWN;
	res->peak_memory_bytes = res->peak_processes = RESULT_UNKNOWN;
	if (!run_has_exit(run))
		return;
	res->wall_ms = scaled(e->wall_ns, NS_PER_MS);
	res->user_ms = scaled(e->user_us, 1000);
	res->system_ms = scaled(e->system_us, 1000);
	res->peak_memory_bytes = scaled(e->peak_memory_bytes, 1);
	res->peak_processes = scaled(e->peak_processes, 1);
}

static int on_file(void *arg, uint32_t kind, uint32_t mode, uint64_t size,
		   const char *path, const char *target)
{
	return output_queue_file(arg, kind, mode, size, path, target);
}

static int on_file_data(void *arg, const void *data, size_t len)
{
	return output_queue_data(arg, data, len);
}

static void on_file_time(void *arg, struct wire_time mtime)
{
	output_queue_time(arg, mtime);
}

static int on_file_end(void *arg)
{
	return output_queue_end(arg);
}

static bool on_behind(void *arg)
{
	return output_queue_checkpoint(arg);
}

static enum job_status status_of(const struct run *run)
{
	const struct wire_exit *e = &run->exit;
	bool killed = e->kind == WIRE_EXIT_SIGNAL && e->value == SIGKILL;

	if (run->cancelled && killed)
		return STATUS_CANCELLED;
	/* `unasked`: the program had ended by itself before the timeout killed its
	 * lingering processes. A step is interrupted without KILL_ALL, so for a step
	 * `unasked` is always set and says nothing. */
	if (run->timed_out &&
	    (!e->unasked || wire_mode_is_step(run->vm_job.wire.mode)))
		return STATUS_TIMEOUT;
	if (killed && e->oom_kills && e->oom_kills != WIRE_UNKNOWN)
		return STATUS_OUT_OF_MEMORY;
	return e->kind == WIRE_EXIT_CODE ? STATUS_EXITED : STATUS_SIGNALED;
}

static void complete(struct run *run)
{
	run_finish(run, status_of(run), NULL);
}

static void broke(struct run *run, const char *sentence)
{
	run_fail(run, VM_FAILED_LOST, sentence);
}

const struct run_network_hooks run_network_hooks = {
	.complete = complete, .broke = broke,
};

static void on_finished(void *arg, uint32_t files, uint32_t left_out)
{
	struct run *run = arg;

	(void)files;
	run_guest_left_out(run, left_out);
	run_enter(run, RUN_COMPLETE);
	if (!run_network_waits(run))
		complete(run);
}

static void on_failed(void *arg, enum vm_failure why, const char *sentence)
{
	struct run *run = arg;

	if (why == VM_FAILED_LOST && run->host->put_off(run, sentence))
		return;
	run_fail(run, why, sentence);
}

static void on_waits(void *arg, const char *sentence)
{
	const struct run *run = arg;

	job_log(run->job, "waits until machines can be had again: %s",
		sentence);
}

static void on_making(void *arg, const char *sentence)
{
	struct run *run = arg;

	if (run->environment.of)
		run_tell_making(run, sentence);
	else
		job_log(run->job, "waits for the template: %s", sentence);
}

/* True if no server can begin a run that lost its jailer. If the record says "running",
 * or may say it, only a new server can begin the run; it needs the replay buffer, which
 * says that the program has not begun. */
static bool is_lost(const struct run *run)
{
	const struct vm_replay *t = run->vm_job.replay;
	bool recorded = t || run->record.writes ||
			run->job->meta.state == JOB_RUNNING;

	return run->host->stays ||
	       (recorded && (!t || lifecycle_is_stopping(run->d->lifecycle)));
}

/* Sets the phase of a run that lost its jailer. recorded: the record says "running", or
 * may say it. */
static void strand(struct run *run, bool recorded)
{
	bool accepted = run_is_accepted(run);

	if (recorded)
		run_enter(run, accepted ? RUN_LOST_JAILER : RUN_EARLY_LOST_JAILER);
	else
		run_enter(run, accepted ? RUN_QUEUED : RUN_NEW);
}

static void on_lost_jailer(void *arg)
{
	struct run *run = arg;
	struct vm_replay *t = run->vm_job.replay;

	if (!run_is_granted(run) || run_is_ending(run)) /* the run waits: its record is
							 * right */
		return;
	if (is_lost(run)) {
		run_fail(run, VM_FAILED_START, "the jailer has ended");
		return;
	}
	if (t) { /* RUN may have been queued, but no machine got it */
		t->begin_tries = run->job->leftover.tries + 1;
		t->spoiled = 0;
	}
	strand(run, t);
	lifecycle_post_idle(run->d->lifecycle);
}

void run_stop_without_jailer(struct job *job)
{
	struct run *run = job->run;

	if (!run || run->phase != RUN_LOST_JAILER || run_is_ending(run))
		return;
	run_enter(run, RUN_GRANTED);
	run_fail(run, VM_FAILED_START, "the jailer has ended");
}

void run_fail(struct run *run, enum vm_failure why, const char *sentence)
{
	char message[600];

	if (run_is_ending(run)) /* the end is decided: later failures do not change it */
		return;
	if (!run_is_accepted(run)) { /* run_fail_accepted() ends it later */
		run->why = why;
		snprintf(run->end.message, sizeof(run->end.message), "%s",
			 sentence);
		return;
	}
	if (run->phase == RUN_COMPLETE) { /* only the network was waited for */
		complete(run);
		return;
	}
	if (why != VM_FAILED_LOST && why != VM_FAILED_GUEST && run->host->retry(run))
		return;
	if (run_has_exit(run)) { /* the outcome is known; some output may be missing */
		snprintf(message, sizeof(message),
			 "the output tree is incomplete: %s", sentence);
		run_finish(run, status_of(run), message);
		return;
	}
	snprintf(message, sizeof(message), "%s: %s",
		 why == VM_FAILED_LOST ? "the program's outcome is unknown"
				       : "the program never ran",
		 sentence);
	/* If a user or the timeout had asked for the end, that is the status, also if
	 * the machine went silent. */
	run_finish(run, run->cancelled	 ? STATUS_CANCELLED
			: run->timed_out ? STATUS_TIMEOUT
			: run->adopted	 ? STATUS_INTERRUPTED
					 : STATUS_FAILED,
		   message);
}

void run_fail_accepted(struct run *run)
{
	char why[sizeof(run->end.message)];

	snprintf(why, sizeof(why), "%s", run->end.message);
	if (run->why == RUN_FAILED_UNASKED)
		run_no_machine(run, why);
	else
		run_fail(run, run->why, why);
}

const struct vm_events run_events = {
	.granted = on_granted,
	.open_input = on_open_input,
	.input_read = on_input_read,
	.input_closed = on_input_closed,
	.started = on_started,
	.output = on_output,
	.exited = on_exited,
	.file = on_file,
	.file_data = on_file_data,
	.file_time = on_file_time,
	.file_end = on_file_end,
	.behind = on_behind,
	.finished = on_finished,
	.failed = on_failed,
	.making = on_making,
	.waits = on_waits,
	.lost_jailer = on_lost_jailer,
};
