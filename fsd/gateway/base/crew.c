/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that take works from two queues. A work whose group is busy waits in
 * the group; it enters its queue when the previous work of the group has run.
 * So an upload's pieces and a program's input keep their order without a thread
 * of their own. A work whose owner has used its share of workers stays in the
 * queue, and later ones run.
 */
#include "crew.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define SIGNAL SIGURG /* ignored by default */

static _Thread_local struct crew_seat *own_seat;

static struct crew_lane *lane_of(struct crew *c, const struct crew_work *w)
{
	return &c->lane[w->light];
}

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
	list_add_tail(&lane_of(c, w)->queue, &w->node);
	pthread_cond_signal(&lane_of(c, w)->more);
}

void crew_put(struct crew *c, struct crew_work *w)
{
	w->due_ms = reactor_now_ms() + c->bound_ms;
	pthread_mutex_lock(&c->lock);
	put_locked(c, w);
	pthread_mutex_unlock(&c->lock);
}

/* Puts the group's next work into its queue. */
static void group_next(struct crew *c, struct crew_group *g)
{
	struct crew_work *next = list_first(&g->waiting, struct crew_work, node);

	g->busy = false;
	if (!next)
		return;
	list_del(&next->node);
	put_locked(c, next);
}

bool crew_take_back(struct crew *c, struct crew_work *w)
{
	bool waits;

	pthread_mutex_lock(&c->lock);
	waits = !list_empty(&w->node);
	list_del(&w->node);
	pthread_mutex_unlock(&c->lock);
	return waits;
}

static void on_done(struct reactor_post *post)
{
	struct crew_work *w = container_of(post, struct crew_work, post);

	w->done(w);
}

/* Wakes the clock thread, which sleeps while no work is due: this one may be
 * due first, since it may have waited in the queue. */
static void begin(struct crew_seat *s, const struct crew_work *w)
{
	struct crew *c = s->crew;

	s->began_ms = reactor_now_ms();
	s->due_ms = MAX(w->due_ms, s->began_ms + MIN(CREW_LEAST_MS, c->bound_ms));
	s->patient = w->patient;
	s->late = false;
	s->busy = true;
	if (c->tick_ms && c->tick_ms <= s->due_ms)
		return;
	c->tick_ms = s->due_ms;
	pthread_cond_signal(&c->tick);
}

static void run(struct crew_seat *s, struct crew_work *w)
{
	struct crew *c = s->crew;
	struct crew_group *g = w->group;
	char owner[SHARE_OWNER];
	bool tells = w->done != NULL;

	memcpy(owner, w->owner, sizeof(owner));
	begin(s, w);
	pthread_mutex_unlock(&c->lock);
	w->run(w);
	pthread_mutex_lock(&c->lock);
	s->busy = false;
	shares_give(&c->lane[s->light].shares, owner, 1);
	/* before the loop is informed, which may free the group */
	if (g)
		group_next(c, g);
	if (tells) {
		w->late = s->late;
		w->post.fn = on_done;
		reactor_post(c->reactor, &w->post);
	}
}

/* Returns the first work whose owner may have one more worker. */
static struct crew_work *next_work(struct crew_lane *lane)
{
	list_for_each(pos, tmp, &lane->queue) {
		struct crew_work *w = list_entry(pos, struct crew_work, node);

		if (shares_take(&lane->shares, w->owner, 1)) {
			list_del(&w->node);
			return w;
		}
	}
	return NULL;
}

