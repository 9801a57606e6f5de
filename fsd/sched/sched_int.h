/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by sched.c (fitting, choosing), waiting.c (users, waiting runs), reservation.c
 * (promises) and idle_machines.c (machines that sessions and sandboxes give back). */
#ifndef FSD_SCHED_INT_H
#define FSD_SCHED_INT_H

#include "fsd/base/hash.h"
#include "sched.h"

#define ADVANCE_NS (100 * NS_PER_MS) /* a running run counts this much more */
#define DEBT_NS (60 * NS_PER_S)   /* most debt of a user, and most compensation */

enum why {
	FITS,
	WHY_TURN, /* other runs come first */
	WHY_QUOTA,
	WHY_MACHINES,
	WHY_CPUS,
	WHY_MEMORY,
	WHY_SICK,
	WHY_BARRED, /* no run may begin: sched_host.barred */
};

/* The waiting runs of one user with one priority, the oldest first. */
struct sched_level {
	struct list node; /* link in the user's levels, the highest priority first */
	int priority;
	struct list slots;
	struct list *old_end; /* the last slot with `old` set, or the list's head */
};

/* The sums of several machines. */
struct sched_use {
	uint64_t machines, cpus, memory;
};

struct sched_user {
	struct hash_node by_uid;
	struct list every;     /* link in sched->every */
	struct list node;      /* link in sched->users while the user has waiting runs */
	uid_t uid;
	struct quota_user *quota; /* borrowed; NULL: none */
	struct list levels;
	uint64_t waiting, coming;
	struct sched_use has;  /* promised to its machines */
	uint64_t since_sum;    /* the sum of since_ns of those promises; wraps */
	struct sched_use kept; /* the part of `has` that sessions and sandboxes keep */
	uint64_t served_ns;    /* time of machines whose promise has ended; wraps */
	unsigned skipped;      /* the last round of choosing that passed this user over */
};

struct sched {
	struct loop *loop;
	struct sched_limits limits;
	struct sched_host host;
	struct quota *quota;     /* borrowed; NULL: no quotas */
	struct hash by_uid;      /* owned: all struct sched_user */
	struct list users;       /* users with waiting runs: struct sched_user */
	uint64_t waiting;        /* runs */
	uint64_t coming;         /* number of kept places (struct sched_place) */
	uint64_t entered;        /* slots that have entered so far */
	struct list every;       /* all users: struct sched_user */
	struct sched_use has;    /* promised */
	struct sched_use kept;   /* the part of `has` that sessions and sandboxes keep; the
				    end of a run does not free it */
	uint64_t turn_ns;        /* time of the last try to take a machine back */
	uint64_t floor_ns;       /* the account of the user served last */
	unsigned round;          /* counts the rounds of choosing */
	struct sched_slot *blocked; /* borrowed: the next run, which does not fit; or NULL */
	uint64_t blocked_ns;     /* time at which `blocked` was set */
	bool short_of_memory;    /* a run waits for memory */
	struct vm_memory memory; /* read at memory_ns */
	uint64_t memory_ns;
	uint64_t capacity;       /* estimate: free memory if no machine of ours ran */
	struct loop_call look;
	struct loop_timer again;
};

/* Finds the user, or adds it. NULL: out of memory. */
struct sched_user *sched_user_of(struct sched *s, uid_t uid);
/* Return: the time of machines that u has had, and ADVANCE_NS for each that it has. */
uint64_t sched_account(const struct sched_user *u, uint64_t now);
/* Like sched_account(), without ADVANCE_NS. */
uint64_t sched_served(const struct sched_user *u, uint64_t now);
/* sched_wait_in() makes the slot wait, at the front of its level or by its age. Return: 0
 * or -ENOMEM. sched_wait_out() ends its wait. */
int sched_wait_in(struct sched *s, struct sched_slot *slot, bool front);
void sched_wait_out(struct sched *s, struct sched_slot *slot);

/* Return: FITS, or why the run cannot begin now. It changes no state of a run. */
enum why sched_fits(struct sched *s, struct sched_slot *slot);

/* Return: true if the slot would fit after all running runs have ended, while sessions and
 * sandboxes keep their machines. why: what the slot lacks now. For WHY_CPUS the answer is
 * true: a run alone may have all processors. Otherwise its memory is checked. */
bool sched_runs_have_it(const struct sched *s, const struct sched_slot *slot,
			enum why why);
/* Return: the next run of u, or NULL. */
struct sched_slot *sched_head(const struct sched_user *u);
/* idle_machines.c: takes back at most one idle machine, once a second. */
void sched_take_turns(struct sched *s);

/* Reads the host's memory. now false: a reading that is younger than FRESH_NS (sched.c) is
 * used again. */
void sched_read_memory(struct sched *s, bool now);

/* reservation.c. Return: the bytes that a machine may use if its program may use
 * `memory`. */
uint64_t sched_need(uint64_t memory);
/* Promises memory and processors to a machine. hold must hold no promise. u NULL: no user
 * is charged. */
void sched_promise(struct sched *s, struct sched_user *u, uint64_t memory,
		   unsigned cpus, struct sched_reservation *hold);

/* sched_level_in() adds the slot to the level of its priority: at the front, or by its
 * age. Return: 0 or -ENOMEM. sched_level_out() removes it, and does nothing if the slot
 * is in no level. */
int sched_level_in(struct sched_slot *slot, bool front);
void sched_level_out(struct sched_slot *slot);

#endif
