/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workers: threads that make all calls on the mount which may wait. There is one
 * queue. Works of one group run one after the other, in the order of their coming.
 */
#ifndef GATEWAY_CREW_H
#define GATEWAY_CREW_H

#include <pthread.h>
#include <stdbool.h>

#include "reactor.h"

#define CREW_MAX 64u

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
	void (*run)(struct crew_work *work);  /* on a worker */
	void (*done)(struct crew_work *work); /* on the loop; NULL: run() frees it */
};

struct crew {
	struct reactor *reactor;
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct list queue;
	bool ends;
	unsigned count;
	pthread_t thread[CREW_MAX];
};

/* Return: 0 or negative errno. */
int crew_open(struct crew *c, struct reactor *r, unsigned count);
/* Waits until all that was put has run: among it is what clears up behind a client. */
void crew_close(struct crew *c);
/* From any thread. */
void crew_put(struct crew *c, struct crew_work *work);

#endif
