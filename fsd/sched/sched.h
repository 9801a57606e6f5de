/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler: chooses the run that gets the next machine. A run waits here until it
 * fits: a machine (--max-machines), processors, memory, its owner's quota
 * (--quota-running). No other part of fsd delays a run or chooses one.
 *
 * Memory. A machine may use what its program may use, and VM_MACHINE_BYTES. Granting a
 * run promises that memory until the machine ends, however much of it the machine uses.
 * All promises together must fit into the capacity: the memory that would be free if no
 * machine of ours ran. The kernel does not report that number. It is the free memory plus
 * what the machines have used of their promises, which is between zero and all of them.
 * So the last estimate is kept within these bounds; it is exact while no machine runs. A
 * reserve stays free beside all promises. When memory is short, idle machines end. Other
 * programs do not report that they free memory, so while a run waits for memory a timer
 * checks once a second.
 *
 * Order. The next run is one of the user who was served least, in seconds of machines,
 * those of running runs included. (If runs were counted, a user of long runs would get
 * nearly all machines from a user of short ones.) Each running run counts ADVANCE_NS
 * more, so users who begin together alternate at once. A user who returns gets the
 * account of the user served last, or keeps a debt of at most DEBT_NS: absence saves up
 * nothing, and no debt lasts long. An idle session does not count as presence. A user who
 * was present and got less (it wanted less, or its run did not fit) is compensated by at
 * most DEBT_NS. Runs of one user: the highest priority first, then the oldest. A session
 * or a sandbox waits here for its machine as one run; the runs in it do not wait here.
 *
 * Taking machines back. A session or a sandbox keeps its machine while it is idle. If
 * another user waits for what such a machine has, the user who keeps most gives back the
 * machine that was idle longest: after SCHED_SHARE_NS if the user keeps more than its
 * share, after SCHED_TURN_NS otherwise. No user gives back for one who has as much.
 *
 * Passing. If the next run does not fit, other runs that fit go first for PASS_NS, also
 * later ones of the same user. After that no run passes it, if it would fit as soon as
 * all running runs have ended. If it would not fit even then (other programs, or sessions
 * in use, have the memory), all runs may pass it.
 *
 * A waiting run costs a few hundred bytes and no descriptor: its inputs are listed when
 * it is granted. Each event costs at most the number of users. Context: all functions run
 * on the loop's thread, in a fiber or not; none blocks. Times are nanoseconds of
 * host.now(), memory is bytes.
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
	unsigned machines; /* most machines in use at a time */
	unsigned cpus;     /* together, of machines that end with their run */
	uint64_t queued, user_queued; /* waiting runs, of all and of a user; 0: no limit */
	uint64_t reserve;        /* bytes that no promise uses */
};

/* Callbacks of the scheduler, with arg (borrowed); on the loop's thread, none blocks. */
struct sched_host {
	void (*memory)(void *arg, struct vm_memory *ret);
	/* Memory is short: ends an idle machine, if there is one, and calls sched_kick()
	 * when it has ended. */
	void (*give_way)(void *arg);
	/* Return: NULL, or a sentence: machines do not start now. Then one run at a time
	 * tries, or none if *ret_hopeless is set. ret_hopeless may be NULL. */
	const char *(*sick)(void *arg, bool *ret_hopeless);
	/* Return: NULL, or a sentence: no run may begin now (the disk is full). The host
	 * calls sched_kick() when that ends. May be NULL. */
	const char *(*barred)(void *arg);
	/* Takes back a machine that a session or a sandbox of uid keeps: the one that was
	 * idle longest, and for at least idle_ns. Return: true if there is one. It may
	 * call sched_release(), and no other function of this header. NULL: the scheduler
	 * takes no machine back. */
	bool (*take_back)(void *arg, uid_t uid, uint64_t idle_ns);
	uint64_t (*now)(void);
	void *arg;
};

/* The memory and processors promised to one machine. The owner embeds it, zeroed. */
struct sched_reservation {
	struct sched *sched;     /* borrowed; NULL: the machine holds no promise */
	struct sched_user *user; /* borrowed: who is charged; NULL: out of memory */
	uint64_t memory;
	unsigned cpus;
	bool is_kept;            /* the machine outlives its runs */
	uint64_t since_ns;       /* the promise was made */
};

struct sched_slot_ops {
	/* The run is granted: its owner may ask for the machine. Called from a deferred
	 * call, never inside a call of the owner. */
	void (*ready)(struct sched_slot *slot);
	/* Why the run waits, a sentence; once for each reason. */
	void (*tell)(struct sched_slot *slot, const char *sentence);
};

/* A run or a sandbox embeds one, zeroed, and sets the fields above the mark "---". */
struct sched_slot {
	const struct sched_slot_ops *ops;
	uid_t uid;
	int priority;
	uint64_t memory;         /* bytes that the program and its files may use */
	unsigned cpus;
	uint64_t old;            /* place of a run that an earlier server accepted, in
				  * that order, before all new runs; 0: a new run */
	/* --- */
	struct sched *sched;     /* borrowed */
	struct list node;        /* link in the level */
	struct sched_user *user; /* borrowed; NULL: not entered, or left */
	uint64_t no;             /* rises with each slot that enters */
	struct sched_level *level; /* borrowed: the level where the slot waits; or NULL */
	struct sched_reservation hold; /* the promise for its machine, once granted */
	uint32_t told;           /* reasons given to tell(), 1 << enum why */
	uint64_t since_ns;       /* when it began to wait */
	bool waits, granted;
};

