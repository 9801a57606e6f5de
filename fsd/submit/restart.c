/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes up the jobs that an earlier server has not finished, in this order: runs,
 * drafts, then queued and refused jobs, then directories to tidy.
 *
 * restart_jobs() runs on the loop before the mount answers. take_up() runs on the loop in
 * time slices while the mount serves. tidy_all() is one fiber: store_do() removes
 * leftovers on a thread for the disk.
 */
#include "restart.h"

#include <string.h>

#include "submit.h"
#include "draft.h"
#include "fsd/jobs/held.h"
#include "fsd/jobs/leftover.h"
#include "fsd/living/sandbox_adopt.h"
#include "fsd/run/run_adopt.h"
#include "fsd/jobs/unloaded_jobs.h"
#include "submit_state_int.h"
#include "fsd/jobs/lifecycle.h"

/* Time for taking up jobs before the mount answers: enough to use every machine. */
#define FIRST_NS (5 * NS_PER_MS)

struct found {
	struct fsd *d;
	struct sorted_ids running, drafts;
};

static void on_found(void *arg, const struct job_meta *m)
{
	struct found *f = arg;
	struct job *held = m->held ? job_by_no(f->d, m->no) : NULL;

	if (held && held_found(held))
		return;
	retain_found(f->d, m);

	if (m->state == JOB_RUNNING)
		leftover_enlist(&f->running, m);
	if (draft_is_due(m))
		leftover_enlist(&f->drafts, m);
	leftover_list(f->d, m); /* lists refused jobs, too: they need their sentence */
}

/* Takes up the runs that may have begun: each is adopted, ends, or is queued for a
 * retry. */
static void recover(struct fsd *d, struct sorted_ids *running)
{
	uint64_t no;

	while ((no = sorted_ids_next(running))) {
		struct job *job = job_by_no(d, no);

		if (!job || run_adopt(job))
			continue;
		if (!run_put_back(job))
			run_recover(job);
		leftover_found(job);
		if (job->leftover.left)
			leftover_list(d, &job->meta);
	}
}

/* Drafts whose timer was armed when the previous server died: arms it again. */
static void recover_drafts(struct fsd *d, struct sorted_ids *drafts)
{
	struct job *job;
	uint64_t no;

	while ((no = sorted_ids_next(drafts))) {
		job = job_by_no(d, no);
		if (job)
			draft_changed(job);
	}
}

/* Takes up a queued or refused job. Return: true if the next jobs must wait until this one
 * is examined. */
static bool restart_one(struct job *job)
{
	if (job->meta.state == JOB_QUEUED && submit_restart(job))
		return true;
	leftover_done(job);
	if (job->meta.state == JOB_REFUSED)
		submit_refuse_again(job);
	return false;
}

static void tidy_begin(struct fsd *d);

static void restart_held(struct job *job)
{
	if (!job->removed && job->leftover.left)
		restart_one(job);
}

/* Called by the time slices of leftover_init(). */
static bool take_up(struct fsd *d, uint64_t until)
{
	uint64_t no;

	/* Draining does not matter: these jobs were accepted. */
	while (!lifecycle_is_stopping(d->lifecycle) && (no = leftover_next(d))) {
		struct job *job = job_by_no(d, no);

		/* In a fiber, or while another fiber holds the job, take its lock
		 * first. */
		if (job && job->leftover.left &&
		    (fiber_self() || !fiber_lock_is_free(&job->lock)))
			job_start(job, restart_held);
		else if (job && job->leftover.left && restart_one(job))
			return false; /* leftover_go_on() continues when its files are
				       * loaded */
		if (now_ns() >= until)
			return true;
	}
	if (!lifecycle_is_stopping(d->lifecycle))
		tidy_begin(d);
	return false;
}

/* --- tidying directories ------------------------------------------------------- */

/* The argument of a task, on the stack of the fiber that waits. */
struct tidy {
	struct store *store;
	uint64_t no;
	unsigned run;
	bool sink;
	uint64_t queued_no; /* number of the unfinished submission, or 0 */
};

static int do_tidy(void *arg)
{
	const struct tidy *t = arg;

	return store_tidy(t->store, t->no, t->run, t->sink, t->queued_no);
}

static void tidy_up(struct job *job)
{
	struct tidy t = { .store = job->d->store, .no = job->meta.no };
	int r;

	job_hold(job);
	t.run = job->meta.run;
	t.sink = job->results.sink;
	t.queued_no = job_is_frozen(job) ? job->meta.queued_no : 0;
	r = job->removed ? 0 : store_do(t.store, do_tidy, &t);
	if (r < 0)
		log_warn("job %s: its directory cannot be tidied up: %s",
			 job->meta.name, strerror(-r));
	jobs_let_go();
}

static void tidy_all(void *arg)
{
	struct fsd *d = arg;
	struct list_cursor cursor = { 0 };
	struct list *pos;

	if (!fiber_self())
		return; /* out of memory: the next start tidies */
	jobs_walk(&cursor, d);
	while (!jobs_ended(d) && lifecycle_begins_runs(d->lifecycle) &&
	       (pos = list_cursor_next(&cursor)))
		tidy_up(list_entry(pos, struct job, all));
	if (!jobs_ended(d))
		list_cursor_end(&cursor);
}

static bool on_tidy(struct time_slice *t, uint64_t until)
{
	struct fsd *d = container_of(t, struct submit, tidy)->d;

	(void)until;
	if (jobs_ended(d) || lifecycle_is_stopping(d->lifecycle))
		return false;
	if (!unloaded_is_empty(d))
		return true; /* jobs are still being loaded, in time slices */
	fiber_run(tidy_all, d);
	return false;
}

static void tidy_begin(struct fsd *d)
{
	struct time_slice *tidy = &d->submit->tidy;

	if (tidy->work)
		return;
	tidy->work = on_tidy;
	time_slice_later(&d->slices, tidy);
}

/* --- together ------------------------------------------------------------------ */

void restart_examine(struct job *job)
{
	/* A fiber that holds the job's lock is about to change its state. */
	if (!job->leftover.left || job->meta.state != JOB_REFUSED ||
	    !fiber_lock_is_free(&job->lock))
		return;
	job_hold(job);
	restart_one(job);
}

void restart_jobs(struct fsd *d)
{
	struct found f = { .d = d };

	leftover_init(d, take_up);
	/* Some jobs are loaded already: open files needed them. */
	list_for_each(pos, tmp, jobs_all(d))
		on_found(&f, &list_entry(pos, struct job, all)->meta);
	unloaded_each(d, on_found, &f);
	unloaded_empty(d);
	recover(d, &f.running);
	recover_drafts(d, &f.drafts);
	sandboxes_adopted(d);
	run_adopted(d);
	retain_begin(d);
	leftover_begin(d, now_ns() + FIRST_NS);
}
