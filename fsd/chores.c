/* SPDX-License-Identifier: Apache-2.0 */
#include "chores.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../layout/layout.h"

struct chores {
	struct loop *loop;
	pthread_t thread[CHORES_THREADS];
	unsigned wanted, started;   /* threads */
	pthread_mutex_t lock; /* guards what follows but start */
	pthread_cond_t wake;
	struct list todo, finished; /* of struct task */
	unsigned waiting;           /* tasks in todo */
	unsigned looking;           /* threads that will look there before they
				       sleep: nobody need be woken for those */
	struct loop_call call;      /* runs on_finished; posted when !posted */
	bool posted, quit;
	struct loop_call start;     /* makes the threads */
};

/* Hands finished tasks back, one batch for any number of them. */
static void on_finished(struct loop_call *c)
{
	struct chores *w = c->arg;
	struct list batch;

	list_init(&batch);
	pthread_mutex_lock(&w->lock);
	list_for_each(pos, tmp, &w->finished) {
		list_del(pos);
		list_add_tail(&batch, pos);
	}
	w->posted = false;
	pthread_mutex_unlock(&w->lock);
	list_for_each(pos, tmp, &batch) {
		struct task *t = list_entry(pos, struct task, node);

		list_del(pos);
		t->done(t, t->result);
	}
}

static struct task *next_task(struct chores *w)
{
	struct task *t;

	while (list_empty(&w->todo) && !w->quit) {
		w->looking--;
		pthread_cond_wait(&w->wake, &w->lock);
		w->looking++;
	}
	w->looking--;
	t = list_first(&w->todo, struct task, node);
	if (!t)
		return NULL;
	list_del(&t->node);
	w->waiting--;
	return t;
}

/* The loop may run as soon as it is told: without the lock, which it needs. */
static void hand_back(struct chores *w, struct task *t)
{
	bool post;

	pthread_mutex_lock(&w->lock);
	list_add_tail(&w->finished, &t->node);
	w->looking++;
	post = !w->posted && !w->quit;
	w->posted |= post;
	pthread_mutex_unlock(&w->lock);
	if (post)
		loop_post(w->loop, &w->call);
}

static void *thread_main(void *arg)
{
	struct chores *w = arg;
	struct task *t;

	pthread_mutex_lock(&w->lock);
	w->looking++;
	while ((t = next_task(w))) {
		pthread_mutex_unlock(&w->lock);
		t->result = t->work(t);
		hand_back(w, t);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void on_start(struct loop_call *c)
{
	struct chores *w = c->arg;
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* signals go to the loop */
	do {
		r = pthread_create(&w->thread[w->started], NULL, thread_main,
				   w);
		w->started += r == 0;
	} while (r == 0 && w->started < w->wanted);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r) { /* what there is to do waits for one */
		log_error("no thread for slow work: %s", strerror(r));
		loop_defer(w->loop, c);
	}
}

int chores_new(struct loop *loop, unsigned threads, struct chores **ret_chores)
{
	struct chores *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->loop = loop;
	w->wanted = MIN(threads, (unsigned)CHORES_THREADS);
	w->call = (struct loop_call){ .fn = on_finished, .arg = w };
	w->start = (struct loop_call){ .fn = on_start, .arg = w };
	list_init(&w->todo);
	list_init(&w->finished);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	loop_defer(loop, &w->start);
	*ret_chores = w;
	return 0;
}

void chores_add(struct chores *w, struct task *t)
{
	bool wake;

	pthread_mutex_lock(&w->lock);
	list_add_tail(&w->todo, &t->node);
	wake = ++w->waiting > w->looking;
	pthread_mutex_unlock(&w->lock);
	if (wake)
		pthread_cond_signal(&w->wake);
}

void chores_free(struct chores *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->quit = true;
	pthread_cond_broadcast(&w->wake);
	pthread_mutex_unlock(&w->lock);
	for (unsigned i = 0; i < w->started; i++)
		pthread_join(w->thread[i], NULL);
	if (!w->started)
		thread_main(w); /* the loop never ran */
	loop_call_del(&w->start);
	loop_call_del(&w->call);
	on_finished(&w->call);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->wake);
	free(w);
}
