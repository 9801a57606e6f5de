/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of each job's record (struct job_meta) in memory shared with the next server
 * (inherit.h), which then need not read every record from the disk. While a record is
 * written the two differ, and `torn` is set. The disk is the authority; a reader checks
 * the copy. job_results.c stores there what the disk does not have: which virtual files
 * are hidden or copied.
 */
#ifndef FSD_META_COPY_H
#define FSD_META_COPY_H

#include "store.h"
#include "fsd/handover/inherit.h"

/* Adds a copy, torn, for a job whose record is about to be made. On the loop's thread.
 * Return: borrowed from the table, until meta_copy_free(); NULL: the table is full. */
struct inherit_job *meta_copy_new(struct inherit *in, uint64_t no);
/* Call it before meta is written or removed: sets `torn`. Here and below k may be NULL. On
 * the thread that writes meta. */
void meta_copy_begin(struct inherit_job *k);
/* Call one of these when the disk has m, or no record any more. On that thread. */
void meta_copy_end(struct inherit_job *k, const struct job_meta *m);
void meta_copy_gone(struct inherit_job *k);
/* Frees the table's slot, when the job is freed. On the loop's thread. */
void meta_copy_free(struct inherit *in, struct inherit_job *k);

/* Reads and checks a copy. Return: 0: *ret is what the disk has, ret->name is borrowed
 * from k; -EAGAIN: it is torn, read the disk; -EINVAL: a field is out of range. */
int meta_copy_read(struct inherit_job *k, struct job_meta *ret);

#endif
