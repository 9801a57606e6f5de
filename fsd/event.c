/* SPDX-License-Identifier: Apache-2.0 */
#include "event.h"

#include <errno.h>
#include <string.h>

#include "events.h"
#include "notify.h"
#include "wait.h"

static void job_record(struct job *job)
{
	int r = depot_meta_write(job->d->depot, &job->meta);

	if (r < 0)
		log_error("job %s: its state cannot be written: %s",
			  job->meta.name, strerror(-r));
}

/* What every entry has in common; may be done twice. */
static void job_enter(struct job *job)
{
	events_state(job);
	wait_kick(job);
	job_log(job, "%s", state_name(job->meta.state));
	notify_state(job);
}

static int post(struct job *job, enum job_event event, bool record)
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
	if (record)
		job_record(job);
	job_enter(job);
	return 0;
}

int job_post(struct job *job, enum job_event event)
{
	return post(job, event, true);
}

int job_posted(struct job *job, enum job_event event)
{
	return post(job, event, false);
}
