/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event loop: epoll with a check that skips a source which was removed
 * after its event was fetched; one timerfd behind a binary heap of timers; one
 * eventfd for calls that other threads post. Owns struct loop. All functions
 * run on the loop's thread, except loop_post().
 */
#include "loop.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/inbox.h"

#define BATCH 64
#define LOST_MS 100 /* a shorter time is normal */
/* A yield without another thread takes 1 us; with one, at least a context
 * switch. */
#define ALONE_NS 20000u
#define CROWDED_NS (10 * NS_PER_MS)

struct loop {
	int epoll, timerfd, eventfd; /* owned */
	bool quit;
	struct loop_timer **heap; /* owned array of borrowed timers */
	unsigned heap_len, heap_size;
	uint64_t timer_armed_ns; /* the time for which timerfd is set; 0: it is not set */
	struct list deferred;       /* list of struct loop_call */
	struct inbox posted;        /* struct loop_call that other threads have posted */
	atomic_bool asleep; /* the loop sleeps: a thread that posts must wake it */
	struct loop_fd wake, clock; /* eventfd, timerfd */
	struct epoll_event batch[BATCH];
	int batch_len, batch_at;
	uint64_t stall_ns, lost_ns;
	uint64_t linger_ns; /* polls until then; 0: may sleep */
	uint64_t crowded_ns; /* does not poll before then */
};

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t realtime_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

int loop_fd_add(struct loop *l, struct loop_fd *src)
{
	struct epoll_event ev = { .events = src->events, .data.ptr = src };

	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, src->fd, &ev) < 0)
		return -errno;
	src->loop = l;
	return 0;
}

int loop_fd_mod(struct loop_fd *src, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = src };

	if (!src->loop || src->events == events)
		return 0;
	if (epoll_ctl(src->loop->epoll, EPOLL_CTL_MOD, src->fd, &ev) < 0)
		return -errno;
	src->events = events;
	return 0;
}

void loop_fd_del(struct loop_fd *src)
{
	struct loop *l = src->loop;

	if (!l)
		return;
	epoll_ctl(l->epoll, EPOLL_CTL_DEL, src->fd, NULL);
	for (int i = l->batch_at; i < l->batch_len; i++)
		if (l->batch[i].data.ptr == src)
			l->batch[i].data.ptr = NULL;
	src->loop = NULL;
}

/* --- timers: a binary heap by at_ns ------------------------------------ */

static void heap_place(struct loop *l, unsigned i, struct loop_timer *t)
{
	l->heap[i] = t;
	t->index = i;
}

