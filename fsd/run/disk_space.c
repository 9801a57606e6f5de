/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stops new runs while the disk is full or the state directory is gone, and lets them
 * begin when there is free space.
 *
 * look() checks the disk, at most once in 5 ms. While it is full a timer starts a fiber
 * every half second: only an attempt to allocate shows whether a quota allows it, and
 * that attempt may block. The state is `runs->room`.
 */
#include "disk_space.h"

#include <errno.h>

#include "fsd/store/store.h"
#include "fsd/base/fiber.h"
#include "runs_int.h"
#include "fsd/sched/sched.h"

#define LOOK_NS (NS_PER_S / 2)   /* the kernel sends no event when space is freed */
#define FRESH_NS (5 * NS_PER_MS) /* least time between two checks by look() */

static int do_find(void *arg)
{
	return store_find_space(arg) ? 0 : -ENOSPC;
}

static void on_find(void *arg)
{
	struct fsd *d = arg;
	struct room *room = &d->runs->room;

	if (store_do(d->store, do_find, d->store) < 0) {
		loop_timer_set(d->loop, &room->timer, LOOK_NS);
		return;
	}
	room->full = false;
	log_info("the state directory has room again");
	if (d->sched)
		sched_kick(d->sched);
}

static void on_timer(struct loop_timer *t)
{
	fiber_run(on_find, t->arg);
}

#define FULL "the disk of the state directory is full: no job begins until it " \
	     "has room"
#define GONE "the state directory was removed while it was served: no job can " \
	     "be made or begin; restart fsd"

static void look(struct fsd *d)
{
	struct room *room = &d->runs->room;
	uint64_t now = now_ns();

	if (now - room->looked_ns >= FRESH_NS) {
		room->looked_ns = now;
		store_recheck_space(d->store);
		room->gone = store_is_gone(d->store);
		if (room->gone)
			log_error("%s: %s", store_dir(d->store), GONE);
	}
	if (room->gone || !store_is_full(d->store))
		return;
	room->full = true;
	log_warn("%s: %s", store_dir(d->store), FULL);
	room->timer.fn = on_timer;
	room->timer.arg = d;
	loop_timer_set(d->loop, &room->timer, LOOK_NS);
}

const char *disk_space_problem(struct fsd *d)
{
	const struct room *room = &d->runs->room;

	if (store_read_only(d->store))
		return store_read_only(d->store);
	if (!room->full && !room->gone)
		look(d);
	return room->gone ? GONE : room->full ? FULL : NULL;
}

void disk_space_noticed(struct fsd *d)
{
	if (store_is_full(d->store))
		disk_space_problem(d);
}
