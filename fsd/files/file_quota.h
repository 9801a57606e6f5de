/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts jobs, runs and stored files for their owner (users/quota.h). On the loop's
 * thread.
 */
#ifndef FSD_FILE_QUOTA_H
#define FSD_FILE_QUOTA_H

#include "layout/layout.h"
#include "fsd/users/quota.h"

struct file_owner;
struct node;

#define QUOTA_AREAS 4 /* enum node_area; AREA_OUTPUT: all that a run left */

/* The share of one job in its user's quota. struct file_owner embeds it, zeroed. */
struct quota_share {
	struct quota_user *user; /* borrowed; NULL: it is not counted */
	uint64_t bytes[QUOTA_AREAS];
};

/* The size of one stored file. struct node embeds it, zeroed. */
struct quota_file {
	struct quota_user *payer; /* borrowed: deleted, but open, at their cost */
	uint64_t size;            /* as it was counted, if known */
	unsigned writing;         /* writes under way */
	bool known;
};

/* One open stdout, stderr or result.json of a run. A handle embeds it, zeroed. */
struct quota_open {
	struct list node;         /* in owner->open; when the run's results are
				     gone, with the others of the same file */
	struct quota_user *payer; /* borrowed: from then on */
	uint64_t size;            /* counted once for all of them */
	unsigned vfile;
	int fd;                   /* borrowed */
};

/* The job is in the tree; loaded: with what the state directory has of it, and with a
 * sink if that is true. Return: 0 or -ENOMEM. */
int quota_job_begin(struct file_owner *owner, bool loaded, bool sink);
/* It is not any more, and its trees are given up. */
void quota_job_end(struct file_owner *owner);
/* An area's tree is given up. */
void quota_area_end(struct file_owner *owner, unsigned area);
/* Subtracts the result.json of a run that has to be published again. */
void quota_unpublish(struct file_owner *owner);

/* fd is one of the newest run's; the file is closed. */
void quota_opened(struct file_owner *owner, struct quota_open *o, unsigned vfile,
		  int fd);
void quota_done_with(struct quota_open *o);
/* Around what is opened of a job that was removed before this server: it counts
 * for the owner, who has no job for it. */
void quota_gone_begin(struct file_owner *owner);
void quota_gone_end(struct file_owner *owner);

/* Bytes that a run may still leave, and those that it leaves or gives back. */
uint64_t quota_run_room(const struct file_owner *owner);
void quota_run_add(struct file_owner *owner, uint64_t bytes);
void quota_run_sub(struct file_owner *owner, uint64_t bytes);
/* Its output/ was dropped: what it counts for is what is there still. */
void quota_run_recount(struct file_owner *owner);

/* May a file be made in dir? 0 or -EDQUOT with a sentence. */
int quota_check_create(const struct node *dir, struct err *err);
/* Before a file's size changes or its name goes: learns what it is now. */
void quota_examine(struct node *node);
/* After: counts what it is now, unless a write is under way. */
void quota_settle(struct node *node);
void quota_made(struct node *node); /* whole at once, as a link is */
/* Before it is cut or extended to size; quota_settle() follows. */
int quota_resize(struct node *node, uint64_t size, struct err *err);
/* Around a write by fd, a descriptor of it. */
int quota_write_begin(struct node *node, int fd, uint64_t off, size_t size,
		      struct err *err);
void quota_write_end(struct node *node);

/* Its name is gone, after quota_examine(). */
void quota_unlinked(struct node *node);
/* Its whole tree goes: what is open of it counts on. Before it loses its job */
void quota_orphan(struct node *node);
/* Its last handle was closed. */
void quota_closed(struct node *node);
/* Its name was gone before this server: it counts for u (NULL: for no user). */
void quota_gone(struct node *node, struct quota_user *u);

/* Around node's way to dir, where it replaces old, if that is not NULL. */
struct quota_move {
	struct quota_share *from; /* NULL: nothing changes */
	unsigned area;
	uint64_t bytes;
};
int quota_move_begin(struct quota_move *m, struct node *node,
		     const struct node *dir, struct node *old,
		     struct err *err);
void quota_move_end(const struct quota_move *m, const struct node *node);

#endif
