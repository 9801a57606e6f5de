/* SPDX-License-Identifier: Apache-2.0 */
#include "resume.h"

#include <string.h>

#include "commit.h"
#include "run.h"

/* Before the mount answers; few have more to take up than fits in. */
#define FIRST_NS (20 * NS_PER_MS)

static uint64_t by_acceptance(const struct job *job)
{
	return job->meta.queued_no;
}

static void enlist(struct fsd *d, enum job_state state)
{
	size_t count;
	auto_free struct job **jobs =
		jobs_sorted(d, state, by_acceptance, &count);

	if (!jobs) {
		log_error("no memory to take up the jobs that are %s; the next "
			  "start does", state_name(state));
		return;
	}
	for (size_t i = 0; i < count; i++)
		list_add_tail(&d->resuming, &jobs[i]->resume);
}

/* The first one of the list. Return: true if the rest has to wait for it. */
static bool resume_first(struct job *job)
{
	list_del(&job->resume);
	if (job->meta.state == JOB_QUEUED)
		return commit_resume(job);
	if (job->meta.state == JOB_REFUSED)
		commit_evaluate(job, false);
	return false;
}

static void tidy_begin(struct fsd *d);

static bool on_turn(struct turn *t, uint64_t until)
{
	struct fsd *d = container_of(t, struct fsd, resume);
	struct job *job;

	/* Drained or not: it was accepted. */
	while (!d->stopping &&
	       (job = list_first(&d->resuming, struct job, resume))) {
		if (resume_first(job))
			return false; /* resume_go_on() */
		if (now_ns() >= until)
			return true;
	}
	if (list_empty(&d->resuming))
		tidy_begin(d);
	return false;
}

/* --- what lies about ---------------------------------------------------------- */

static bool on_tidy(struct turn *t, uint64_t until)
{
	struct fsd *d = container_of(t, struct fsd, tidy);
	struct list *pos;

	while (d->jobs && !d->stopping && (pos = walk_next(&d->tidy_at))) {
		const struct job *job = list_entry(pos, struct job, all);
		int r = depot_tidy(d->depot, job->meta.no, job->meta.run,
				   job->sink);

		if (r < 0)
			log_warn("job %s: its directory cannot be tidied up: "
				 "%s", job->meta.name, strerror(-r));
		if (now_ns() >= until)
			return true;
	}
	if (d->jobs)
		walk_end(&d->tidy_at);
	return false;
}

static void tidy_begin(struct fsd *d)
{
	if (d->tidy.work)
		return;
	d->tidy.work = on_tidy;
	jobs_walk(&d->tidy_at, d);
	turn_begin(&d->turns, &d->tidy);
}

/* --- together ------------------------------------------------------------------ */

void resume_go_on(struct fsd *d)
{
	turn_stop(&d->resume);
	d->resume.work = on_turn;
	if (!list_empty(&d->resuming))
		turn_begin(&d->turns, &d->resume);
}

void resume_look(struct job *job)
{
	if (list_empty(&job->resume) || job->meta.state != JOB_REFUSED)
		return;
	resume_first(job);
}

void resume_jobs(struct fsd *d)
{
	list_for_each(pos, tmp, jobs_all(d)) {
		struct job *job = list_entry(pos, struct job, all);

		if (job->meta.state == JOB_RUNNING)
			run_recover(job);
	}
	retain_begin(d);
	enlist(d, JOB_QUEUED);
	enlist(d, JOB_REFUSED); /* says why again, or starts */
	if (on_turn(&d->resume, now_ns() + FIRST_NS))
		resume_go_on(d);
}
