/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workers: threads that make all calls on the mount that may wait. A call
 * on the files of a machine waits for that machine, other calls do not; so
 * there are workers for each kind, and each owner has a share of them
 * (share.h). A work that takes too long is interrupted: its calls fail with
 * EINTR. Works of one group run one after the other, in their order.
 */
#ifndef GATEWAY_CREW_H
#define GATEWAY_CREW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "reactor.h"
#include "share.h"

#define CREW_MAX 64u
#define CREW_LIGHT 4u /* one of so many workers is reserved for light works */
#define CREW_MS 30000u /* the clock thread interrupts a work this long after crew_put() */
#define CREW_LATE "the mount has not answered for 30 seconds; .fsd/health may tell why"
#define CREW_LEAST_MS 1000u /* ... but not before the work has run this long */
/* ... and again after each such time until the work ends: a signal that comes just before
 * a call would not interrupt it */
#define CREW_AGAIN_MS 50u

/* Works that run one after the other. Zeroed: none waits or runs. A group must live longer
 * than its works. */
struct crew_group {
	struct list waiting;
	bool busy;
};

/* One task for a worker. The crew owns it from crew_put() until done() is called on the
 * loop; then the caller does. */
struct crew_work {
	struct list node;
	struct reactor_post post;
	struct crew_group *group; /* NULL: the work has no group */
	char owner[SHARE_OWNER];  /* "": the gateway itself */
	bool light;               /* the work never waits for a machine */
	bool patient; /* never interrupt it */
	bool late; /* set in done(): it was interrupted */
	uint64_t due_ms;
	void (*run)(struct crew_work *work);  /* on a worker */
	void (*done)(struct crew_work *work); /* on the loop; NULL: run() frees it */
};

struct crew;

/* A worker's thread, with a copy of what is needed about its work, which run()
 * may free. */
struct crew_seat {
	struct crew *crew;
	pthread_t thread;
	bool light;
	bool busy, patient; /* protected by the lock */
	uint64_t began_ms, due_ms;
	atomic_bool late;
};

struct crew_lane {
	pthread_cond_t more;
	struct list queue;
	struct shares shares;
};

struct crew {
	struct reactor *reactor;
	pthread_mutex_t lock;
	struct crew_lane lane[2]; /* lane[1] has the light works */
	pthread_t clock; /* thread that interrupts late works */
	pthread_cond_t tick;
	bool ends, over;
	/* when the clock thread checks again; 0: when a work begins */
	uint64_t tick_ms;
	uint64_t ends_ms;
	unsigned count;
	uint64_t bound_ms; /* CREW_MS; shorter in a test */
	struct crew_seat seat[CREW_MAX + 1];
};

/*
 * Starts the workers, at least one of each kind. Return: 0 or negative errno.
 */
int crew_open(struct crew *c, struct reactor *r, unsigned count);
/* Waits until all works have run: some of them clean up after a client. Works
 * that then take longer than CREW_LEAST_MS are interrupted. */
void crew_close(struct crew *c);
/* Puts a work into the queue. Any thread. */
void crew_put(struct crew *c, struct crew_work *work);
/* Takes a work without a group back, if it has not begun. Any thread. Return:
 * false: it has begun. */
bool crew_take_back(struct crew *c, struct crew_work *work);
/*
 * Exempts the rest of the present work from interrupts. A work that failed
 * calls this before it removes what it has made. On other threads it does
 * nothing.
 */
void crew_clears_up(void);
/* Returns whether the present thread's work was interrupted. Any thread. A loop
 * that repeats a call after EINTR must then end. */
bool crew_is_late(void);

#endif
