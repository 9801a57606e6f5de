/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long results stay. A job that is done goes with all that is in it
 *
 *   so long after its end        --retain-seconds, "retain" in its config: the
 *                                shorter of the two
 *   as the oldest of its owner's --retain-count, --retain-bytes; the newest one
 *                                stays whatever it holds
 *
 * and so does one that was held (held.h), in any state. No other job ever does.
 * Then it is doomed, and goes as soon as nobody has
 * it open or waits for it; run again, it is like any other. The helper removes
 * it through the mount, so that watchers see it go (inotify.h).
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
	RETAIN_DOOMED, /* in retention->doomed */
	RETAIN_ASKED,  /* the helper is to remove it */
};

struct retain_owner; /* the finished jobs of one user */

/* How long one job stays. struct job embeds it, zeroed. */
struct retain {
	struct retain_owner *owner; /* borrowed; NULL: not asked for yet */
	struct list node;        /* in owner->finished, by its end, or */
	enum retain_state state; /* in retention->doomed */
	const char *why;         /* then; a constant */
	uint64_t bytes;          /* that go with it */
	struct loop_timer timer; /* until its time is over */
	bool held;               /* it was, and nobody holds it any more: it
				    goes whatever its state, whoever uses it */
	unsigned tries;          /* to reach the helper, then */
};

/* A daemon before this one has left it. */
void retain_found(struct fsd *d, const struct job_meta *meta);
/* All were found: looks at each, the oldest first, a little at a time. */
void retain_begin(struct fsd *d);
/* Counts a job's time from its end, and drops a job that leaves the table. */
extern const struct job_watcher retain_watcher;
/* Whoever held it has let go of it. */
void retain_let_go(struct job *job);
/* The helper's request. Return: 0: it is removed; -EBUSY: not now. */
int retain_take(struct job *job);
/* The helper is through: what it has not removed is looked at again. */
void retain_told(struct job *job);
/* Nobody holds it any more (held.h): it goes now. */
void retain_held_end(struct job *job);

/* May it ever go by itself? */
bool retain_may_go(const struct job *job);
/* Until when a job that ended then stays; 0: for ever. */
uint64_t retain_until(const struct job *job, uint64_t ended_ns);

#endif
