/* SPDX-License-Identifier: Apache-2.0 */
#include "event.h"

#include <errno.h>
#include <string.h>

#include "wait.h"

/*
 * What every entry has in common; may be done twice. At the end the result has
 * been published already, and a restart knows by that: who waits for it need
 * not wait for the records.
 */
static void job_enter(struct job *job)
{
	int r;

	if (job->meta.state == JOB_DONE)
		wait_kick(job);
	r = depot_meta_write(job->d->depot, &job->meta);
	if (r < 0)
		log_error("job %s: its state cannot be written: %s",
			  job->meta.name, strerror(-r));
	job_log(job, "%s", state_name(job->meta.state));
	if (job->meta.state != JOB_DONE)
		wait_kick(job);
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
	if (next == job->meta.state)
		return 0;
	job->meta.state = next;
	job_touch(job);
	job_enter(job);
	return 0;
}
