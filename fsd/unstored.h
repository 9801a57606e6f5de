/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs that the disk has said it has not taken: fsync(2) failed. It says so
 * once, and what it has of them nobody knows, though it can be read as long as it
 * is in memory. So a job that has one does not start before that is written
 * again, from its beginning: opened with O_TRUNC, cut to nothing, or replaced.
 */
#ifndef FSD_UNSTORED_H
#define FSD_UNSTORED_H

#include "job.h"

/* paths: of depot_sync_inputs(). */
void unstored_note(struct job *job, const struct buf *paths);
/* Of a job whose files are all known. In a fiber or before the loop runs.
 * Return: 0; -EIO, and the sentence names the first; or another negative errno. */
int unstored_check(struct job *job, struct err *err);
/* It has been cut to nothing. */
void unstored_cut(struct node *node);
/* It goes from one job to another. */
void unstored_move(const struct job *from, struct job *to);

#endif
