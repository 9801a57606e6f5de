/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clock that does not make a test wait. The Makefile links the tests of
 * CLOCKED with -Wl,--wrap of the three functions below. When their loop would
 * sleep, the clock goes on to its next timer at once.
 *
 * Only for tests in which one thread does everything: while the loop sleeps
 * nothing else can happen then, so the jump changes no order of events.
 */
#ifndef TESTS_UNIT_CLOCK_H
#define TESTS_UNIT_CLOCK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __real_epoll_wait(int ep, struct epoll_event *events, int max, int ms);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_epoll_wait(int ep, struct epoll_event *events, int max, int ms);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *new,
			   struct itimerspec *old);

static uint64_t clock_ahead_ns; /* of the real one */
static uint64_t clock_due_ns;   /* of the loop's next timer; 0: none */

static uint64_t clock_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	int r = __real_clock_gettime(clock, t);
	uint64_t ns = clock_ns(t) + clock_ahead_ns;

	t->tv_sec = (time_t)(ns / 1000000000u);
	t->tv_nsec = (long)(ns % 1000000000u);
	return r;
}

/* The loop's timer. It is never set: the loop looks at its timers whenever its
 * epoll_wait() returns. */
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *new,
			   struct itimerspec *old)
{
	(void)fd;
	(void)flags;
	(void)old;
	clock_due_ns = clock_ns(&new->it_value);
	return 0;
}

int __wrap_epoll_wait(int ep, struct epoll_event *events, int max, int ms)
{
	int n = __real_epoll_wait(ep, events, max, 0);
	struct timespec now;
	uint64_t ns;

	if (n || !ms)
		return n;
	if (!clock_due_ns) {
		fputs("the loop would sleep for ever\n", stderr);
		abort();
	}
	__wrap_clock_gettime(CLOCK_MONOTONIC, &now);
	ns = clock_ns(&now);
	if (clock_due_ns > ns)
		clock_ahead_ns += clock_due_ns - ns;
	return 0;
}

#endif
