/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers that wait: a read of `wait`, `*.follow` or `events` is answered now or
 * parked with the job until there is something to say, a write to `stdin.feed` until
 * there is room; no thread ever blocks. Poll
 * handles are told once and forgotten. Every parked request is answered
 * exactly once: after a change of the job, by an interrupt, or when the job goes.
 */
#ifndef FSD_BLOCKED_READS_H
#define FSD_BLOCKED_READS_H

#include "fsd/jobs/job_watch.h"

struct fuse_req;
struct fuse_pollhandle;

struct blocked_read {
	enum job_vfile vfile; /* WAIT, HOLD, STDOUT_FOLLOW, STDERR_FOLLOW, EVENTS */
	unsigned run;      /* follow: the run that the handle belongs to; 0:
			      whichever is or comes next */
	uint64_t offset;
	size_t size;
	bool nonblock;     /* EAGAIN instead of parking */
	uint64_t unique;   /* STDIN_FEED: the request's number for the kernel */
	uint64_t *end;     /* or NULL: gets the offset behind what was read;
			      outlives the request */
	struct events_reader *events; /* EVENTS: the open file's; so does it */
};

/* Writes to stdin.feed: answers req when some of it was taken; data is copied if it
 * waits. */
void blocked_write(struct job *job, struct fuse_req *req, const void *data,
		   size_t size, bool nonblock);
/* Answers req, now or later. */
void blocked_read(struct job *job, struct fuse_req *req,
		  const struct blocked_read *what);
/* What poll() would say of the row now: POLLIN, POLLHUP, 0. */
unsigned blocked_poll_events(struct job *job, const struct blocked_read *what);
/* Of an open file, which has no more than one: the kernel tells all that poll
 * it by the newest. Embedded, zeroed. */
struct blocked_poll {
	struct list node;           /* in job->readers.polls */
	struct fuse_pollhandle *ph; /* owned, or NULL */
};

/* Keeps ph (owned) and tells it at the next change. */
void blocked_poll_set(struct job *job, struct blocked_poll *p,
		      struct fuse_pollhandle *ph);
void blocked_poll_drop(struct blocked_poll *p); /* the file is closed */

/* Answers parked requests and tells polls when their job changes or goes away. */
extern const struct job_watcher blocked_watcher;

#endif
