/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that a server that is dead has begun. */
#ifndef FSD_RUN_ADOPT_H
#define FSD_RUN_ADOPT_H

#include "fsd/handover/handover.h"
#include "run.h"

extern const struct handover_table replay_records; /* of struct vm_replay */

/*
 * The job's run, which is on record as running, goes on: as if nothing had
 * happened to its program, whose time has gone on too. Before the loop runs.
 * Return: false if it cannot: nothing has changed, and it was interrupted.
 */
bool run_adopt(struct job *job);
/* Of one that does not: back into the queue, with its place there, if its program
 * has begun nowhere, and not too many servers have died meanwhile. Before
 * run_adopted(). Return: false if it ends. */
bool run_put_back(struct job *job);
/* Was it to be cancelled, of which a caller was told? Before run_adopted(). */
bool run_was_cancelled(const struct job *job);
/* After the last of them: the other machines of dead servers die. */
void run_adopted(struct fsd *d);

#endif
