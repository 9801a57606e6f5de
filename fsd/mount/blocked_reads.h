/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes that block. A read of `wait`, `*.follow` or `events` is
 * answered now, or parked with the job until there is something to read; a
 * write to `stdin.feed` is parked until there is room. No thread blocks. A poll
 * handle is notified once and then dropped.
 *
 * Every parked request is answered exactly once: after a change of the job, by
 * an interrupt, or when the job is removed. All functions run on the loop.
 */
#ifndef FSD_BLOCKED_READS_H
#define FSD_BLOCKED_READS_H

#include "fsd/jobs/job_watch.h"

struct fuse_req;
struct fuse_pollhandle;

struct blocked_read {
	enum job_vfile vfile; /* WAIT, HOLD, STDOUT_FOLLOW, STDERR_FOLLOW, EVENTS */
	/* follow: the run that the open file belongs to; 0: the present or next
	 * one */
	unsigned run;
	uint64_t offset;
	size_t size;
	bool nonblock; /* return EAGAIN instead of parking */
	uint64_t unique; /* STDIN_FEED: the kernel's number of the request */
	/* NULL, or gets the offset behind the bytes read; valid longer than the
	 * request */
	uint64_t *end;
	/* EVENTS: the open file's; valid longer than the request */
	struct events_reader *events;
};

/* Writes to stdin.feed: answers req once some bytes were taken. data is copied
 * if it waits. */
void blocked_write(struct job *job, struct fuse_req *req, const void *data,
		   size_t size, bool nonblock);
/* Answers req, now or later. */
void blocked_read(struct job *job, struct fuse_req *req,
		  const struct blocked_read *what);
/* Returns the events that poll() would report for the virtual file now: POLLIN,
 * POLLHUP, 0. */
unsigned blocked_poll_events(struct job *job, const struct blocked_read *what);
/* The poll handle of an open file. One is enough: by the newest handle the
 * kernel notifies all that poll the file. Embedded, zeroed. */
struct blocked_poll {
	struct list node;           /* link in job->readers.polls */
	struct fuse_pollhandle *ph; /* owned, or NULL */
};

/* Stores ph (owned), and notifies it at the next change. */
void blocked_poll_set(struct job *job, struct blocked_poll *p,
		      struct fuse_pollhandle *ph);
/* Call it when the file is closed. */
void blocked_poll_drop(struct blocked_poll *p);

/* Answers parked requests and notifies polls when their job changes or is
 * removed. */
extern const struct job_watcher blocked_watcher;

#endif
