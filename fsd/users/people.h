/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has made jobs or was refused something, and when something of theirs
 * changed: the mount's own times would tell each of what the others do.
 */
#ifndef FSD_PEOPLE_H
#define FSD_PEOPLE_H

#include <sys/types.h>

#include "layout/layout.h"
#include "vm/environment/environment.h"
#include "fsd/base/hash.h"
#include "quota.h"

struct users; /* all of them */

/* CLOCK_REALTIME: a job came, went or was renamed; anything changed. */
struct times {
	uint64_t listed_ns, changed_ns;
};

struct person {
	struct list node; /* in users->people */
	struct hash_node by_uid;
	uid_t uid;
	struct times times;
	uint64_t jobs[JOB_STATE_MAX]; /* theirs in the tree */
	struct list finished;    /* of struct job: retain.c; the oldest first */
	uint64_t finished_count;
	uint64_t doomed_bytes;   /* of jobs that are to go: likewise */
	char environment_id[LANG_MAX][SHA_HEX]; /* of the last job; "": none */
	uint64_t open;           /* descriptors for what they have opened */
	unsigned sandboxes;      /* that they have */
	uint64_t bytes;          /* of what they have open: struct person_weight */
};

/* The mount begins to exist now. open_most: descriptors that the open files of one
 * user may take. limits: of each user. Return: 0 or -ENOMEM. */
int users_new(uint64_t open_most, const struct quota_limits *limits,
	      struct users **ret);
void users_free(struct users *users); /* NULL is fine */
/* The mount began before this server, and its health changed last, at these times
 * (CLOCK_REALTIME). */
void users_began(struct users *users, uint64_t started_ns, uint64_t health_ns);
uint64_t users_started_ns(const struct users *users);
/* The operator changed what all users see in .fsd. Return: now. */
uint64_t users_health_changed(struct users *users);
/* Borrowed; NULL: there are no quotas. */
struct quota *users_quota(const struct users *users);
uint64_t users_open_most(const struct users *users);
/* Jobs in each state: all users' with all, else uid's. */
void users_count(struct users *users, uid_t uid, bool all,
		 uint64_t count[JOB_STATE_MAX]);

/* NULL without memory. */
struct person *person_of(struct users *users, uid_t uid);

/* Something of theirs did so now; p may be NULL. The second returns when. */
void person_listed(struct users *users, struct person *p);
uint64_t person_changed(struct users *users, struct person *p);

/* One of their jobs is, or is not any more, in this state. */
void person_count(struct person *p, enum job_state state, int more);

/*
 * Descriptors are the server's, and what users open takes some. 0, or -EMFILE
 * with a sentence: uid has as many as one user may have. The second counts one
 * more, without looking. NULL: the operator, or there is no memory.
 */
int person_may_open(struct users *users, uid_t uid, struct err *err);
struct person *person_opens(struct users *users, uid_t uid);
/* The same for a file without a name that is kept for who needs it. The operator
 * may open without end, but counts here: rm of a job's inputs takes one each. */
bool person_may_keep(struct users *users, uid_t uid);
struct person *person_keeps(struct users *users, uid_t uid);
void person_closes(struct person *p); /* NULL is fine */

/*
 * Memory of the server that lasts for as long as a user has something open: texts,
 * and the names of directories in machines. Each user may have PERSON_BYTES of it,
 * the operator as well.
 */
#define PERSON_BYTES (64u << 20)
struct person_weight { /* embedded, zeroed */
	struct person *payer; /* borrowed; NULL: nothing was weighed yet */
	uint64_t bytes;
};
/* It comes to so many bytes now, at uid's cost if that is its first weighing. Return:
 * 0, or -EMFILE with a sentence: too many, and nothing has changed. Never fails if it
 * becomes less. */
int person_weigh(struct users *users, uid_t uid, struct person_weight *w,
		 uint64_t bytes, struct err *err);
void person_unweigh(struct person_weight *w); /* no-op on none */

/* Who may see the figures of all users. */
bool is_operator(uid_t uid);
/* What uid is to see. */
struct times people_times(struct users *users, uid_t uid);

#endif
