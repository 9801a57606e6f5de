/* SPDX-License-Identifier: Apache-2.0 */
#include "lifecycle.h"

#include "commit.h"
#include "inherit.h"
#include "job.h"
#include "notify.h"
#include "resume.h"
#include "run.h"

/* It is the operator's wish, whichever server there is. */
static void set_draining(struct fsd *d, bool draining)
{
	d->draining = draining;
	inherit_head(d->inherit)->draining = draining;
}

void lifecycle_drain(struct fsd *d)
{
	if (!d->draining)
		log_info("draining: no new job starts");
	set_draining(d, true);
}

void lifecycle_resume(struct fsd *d)
{
	if (!d->draining || d->stopping)
		return;
	log_info("resumed");
	set_draining(d, false);
	resume_go_on(d);
	/* What was completed meanwhile was refused for this reason alone. */
	list_for_each(pos, tmp, jobs_all(d)) {
		struct job *job = list_entry(pos, struct job, all);

		if (job->meta.state == JOB_REFUSED)
			commit_evaluate(job, false);
	}
}

void lifecycle_stop(struct fsd *d, bool now)
{
	d->draining = d->stopping = true;
	if (!now && d->running) {
		log_info("stopping when %u running job%s ended", d->running,
			 d->running == 1 ? " has" : "s have");
		return;
	}
	list_for_each(pos, tmp, jobs_all(d))
		run_interrupt(list_entry(pos, struct job, all));
	if (now || !notify_finish(d))
		loop_quit(d->loop);
}

void lifecycle_hand_over(struct fsd *d, bool now)
{
	if (d->stopping)
		return;
	d->handing_over = true;
	if (now || !d->busy)
		loop_quit(d->loop);
	else
		log_info("another server takes over when %u running job%s "
			 "ended", d->busy, d->busy == 1 ? " has" : "s have");
}

void lifecycle_run_ended(struct fsd *d)
{
	if (d->handing_over && !d->stopping && !d->busy)
		loop_quit(d->loop);
	if (d->stopping && !d->running && !notify_finish(d))
		loop_quit(d->loop);
}
