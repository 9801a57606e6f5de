/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is on record of a job, once more in memory that outlives this process
 * (inherit.h): who takes over has not to read every record from the disk. The
 * two say the same but while one of them is written, and then `torn` says so.
 * The disk is right; what is read here is not believed. What the disk does not
 * have, which rows are hidden or copied, job.c keeps beside it.
 */
#ifndef FSD_META_COPY_H
#define FSD_META_COPY_H

#include "store.h"
#include "fsd/handover/inherit.h"

/* Of a job that the disk is about to have, torn. NULL: there is no room. */
struct inherit_job *meta_copy_new(struct inherit *in, uint64_t no);
/* Its meta is about to be written or removed. k may be NULL, here and below;
 * both on any thread that may write the meta. */
void meta_copy_begin(struct inherit_job *k);
/* That is done: the disk has m, or it has nothing. */
void meta_copy_end(struct inherit_job *k, const struct job_meta *m);
void meta_copy_gone(struct inherit_job *k);
/* Nobody refers to it any more: its place is free. */
void meta_copy_free(struct inherit *in, struct inherit_job *k);

/* Return: 0: *ret is as the disk has it, its name is lent; -EAGAIN: only the
 * disk knows; -EINVAL: no server writes that. */
int meta_copy_read(struct inherit_job *k, struct job_meta *ret);

#endif
