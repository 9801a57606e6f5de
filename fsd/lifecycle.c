/* SPDX-License-Identifier: Apache-2.0 */
#include "lifecycle.h"

#include "commit.h"
#include "job.h"
#include "notify.h"
#include "resume.h"
#include "run.h"

void lifecycle_drain(struct fsd *d)
{
	if (!d->draining)
		log_info("draining: no new job starts");
	d->draining = true;
}

void lifecycle_resume(struct fsd *d)
{
	if (!d->draining || d->stopping)
		return;
	log_info("resumed");
	d->draining = false;
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

void lifecycle_run_ended(struct fsd *d)
{
	if (d->stopping && !d->running && !notify_finish(d))
		loop_quit(d->loop);
}
