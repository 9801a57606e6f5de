/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes jobs whose time is over. A finished job is removed with all its files
 *
 *   some time after its end      --retain-seconds, "retain" in its config: the
 *                                shorter of the two
 *   as its owner's oldest        --retain-count, --retain-bytes; the newest job
 *                                stays, however large
 *
 * and so is a job that was held (held.h), in any state. No other job is removed. Such a
 * job is doomed: it is removed as soon as no process has it open or waits for it; a new
 * run saves it. The inotify helper removes it through the mount, so that watchers are
 * notified (inotify.h). On the loop's thread.
 */
#ifndef FSD_RETENTION_H
#define FSD_RETENTION_H

#include "vm/os/loop.h"

struct fsd;
struct job;
struct job_meta;
struct job_watcher;

struct retain_limits {
	uint64_t seconds, count, bytes; /* 0: for ever, any */
};

enum retain_state {
	RETAIN_KEPT,
	RETAIN_DOOMED, /* in retention->doomed: it will be removed */
	RETAIN_ASKED,  /* the helper was asked to remove it */
};

struct retain_owner; /* the finished jobs of one user */

/* The state of one job's retention. struct job embeds it, zeroed. */
struct retain {
	struct retain_owner *owner; /* borrowed; NULL: not counted yet */
	struct list node;        /* in owner->finished, ordered by the job's end; or in
				  * retention->doomed */
	enum retain_state state;
	const char *why;         /* a constant: why it is doomed */
	uint64_t bytes;          /* bytes that are freed when the job is removed */
	struct loop_timer timer; /* fires when its time is over */
	bool held;               /* its `hold` was closed: it is removed in any state,
				  * even if its files are open */
	unsigned tries;          /* how often the helper was asked to remove such a job */
};

/* Counts a job that an earlier server left. */
void retain_found(struct fsd *d, const struct job_meta *meta);
/* Call it after the last retain_found(): checks each job, the oldest first, in time
 * slices. */
void retain_begin(struct fsd *d);
/* Counts a job's time from its end, and drops a job that leaves the table. */
extern const struct job_watcher retain_watcher;
/* Call it when a reference to a doomed job is gone: it may be removed now. */
void retain_let_go(struct job *job);
/* Called when the helper removes the job by rmdir(2). Return: 0: the job is removed;
 * -EBUSY: not now. */
int retain_take(struct job *job);
/* Call it when the helper has answered: a job that it has not removed is checked
 * again. */
void retain_told(struct job *job);
/* Removes a job whose `hold` was closed for the last time (held.h). */
void retain_held_end(struct job *job);

/* Return: true if the job may be removed without a request of its owner. */
bool retain_may_go(const struct job *job);
/* Return: until when a job that ended at ended_ns stays (CLOCK_REALTIME); 0: for ever. */
uint64_t retain_until(const struct job *job, uint64_t ended_ns);

#endif