static void *worker(void *arg)
{
	struct crew_seat *s = arg;
	struct crew *c = s->crew;
	struct crew_lane *lane = &c->lane[s->light];

	own_seat = s;
	pthread_mutex_lock(&c->lock);
	for (;;) {
		struct crew_work *w = next_work(lane);

		if (w)
			run(s, w);
		else if (c->ends && list_empty(&lane->queue))
			break;
		else
			pthread_cond_wait(&lane->more, &c->lock);
	}
	pthread_cond_broadcast(&lane->more);
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

bool crew_is_late(void)
{
	/* only this thread writes `patient` */
	return own_seat && own_seat->busy && own_seat->late && !own_seat->patient;
}

void crew_clears_up(void)
{
	struct crew_seat *s = own_seat;

	if (!s)
		return;
	pthread_mutex_lock(&s->crew->lock);
	s->patient = true;
	pthread_mutex_unlock(&s->crew->lock);
}

/* --- the clock ------------------------------------------------------------------ */

static void on_interrupt(int signal)
{
	(void)signal; /* the handler exists only to make a waiting call fail */
}

static uint64_t due_of(const struct crew *c, const struct crew_seat *s, uint64_t now)
{
	if (s->patient)
		return now + CREW_MS;
	return !c->ends ? s->due_ms
	       : MIN(s->due_ms, MAX(s->began_ms, c->ends_ms) + CREW_LEAST_MS);
}

/* Interrupts late works. Return: when to check again, 0: no work is running. */
static uint64_t look(struct crew *c)
{
	uint64_t now = reactor_now_ms(), next = 0;

	for (unsigned i = 0; i < c->count; i++) {
		struct crew_seat *s = &c->seat[i];
		uint64_t due = due_of(c, s, now);

		if (!s->busy)
			continue;
		if (due <= now) {
			s->late = true;
			pthread_kill(s->thread, SIGNAL);
			due = now + CREW_AGAIN_MS;
		}
		next = next ? MIN(next, due) : due;
	}
	return next;
}

static void *tick(void *arg)
{
	struct crew *c = arg;

	pthread_mutex_lock(&c->lock);
	while (!c->over) {
		uint64_t next = look(c);
		struct timespec until = { (time_t)(next / 1000),
					  (long)(next % 1000) * 1000000 };

		c->tick_ms = next;
		if (next)
			pthread_cond_timedwait(&c->tick, &c->lock, &until);
		else
			pthread_cond_wait(&c->tick, &c->lock);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* --- the crew's calls --------------------------------------------------- */

static int sit_down(struct crew *c, bool light)
{
	struct crew_seat *s = &c->seat[c->count];
	int e;

	*s = (struct crew_seat){ .crew = c, .light = light };
	e = pthread_create(&s->thread, NULL, worker, s);
	c->count += !e;
	return -e;
}

static void lanes_init(struct crew *c, unsigned heavy, unsigned light)
{
	for (unsigned i = 0; i < ARRAY_SIZE(c->lane); i++) {
		list_init(&c->lane[i].queue);
		pthread_cond_init(&c->lane[i].more, NULL);
		shares_init(&c->lane[i].shares, i ? light : heavy);
	}
}

int crew_open(struct crew *c, struct reactor *r, unsigned count)
{
	struct sigaction act = { .sa_handler = on_interrupt }; /* without SA_RESTART a
							        * blocked call ends with
							        * EINTR */
	unsigned light = MAX(count / CREW_LIGHT, 1u);
	unsigned heavy = MAX(count - light, 1u);
	pthread_condattr_t monotonic;
	int code = 0;

	c->reactor = r;
	c->bound_ms = CREW_MS;
	sigaction(SIGNAL, &act, NULL);
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&c->tick, &monotonic);
	lanes_init(c, heavy, light);
	/* The new threads must not run before all seats are complete: hold the
	 * lock. */
	pthread_mutex_lock(&c->lock);
	for (unsigned i = 0; code == 0 && i < heavy + light; i++)
		code = sit_down(c, i >= heavy);
	if (code == 0)
		code = -pthread_create(&c->clock, NULL, tick, c);
	pthread_mutex_unlock(&c->lock);
	return code;
}

void crew_close(struct crew *c)
{
	pthread_mutex_lock(&c->lock);
	c->ends = true;
	c->ends_ms = reactor_now_ms();
	for (unsigned i = 0; i < ARRAY_SIZE(c->lane); i++)
		pthread_cond_broadcast(&c->lane[i].more);
	pthread_cond_signal(&c->tick);
	pthread_mutex_unlock(&c->lock);
	for (unsigned i = 0; i < c->count; i++)
		pthread_join(c->seat[i].thread, NULL);
	pthread_mutex_lock(&c->lock);
	c->over = true;
	pthread_cond_signal(&c->tick);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->clock, NULL);
	for (unsigned i = 0; i < ARRAY_SIZE(c->lane); i++)
		shares_done(&c->lane[i].shares);
}
