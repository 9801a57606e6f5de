/* SPDX-License-Identifier: Apache-2.0 */
#include "lifecycle.h"

#include "fsd/handover/inherit.h"
#include "fsd/jobs/job.h"
#include "fsd/mount/notify.h"
#include "resume.h"
#include "fsd/run/run.h"

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

/* What was refused meanwhile was accepted by nobody: its call has failed. */
void lifecycle_resume(struct fsd *d)
{
	if (!d->draining || d->stopping)
		return;
	log_info("resumed");
	set_draining(d, false);
	resume_go_on(d);
}

/* Running jobs. Those that go on anyway are nothing to wait for if no others
 * can begin, nor are those that need not end. */
static unsigned waited_for(const struct fsd *d)
{
	return d->busy - d->endless - (d->broken ? d->adopted : 0);
}

static void interrupt_endless(struct fsd *d)
{
	list_for_each(pos, tmp, jobs_all(d)) {
		struct job *job = list_entry(pos, struct job, all);

		if (run_is_endless(job))
			run_interrupt(job);
	}
}

void lifecycle_stop(struct fsd *d, bool now)
{
	unsigned busy = d->busy - d->endless;

	d->draining = d->stopping = true;
	if (d->broken) /* no other server comes to begin them */
		list_for_each(pos, tmp, jobs_all(d))
			run_stop_stranded(list_entry(pos, struct job, all));
	if (!now && busy) {
		log_info("stopping when %u running job%s ended; queued ones "
			 "(%u) are run by the next fsd mount", busy,
			 busy == 1 ? " has" : "s have",
			 d->running - MIN(d->busy, d->running));
		return;
	}
	if (!now && d->endless) {
		interrupt_endless(d);
		return;
	}
	if (now)
		list_for_each(pos, tmp, jobs_all(d))
			run_interrupt(list_entry(pos, struct job, all));
	if (now || !notify_finish(d))
		loop_quit(d->loop);
}

void lifecycle_hand_over(struct fsd *d, bool now)
{
	unsigned busy = waited_for(d);

	if (d->stopping)
		return;
	d->handing_over = true;
	if (now || !busy)
		loop_quit(d->loop);
	else
		log_info("another server takes over when %u running job%s "
			 "ended", busy, busy == 1 ? " has" : "s have");
}

void lifecycle_run_ended(struct fsd *d)
{
	if (d->handing_over && !d->stopping && !waited_for(d))
		loop_quit(d->loop);
	if (d->stopping && d->endless && d->busy == d->endless)
		interrupt_endless(d);
	if (d->stopping && !d->busy && !notify_finish(d))
		loop_quit(d->loop);
}
