/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads for slow work that does not use the loop: waiting for a disk,
 * deleting trees, parsing and rendering large texts. Tasks are started in
 * order, one after the other if there is one thread; `done` runs on the loop.
 */
#ifndef FSD_WORKER_POOL_H
#define FSD_WORKER_POOL_H

#include "vm/os/loop.h"

struct worker_pool;

struct task {
	int (*work)(struct task *t);            /* called on a thread of the pool */
	/* Called on the loop; may free t. NULL: work() owns t. */
	void (*done)(struct task *t, int result);
	struct list node;      /* the thread's own */
	struct loop_call call; /* the thread's own */
	int result;            /* the value that work() returned */
};

/* The threads start when the loop runs, after the daemon has dropped its rights
 * (restrain.h). So the threads do not have these rights either. */
#define WORKER_POOL_THREADS 4
int worker_pool_new(struct loop *loop, unsigned threads, struct worker_pool **ret_worker_pool);
/* Any thread may add one. */
void worker_pool_add(struct worker_pool *w, struct task *t);
/*
 * Calls work(arg, i) for each i below n, on the caller's thread and on idle
 * threads of w: all but one of WORKER_POOL_THREADS at most, and only while no
 * task waits. It waits only for calls that have begun, so it works even if no
 * thread helps. w NULL: all on the caller's thread. Return: 0, or the negative
 * result for the smallest i.
 */
int worker_pool_share(struct worker_pool *w, int (*work)(void *arg, unsigned i), void *arg,
		      unsigned n);
/*
 * Runs every task to its end (calls their `done` here), then ends the threads.
 */
void worker_pool_free(struct worker_pool *w);

#endif
