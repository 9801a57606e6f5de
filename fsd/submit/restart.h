/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes up the jobs of an earlier server at a start. An unfinished run is adopted, ends, or
 * is retried. Queued jobs ask for machines again, in the order of their acceptance. Refused
 * jobs are examined again, for their sentence. A long queue is taken up in time slices
 * while the mount serves; then each job's directory is tidied.
 */
#ifndef FSD_RESTART_H
#define FSD_RESTART_H

#include "fsd/jobs/job.h"

/* Call it once, on the loop, before the mount answers; no job needs to be loaded. */
void restart_jobs(struct fsd *d);
/* Gives a refused job its sentence at once, because a reader asks for it before its turn.
 * On the loop's thread. */
void restart_examine(struct job *job);

#endif
