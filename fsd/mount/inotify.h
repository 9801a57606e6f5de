/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inotify for what happens by itself. The kernel tells watchers of what comes
 * through the mount, never of what a FUSE daemon changes; so a helper process
 * does it once more through the mount: it makes `exit_code`, which was there
 * already, and a watcher sees it made. Its requests are answered from the
 * job's state and change nothing.
 *
 *   job -> note, note, ...        what is to be told, oldest first
 *   helper <- one note at a time  a datagram; it answers when it is through
 *
 * Nobody waits for the helper: notes pile up with their jobs (growth and states
 * of one file as one), and what it was at when it died is told by the next one.
 */
#ifndef FSD_INOTIFY_H
#define FSD_INOTIFY_H

#include "fsd/jobs/job_watch.h"

struct inotify;

/* Before the first job is looked at. Without memory there are no events. */
void inotify_new(struct fsd *d);
/* When all jobs are known: what the server before has left untold. */
void inotify_take_over(struct fsd *d);
/* Starts the helper, once the mount is served; until there is one, what is to
 * be told waits. */
void inotify_start(struct fsd *d);
/* After the unmount: until then the helper may be in a request. */
void inotify_free(struct fsd *d);

/* True if notes are left to send before the end: lifecycle_post_idle() follows when all
 * were sent, or have taken too long. */
bool inotify_finish(struct fsd *d);

/* Makes notes of what a job's changes mean for its rows; asks the helper to remove a
 * job, which then calls retain_take() and retain_told(). */
extern const struct job_watcher inotify_watcher;
/* A row was removed by hand, of which the kernel has told: whatever else there
 * was to tell of it came before. */
void inotify_removed(struct job *job, enum job_vfile vfile);

/* --- for the helper's requests -------------------------------------------- */

/* Return: true for the helper, and for that of a dead server, which is at no job and
 * may do nothing. */
bool inotify_is_helper(const struct fsd *d, pid_t pid);
/* True if pid is the helper, and at this job. */
bool inotify_is_at(const struct job *job, pid_t pid);
/* The helper may be truncating the row, as it tells that it has grown. */
bool inotify_grows(const struct job *job, enum job_vfile vfile);
/* What it is to find under a row's name. */
enum inotify_sight {
	INOTIFY_AS_IT_IS,
	INOTIFY_HIDDEN, /* it is to make it */
	INOTIFY_SHOWN, /* it is to remove or to write it */
};
enum inotify_sight inotify_sight(const struct job *job, enum job_vfile vfile,
				 pid_t pid);
/* True if pid is to make, or to remove, this row; from then on it has. */
bool inotify_take_made(const struct job *job, enum job_vfile vfile, pid_t pid);
bool inotify_take_gone(const struct job *job, enum job_vfile vfile, pid_t pid);

/* The helper's main(), behind a command that no page mentions. */
#define INOTIFY_COMMAND "notify-helper"
int inotify_helper(int argc, char **argv);

#endif
