/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes whole jobs. A job that somebody has held goes when nobody holds it any more
 * (jobtree(5)), with all that is in it. So to hold it for a moment is one step, where
 * rm -r takes one for each file.
 */
#ifndef FSD_JOB_DROP_H
#define FSD_JOB_DROP_H

/* Holds the job for a moment. dir: its directory. It goes soon. */
void job_drop(int dir);
/*
 * Waits until the job has gone that nobody holds any more. If somebody else holds it, or
 * the mount knows no such file, removes it file by file. root: a directory that `name` is
 * relative to, or AT_FDCWD. Return: 0 or negative errno.
 */
int job_dropped(int root, const char *name, int dir);

#endif
