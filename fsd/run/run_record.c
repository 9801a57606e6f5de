/* SPDX-License-Identifier: Apache-2.0 */
/* That a job is queued, or that it runs, goes on record. */
#include <errno.h>

#include "run_int.h"
#include "fsd/jobs/unstored.h"

/* On the stack of the fiber that waits for it. */
struct step {
	struct depot *depot;
	struct job_meta meta, before;
	unsigned old; /* results that are given up, or 0 */
	bool again;   /* the run was put back */
	bool accepted; /* before is on record, and what is so if this fails */
	bool unclear; /* it may not be */
	bool inputs;  /* they may not be on the disk yet, */
	struct buf unstored; /* and these are not */
	struct events_batch seen; /* by readers, and nowhere on the disk */
};

/* By a thread. Each part is there if the one after it is: an end of the daemon
 * or the host in between leaves the job as it was, or as it is to be. */
static int do_step(void *arg)
{
	struct step *s = arg;
	bool put = false;
	int r = 0;

	if (s->inputs)
		r = depot_sync_inputs(s->depot, s->meta.no, &s->unstored);
	if (r == 0 && s->meta.state == JOB_RUNNING)
		r = depot_run_make(s->depot, s->meta.no, s->meta.run, s->again);
	if (r == 0)
		events_store(s->depot, &s->seen);
	else
		s->seen.result = -ENOENT; /* there is no place for it yet */
	if (r == 0) {
		r = depot_meta_put(s->depot, &s->meta);
		put = r == 0;
	}
	if (r == 0)
		r = depot_meta_sync(s->depot, s->meta.no);
	if (r == 0)
		depot_meta_settle(&s->meta);
	if (r < 0 && put && s->accepted)
		s->unclear = depot_meta_write(s->depot, &s->before) < 0;
	if (r == 0 && s->old)
		depot_run_drop(s->depot, s->meta.no, s->old);
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
		.depot = run->d->depot, .meta = job->meta, .before = job->meta,
		.again = accepted &&
			 (job->tries || run->put_back || run->reset),
		.accepted = accepted,
	};
	int r;

	s.meta.state = state;
	s.meta.changed_ns = realtime_ns();
	if (state == JOB_RUNNING)
		run_tape_begin(run); /* or a record could be found without */
	if (!accepted) {
		s.old = job->meta.run;
		s.inputs = !job->promised;
		run_fill_accepted(run, depot_next_no(s.depot), &s.meta);
	} else if (state == JOB_RUNNING) {
		events_take_seen(job, &s.seen);
	}
	run->recording = state == JOB_RUNNING;
	r = depot_do(run->d->depot, do_step, &s);
	run->recording = false;
	if (s.unstored.len || s.unstored.failed)
		unstored_note(job, &s.unstored);
	buf_done(&s.unstored);
	events_stored(job, &s.seen);
	buf_done(&s.seen.records);
	run->unclear = s.unclear;
	if (r == 0)
		run->recorded_ns = s.meta.changed_ns;
	run->stored |= r == 0 && state == JOB_RUNNING;
	if (r == 0 && !accepted)
		run_fill_accepted(run, s.meta.queued_no, &job->meta);
	return r;
}
