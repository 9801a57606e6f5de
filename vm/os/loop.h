/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one event loop: descriptors, timers, deferred calls. Single-threaded but
 * for loop_post(). Handlers run from loop_run() only, never from inside the
 * call that arms them. A handler may remove any source, its own included.
 */
#ifndef VM_LOOP_H
#define VM_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "layout/base/list.h"

struct loop;

/* Embedded in the owner; zero it, then loop_fd_add(). */
struct loop_fd {
	int fd; /* borrowed; the owner closes it after loop_fd_del() */
	uint32_t events;
	void (*fn)(struct loop_fd *src, uint32_t events);
	void *arg;
	struct loop *loop; /* NULL when not added */
};

/* Embedded; zero it. Fires once; arm it again for more. */
struct loop_timer {
	void (*fn)(struct loop_timer *t);
	void *arg;
	struct loop *loop; /* NULL when not armed */
	uint64_t at_ns;    /* CLOCK_MONOTONIC */
	unsigned index;    /* the loop's own */
};

/* Runs once, soon, after the handlers of this round. */
struct loop_call {
	void (*fn)(struct loop_call *c);
	void *arg;
	struct list node;
	struct loop *loop; /* set while another thread's post is pending */
};

int loop_new(struct loop **ret_loop);
void loop_free(struct loop *l);
/* Runs until loop_quit(); it may be run again. Return: 0 or a negative errno
 * of epoll itself. */
int loop_run(struct loop *l);
void loop_quit(struct loop *l);

/* Return: 0 or negative errno. fd, events and fn are to be set before. */
int loop_fd_add(struct loop *l, struct loop_fd *src);
int loop_fd_mod(struct loop_fd *src, uint32_t events);
void loop_fd_del(struct loop_fd *src); /* no-op if not added */

/* (Re)arms t to fire after_ns from now. fn is to be set before. */
void loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t after_ns);
void loop_timer_del(struct loop_timer *t); /* no-op if not armed */

/*
 * Before it sleeps next, the loop asks for events for so long (ns): to be woken
 * costs more than a quick answer, above all from another processor. It gives
 * way to whoever else wants this one.
 */
void loop_linger(struct loop *l, uint64_t ns);

/* Schedules c unless it is scheduled already. */
void loop_defer(struct loop *l, struct loop_call *c);
/* Is a deferred call waiting for its turn? */
bool loop_is_due(const struct loop *l);
/* For a posted call: only once its thread cannot post it any more. */
void loop_call_del(struct loop_call *c);
/* As loop_defer, from any thread. c must not be scheduled already. */
void loop_post(struct loop *l, struct loop_call *c);

/* CLOCK_MONOTONIC in ns, CLOCK_REALTIME in ns. */
uint64_t now_ns(void);
uint64_t realtime_ns(void);

/* The longest time that one handler has taken so far, in ns. */
uint64_t loop_stall_ns(struct loop *l);
/* In all, the time in which it looked at nothing for long: in handlers, or since
 * this process was not run. Another's silence in that time means nothing. */
uint64_t loop_lost_ns(struct loop *l);

#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull

#endif
