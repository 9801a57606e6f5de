/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each user may have: jobs, bytes, runs at a time. A quota holds for
 * every uid, root's too, and goes by the owner of the job, whoever writes in
 * it.
 *
 * Bytes are the sizes of the regular files below a job's files/, sink/ and rN/
 * in the state directory, whatever they take there, but for the record of the
 * order of a run's output. A file that was deleted
 * while it is open counts until it is closed. quota.c has the sums and knows
 * nothing of jobs and files; quota_files.c tells it what they come to.
 *
 * Without any quota there are no users: each call here is a comparison.
 */
#ifndef FSD_QUOTA_H
#define FSD_QUOTA_H

#include <stdint.h>
#include <sys/types.h>

#include "layout/layout.h"

struct job;
struct node;
struct quota;
struct quota_user;

struct quota_limits {
	uint64_t jobs, bytes, running; /* 0: no limit */
	bool count_bytes; /* also without a limit: somebody wants to know */
};

struct quota_use {
	uint64_t jobs, bytes, running, waiting;
};

#define QUOTA_AREAS 3 /* enum node_area; AREA_OUTPUT: all that a run left */

/* Of a job; embedded, zeroed. */
struct quota_share {
	struct quota_user *user; /* borrowed; NULL: nobody counts */
	uint64_t bytes[QUOTA_AREAS];
};

/* Of a stored file; embedded, zeroed. */
struct quota_file {
	struct quota_user *payer; /* borrowed: deleted, but open, at their cost */
	uint64_t size;            /* as it was counted, if known */
	unsigned writing;         /* writes under way */
	bool known;
};

/* Of an open file of a run's, stdout, stderr or result.json; embedded, zeroed. */
struct quota_open {
	struct list node;         /* in job->open; when the run's results are
				     gone, with the others of the same file */
	struct quota_user *payer; /* borrowed: from then on */
	uint64_t size;            /* counted once for all of them */
	unsigned row;
	int fd;                   /* borrowed */
};

/* "4096", "10K", "2M", "1G". Return: 0, -EINVAL or -ERANGE. */
int quota_parse_size(const char *text, uint64_t *ret_bytes);

/* *ret is NULL if there is no limit at all, which is fine for all below. */
int quota_new(const struct quota_limits *limits, struct quota **ret);
void quota_free(struct quota *q);
/* What uid has and may have. False if there are no quotas. */
bool quota_of(struct quota *q, uid_t uid, struct quota_use *ret_use,
	      struct quota_limits *ret_limits);
void quota_each(struct quota *q,
		void (*fn)(void *arg, uid_t uid, const struct quota_use *use),
		void *arg);

bool quota_counts_bytes(const struct quota *q);
/* NULL without quotas or without memory. */
struct quota_user *quota_user(struct quota *q, uid_t uid);
void quota_count_job(struct quota_user *u, int more);
/* 0, or -EDQUOT with a sentence if uid may not have one more job. */
int quota_check_job(struct quota *q, uid_t uid, struct err *err);

/* Are bytes counted at all? u may be NULL. */
bool quota_has_bytes(const struct quota_user *u);
uint64_t quota_bytes(const struct quota_user *u); /* 0: they are not counted */
uint64_t quota_left(const struct quota_user *u); /* UINT64_MAX: no limit */
/* Never fails: what is there is there. Wraps around for fewer bytes. */
void quota_count_bytes(struct quota_user *u, uint64_t more);
/* 0, or -EDQUOT with a sentence if there is no room for so many more. */
int quota_check_bytes(const struct quota_user *u, uint64_t more,
		      struct err *err);

/* May one more run of the user's have a machine? Who does, says so, and says
 * how many wait for one; sched.c chooses among them. u may be NULL. */
bool quota_may_run(const struct quota_user *u);
void quota_count_running(struct quota_user *u, int more);
void quota_count_waiting(struct quota_user *u, int more);
/* How many of the user's runs may have a machine. */
uint64_t quota_running(const struct quota_user *u);

/* --- quota_files.c ----------------------------------------------------- */

/* The job is in the tree; loaded: with what the state directory has of it. */
int quota_job_begin(struct job *job, bool loaded);
/* It is not any more, and its trees are given up. */
void quota_job_end(struct job *job);
/* An area's tree is given up. */
void quota_area_end(struct job *job, unsigned area);
/* What was published for a run that has to be published again. */
void quota_unpublish(struct job *job);

/* fd is one of the newest run's; the file is closed. */
void quota_opened(struct job *job, struct quota_open *o, unsigned row, int fd);
void quota_done_with(struct quota_open *o);
/* Around what is opened of a job that was removed before this server: it counts
 * for the owner, who has no job for it. */
void quota_gone_begin(struct job *job);
void quota_gone_end(struct job *job);

/* Bytes that a run may still leave, and those that it leaves or gives back. */
uint64_t quota_run_room(const struct job *job);
void quota_run_add(struct job *job, uint64_t bytes);
void quota_run_sub(struct job *job, uint64_t bytes);
/* Its output/ was dropped: what it counts for is what is there still. */
void quota_run_recount(struct job *job);

/* May a file be made in dir? 0 or -EDQUOT with a sentence. */
int quota_check_create(const struct node *dir, struct err *err);
/* Before a file's size changes or its name goes: learns what it is now. */
void quota_look(struct node *node);
/* After: counts what it is now, unless a write is under way. */
void quota_settle(struct node *node);
void quota_made(struct node *node); /* whole at once, as a link is */
/* Before it is cut or extended to size; quota_settle() follows. */
int quota_resize(struct node *node, uint64_t size, struct err *err);
/* Around a write by fd, a descriptor of it. */
int quota_write_begin(struct node *node, int fd, uint64_t off, size_t size,
		      struct err *err);
void quota_write_end(struct node *node);

/* Its name is gone, after quota_look(). */
void quota_unlinked(struct node *node);
/* Its whole tree goes: what is open of it counts on. Before it loses its job */
void quota_orphan(struct node *node);
/* Nobody has it open any more. */
void quota_closed(struct node *node);
/* Its name was gone before this server: it counts for u (NULL: nobody). */
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
