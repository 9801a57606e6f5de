/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A held job: the file `hold` was opened. The job is removed, in any state, when the last
 * open file of `hold` is closed. Open files outlive the server (handover.h), but not the
 * mount; so the record says that the job is held, and the next mount removes it. On the
 * loop's thread.
 */
#ifndef FSD_HELD_H
#define FSD_HELD_H

#include "job.h"

/* Return: true if that virtual file holds the job. */
static inline bool held_by(const struct job *job, unsigned vfile)
{
	return job && vfile == JOB_VFILE_HOLD;
}

/* `hold` was opened once more. */
void held_more(struct job *job);
/* Call it when an open file of `hold` was closed. After the last one the job is removed,
 * if its record says that it is held. */
void held_less(struct job *job);
/* Call it when a server starts, for a job whose record says that it is held. Return: true
 * if no process has `hold` open any more: the job will be removed, and the caller must
 * leave it alone. */
bool held_found(struct job *job);

#endif
