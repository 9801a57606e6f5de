/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by sched.c (room, choosing), waiting.c (users, who waits),
 * reservation.c (what is promised) and
 * idle_machines.c (what sessions and sandboxes give back). */
#ifndef FSD_SCHED_INT_H
#define FSD_SCHED_INT_H

#include "fsd/base/hash.h"
#include "sched.h"

#define ADVANCE_NS (100 * NS_PER_MS) /* what a run counts for as it begins */
#define DEBT_NS (60 * NS_PER_S)   /* at most; what is owed to one as well */

enum why {
	FITS,
	WHY_TURN, /* others are before it */
	WHY_QUOTA,
	WHY_MACHINES,
	WHY_CPUS,
	WHY_MEMORY,
	WHY_SICK,
	WHY_BARRED, /* so is everybody */
};

/* Those of a user with one priority, the oldest first. */
struct sched_level {
	struct list node; /* in the user's, the highest first */
	int priority;
	struct list slots;
	struct list *old_end; /* the last old one, or the list's head */
};

/* The sums of several machines. */
struct sched_use {
	uint64_t machines, cpus, memory;
};

struct sched_user {
	struct hash_node by_uid;
	struct list every;     /* in sched->every */
	struct list node;      /* in sched->users while it has waiting ones */
	uid_t uid;
	struct quota_user *quota; /* borrowed; NULL: none */
	struct list levels;
	uint64_t waiting, coming;
	struct sched_use has;  /* all that is under way, */
	uint64_t since_sum;    /* and the sum of their beginnings; wraps */
	struct sched_use kept; /* of that, by sessions: it may be idle */
	uint64_t served_ns;    /* by those that are over; wraps */
	unsigned skipped;      /* in this round of choosing */
};

struct sched {
	struct loop *loop;
	struct sched_limits limits;
	struct sched_host host;
	struct quota *quota;     /* borrowed; NULL: there are none */
	struct hash by_uid;      /* of struct sched_user, owned */
	struct list users;       /* with waiting ones */
	uint64_t waiting, coming; /* coming: places that are kept */
	uint64_t entered;        /* slots that ever did */
	struct list every;       /* of struct sched_user: all */
	struct sched_use has;    /* promised */
	struct sched_use kept;   /* of that, what sessions have, which no run's
				    end gives back */
	uint64_t turn_ns;        /* when a machine was last looked for that is to
				    be given back */
	uint64_t floor_ns;       /* the account that was served last */
	unsigned round;
	struct sched_slot *blocked; /* borrowed: the next one, that does not
				       fit, */
	uint64_t blocked_ns;     /* since then */
	bool short_of_memory;    /* somebody waits for it */
	struct vm_memory memory; /* as it was read at */
	uint64_t memory_ns;
	uint64_t capacity;       /* estimate: free if none of ours ran */
	struct loop_call look;
	struct loop_timer again;
};

/* NULL without memory. */
struct sched_user *sched_user_of(struct sched *s, uid_t uid);
/* What it has been served, and will soon have been. */
uint64_t sched_account(const struct sched_user *u, uint64_t now);
/* The same without what those under way count for in advance. */
uint64_t sched_served(const struct sched_user *u, uint64_t now);
/* At the end of its list, or at its front. Return: 0 or -ENOMEM. */
int sched_wait_in(struct sched *s, struct sched_slot *slot, bool front);
void sched_wait_out(struct sched *s, struct sched_slot *slot);

/* May it begin now? It says nothing and changes nothing. */
enum why sched_fits(struct sched *s, struct sched_slot *slot);

/* Could it begin if all runs under way ended, and sessions stayed? why: WHY_CPUS, or
 * its memory is looked at. */
bool sched_runs_have_it(const struct sched *s, const struct sched_slot *slot,
			enum why why);
/* The one of u that is next, or NULL. */
struct sched_slot *sched_head(const struct sched_user *u);
/* idle_machines.c: at most one machine is given back, once a second. */
void sched_take_turns(struct sched *s);

/* Reads the memory of the host. now: false: a reading of a moment ago will do. */
void sched_read_memory(struct sched *s, bool now);

/* reservation.c: what a machine may come to. */
uint64_t sched_need(uint64_t memory);
/* hold, which is none, is for such a machine. u: NULL: nobody is charged. */
void sched_promise(struct sched *s, struct sched_user *u, uint64_t memory,
		   unsigned cpus, struct sched_reservation *hold);

/* A place in the level of its priority: at the front, or by its age. Return: 0 or
 * -ENOMEM. */
int sched_level_in(struct sched_slot *slot, bool front);
void sched_level_out(struct sched_slot *slot); /* no-op on none */

#endif
