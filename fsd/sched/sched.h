/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who runs next. Every run waits here until there is room for it: a machine
 * (--max-machines), processors, memory, its owner's quota (--quota-running).
 * Nothing else holds a run back, and nothing else chooses.
 *
 * Room. A machine may come to what its program may take and VM_MACHINE_BYTES.
 * That is promised to it when it is granted, until its end, whatever it takes.
 * What all promises together may come to is what would be free if none of our
 * machines ran. Nobody tells that number: it is what is free now, and what the
 * machines have taken of their promises, which lies between nothing and all; so
 * the last estimate is kept within these bounds, and is exact whenever nothing
 * runs. A reserve stays free beside all promises. When memory is short, idle
 * machines give way. Others that free memory tell nobody, so as long as a run
 * waits for memory a timer looks once a second.
 *
 * Order. Among users the one is next who has been served least, in seconds of
 * machines held, those of runs under way included: by their number a user of
 * long runs would get all of the machine from a user of short ones. Each run
 * under way counts for a little in advance, so that users who begin together
 * take turns at once. Who comes back has the account of the one who was served
 * last, or a bounded debt: nobody saves up by being away, and nobody pays for
 * long. An idle session is no presence, and what a user was not given while it
 * was there (it wanted less, or what it wanted did not fit) is made up for with
 * no more than that debt may be. Of one user the highest priority is first,
 * then the oldest. A session or a sandbox waits here for its machine, as one
 * run does; the runs in it do not.
 *
 * Turns of machines that stay. A session or a sandbox keeps its machine while it
 * is idle. If another user waits for what such a machine has, the user who keeps
 * most gives back the machine that was idle for longest: after SCHED_SHARE_NS if
 * the user keeps more than its share, after SCHED_TURN_NS in any case. Nobody
 * gives back for a user who has as much.
 *
 * Who is next and does not fit lets others that do fit go first for a while,
 * also those behind it of the same user.
 * Then, if it would fit as soon as ours have ended, nobody passes any more; if
 * it would not (others have the memory, or sessions what they do not give back
 * for as long as they are used), all may.
 *
 * A run that waits is a few hundred bytes and no descriptor: its inputs are
 * listed when it is granted. What happens costs the number of users, at most.
 */
#ifndef FSD_SCHED_H
#define FSD_SCHED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "layout/layout.h"
#include "vm/vm.h"

struct quota;
struct sched;
struct sched_level;
struct sched_slot;
struct sched_user;

struct sched_limits {
	unsigned machines; /* in use at a time */
	unsigned cpus;     /* of machines that end with their run */
	uint64_t queued, user_queued; /* runs that wait; 0: no limit */
	uint64_t reserve;        /* bytes that stay free */
};

/* What the scheduler asks of those around it. */
struct sched_host {
	void (*memory)(void *arg, struct vm_memory *ret);
	/* Memory is short: ends something idle. sched_kick() follows, if so. */
	void (*give_way)(void *arg);
	/* NULL, or why no machine can be had now: then one at a time tries, or
	 * none if it is *ret_hopeless (which may be NULL). */
	const char *(*sick)(void *arg, bool *ret_hopeless);
	/* NULL, or why none is to begin, whether it needs a machine or not. When
	 * that is over sched_kick() follows. May be NULL. */
	const char *(*barred)(void *arg);
	/* Ends the use of a machine that a session or a sandbox of uid keeps: of
	 * those that were idle for idle_ns the one that was so for longest. Return:
	 * was there one? Not inside a call of here but sched_release(). May be
	 * NULL: nothing is taken. */
	bool (*take_back)(void *arg, uid_t uid, uint64_t idle_ns);
	uint64_t (*now)(void);
	void *arg;
};

/* A machine that is promised; embedded, zeroed. */
struct sched_reservation {
	struct sched *sched;     /* borrowed; NULL: none */
	struct sched_user *user;
	uint64_t memory;
	unsigned cpus;
	bool is_kept;            /* it outlives its runs */
	uint64_t since_ns;
};

struct sched_slot_ops {
	/* There is room: its machine may be asked for. Not inside a call. */
	void (*ready)(struct sched_slot *slot);
	/* Why it waits; once for each reason. */
	void (*tell)(struct sched_slot *slot, const char *sentence);
};

