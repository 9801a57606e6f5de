/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs tasks on a few threads. The loop never waits for them: it puts a task
 * into an inbox and counts it in a semaphore, and takes finished tasks out of
 * another inbox. The threads take tasks in turn, under a lock that only they
 * use.
 *
 * worker_pool_share() runs on any thread; on_finished() on the loop.
 */
#include "worker_pool.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "layout/layout.h"

struct worker_pool {
	struct loop *loop;
	pthread_t thread[WORKER_POOL_THREADS];
	unsigned wanted, started; /* number of threads */
	struct inbox todo, finished; /* lists of struct task */
	sem_t due; /* counts tasks, and at the end one more for each thread */
	pthread_mutex_t lock; /* used by the threads; protects `taken` */
	struct list taken; /* tasks taken out of todo */
	struct loop_call call; /* calls on_finished(); posted while `posted` */
	atomic_bool posted, quit;
	struct loop_call start; /* starts the threads */
};

/* Calls `done` of finished tasks, one batch for any number of them. */
static void on_finished(struct loop_call *c)
{
	struct worker_pool *w = c->arg;
	struct list batch;
	struct task *t;

	list_init(&batch);
	atomic_store(&w->posted, false);
	inbox_take(&w->finished, &batch);
	while ((t = list_first(&batch, struct task, node))) {
		list_del(&t->node);
		t->done(t, t->result);
	}
}

/* Returns the next task; NULL: the thread must end. */
static struct task *next_task(struct worker_pool *w)
{
	struct task *t;

	while (sem_wait(&w->due) < 0)
		; /* a signal came (EINTR): wait again */
	pthread_mutex_lock(&w->lock);
	if (list_empty(&w->taken))
		inbox_take(&w->todo, &w->taken);
	t = list_first(&w->taken, struct task, node);
	if (t)
		list_del(&t->node);
	pthread_mutex_unlock(&w->lock);
	return t;
}

static void *thread_main(void *arg)
{
	struct worker_pool *w = arg;
	struct task *t;

	while ((t = next_task(w))) {
		/* without `done` the task may be freed in its work */
		bool tells = t->done;

		int r = t->work(t);

		if (!tells)
			continue;
		t->result = r;
		inbox_put(&w->finished, &t->node);
		if (!atomic_load(&w->quit) &&
		    !atomic_exchange(&w->posted, true))
			loop_post(w->loop, &w->call);
	}
	return NULL;
}

static void on_start(struct loop_call *c)
{
	struct worker_pool *w = c->arg;
	sigset_t all, old;
	int r;

	sigfillset(&all);
	/* block signals: they must go to the loop's thread */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	do {
		r = pthread_create(&w->thread[w->started], NULL, thread_main,
				   w);
		w->started += r == 0;
	} while (r == 0 && w->started < w->wanted);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r) { /* tasks wait until a thread could be started */
		log_error("no thread for slow work: %s", strerror(r));
		loop_defer(w->loop, c);
	}
}

int worker_pool_new(struct loop *loop, unsigned threads, struct worker_pool **ret_worker_pool)
{
	struct worker_pool *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->loop = loop;
	w->wanted = MIN(threads, (unsigned)WORKER_POOL_THREADS);
	w->call = (struct loop_call){ .fn = on_finished, .arg = w };
	w->start = (struct loop_call){ .fn = on_start, .arg = w };
	list_init(&w->taken);
	pthread_mutex_init(&w->lock, NULL);
	sem_init(&w->due, 0, 0);
	loop_defer(loop, &w->start);
	*ret_worker_pool = w;
	return 0;
}

void worker_pool_add(struct worker_pool *w, struct task *t)
{
	inbox_put(&w->todo, &t->node);
	sem_post(&w->due);
}

/* --- one piece of work by several threads ------------------------------- */

