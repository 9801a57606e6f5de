/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adopts the runs that a dead server had begun, or queues them again.
 * Context: the loop's thread, before the loop runs; all calls block.
 */
#ifndef FSD_RUN_ADOPT_H
#define FSD_RUN_ADOPT_H

#include "fsd/handover/handover.h"
#include "run.h"

extern const struct handover_table replay_records; /* of struct vm_replay */

/*
 * Continues the run of a job whose record says "running". The program does not notice,
 * and its timeout counts the time without a server. Return: false: the run cannot be
 * continued; the job is unchanged, and the log says why.
 */
bool run_adopt(struct job *job);
/* For a job that run_adopt() did not continue: queues the run again, at its old place, if
 * its program has not begun and fewer than three servers have tried it. Call it before
 * run_adopted(). Return: false: the caller ends the run. */
bool run_put_back(struct job *job);
/* True if the dead server had accepted a cancellation of the run. Call it before
 * run_adopted(). */
bool run_was_cancelled(const struct job *job);
/* Call it after the last job: frees the replay buffers of runs that were not adopted, and
 * kills the other machines of dead servers. */
void run_adopted(struct fsd *d);

#endif
