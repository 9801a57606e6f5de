/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workers: threads that make all calls on the mount which may wait. A call on the
 * files of a machine waits for the machine, and one on anything else does not: there are
 * workers of each kind, and each owner has a share of them (share.h). A work whose time is
 * over is interrupted, so that its calls fail with EINTR. Works of one group run one after
 * the other, in the order of their coming.
 */
#ifndef GATEWAY_CREW_H
#define GATEWAY_CREW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "reactor.h"
#include "share.h"

#define CREW_MAX 64u
#define CREW_LIGHT 4u       /* one in so many is for light works */
#define CREW_MS 30000u      /* a work is interrupted so long after it was put */
#define CREW_LATE "the mount has not answered for 30 seconds; .fsd/health may tell why"
#define CREW_LEAST_MS 1000u /* but it has had so long */
#define CREW_AGAIN_MS 50u   /* and again, until it ends: a signal may come before a call */

/* Zeroed: nothing of it waits or runs. It must outlive its works. */
struct crew_group {
	struct list waiting;
	bool busy;
};

/* The caller's, until done() is called on the loop. */
struct crew_work {
	struct list node;
	struct reactor_post post;
	struct crew_group *group; /* NULL: none */
	char owner[SHARE_OWNER];  /* "": the gateway itself */
	bool light;               /* it never waits for a machine */
	bool patient;             /* it is not interrupted */
	bool late;                /* of done(): it was interrupted */
	uint64_t due_ms;
	void (*run)(struct crew_work *work);  /* on a worker */
	void (*done)(struct crew_work *work); /* on the loop; NULL: run() frees it */
};

struct crew;

/* One thread, and what is known of its work: that may be freed by its run(). */
struct crew_seat {
	struct crew *crew;
	pthread_t thread;
	bool light;
	bool busy, patient; /* under the lock */
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
	struct crew_lane lane[2]; /* [1]: light works */
	pthread_t clock;          /* interrupts those that are late */
	pthread_cond_t tick;
	bool ends, over;
	uint64_t tick_ms; /* when the clock looks again, 0: when somebody works */
	uint64_t ends_ms;
	unsigned count;
	uint64_t bound_ms;        /* CREW_MS; a test has less */
	struct crew_seat seat[CREW_MAX + 1];
};

/* At least one of each kind. Return: 0 or negative errno. */
int crew_open(struct crew *c, struct reactor *r, unsigned count);
/* Waits until all that was put has run: among it is what clears up behind a client. What
 * takes longer than CREW_LEAST_MS then is interrupted. */
void crew_close(struct crew *c);
/* From any thread. */
void crew_put(struct crew *c, struct crew_work *work);
/* From any thread. Takes back a work without a group that has not begun. Return: false: it
 * has. */
bool crew_take_back(struct crew *c, struct crew_work *work);
/* On a worker: the rest of its work is done whatever time it takes, and is not interrupted. A
 * work that has failed calls it before it removes what it has half made. On any other thread
 * it does nothing. */
void crew_clears_up(void);
/* On any thread: was the work of this thread interrupted? A loop that makes a call again
 * behind EINTR ends then. */
bool crew_is_late(void);

#endif
