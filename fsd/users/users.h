/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One record for each user that has made a job, opened a file or was refused something.
 * A user sees the times of this record in place of the mount's: the mount's would show
 * the work of other users. Context: the loop or a fiber; no function waits.
 */
#ifndef FSD_USERS_H
#define FSD_USERS_H

#include <sys/types.h>

#include "layout/layout.h"
#include "fsd/base/hash.h"
#include "quota.h"

struct users; /* the table */

struct times { /* CLOCK_REALTIME */
	/* listed_ns: a job came, went or was renamed; changed_ns: anything changed */
	uint64_t listed_ns, changed_ns;
};

struct user {
	struct list node; /* link in users->list */
	struct hash_node by_uid; /* link in users->by_uid */
	uid_t uid;
	struct times times;
	uint64_t jobs[JOB_STATE_MAX]; /* the user's jobs in the tree */
	uint64_t open;           /* descriptors of the user's open files */
	uint64_t bytes;          /* memory of the user's open files: user_weigh() */
};

/* Makes the table of users; the mount begins to exist now. open_most: descriptors that
 * the open files of one user may take. limits: of each user. Return: 0 or -ENOMEM. */
int users_new(uint64_t open_most, const struct quota_limits *limits,
	      struct users **ret);
void users_free(struct users *users); /* NULL is fine */
/* Sets when the mount began, before this server, and when its health changed last
 * (CLOCK_REALTIME). */
void users_began(struct users *users, uint64_t started_ns, uint64_t health_ns);
uint64_t users_started_ns(const struct users *users);
/* Call it when the operator changed a file in .fsd that all users see. Return: now. */
uint64_t users_health_changed(struct users *users);
/* Borrowed; NULL: there are no quotas. */
struct quota *users_quota(const struct users *users);
/* Counts the jobs in each state: of all users, or of uid. */
void users_count(struct users *users, uid_t uid, bool all,
		 uint64_t count[JOB_STATE_MAX]);

/* Return: NULL without memory. */
struct user *user_of(struct users *users, uid_t uid);

/* user_listed() notes that a job of the user came, went or was renamed now;
 * user_changed() that anything else of the user changed, and returns the time. p may be
 * NULL. */
void user_listed(struct users *users, struct user *p);
uint64_t user_changed(struct users *users, struct user *p);

/* Counts a job of the user. more: 1: it enters this state; -1: it leaves. NULL: does
 * nothing. */
void user_count(struct user *p, enum job_state state, int more);

/*
 * The open files of users take descriptors of the server. user_may_open() checks whether
 * uid may open one more. Return: 0, or -EMFILE with a sentence. user_opens() counts one
 * more, without a check. Return: the record for user_closes(); NULL: uid is the operator,
 * or no memory.
 */
int user_may_open(struct users *users, uid_t uid, struct err *err);
struct user *user_opens(struct users *users, uid_t uid);
void user_closes(struct user *p);     /* NULL is fine */

/*
 * Memory of the server that lasts as long as a file is open: texts, and the names of
 * directories in machines. Each user may have USER_BYTES of it, the operator too.
 */
#define USER_BYTES (64u << 20)
struct user_weight {   /* embedded, zeroed */
	struct user *payer;   /* borrowed; NULL: not weighed yet */
	uint64_t bytes;
};
/* Sets the bytes of w. The first call decides who pays: uid. Return: 0; -ENOMEM; or
 * -EMFILE with a sentence: too many, and w is unchanged. Fewer bytes never fail. */
int user_weigh(struct users *users, uid_t uid, struct user_weight *w,
	       uint64_t bytes, struct err *err);
void user_unweigh(struct user_weight *w);     /* does nothing if w has no bytes */

/* Root, or the user that runs the daemon: may see the figures of all users. */
bool is_operator(uid_t uid);
/* Return: the times that uid sees. */
struct times user_times(struct users *users, uid_t uid);

#endif
