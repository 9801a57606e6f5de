/* SPDX-License-Identifier: Apache-2.0 */
#include "event.h"

#include <errno.h>
#include <string.h>

#include "events.h"
#include "notify.h"
#include "wait.h"

/*
 * What every entry has in common; may be done twice. That a job is done is
 * what publishes its result, so it is on record before anybody hears of it.
 */
static void job_enter(struct job *job)
{
	int r;

	events_state(job);
	r = depot_meta_write(job->d->depot, &job->meta);
	if (r < 0)
		log_error("job %s: its state cannot be written: %s",
			  job->meta.name, strerror(-r));
	wait_kick(job);
	job_log(job, "%s", state_name(job->meta.state));
	notify_state(job);
	retain_entered(job);
}

int job_post(struct job *job, enum job_event event)
{
	enum job_state next = state_next(job->meta.state, event);

	if (next == JOB_BAD) {
		log_error("job %s: event %s is not possible when %s",
			  job->meta.name, event_name(event),
			  state_name(job->meta.state));
		return -EINVAL;
	}
	/* Queued again is another run, which is to be on record. */
	if (next == job->meta.state && event != EV_AGAIN)
		return 0;
	job->meta.state = next;
	job_touch(job);
	job_enter(job);
	return 0;
}