static void heap_up(struct loop *l, unsigned i)
{
	struct loop_timer *t = l->heap[i];

	while (i > 0 && l->heap[(i - 1) / 2]->at_ns > t->at_ns) {
		heap_place(l, i, l->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	heap_place(l, i, t);
}

static void heap_down(struct loop *l, unsigned i)
{
	struct loop_timer *t = l->heap[i];

	for (;;) {
		unsigned kid = 2 * i + 1;

		if (kid >= l->heap_len)
			break;
		if (kid + 1 < l->heap_len &&
		    l->heap[kid + 1]->at_ns < l->heap[kid]->at_ns)
			kid++;
		if (l->heap[kid]->at_ns >= t->at_ns)
			break;
		heap_place(l, i, l->heap[kid]);
		i = kid;
	}
	heap_place(l, i, t);
}

void loop_timer_del(struct loop_timer *t)
{
	struct loop *l = t->loop;
	struct loop_timer *last;

	if (!l)
		return;
	last = l->heap[--l->heap_len];
	if (last != t) {
		heap_place(l, t->index, last);
		heap_up(l, last->index);
		heap_down(l, last->index);
	}
	t->loop = NULL;
}

void loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t after_ns)
{
	loop_timer_del(t);
	if (l->heap_len == l->heap_size) {
		unsigned size = l->heap_size ? l->heap_size * 2 : 64;
		void *heap = reallocarray(l->heap, size, sizeof(*l->heap));

		if (!heap)
			/* losing a timer would be a wait without bound */
			abort();
		l->heap = heap;
		l->heap_size = size;
	}
	t->at_ns = now_ns() + after_ns;
	t->loop = l;
	l->heap[l->heap_len] = t;
	t->index = l->heap_len++;
	heap_up(l, t->index);
}

static void timers_arm(struct loop *l)
{
	uint64_t at = l->heap_len ? l->heap[0]->at_ns : 0;
	struct itimerspec spec = { .it_value = {
		.tv_sec = (time_t)(at / NS_PER_S),
		.tv_nsec = (long)(at % NS_PER_S),
	} };

	if (at == l->timer_armed_ns)
		return;
	timerfd_settime(l->timerfd, TFD_TIMER_ABSTIME, &spec, NULL);
	l->timer_armed_ns = at;
}

static void lose(struct loop *l, uint64_t ns)
{
	if (ns > LOST_MS * NS_PER_MS)
		l->lost_ns += ns;
}

/* Accounts for a handler that began at start_ns and has returned. */
static void took(struct loop *l, uint64_t start_ns)
{
	uint64_t ns = now_ns() - start_ns;

	l->stall_ns = MAX(l->stall_ns, ns);
	lose(l, ns);
}

/* Accounts for a sleep that began at start_ns and that the timerfd should end. */
static void slept(struct loop *l, uint64_t start_ns)
{
	uint64_t now = now_ns(), due = MAX(l->timer_armed_ns, start_ns);

	if (l->timer_armed_ns && now > due)
		lose(l, now - due);
}

static void timers_fire(struct loop *l)
{
	uint64_t now = now_ns();

	while (l->heap_len && l->heap[0]->at_ns <= now) {
		struct loop_timer *t = l->heap[0];

		loop_timer_del(t);
		t->fn(t);
		took(l, now);
		now = now_ns();
	}
}

static void on_clock(struct loop_fd *src, uint32_t events)
{
	struct loop *l = src->arg;
	uint64_t ticks;

	(void)events;
	if (read(l->timerfd, &ticks, sizeof(ticks)) < 0) {
		/* EAGAIN: it was set again meanwhile */
	}
	l->timer_armed_ns = 0;
}

/* --- deferred calls ---------------------------------------------------- */

void loop_defer(struct loop *l, struct loop_call *c)
{
	if (list_empty(&c->node))
		list_add_tail(&l->deferred, &c->node);
}

bool loop_is_due(const struct loop *l)
{
	return !list_empty(&l->deferred);
}

static void take_posted(struct loop *l)
{
	struct list batch;

	if (inbox_empty(&l->posted))
		return;
	list_init(&batch);
	inbox_take(&l->posted, &batch);
	list_for_each(pos, tmp, &batch) {
		list_del(pos);
		list_entry(pos, struct loop_call, node)->loop = NULL;
		list_add_tail(&l->deferred, pos);
	}
}

void loop_call_del(struct loop_call *c)
{
	if (c->loop)
		take_posted(c->loop); /* c may be among them */
	list_del(&c->node);
}

void loop_post(struct loop *l, struct loop_call *c)
{
	uint64_t one = 1;

	c->loop = l;
	/* Either the loop sees the new call, or this thread sees that it
	 * sleeps. */
	inbox_put(&l->posted, &c->node);
	if (!atomic_exchange(&l->asleep, false))
		return;
	if (write(l->eventfd, &one, sizeof(one)) < 0) {
		/* EAGAIN: the counter is full, so it will wake anyway */
	}
}

static void on_wake(struct loop_fd *src, uint32_t events)
{
	struct loop *l = src->arg;
	uint64_t count;

	(void)events;
	if (read(l->eventfd, &count, sizeof(count)) < 0) {
		/* EAGAIN cannot happen: only this function reads the eventfd */
	}
}

/* Runs the calls that are scheduled now. Calls that these schedule run in the
 * next round, after the other sources. */
static void deferred_run(struct loop *l)
{
	struct list batch;
	struct loop_call *c;

	list_init(&batch);
	list_for_each(pos, tmp, &l->deferred) {
		list_del(pos);
		list_add_tail(&batch, pos);
	}
	while ((c = list_first(&batch, struct loop_call, node))) {
		uint64_t start = now_ns();

		list_del(&c->node);
		c->fn(c);
		took(l, start);
	}
}

/* --- start and end ------------------------------------------------------ */

int loop_new(struct loop **ret_loop)
{
	struct loop *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	list_init(&l->deferred);
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	l->timerfd = timerfd_create(CLOCK_MONOTONIC,
				    TFD_CLOEXEC | TFD_NONBLOCK);
	l->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->epoll < 0 || l->timerfd < 0 || l->eventfd < 0) {
		r = -errno;
		loop_free(l);
		return r;
	}
	l->wake = (struct loop_fd){
		.fd = l->eventfd, .events = EPOLLIN, .fn = on_wake, .arg = l,
	};
	l->clock = (struct loop_fd){
		.fd = l->timerfd, .events = EPOLLIN, .fn = on_clock, .arg = l,
	};
	r = loop_fd_add(l, &l->wake);
	if (r == 0)
		r = loop_fd_add(l, &l->clock);
	if (r < 0) {
		loop_free(l);
		return r;
	}
	*ret_loop = l;
	return 0;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	fd_close(&l->epoll);
	fd_close(&l->timerfd);
	fd_close(&l->eventfd);
	free(l->heap);
	free(l);
}

