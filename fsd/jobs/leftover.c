/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of jobs to be taken up. A run that fails after a takeover adds its job here,
 * because only submit can examine the job's files, and run is below submit.
 */
#include "leftover.h"

#include "jobs_int.h"

void leftover_enlist(struct sorted_ids *list, const struct job_meta *m)
{
	if (sorted_ids_add(list, m->queued_no, m->no) < 0)
		log_error("job %s: no memory to take it up; the next start "
			  "does", m->name);
}

void leftover_list(struct fsd *d, const struct job_meta *m)
{
	struct leftovers *l = &d->jobs->leftovers;

	if (m->state == JOB_QUEUED)
		leftover_enlist(&l->queued, m);
	if (m->state == JOB_REFUSED)
		leftover_enlist(&l->refused, m);
}

uint64_t leftover_next(struct fsd *d)
{
	struct leftovers *l = &d->jobs->leftovers;
	uint64_t no = sorted_ids_next(&l->queued);

	return no ? no : sorted_ids_next(&l->refused);
}

static bool on_slice(struct time_slice *t, uint64_t until)
{
	struct jobs *jobs = container_of(t, struct jobs, leftovers.slice);

	return jobs->leftovers.take_up(jobs->d, until);
}

void leftover_init(struct fsd *d, bool (*take_up)(struct fsd *d, uint64_t until))
{
	d->jobs->leftovers.take_up = take_up;
	d->jobs->leftovers.slice.work = on_slice;
}

void leftover_begin(struct fsd *d, uint64_t until)
{
	struct leftovers *l = &d->jobs->leftovers;

	sorted_ids_sort(&l->queued);
	sorted_ids_sort(&l->refused);
	if (l->take_up(d, until))
		leftover_go_on(d);
}

void leftover_go_on(struct fsd *d)
{
	struct time_slice *slice = &d->jobs->leftovers.slice;

	time_slice_stop(slice);
	time_slice_begin(&d->slices, slice);
}

void leftovers_end(struct leftovers *l)
{
	sorted_ids_done(&l->queued);
	sorted_ids_done(&l->refused);
}

void leftover_found(struct job *job)
{
	job->leftover.left = job->meta.state == JOB_QUEUED ||
			     job->meta.state == JOB_REFUSED;
}

void leftover_loaded(struct job *job)
{
	job->leftover.cold = true;
	leftover_found(job);
}

void leftover_seen(struct job *job)
{
	job->leftover.cold = false;
}

void leftover_done(struct job *job)
{
	job->leftover.left = false;
}

void leftover_retry(struct job *job, unsigned tries, uint64_t queued_ns)
{
	job->leftover.tries = tries;
	job->leftover.queued_ns = queued_ns;
	job_keep(job);
}

void leftover_forget_wait(struct job *job)
{
	job->leftover.queued_ns = 0;
}

void leftover_add(struct job *job)
{
	job->leftover.left = true;
	leftover_enlist(&job->d->jobs->leftovers.queued, &job->meta);
	leftover_go_on(job->d);
}
