/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls the watchers of jobs in the order of the server's list. job_watch.h says
 * what each callback means. After jobs_end() there is no list any more, and a late
 * change of a job that a handle still refers to calls none.
 */
#include "jobs_int.h"

static const struct job_watcher *const *watchers_of(const struct job *job)
{
	static const struct job_watcher *const none[] = { NULL };

	return jobs_ended(job->d) ? none : job->d->jobs->watchers;
}

#define CALL_ALL(job, name, ...)                                           \
	for (const struct job_watcher *const *w = watchers_of(job); *w; w++) \
		if ((*w)->name)                                            \
	(*w)->name(job, ##__VA_ARGS__)

void job_changed(struct job *job)
{
	CALL_ALL(job, changed);
}

void job_grew(struct job *job, enum job_vfile vfile)
{
	CALL_ALL(job, grew, vfile);
}

void watch_known(struct job *job)
{
	CALL_ALL(job, known);
}

void watch_entered(struct job *job)
{
	CALL_ALL(job, entered);
}

void watch_leaving(struct job *job)
{
	CALL_ALL(job, leaving);
}

void watch_stays(struct job *job)
{
	CALL_ALL(job, stays);
}

void watch_removed(struct job *job)
{
	CALL_ALL(job, removed);
}

void watch_unloaded(struct job *job)
{
	CALL_ALL(job, unloaded);
}

bool watch_ask_removal(struct job *job)
{
	const struct job_watcher *const *w = watchers_of(job);

	while (*w && !(*w)->ask_removal)
		w++;
	return *w && (*w)->ask_removal(job);
}
