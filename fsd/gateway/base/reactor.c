/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gateway's loop: epoll for descriptors, its timeout for timers, an eventfd
 * for calls that other threads post. Timers are a sorted list: almost all have
 * one of three lengths, so a new one goes near the end. All functions run on
 * the loop, except reactor_post().
 */
#include "reactor.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"

uint64_t reactor_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

int reactor_open(struct reactor *r)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = NULL };

	list_init(&r->timers);
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->epoll < 0 || r->wake < 0)
		return -errno;
	return epoll_ctl(r->epoll, EPOLL_CTL_ADD, r->wake, &e) < 0 ? -errno : 0;
}

void reactor_close(struct reactor *r)
{
	fd_close(&r->epoll);
	fd_close(&r->wake);
}

int reactor_add(struct reactor *r, int fd, uint32_t events,
		struct reactor_source *source)
{
	struct epoll_event e = { .events = events, .data.ptr = source };

	return epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

void reactor_remove(struct reactor *r, int fd)
{
	epoll_ctl(r->epoll, EPOLL_CTL_DEL, fd, NULL);
}

void reactor_timer_set(struct reactor *r, struct reactor_timer *t, uint64_t ms)
{
	struct list *at = r->timers.prev;

	list_del(&t->node);
	t->due_ms = reactor_now_ms() + ms;
	at = r->timers.prev;
	while (at != &r->timers &&
	       list_entry(at, struct reactor_timer, node)->due_ms > t->due_ms)
		at = at->prev;
	list_add(at, &t->node);
}

void reactor_timer_stop(struct reactor_timer *t)
{
	list_del(&t->node);
}

void reactor_post(struct reactor *r, struct reactor_post *post)
{
	inbox_put(&r->posts, &post->node);
	eventfd_write(r->wake, 1);
}

static void run_posts(struct reactor *r)
{
	struct list all;
	struct reactor_post *p;
	eventfd_t count;

	eventfd_read(r->wake, &count);
	list_init(&all);
	inbox_take(&r->posts, &all);
	while ((p = list_first(&all, struct reactor_post, node))) {
		list_del(&p->node);
		p->fn(p);
	}
}

static void run_timers(struct reactor *r)
{
	uint64_t now = reactor_now_ms();
	struct reactor_timer *t;

	while ((t = list_first(&r->timers, struct reactor_timer, node)) &&
	       t->due_ms <= now) {
		list_del(&t->node);
		t->fn(t);
	}
}

static int time_left(struct reactor *r, int limit_ms)
{
	struct reactor_timer *t =
		list_first(&r->timers, struct reactor_timer, node);
	uint64_t now, left;

	if (!t)
		return limit_ms;
	now = reactor_now_ms();
	left = t->due_ms > now ? MIN(t->due_ms - now, 60000u) : 0;
	return limit_ms >= 0 && (uint64_t)limit_ms < left ? limit_ms
							  : (int)left;
}

/* One event at a time: its handler may remove the source of the next one. */
void reactor_turn(struct reactor *r, int limit_ms)
{
	struct epoll_event e;
	int wait = time_left(r, limit_ms);

	for (unsigned n = 0; n < 64; n++) {
		struct reactor_source *source;

		if (epoll_wait(r->epoll, &e, 1, n ? 0 : wait) < 1)
			break;
		source = e.data.ptr;
		if (source)
			source->fn(source, e.events);
		else
			run_posts(r);
	}
	run_timers(r);
}
