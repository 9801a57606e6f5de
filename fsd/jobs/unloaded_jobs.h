/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unloaded jobs: jobs of an earlier server without a struct job. They are counted, and are
 * found by name and number. So the mount answers before a struct job is made for each. A
 * job is loaded when a user asks for it; the others are loaded in time slices. Only job.c
 * and a start call these functions, on the loop's thread.
 */
#ifndef FSD_UNLOADED_JOBS_H
#define FSD_UNLOADED_JOBS_H

#include "job.h"

/* Lists the jobs: from the shared memory of the previous server, or else from the disk.
 * Return: 0, or negative errno with a sentence. */
int unloaded_fill(struct fsd *d, struct err *err);
/* Load a job. Return: borrowed; NULL: no unloaded job has that number or name, or out of
 * memory. */
struct job *unloaded_by_no(struct fsd *d, uint64_t no);
struct job *unloaded_by_name(struct fsd *d, const char *name);
/* Calls fn for each unloaded job; meta is borrowed for the call. */
void unloaded_each(struct fsd *d,
		   void (*fn)(void *arg, const struct job_meta *meta), void *arg);
/* Begins to load all jobs. With a quota of bytes it loads them at once, because the bytes of
 * a job are known only when it is loaded. A fiber that needs all jobs calls unloaded_help(),
 * which loads some and lets other fibers run. */
void unloaded_empty(struct fsd *d);
bool unloaded_is_empty(const struct fsd *d);
void unloaded_help(struct fsd *d);
void unloaded_free(struct fsd *d);

#endif