void loop_quit(struct loop *l)
{
	l->quit = true;
}

uint64_t loop_stall_ns(struct loop *l)
{
	return l->stall_ns;
}

uint64_t loop_lost_ns(struct loop *l)
{
	return l->lost_ns;
}

/*
 * Calls the handler of one event, and notes its time: a handler must not block.
 */
static void dispatch(struct loop *l, struct loop_fd *src, uint32_t events)
{
	uint64_t start = now_ns();

	src->fn(src, events);
	took(l, start);
}

void loop_linger(struct loop *l, uint64_t ns)
{
	uint64_t now = now_ns();

	l->linger_ns = now < l->crowded_ns ? 0 : now + ns;
}

/* Yields the processor. If another thread took it, the loop does not linger for a
 * while: it would take the processor from that thread. */
static void give_way(struct loop *l)
{
	uint64_t before = now_ns(), after;

	sched_yield();
	after = now_ns();
	if (after - before < ALONE_NS)
		return;
	l->linger_ns = 0;
	l->crowded_ns = after + CROWDED_NS;
}

/*
 * Waits for events. Return: as epoll_wait(); 0 also if a call or timer is due.
 */
static int wait_events(struct loop *l)
{
	bool sleeps = list_empty(&l->deferred);
	int n = 0;

	while (sleeps && n == 0 && inbox_empty(&l->posted) &&
	       l->linger_ns > now_ns()) {
		n = epoll_wait(l->epoll, l->batch, BATCH, 0);
		if (n == 0)
			give_way(l);
	}
	l->linger_ns = 0;
	if (n)
		return n;
	if (sleeps) {
		atomic_store(&l->asleep, true);
		sleeps = inbox_empty(&l->posted);
	}
	n = epoll_wait(l->epoll, l->batch, BATCH, sleeps ? -1 : 0);
	atomic_store(&l->asleep, false);
	return n;
}

int loop_run(struct loop *l)
{
	take_posted(l);
	deferred_run(l);
	while (!l->quit) {
		uint64_t start;
		int n;

		timers_arm(l);
		start = now_ns();
		n = wait_events(l);
		if (n < 0 && errno != EINTR)
			return -errno;
		slept(l, start);
		l->batch_len = MAX(n, 0);
		for (l->batch_at = 0; l->batch_at < l->batch_len;) {
			struct epoll_event ev = l->batch[l->batch_at++];

			if (ev.data.ptr)
				dispatch(l, ev.data.ptr, ev.events);
		}
		l->batch_len = 0;
		take_posted(l);
		timers_fire(l);
		deferred_run(l);
	}
	l->quit = false;
	return 0;
}