struct share {
	struct worker_pool *worker_pool;
	int (*work)(void *arg, unsigned i);
	void *arg; /* owned by the caller; valid until every piece is done */
	unsigned n;
	atomic_uint next, done; /* indexes of the n pieces: the next one to take; the
				 * number done */
	atomic_uint users; /* the caller and the tasks; the last one frees it */
	sem_t over; /* posted when all are done */
	pthread_mutex_t lock; /* protects `failed` and `result` */
	unsigned failed; /* the smallest i that failed, or n */
	int result; /* result of that piece, or 0 */
	/* one thread stays free for other tasks */
	struct task help[WORKER_POOL_THREADS - 2];
};

static void note_failure(struct share *s, unsigned i, int result)
{
	pthread_mutex_lock(&s->lock);
	if (i < s->failed) {
		s->failed = i;
		s->result = result;
	}
	pthread_mutex_unlock(&s->lock);
}

/* Does one piece of the shared work. Return: false if no piece was left. */
static bool do_piece(struct share *s)
{
	unsigned i = atomic_fetch_add(&s->next, 1);
	int r;

	if (i >= s->n)
		return false;
	r = s->work(s->arg, i);
	if (r < 0)
		note_failure(s, i, r);
	if (atomic_fetch_add(&s->done, 1) == s->n - 1)
		sem_post(&s->over);
	return true;
}

static void share_unref(struct share *s)
{
	if (atomic_fetch_sub(&s->users, 1) > 1)
		return;
	pthread_mutex_destroy(&s->lock);
	sem_destroy(&s->over);
	free(s);
}

/* Returns whether a task waits for a thread: then a thread that only helps
 * stops. */
static bool is_due(struct worker_pool *w)
{
	int due = 0;

	sem_getvalue(&w->due, &due);
	return due > 0;
}

static int help_work(struct task *t)
{
	struct share *s = t->call.arg;

	while (do_piece(s) && !is_due(s->worker_pool))
		;
	share_unref(s);
	return 0;
}

static int all_alone(int (*work)(void *arg, unsigned i), void *arg, unsigned n)
{
	int ret = 0;

	for (unsigned i = 0; i < n; i++) {
		int r = work(arg, i);

		if (ret == 0)
			ret = MIN(r, 0);
	}
	return ret;
}

int worker_pool_share(struct worker_pool *w, int (*work)(void *arg, unsigned i), void *arg,
		      unsigned n)
{
	unsigned helpers = MIN(n ? n - 1 : 0, (unsigned)WORKER_POOL_THREADS - 2);
	struct share *s = w && helpers ? calloc(1, sizeof(*s)) : NULL;
	int r;

	if (!s)
		return all_alone(work, arg, n);
	s->worker_pool = w;
	s->work = work;
	s->arg = arg;
	s->n = s->failed = n;
	atomic_store(&s->users, 1 + helpers);
	sem_init(&s->over, 0, 0);
	pthread_mutex_init(&s->lock, NULL);
	for (unsigned i = 0; i < helpers; i++) {
		s->help[i].work = help_work;
		s->help[i].call.arg = s;
		worker_pool_add(w, &s->help[i]);
	}
	while (do_piece(s))
		;
	while (sem_wait(&s->over) < 0)
		; /* a signal came (EINTR): wait again */
	r = s->result;
	share_unref(s);
	return r;
}

void worker_pool_free(struct worker_pool *w)
{
	if (!w)
		return;
	atomic_store(&w->quit, true);
	for (unsigned i = 0; i < MAX(w->started, 1u); i++)
		sem_post(&w->due);
	for (unsigned i = 0; i < w->started; i++)
		pthread_join(w->thread[i], NULL);
	if (!w->started)
		thread_main(w); /* the loop never ran, so run the tasks here */
	loop_call_del(&w->start);
	loop_call_del(&w->call);
	on_finished(&w->call);
	pthread_mutex_destroy(&w->lock);
	sem_destroy(&w->due);
	free(w);
}
