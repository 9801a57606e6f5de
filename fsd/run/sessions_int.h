/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by sessions*.c only. */
#ifndef FSD_SESSIONS_INT_H
#define FSD_SESSIONS_INT_H

#include "fsd/sched/sched.h"
#include "run_int.h"
#include "sessions.h"

struct sessions {
	struct list all;           /* of struct session */
	uint64_t last_no;          /* given */
	struct err why;            /* of sessions_begins(): none may begin */
};

struct session {
	struct list node;          /* in sessions->all */
	struct fsd *d;
	uint64_t no;               /* never used twice by one daemon */
	char *name;                /* owned */
	uid_t uid;
	gid_t gid;
	const struct lang *lang;
	struct environment *environment; /* a reference; NULL: base */
	struct vm_lease *lease;    /* owned; NULL: begun at the next step */
	struct sched_hold hold;    /* what its machine was promised */
	bool granted;
	uint64_t lease_steps;      /* that this machine has done */
	struct list waiting;       /* of struct run, in order */
	struct run *current;       /* borrowed: it has the lease */
	uint64_t steps, idle_ms;
	uint64_t idle_since_ns;
	struct loop_timer idle;
	struct loop_call next;
	bool given;                /* another user has got its machine */
	bool ending;               /* gone as soon as the last run has left */
};

/* One that does not end just now; or NULL. */
struct session *session_find_own(struct fsd *d, uid_t uid, const char *name);
/* Marks it as idle from now on. */
void session_rest(struct session *s);
bool session_is_busy(const struct session *s);

#endif
