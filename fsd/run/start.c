/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accepts a run: writes the record "queued", and then gives the run to its job. If a
 * machine is free at that moment, only the record "running" is written. If the machine
 * comes later, run_events.c writes "running" then.
 *
 * The file writes run->record. do_step() runs on a thread for the disk and writes a record
 * in an order that a crash at any point leaves valid. The rest runs in a fiber that holds
 * the job.
 */
#include <errno.h>
#include <string.h>

#include "fsd/jobs/job_state.h"
#include "fsd/jobs/event_log.h"
#include "fsd/jobs/leftover.h"
#include "fsd/jobs/statistics.h"
#include "fsd/jobs/unsynced_inputs.h"
#include "run_int.h"

/* --- the record ------------------------------------------------------------- */

/* The argument of do_step(), on the stack of the fiber that waits for it. */
struct step {
	struct store *store;
	struct job_meta meta, before;
	unsigned old; /* the run whose results are dropped, or 0 */
	bool again;   /* rN/ exists: an earlier try of the run has made it */
	bool accepted; /* `before` is on the disk; it is restored on an error */
	bool inputs;  /* sync the inputs first */
	struct buf unsynced; /* the inputs whose fsync failed */
	struct events_batch seen; /* events that readers have seen and no file has */
};

/* Writes the record and all that it depends on. On a thread. Each part is on the disk
 * before the next one is written. So if the server or the host dies in between, the job
 * is as before, or as after all of them. */
static int do_step(void *arg)
{
	struct step *s = arg;
	int r = 0;

	if (s->inputs)
		r = store_sync_inputs(s->store, s->meta.no, &s->unsynced);
	if (r == 0 && s->meta.state == JOB_RUNNING)
		r = store_run_make(s->store, s->meta.no, s->meta.run, s->again);
	if (r == 0)
		events_store(s->store, &s->seen);
	else
		s->seen.result = -ENOENT; /* not stored: rN/ may not exist */
	if (r == 0)
		r = store_meta_commit(s->store, &s->meta);
	if (r < 0 && s->accepted)
		store_meta_write(s->store, &s->before);
	if (r == 0 && s->old)
		store_run_drop(s->store, s->meta.no, s->old);
	return r;
}

void run_fill_accepted(const struct run *run, uint64_t queued_no,
		       struct job_meta *m)
{
	const struct job_config *c = run->spec.config;

	m->run = run->number;
	m->attempt = 1;
	m->retry = (unsigned)c->retry;
	m->retain_s = (uint32_t)c->retain_s;
	m->queued_no = queued_no;
	m->ended_ns = 0;
}

int run_record(struct run *run, enum job_state state)
{
	struct job *job = run->job;
	bool accepted = run_is_accepted(run);
	struct step s = {
		.store = run->d->store, .meta = job->meta, .before = job->meta,
		.again = accepted &&
			 (job->leftover.tries || run->queue.put_back ||
			  run->record.reset),
		.accepted = accepted,
	};
	int r;

	s.meta.state = state;
	s.meta.changed_ns = realtime_ns();
	if (state == JOB_RUNNING)
		run_replay_begin(run); /* before the record: the next server needs both */
	if (!accepted) {
		s.old = job->meta.run;
		s.inputs = !job->accept.promised;
		run_fill_accepted(run, store_next_no(s.store), &s.meta);
	} else if (state == JOB_RUNNING) {
		events_take_seen(job, &s.seen);
	}
	run->record.writes = state == JOB_RUNNING;
	r = store_do(run->d->store, do_step, &s);
	run->record.writes = false;
	if (s.unsynced.len || s.unsynced.failed)
		unsynced_note(job, &s.unsynced);
	buf_done(&s.unsynced);
	events_stored(job, &s.seen);
	buf_done(&s.seen.records);
	if (r == 0)
		run->record.at_ns = s.meta.changed_ns;
	run->record.stored |= r == 0 && state == JOB_RUNNING;
	if (r == 0 && !accepted)
		job_take_accepted(job, &s.meta);
	return r;
}

