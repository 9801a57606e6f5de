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

#define QUOTA_AREAS 4 /* enum node_area; AREA_OUTPUT: all files of the newest run */

/* The share of one job in its user's quota. struct file_owner embeds it, zeroed. */
struct quota_share {
	struct quota_user *user; /* borrowed; NULL: the job is not counted */
	uint64_t bytes[QUOTA_AREAS];
};

/* The size of one stored file. struct node embeds it, zeroed. */
struct quota_file {
	struct quota_user *payer; /* borrowed: the user for whom a deleted file counts
				   * while it is open */
	uint64_t size;            /* size as the quota counts it; valid if `known` */
	unsigned writing;         /* writes under way */
	bool known;
};

/* One open stdout, stderr or result.json of a run. A handle embeds it, zeroed. */
struct quota_open {
	struct list node;         /* in owner->open; once the run's results are gone, in
				   * the list of the open files of the same `vfile` */
	struct quota_user *payer; /* borrowed: the user for whom it counts once the
				   * results are gone */
	uint64_t size;            /* bytes; they count once for all opens of the same
				   * file */
	unsigned vfile;
	int fd;                   /* borrowed */
};

/* Counts a job that is in the table now. loaded: with the files that the state directory
 * has of it; sink: also its sink/. Return: 0 or -ENOMEM. */
int quota_job_begin(struct file_owner *owner, bool loaded, bool sink);
/* Call it when the job leaves the table: its trees count no more. */
void quota_job_end(struct file_owner *owner);
/* Call it when an area's tree is dropped: its bytes count no more. */
void quota_area_end(struct file_owner *owner, unsigned area);
/* Subtracts the result.json of a run that has to be published again. */
void quota_unpublish(struct file_owner *owner);

/* quota_opened() counts an open result of the newest run: fd is its descriptor.
 * quota_done_with() ends that, at the close. */
void quota_opened(struct file_owner *owner, struct quota_open *o, unsigned vfile,
		  int fd);
void quota_done_with(struct quota_open *o);
/* Call them around opens of files of a job that an earlier server removed: the files
 * count for their owner without a job. */
void quota_gone_begin(struct file_owner *owner);
void quota_gone_end(struct file_owner *owner);

/* quota_run_room() returns how many bytes the run may still store. quota_run_add() counts
 * bytes that it stores, quota_run_sub() bytes that it no longer needs. */
uint64_t quota_run_room(const struct file_owner *owner);
void quota_run_add(struct file_owner *owner, uint64_t bytes);
void quota_run_sub(struct file_owner *owner, uint64_t bytes);
/* Call it when output/ was dropped: counts the files that still exist. */
void quota_run_recount(struct file_owner *owner);

/* Checks whether a file may be made in dir. Return: 0, or -EDQUOT with a sentence. */
int quota_check_create(const struct node *dir, struct err *err);
/* Call it before a file's size changes or its name is removed: reads the present size. */
void quota_examine(struct node *node);
/* Call it after that change: counts the new size, unless a write is under way. */
void quota_settle(struct node *node);
void quota_made(struct node *node); /* Counts an entry that was made in one step, such as
				     * a link. */
/* Call it before the file is cut or extended to size, and quota_settle() afterwards.
 * Return: 0, or -EDQUOT with a sentence. */
int quota_resize(struct node *node, uint64_t size, struct err *err);
/* Call them around a write to the file. fd: a descriptor of it. */
int quota_write_begin(struct node *node, int fd, uint64_t off, size_t size,
		      struct err *err);
void quota_write_end(struct node *node);

/* Call it when the file's name was removed, after quota_examine(). */
void quota_unlinked(struct node *node);
/* Call it before the node of a removed tree loses its job: open files continue to
 * count. */
void quota_orphan(struct node *node);
/* Call it when the last handle of the file was closed. */
void quota_closed(struct node *node);
/* Lets u (NULL: no user) pay for an open file that had lost its name under an earlier
 * server. */
void quota_gone(struct node *node, struct quota_user *u);

/* The move of a node to dir, where it replaces old, if that is not NULL. */
struct quota_move {
	struct quota_share *from; /* NULL: the move changes no count */
	unsigned area;
	uint64_t bytes;
};
int quota_move_begin(struct quota_move *m, struct node *node,
		     const struct node *dir, struct node *old,
		     struct err *err);
void quota_move_end(const struct quota_move *m, const struct node *node);

#endif
