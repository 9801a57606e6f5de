/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gateway's loop: descriptors, timers, and calls posted by other threads.
 * One thread runs it. It makes no call on the mount, because that may block,
 * and HTTP must not.
 */
#ifndef GATEWAY_REACTOR_H
#define GATEWAY_REACTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "layout/base/inbox.h"
#include "layout/base/list.h"

struct reactor {
	int epoll;
	int wake;            /* an eventfd */
	struct inbox posts;
	struct list timers; /* the next one first */
	bool ends;
};

struct reactor_source {
	void (*fn)(struct reactor_source *source, uint32_t events);
};

/* Zeroed: not set. */
struct reactor_timer {
	struct list node;
	uint64_t due_ms;
	void (*fn)(struct reactor_timer *timer);
};

/* Belongs to the loop from reactor_post() until fn is called. */
struct reactor_post {
	struct list node;
	void (*fn)(struct reactor_post *post);
};

/* Return: 0 or negative errno, also of reactor_add(). */
int reactor_open(struct reactor *r);
void reactor_close(struct reactor *r);
int reactor_add(struct reactor *r, int fd, uint32_t events,
		struct reactor_source *source);
void reactor_remove(struct reactor *r, int fd);

/* Sets the timer, also if it is set already. */
void reactor_timer_set(struct reactor *r, struct reactor_timer *t, uint64_t ms);
void reactor_timer_stop(struct reactor_timer *t);

/* Any thread. */
void reactor_post(struct reactor *r, struct reactor_post *post);

/* Waits for the next event, at most limit_ms (-1: no limit), and handles it. */
void reactor_turn(struct reactor *r, int limit_ms);

uint64_t reactor_now_ms(void); /* CLOCK_MONOTONIC */

#endif
