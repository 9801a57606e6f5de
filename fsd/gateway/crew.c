/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that take works from one queue. A work whose group is busy waits in the
 * group and enters the queue when the one before it has run, so that an upload's
 * pieces and a program's input keep their order without a thread of their own.
 */
#include "crew.h"

#include <errno.h>

static void put_locked(struct crew *c, struct crew_work *w)
{
	struct crew_group *g = w->group;

	if (g && g->busy) {
		if (!g->waiting.next)
			list_init(&g->waiting);
		list_add_tail(&g->waiting, &w->node);
		return;
	}
	if (g)
		g->busy = true;
	list_add_tail(&c->queue, &w->node);
	pthread_cond_signal(&c->more);
}

void crew_put(struct crew *c, struct crew_work *w)
{
	pthread_mutex_lock(&c->lock);
	put_locked(c, w);
	pthread_mutex_unlock(&c->lock);
}

/* The next of a group may run now. */
static void group_next(struct crew *c, struct crew_group *g)
{
	struct crew_work *next = list_first(&g->waiting, struct crew_work, node);

	g->busy = false;
	if (!next)
		return;
	list_del(&next->node);
	put_locked(c, next);
}

static void on_done(struct reactor_post *post)
{
	struct crew_work *w = container_of(post, struct crew_work, post);

	w->done(w);
}

static void run(struct crew *c, struct crew_work *w)
{
	struct crew_group *g = w->group;
	bool tells = w->done != NULL;

	pthread_mutex_unlock(&c->lock);
	w->run(w);
	pthread_mutex_lock(&c->lock);
	/* before the loop hears of it, which may free the group */
	if (g)
		group_next(c, g);
	if (tells) {
		w->post.fn = on_done;
		reactor_post(c->reactor, &w->post);
	}
}

static void *worker(void *arg)
{
	struct crew *c = arg;

	pthread_mutex_lock(&c->lock);
	for (;;) {
		struct crew_work *w =
			list_first(&c->queue, struct crew_work, node);

		if (w) {
			list_del(&w->node);
			run(c, w);
		} else if (c->ends) {
			break;
		} else {
			pthread_cond_wait(&c->more, &c->lock);
		}
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

int crew_open(struct crew *c, struct reactor *r, unsigned count)
{
	c->reactor = r;
	list_init(&c->queue);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->more, NULL);
	for (; c->count < count; c->count++) {
		int e = pthread_create(&c->thread[c->count], NULL, worker, c);

		if (e)
			return -e;
	}
	return 0;
}

void crew_close(struct crew *c)
{
	pthread_mutex_lock(&c->lock);
	c->ends = true;
	pthread_cond_broadcast(&c->more);
	pthread_mutex_unlock(&c->lock);
	for (unsigned i = 0; i < c->count; i++)
		pthread_join(c->thread[i], NULL);
}
