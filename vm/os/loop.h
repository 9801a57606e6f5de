/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event loop: descriptors, timers, deferred calls. One thread; only
 * loop_post() may be called from others. Handlers are called by loop_run()
 * only, never inside the call that arms them. A handler may remove any source,
 * its own included.
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
	struct loop *loop; /* NULL: the descriptor was not added */
};

/* Embedded; zero it. Fires once; arm it again for more. */
struct loop_timer {
	void (*fn)(struct loop_timer *t);
	void *arg;
	struct loop *loop; /* NULL: the timer is not armed */
	uint64_t at_ns;    /* CLOCK_MONOTONIC */
	unsigned index; /* used by the loop */
};

/* A call that runs once, soon, after the handlers of this round. */
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

/* Return: 0 or negative errno. Set fd, events and fn before. */
int loop_fd_add(struct loop *l, struct loop_fd *src);
int loop_fd_mod(struct loop_fd *src, uint32_t events);
/* Does nothing if it is not added. */
void loop_fd_del(struct loop_fd *src);

/* Arms t to fire after_ns from now, also if it is armed. Set fn before. */
void loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t after_ns);
/* Does nothing if the timer is not armed. */
void loop_timer_del(struct loop_timer *t);

/*
 * Lets the loop poll for up to ns before it sleeps next: waking a sleeping
 * thread costs more than a quick answer, above all from another processor.
 * While it polls, it yields to other threads.
 */
void loop_linger(struct loop *l, uint64_t ns);

/* Schedules c unless it is scheduled already. */
void loop_defer(struct loop *l, struct loop_call *c);
/* Returns whether a deferred call is waiting. */
bool loop_is_due(const struct loop *l);
/* Removes a call. If it was posted: only once its thread cannot post it any
 * more. */
void loop_call_del(struct loop_call *c);
/* As loop_defer, from any thread. c must not be scheduled already. */
void loop_post(struct loop *l, struct loop_call *c);

/* now_ns(): CLOCK_MONOTONIC. realtime_ns(): CLOCK_REALTIME. */
uint64_t now_ns(void);
uint64_t realtime_ns(void);

/* Returns the longest time that one handler has taken, in ns. */
uint64_t loop_stall_ns(struct loop *l);
/*
 * Returns the sum, in ns, of long times in which the loop read no events: in
 * handlers, or because the process did not run. In that time silence of a peer
 * means nothing to a timeout.
 */
uint64_t loop_lost_ns(struct loop *l);

#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull

#endif