void run_record_found(struct run *run, bool stored)
{
	run->record.stored = stored;
}

/* --- the start -------------------------------------------------------------- */

/* Handles the machine, or the failure, that the run got before it was accepted. */
static void go_on(struct run *run)
{
	if (run->why != RUN_NOT_FAILED)
		run_fail_accepted(run);
	else if (run->phase == RUN_GRANTED && run->record.stored)
		run_go(run);
	else if (run->phase == RUN_GRANTED)
		run_begin(run, run->lease);
}

/* Accepts the run although its record cannot be written: close(2) has reported the job as
 * accepted, and an earlier record says "queued". That is enough: a new server reads the
 * missing fields from config.json. Later records of the run wait for the disk. */
static void accept_promised(struct run *run)
{
	struct job *job = run->job;

	store_run_drop(run->d->store, job->meta.no, job->meta.run);
	run_fill_accepted(run, store_next_no(run->d->store), &job->meta);
	run->record.at_ns = job->meta.changed_ns;
}

/* An idle machine is leased after at most so many rounds of the loop. */
#define AT_HAND 3

static int accept_run(struct run *run, struct err *err)
{
	struct job *job = run->job;
	unsigned old_attempts = job->meta.attempt;
	int r;

	/* Waits for an idle machine: then one record takes the place of two. */
	for (int i = 0; i < AT_HAND && fiber_self() && run->lease &&
			run->phase == RUN_NEW && run->why == RUN_NOT_FAILED;
	     i++)
		fiber_breathe();
	job_keep_results(job);
	run_forget_tries(job);
	r = run_record(run, run->phase == RUN_EARLY &&
					    run->why == RUN_NOT_FAILED
				    ? JOB_RUNNING : JOB_QUEUED);
	if (r < 0 && job->accept.promised) { /* an earlier record, with fewer fields, says
					      * "queued" */
		accept_promised(run);
		r = 0;
	}
	if (r < 0)
		return err_sys(err, r,
			       "the job cannot be queued in the state "
			       "directory %s", store_dir(run->d->store));
	leftover_forget_wait(job);
	job_results_hide(job);
	if (old_attempts > 1)
		store_attempts_drop(job->d->store, job->meta.no);
	job_set_error(job, NULL); /* may wait, so before job->run is set */
	job_unpromise(job);
	job->run = run;
	statistics_accepted(job->d);
	r = job_posted(job, EV_SUBMIT, run->record.at_ns);
	/* no call waits from here to go_on() */
	run_enter(run, run_phase_accepted(run->phase));
	return r;
}

/* Takes up a run that an earlier server has accepted and recorded. */
static int take_up(struct run *run)
{
	struct job_meta *m = &run->job->meta;

	run->record.reset = run_reset(run) == 0;
	if (!run->record.reset) /* store_run_make() deletes the files later, or fails */
		log_warn("job %s: what a server before has left of its run "
			 "cannot be removed yet", m->name);
	if (run->job->leftover.queued_ns)
		run_queued_since(run, run->job->leftover.queued_ns);
	job_take_limits(run->job, run->spec.config);
	run->job->run = run;
	run_enter(run, run_phase_accepted(run->phase));
	events_state(run->job);
	return 0;
}

int run_start(struct job *job, struct run_spec *spec, struct err *err)
{
	bool queued = job->meta.state == JOB_QUEUED;
	struct run *run = run_new(job, spec, job->meta.run + !queued);
	int more, r;

	if (!run)
		return err_sys(err, -ENOMEM, "the job cannot be queued");
	more = run_ask(run, err);
	r = MIN(more, 0);
	run_hold(run);
	if (r == 0)
		r = queued ? take_up(run) : accept_run(run, err);
	if (r < 0) {
		run_give_up(run);
		run_let_go(run);
		return r;
	}
	if (more)
		run_collect_later(run);
	run->host->tell(run);
	go_on(run);
	run_let_go(run);
	return 0;
}
