/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads for slow work that needs nothing of the loop's: what waits for a
 * disk, deletion of trees, parsing and rendering of what is large. Tasks are
 * begun in order, one after the other if there is one thread; `done` runs on
 * the loop.
 */
#ifndef FSD_WORKER_POOL_H
#define FSD_WORKER_POOL_H

#include "vm/os/loop.h"

struct worker_pool;

struct task {
	int (*work)(struct task *t);            /* on the thread */
	/* On the loop; may free t. NULL: nothing is told, and t is the work's. */
	void (*done)(struct task *t, int result);
	struct list node;      /* the thread's own */
	struct loop_call call; /* the thread's own */
	int result;            /* what work() returned */
};

/* The threads begin when the loop runs: what the daemon gives up before that
 * (restrain.h) its threads do not have either. */
#define WORKER_POOL_THREADS 4
int worker_pool_new(struct loop *loop, unsigned threads, struct worker_pool **ret_worker_pool);
/* Any thread may add one. */
void worker_pool_add(struct worker_pool *w, struct task *t);
/*
 * work(arg, i) for each i below n, by the caller and by threads of w that have
 * nothing else to do: all but one of WORKER_POOL_THREADS at most, and each as long as no
 * task waits. It waits for what others have begun, never for one of them to begin.
 * w NULL: all by the caller.
 * Return: 0, or the negative result for the smallest i.
 */
int worker_pool_share(struct worker_pool *w, int (*work)(void *arg, unsigned i), void *arg,
		      unsigned n);
/* Finishes every task (their `done` is called here), then ends the threads. */
void worker_pool_free(struct worker_pool *w);

#endif
