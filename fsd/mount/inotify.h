/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inotify events for changes that no user makes. The kernel reports changes
 * made through the mount to watchers, but not those that a FUSE daemon makes.
 * So a helper process repeats them through the mount: it creates `exit_code`,
 * which exists already, and a watcher sees its creation. The server answers the
 * helper's requests from the job's state; they change nothing.
 *
 *   job -> note, note, ...        pending events, oldest first
 *   helper <- one note at a time  a datagram; it answers when it is done
 *
 * No code waits for the helper: notes collect at their jobs, and growth and
 * states of one file become one event. If a helper dies, the next one repeats
 * its note. All functions run on the loop.
 */
#ifndef FSD_INOTIFY_H
#define FSD_INOTIFY_H

#include "fsd/jobs/job_watch.h"

struct inotify;

/*
 * Call it before the first job is examined. Without memory there are no events.
 */
void inotify_new(struct fsd *d);
/* Call it when all jobs are loaded: continues with events that the previous
 * server had pending. */
void inotify_take_over(struct fsd *d);
/* Starts the helper; call it once the mount is served. Until it runs the notes
 * wait. */
void inotify_start(struct fsd *d);
/* Call it after the unmount: before, the helper may be inside a request. */
void inotify_free(struct fsd *d);

/* Returns true if notes must still be sent before the server's end:
 * lifecycle_post_idle() follows when all were sent, or took too long. */
bool inotify_finish(struct fsd *d);

/* Makes notes of a job's changes; has the helper remove a job, which then calls
 * retain_take() and retain_told(). */
extern const struct job_watcher inotify_watcher;
/* Drops pending events of a virtual file that a user has removed: the kernel
 * has reported that already. */
void inotify_removed(struct job *job, enum job_vfile vfile);

/* --- for the helper's requests -------------------------------------------- */

/* Returns true for the helper, and for one of a dead server, which has no job
 * and may do nothing. */
bool inotify_is_helper(const struct fsd *d, pid_t pid);
/* Returns true if pid is the helper, and its present note is of this job. */
bool inotify_is_at(const struct job *job, pid_t pid);
/* Returns true if the helper may be truncating the file, which is how it
 * reports growth. */
bool inotify_grows(const struct job *job, enum job_vfile vfile);
/* The view that the helper has of a virtual file. */
enum inotify_sight {
	INOTIFY_AS_IT_IS,
	INOTIFY_HIDDEN, /* the helper must create the file, so it must not see it */
	INOTIFY_SHOWN, /* the helper must remove or write the file, so it must see it */
};
enum inotify_sight inotify_sight(const struct job *job, enum job_vfile vfile,
				 pid_t pid);
/* Return true if pid must make, or remove, this file; the step then counts as
 * done. */
bool inotify_take_made(const struct job *job, enum job_vfile vfile, pid_t pid);
bool inotify_take_gone(const struct job *job, enum job_vfile vfile, pid_t pid);

/* The helper's main function; users do not call this command. */
#define INOTIFY_COMMAND "notify-helper"
int inotify_helper(int argc, char **argv);

#endif
