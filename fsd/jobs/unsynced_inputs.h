/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unsynced inputs: their fsync(2) failed. Linux reports that once. The disk then has an
 * unknown part of the file, although reads from the page cache still succeed. So a job
 * with such an input does not start until the file is written again from its beginning:
 * opened with O_TRUNC, truncated to 0, or replaced.
 */
#ifndef FSD_UNSYNCED_INPUTS_H
#define FSD_UNSYNCED_INPUTS_H

#include "job.h"

/* Marks the files of the list that store_sync_inputs() returned. */
void unsynced_note(struct job *job, const struct buf *paths);
/* Checks a job whose files are loaded. In a fiber or before the loop runs. Return: 0;
 * -EIO: an input is unsynced, and the sentence names the first; another negative
 * errno. */
int unsynced_check(struct job *job, struct err *err);
/* Removes the mark of a file that was truncated to 0. */
void unsynced_cut(struct node *node);
/* Marks a file after fsync(2) by its user failed with error. In a fiber that holds its
 * job. */
void unsynced_fsync(struct node *node, int error);
/* Call it before node is renamed to `name` in dir, of the job `to` (perhaps the same
 * job): lists the node under both names, so that the next server finds it under either.
 * In a fiber. Return: 0; negative errno: do not rename. */
int unsynced_rename(const struct node *node, struct job *to,
		    const struct node *dir, const char *name);
/* Call it after that rename: lists the node under its new name only, and takes the file
 * that it has replaced off the list. */
void unsynced_renamed(struct job *from, struct job *to);

#endif
