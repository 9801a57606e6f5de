/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a daemon before this one left under way. Runs that it did not finish end
 * at once, or may be tried again; what was queued asks for machines anew, in
 * the order in which it was accepted; what was refused is looked at again, to
 * say why. A long queue is taken up a little at a time, while the mount serves;
 * then each job's directory is tidied up.
 */
#ifndef FSD_RESTART_H
#define FSD_RESTART_H

#include "fsd/jobs/job.h"

/* Every job is not loaded yet. */
void restart_jobs(struct fsd *d);
/* Somebody wants to know of this one before its turn has come. */
void restart_examine(struct job *job);

#endif
