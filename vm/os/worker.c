/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one function on a new thread and calls `done` on the loop afterwards. The caller
 * owns the struct worker; the thread uses only `work`, `arg` and `cancel` of it.
 *
 * run() is the thread; the other functions run on the loop. worker_stop() blocks until
 * the thread ends. The thread blocks all signals: the loop's thread gets them.
 */
#include "worker.h"

#include <signal.h>

static void *run(void *arg)
{
	struct worker *w = arg;

	w->work(w->arg, &w->cancel);
	loop_post(w->loop, &w->call);
	return NULL;
}

static void on_done(struct loop_call *c)
{
	struct worker *w = c->arg;

	pthread_join(w->thread, NULL);
	w->busy = false;
	w->done(w->arg);
}

int worker_start(struct worker *w)
{
	sigset_t all, old;
	int r;

	w->call = (struct loop_call){ .fn = on_done, .arg = w };
	atomic_store(&w->cancel, false);
	/* Block signals: they must go to the loop's thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = -pthread_create(&w->thread, NULL, run, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	w->busy = r == 0;
	return r;
}

void worker_stop(struct worker *w)
{
	if (!w->busy)
		return;
	atomic_store(&w->cancel, true);
	pthread_join(w->thread, NULL);
	loop_call_del(&w->call);
	w->busy = false;
}
