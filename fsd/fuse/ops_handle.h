/* SPDX-License-Identifier: Apache-2.0 */
/* Open files, shared by ops_open.c (which makes them) and ops_file.c. */
#ifndef FSD_OPS_HANDLE_H
#define FSD_OPS_HANDLE_H

#include "fsd/handover/inherit.h"
#include "ops.h"
#include "fsd/mount/blocked_reads.h"
#include "fsd/users/users.h"

enum handle_kind {
	H_FILE,   /* fd: a stored file, stdout, stderr, log, result.json */
	H_TEXT,   /* text made at open and again at each read of offset 0 */
	H_WAIT,   /* wait, *.follow, events: may park */
	H_CTL,    /* verbs */
	H_SINK,   /* written bytes are accepted and dropped */
	H_FEED,   /* stdin.feed, for writing: may park */
	H_STAGED, /* a sandbox's file, for writing: ops_sandbox.h */
};

struct handle {
	struct list node; /* in open_files_handles() */
	struct fsd *d;    /* borrowed */
	enum handle_kind kind;
	struct target t;  /* with references to its job and node */
	int fd;           /* owned, H_FILE; */
	struct user *payer;   /* borrowed: it is one of theirs; or NULL */
	/*
	 * Owned: what must outlive this process.
	 *   run      H_WAIT, a stream: the run at open, 0 if none was under way
	 *   end      H_WAIT: behind the last byte read, for poll; H_FILE, a result:
	 *            the run that it is of
	 *   writer   counted in node->writers
	 *   opener   of a writer: the thread that opened it
	 *   changed  something was written through it
	 *   failed   its close: what it completes does not start
	 *   closer   who was told that it succeeded
	 *   seen     `state`: the one that was read last, -1 none
	 */
	struct inherit_handle *kept;
	struct json_prefix *prefix; /* owned: ops_config.c; or NULL */
	struct loop_timer doubt; /* so long after its close there is no release */
	struct buf text;  /* H_TEXT, H_STAGED, */
	struct user_weight weight;   /* which has this */
	bool cut;         /* H_STAGED: it was opened to be empty */
	struct events_reader *events; /* owned, H_WAIT on `events` */
	struct blocked_poll poll;
	struct quota_open open;
	struct open_vfile vfile; /* H_FILE of a row: in t.job->rows */
};

/* One on t, without a descriptor. kept: what an earlier server has left of it, or
 * NULL. Return: NULL without memory. */
struct handle *ops_handle_make(struct fsd *d, enum handle_kind kind,
			       const struct target *t,
			       struct inherit_handle *kept);
struct handle *ops_handle_new(struct fsd *d, enum handle_kind kind,
			      const struct target *t);
/* Its job goes with the last of them (held.h). */
bool ops_handle_holds(const struct handle *h);
/* Its text counts for who has opened it. Return: 0, or negative errno, which
 * last_error tells. */
int ops_handle_weigh(fuse_req_t req, struct handle *h);
/* The sandbox that goes with the last of them, or NULL. */
struct sandbox *ops_handle_sandbox(const struct handle *h);
/* Of a request on an open file. NULL: it could not be taken over from the
 * server before, since what it was on is gone. */
struct handle *ops_handle(fuse_req_t req, const struct fuse_file_info *fi);
void ops_handle_free(struct handle *h);
/* ops_file.c: holds the job that what h is of belongs to now. */
void ops_hold_job_of(const struct handle *h);
/* ops_config.c: n bytes were written at off. Return: 0, or negative errno: it is a
 * config.json that is refused, and last_error says why. */
int ops_config_written(fuse_req_t req, struct handle *h, const char *data,
		       size_t n, off_t off);
/* ops_file.c: a close was answered that promises a start; if no release comes
 * soon, it may have been that of a duplicate. */
void ops_doubt(struct handle *h);
/* Of the server before: a result that is not the job's any more, since it was
 * removed or has run again. */
bool ops_vfile_is_gone(const struct inherit_handle *kept, const struct target *t);
/* One of the server before; of what is gone fd (taken) is its file. Return: 0 or
 * negative errno. */
int ops_handle_restore(struct fsd *d, struct inherit_handle *kept,
		       const struct target *t, int fd);
/* ops_setattr.c: a job that is held is so on record, before who opened it is told.
 * In a fiber that holds the job. Return: 0 or negative errno. */
int ops_record_hold(fuse_req_t req, struct job *job);
/* ops_list.c */
void ops_listing_restore(struct fsd *d, struct inherit_handle *kept);
/* A row's text as it is now. Return: 0 or negative errno. */
int ops_vfile_text(struct handle *h);

#endif