int sched_new(struct loop *loop, const struct sched_limits *limits,
	      const struct sched_host *host, struct quota *quota,
	      struct sched **ret);
/* Call it when every slot has left. NULL is fine. */
void sched_free(struct sched *s);

/*
 * Checks whether a run of uid, whose program may use `memory` bytes, may be queued.
 * Return: 0; -EINVAL: it can never fit; -EAGAIN: the queue is full (not with force); each
 * error with a sentence.
 */
int sched_check(struct sched *s, uid_t uid, uint64_t memory, bool force,
		struct err *err);
/*
 * A place in the queue for a run that is coming. Between sched_check() and sched_enter()
 * the acceptance waits for the disk; other runs that are checked meanwhile find the place
 * taken. sched_keep_place() does nothing if p has a place, sched_give_place() if it has
 * none. Give the place back just before sched_enter().
 */
struct sched_place { /* embedded, zeroed */
	struct sched *sched;     /* borrowed; NULL: no place */
	struct sched_user *user; /* borrowed; NULL: out of memory */
};
void sched_keep_place(struct sched *s, uid_t uid, struct sched_place *p);
void sched_give_place(struct sched_place *p);

/* Queues a run. Return: 1: it is granted now, and ready() is not called; 0: it waits, and
 * ready() is called later; -ENOMEM. */
int sched_enter(struct sched *s, struct sched_slot *slot);
/* Enters a run that has its machine already (it was adopted), whether it fits or not.
 * Return: 0 or -ENOMEM. */
int sched_adopt(struct sched *s, struct sched_slot *slot);
/* Calls tell() with the reason, if the slot waits. */
void sched_tell(struct sched_slot *slot);
/*
 * Sets the memory of a granted run, once its inputs are known. Return: 0; -EAGAIN: it
 * does not fit now, so it waits again and ready() is called later; -E2BIG: it can never
 * fit, with a sentence; -ENOMEM.
 */
int sched_grow(struct sched_slot *slot, uint64_t memory, struct err *err);
/* Requeues a granted run that has lost its machine, at the front of its level; ready() is
 * called later. Return: 0 or -ENOMEM. */
int sched_put_back(struct sched_slot *slot);
/* Removes a slot in any state: waiting, granted, or never entered. */
void sched_leave(struct sched_slot *slot);

/* Moves the slot's promise to *kept, which holds none: the machine outlives its runs. */
void sched_join(struct sched_slot *slot, struct sched_reservation *kept);
/* Ends a promise, and charges the user for its time. Does nothing if hold has none. */
void sched_release(struct sched_reservation *hold);

/* Checks the waiting runs again, in a deferred call. Call it when something that they may
 * wait for has changed. */
void sched_kick(struct sched *s);
/* How long a machine must be idle before it is taken back: from a user who keeps more
 * than its share, and from any other user. */
#define SCHED_SHARE_NS (5 * NS_PER_S)
#define SCHED_TURN_NS (30 * NS_PER_S)

/* The machines of sessions and sandboxes, as the files below .fsd show it. */
struct sched_kept {
	unsigned machines, own;  /* machines: kept by all users; own: kept by the user who
				  * asks */
	/* "machines" or "memory": sessions and sandboxes keep all of it, so no job of
	 * usual size can begin before one of them ends; NULL: they do not */
	const char *all;
	bool turn;               /* another user would give a machine back to this user */
};
void sched_kept(struct sched *s, uid_t uid, struct sched_kept *ret);
/* Return: true if another user would give back an idle machine for uid. */
bool sched_has_turn(struct sched *s, uid_t uid);

/* Return: true if there is memory for one more idle machine, and no run waits for
 * memory. */
bool sched_has_spare(struct sched *s);

struct sched_stats {
	uint64_t waiting;        /* runs */
	uint64_t machines;       /* machines in use */
	uint64_t promised, room; /* bytes promised; bytes that can still be promised */
	unsigned machines_most;
};
/* Why runs wait. The reason of a user's next run counts for all runs of that user. */
enum sched_reason {
	SCHED_MACHINE, SCHED_CPUS, SCHED_MEMORY, SCHED_QUOTA, SCHED_DISK,
	SCHED_REASONS
};
extern const char *const sched_reason_names[SCHED_REASONS];
/* Counts the waiting runs by reason. Return: when the oldest began to wait, in
 * host.now()'s time; 0: no run waits. */
uint64_t sched_waits(struct sched *s, uint64_t ret[SCHED_REASONS]);
void sched_stats(struct sched *s, struct sched_stats *ret);
/* How many machines may be in use at a time. */
unsigned sched_machines_most(const struct sched *s);

#endif
