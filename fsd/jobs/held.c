/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the open files `hold` of a job. The job is removed with the last of them, by
 * retention.c.
 */
#include "held.h"

void held_more(struct job *job)
{
	job->holders++;
}

void held_less(struct job *job)
{
	if (--job->holders == 0)
		held_found(job);
}

bool held_found(struct job *job)
{
	if (!job->meta.held || job->holders || job->removed)
		return false;
	retain_held_end(job);
	return true;
}
