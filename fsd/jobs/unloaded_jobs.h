/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs of a server before this one that nobody has asked for yet: they are
 * counted and can be found by name and number, that is all. The mount answers
 * as soon as they are not loaded yet. Each is taken down (becomes a struct job)
 * when it is asked for, the others a little at a time. Only job.c asks.
 */
#ifndef FSD_UNLOADED_JOBS_H
#define FSD_UNLOADED_JOBS_H

#include "job.h"

/* Puts there what the server before has left in memory, or what is on the disk
 * if that is not known. Return: 0, or negative errno with a sentence. */
int unloaded_fill(struct fsd *d, struct err *err);
/* NULL: not there, or no memory to take it down. */
struct job *unloaded_by_no(struct fsd *d, uint64_t no);
struct job *unloaded_by_name(struct fsd *d, const char *name);
/* Calls fn for each that is there. */
void unloaded_each(struct fsd *d,
		   void (*fn)(void *arg, const struct job_meta *meta), void *arg);
/* Begins to take all down: at once where bytes are counted, since nobody knows
 * them before. A caller that has to see all of them calls unloaded_help(), which takes
 * a little down and lets other fibers run. */
void unloaded_empty(struct fsd *d);
bool unloaded_is_empty(const struct fsd *d);
void unloaded_help(struct fsd *d);
void unloaded_free(struct fsd *d);

#endif
