/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs that a user has removed from a job that is queued, or may run again. They move
 * from files/ to removed.N/ beside it (N: the job's queued_no), with the same paths. No
 * user sees them there, but each run of that submission gets them, under any server. They
 * are deleted when the submission ends. Context: a fiber that holds the job, or before
 * the loop runs.
 */
#ifndef FSD_REMOVED_FILES_H
#define FSD_REMOVED_FILES_H

#include "job.h"

/* Finds the directory of the removed inputs. *ret: borrowed, with its entries loaded;
 * NULL: the job has none. Return: 0 or negative errno. */
int removed_files(struct job *job, struct node **ret);
/* Moves node from files/ to that directory. Return: 0; negative errno: node stays. */
int removed_files_take(struct job *job, struct node *node);
/* Deletes the removed inputs, because the submission is over. */
void removed_files_drop(struct job *job);

/* Finds an input by its path, in files/ or among the removed ones. *ret NULL: there is
 * none. Return: 0; negative errno: unknown. */
int job_input(struct job *job, const char *path, struct node **ret);

#endif
