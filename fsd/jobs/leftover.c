/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of jobs to be taken up. A run that fails after a takeover adds its job here,
 * because only submit can examine the job's files, and run is below submit.
 */
#include "leftover.h"

void leftover_enlist(struct order *list, const struct job_meta *m)
{
	if (order_add(list, m->queued_no, m->no) < 0)
		log_error("job %s: no memory to take it up; the next start "
			  "does", m->name);
}

void leftover_go_on(struct fsd *d)
{
	turn_stop(&d->resume);
	turn_begin(&d->turns, &d->resume);
}

void leftover_found(struct job *job)
{
	job->leftover.left = job->meta.state == JOB_QUEUED ||
		    job->meta.state == JOB_REFUSED;
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
	leftover_enlist(&job->d->left_queued, &job->meta);
	leftover_go_on(job->d);
}
