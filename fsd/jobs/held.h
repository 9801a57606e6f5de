/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that somebody holds, by its file `hold`, goes with the last open file of
 * it: when that is closed the job is removed, whatever its state. An open file
 * outlives the server (inherit.h). It does not outlive the mount: that the job is
 * held is on record, so that the next mount removes it.
 */
#ifndef FSD_HELD_H
#define FSD_HELD_H

#include "job.h"

/* Is it a file that holds its job? */
static inline bool held_by(const struct job *job, unsigned vfile)
{
	return job && vfile == JOB_VFILE_HOLD;
}

/* Another open file of it. */
void held_more(struct job *job);
/* One less. Behind the last one the job goes, if it is on record as held. */
void held_less(struct job *job);
/* One that a daemon before this one had on record as held. Return: true if
 * nobody holds it any more: it goes, and nothing else is to be done with it. */
bool held_found(struct job *job);

#endif
