/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one slow piece of work (hashing) on a thread of its own, and reports its end on
 * the loop. The work checks *cancel often, so that stopping is quick.
 */
#ifndef VM_WORKER_H
#define VM_WORKER_H

#include <pthread.h>
#include <stdatomic.h>

#include "loop.h"

struct worker {
	struct loop *loop;
	/* runs on the worker's thread */
	void (*work)(void *arg, const atomic_bool *cancel);
	/* runs on the loop's thread, after work() */
	void (*done)(void *arg);
	void *arg;
	atomic_bool cancel;
	bool busy;
	pthread_t thread;
	struct loop_call call;
};

/* Fields loop, work, done and arg are set; not busy. Return: 0 or -errno. */
int worker_start(struct worker *w);
/* Cancels and waits for the thread; done is not called any more. */
void worker_stop(struct worker *w);

#endif
