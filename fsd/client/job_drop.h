/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes whole jobs. The mount removes a job with all its files when its last holder lets
 * go (jobtree(5)). So it is one step to hold a job for a moment; rm -r takes a step for
 * each file.
 */
#ifndef FSD_JOB_DROP_H
#define FSD_JOB_DROP_H

/* Holds the job for a moment, so that the mount soon removes it. dir: its directory. */
void job_drop(int dir);
/*
 * Waits until a job has gone, after job_drop(). If another process holds the job, or the
 * mount has no file for holders, removes the job file by file. root: a directory that `name` is
 * relative to, or AT_FDCWD. Return: 0 or negative errno.
 */
int job_dropped(int root, const char *name, int dir);

#endif
