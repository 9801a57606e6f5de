/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs that the disk has said it has not taken: fsync(2) failed. It says so
 * once, and what it has of them nobody knows, though it can be read as long as it
 * is in memory. So a job that has one does not start before that is written
 * again, from its beginning: opened with O_TRUNC, cut to nothing, or replaced.
 */
#ifndef FSD_UNSYNCED_INPUTS_H
#define FSD_UNSYNCED_INPUTS_H

#include "job.h"

/* paths: of store_sync_inputs(). */
void unsynced_note(struct job *job, const struct buf *paths);
/* Of a job whose files are all known. In a fiber or before the loop runs.
 * Return: 0; -EIO, and the sentence names the first; or another negative errno. */
int unsynced_check(struct job *job, struct err *err);
/* It has been cut to nothing. */
void unsynced_cut(struct node *node);
/* fsync(2) of it by its user has failed with error. In a fiber that holds its job. */
void unsynced_fsync(struct node *node, int error);
/* Before node becomes `name` in dir, which is of the job `to`, perhaps its own: the
 * next server finds it by either. In a fiber. Return: 0 or negative errno, then
 * it is not to be renamed. */
int unsynced_rename(const struct node *node, struct job *to,
		    const struct node *dir, const char *name);
/* After that: by the new name alone, and no more what it has replaced. */
void unsynced_renamed(struct job *from, struct job *to);

#endif
