/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open files: ops_handle.c makes them, ops_open.c opens and ops_file.c uses
 * them. All functions run on the loop, in a fiber that may wait.
 */
#ifndef FSD_OPS_HANDLE_H
#define FSD_OPS_HANDLE_H

#include "handle_table.h"
#include "ops.h"
#include "fsd/mount/blocked_reads.h"
#include "fsd/users/users.h"

enum handle_kind {
	H_FILE,   /* fd: a stored file, stdout, stderr, log, result.json */
	H_TEXT, /* text made at open, and again at each read of offset 0 */
	H_WAIT, /* wait, *.follow, events: a read may block */
	H_CTL, /* ctl: written verbs */
	H_SINK,   /* written bytes are accepted and dropped */
	H_FEED, /* stdin.feed, for writing: a write may block */
	H_STAGED, /* a sandbox's file, for writing: ops_sandbox.h */
};

struct handle {
	struct list node; /* link in open_files_handles() */
	struct fsd *d;    /* borrowed */
	enum handle_kind kind;
	struct target t;  /* what was opened; it has references to job and node */
	int fd; /* owned; H_FILE */
	/* borrowed: the user whose open files it counts for; or NULL */
	struct user *payer;
	/*
	 * Owned: the record for the next server.
	 *   run      H_WAIT, a stream: the run at open, 0 if there was none
	 *   end      H_WAIT: behind the last byte read, for poll; H_FILE, a result:
	 *            its run
	 *   writer   counted in node->writers
	 *   opener   of a writer: the thread that opened it
	 *   changed  something was written through it
	 *   failed   its close failed: a job that it completes does not start
	 *   closer   the thread whose close succeeded
	 *   seen     `state`: the state that was read last, -1 none
	 */
	struct handle_record *kept;
	struct json_prefix *prefix; /* owned, of ops_config.c; or NULL */
	/* fires if no release follows the close soon */
	struct loop_timer doubt;
	struct buf text; /* H_TEXT, H_STAGED */
	struct user_weight weight; /* the user's share for `text` */
	bool cut; /* H_STAGED: opened with O_TRUNC */
	struct events_reader *events; /* owned; H_WAIT on `events` */
	struct blocked_poll poll;
	struct quota_open open;
	/* H_FILE of a virtual file: node in t.job->rows */
	struct open_vfile vfile;
};

/* Makes an open file on t, without a descriptor. kept: the previous server's
 * record, or NULL. Return: NULL without memory. */
struct handle *ops_handle_make(struct fsd *d, enum handle_kind kind,
			       const struct target *t,
			       struct handle_record *kept);
struct handle *ops_handle_new(struct fsd *d, enum handle_kind kind,
			      const struct target *t);
/*
 * Returns whether the job is removed when the last open file of this kind is closed
 * (held.h).
 */
bool ops_handle_holds(const struct handle *h);
/* Counts the text for the user who opened it. Return: 0, or negative errno
 * after setting last_error. */
int ops_handle_weigh(fuse_req_t req, struct handle *h);
/* Returns the sandbox that ends when the last open file of this kind is closed, or
 * NULL. */
struct sandbox *ops_handle_sandbox(const struct handle *h);
/* Returns the open file of a request. NULL: it could not be restored, since its
 * file is gone. */
struct handle *ops_handle(fuse_req_t req, const struct fuse_file_info *fi);
void ops_handle_free(struct handle *h);
/* ops_file.c: locks the job to which h's file belongs now. */
void ops_hold_job_of(const struct handle *h);
/* ops_config.c: examines n bytes that were written at off. Return: 0, or
 * negative errno after setting last_error: it is a config.json that is refused. */
int ops_config_written(fuse_req_t req, struct handle *h, const char *data,
		       size_t n, off_t off);
/* ops_file.c: call it after a close that promised a start. If no release
 * follows soon, the close may have been that of a duplicate. */
void ops_doubt(struct handle *h);
/* Returns whether an inherited open result is not the job's any more, because
 * it was removed or the job has run again. */
bool ops_vfile_is_gone(const struct handle_record *kept, const struct target *t);
/* Restores an open file of the previous server. fd (consumed): the file, if it has no
 * name any more; or -1. Return: 0 or negative errno. */
int ops_handle_restore(struct fsd *d, struct handle_record *kept,
		       const struct target *t, int fd);
/* ops_setattr.c: persists that the job is held, before the open is answered.
 * Call it in a fiber that holds the job's lock. Return: 0 or negative errno. */
int ops_record_hold(fuse_req_t req, struct job *job);
/* functions of ops_list.c */
void ops_listing_restore(struct fsd *d, struct handle_record *kept);
/* Makes the text of a virtual file again. Return: 0 or negative errno. */
int ops_vfile_text(struct handle *h);

#endif