/* A run or a sandbox embeds one, zeroed, and fills in what stands above the line. */
struct sched_slot {
	const struct sched_slot_ops *ops;
	uid_t uid;
	int priority;
	uint64_t memory;         /* that the program and its files may take */
	unsigned cpus;
	uint64_t old;            /* accepted before all that are not, in this
				    order, but perhaps coming later; or 0 */
	/* --- */
	struct sched *sched;     /* borrowed */
	struct list node;        /* in the level */
	struct sched_user *user; /* NULL: it is not known here */
	uint64_t no;             /* who came earlier has a lower one */
	struct sched_level *level; /* where it waits */
	struct sched_reservation hold;
	uint32_t told;           /* 1 << reason */
	uint64_t since_ns;       /* it waits */
	bool waits, granted;
};

int sched_new(struct loop *loop, const struct sched_limits *limits,
	      const struct sched_host *host, struct quota *quota,
	      struct sched **ret);
void sched_free(struct sched *s); /* every slot has left; NULL is fine */

/*
 * May a run of uid with a program of so many bytes be queued? Return: 0;
 * -EINVAL: it never fits; -EAGAIN: too many wait (not if force); each with a
 * sentence.
 */
int sched_check(struct sched *s, uid_t uid, uint64_t memory, bool force,
		struct err *err);
/*
 * Between the check and the run's coming its acceptance may wait for the disk:
 * others that come meanwhile find its place taken, as if it waited already.
 * Both are no-ops if that is so. It is given back just before sched_enter().
 */
struct sched_place { /* embedded, zeroed */
	struct sched *sched;     /* borrowed; NULL: none */
	struct sched_user *user; /* NULL without memory */
};
void sched_keep_place(struct sched *s, uid_t uid, struct sched_place *p);
void sched_give_place(struct sched_place *p);

/* Return: 1 if it may have its machine at once; 0: ready() follows; -ENOMEM. */
int sched_enter(struct sched *s, struct sched_slot *slot);
/* It has its machine already, whatever room there is. Return: 0 or -ENOMEM. */
int sched_adopt(struct sched *s, struct sched_slot *slot);
/* Says why it waits, if it does. */
void sched_tell(struct sched_slot *slot);
/*
 * It was granted, and now it is known what it needs. Return: 0; -EAGAIN: more
 * than there is room for: it waits again, ready() follows; -E2BIG: it never
 * fits, with a sentence.
 */
int sched_grow(struct sched_slot *slot, uint64_t memory, struct err *err);
/* It was granted, has no machine any more, and is not to begin now after all: it
 * is the next of those that wait, ready() follows. Return: 0 or -ENOMEM. */
int sched_put_back(struct sched_slot *slot);
/* Waiting, granted or neither. */
void sched_leave(struct sched_slot *slot);

/* The slot's machine is one that outlives its runs: the promise moves to *kept, which
 * has none. */
void sched_join(struct sched_slot *slot, struct sched_reservation *kept);
void sched_release(struct sched_reservation *hold); /* no-op on none */

/* Something of what was waited for may have changed. */
void sched_kick(struct sched *s);
/* So long must a machine be idle before it is taken, from a user who keeps more
 * than its share and from any other. */
#define SCHED_SHARE_NS (5 * NS_PER_S)
#define SCHED_TURN_NS (30 * NS_PER_S)

/* The machines and memory of sessions and sandboxes, for a reader of the tree. */
struct sched_kept {
	unsigned machines, own;  /* of all users; of the one who asks */
	/* NULL, or what they keep all of, so that no job of usual size begins
	 * before one of them ends: "machines" or "memory". */
	const char *all;
	bool turn;               /* another user would give one back to this one */
};
void sched_kept(struct sched *s, uid_t uid, struct sched_kept *ret);
/* Would another user give a machine back for uid, when it is idle? */
bool sched_has_turn(struct sched *s, uid_t uid);

/* Is there memory that nobody needs, for an idle machine? */
bool sched_has_spare(struct sched *s);

struct sched_stats {
	uint64_t waiting, machines, promised, room;
	unsigned machines_most;
};
/* What those that wait wait for, as far as their users' next ones tell. */
enum sched_reason {
	SCHED_MACHINE, SCHED_CPUS, SCHED_MEMORY, SCHED_QUOTA, SCHED_DISK,
	SCHED_REASONS
};
extern const char *const sched_reason_names[SCHED_REASONS];
/* How many wait for what. Return: since when the oldest does, as the host's clock
 * has it; 0: none does. */
uint64_t sched_waits(struct sched *s, uint64_t ret[SCHED_REASONS]);
void sched_stats(struct sched *s, struct sched_stats *ret);
/* How many machines may be in use at a time. */
unsigned sched_machines_most(const struct sched *s);

#endif
