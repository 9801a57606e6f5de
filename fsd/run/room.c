/* SPDX-License-Identifier: Apache-2.0 */
#include "room.h"

#include "fsd/store/depot.h"
#include "fsd/base/fiber.h"
#include "fsd/sched/sched.h"

#define LOOK_NS (NS_PER_S / 2)   /* nobody tells when others make room */
#define FRESH_NS (5 * NS_PER_MS) /* a look at the disk holds so long */

static int do_find(void *arg)
{
	return depot_find_room(arg) ? 0 : -ENOSPC;
}

static void on_find(void *arg)
{
	struct fsd *d = arg;

	if (depot_do(d->depot, do_find, d->depot) < 0) {
		loop_timer_set(d->loop, &d->room_timer, LOOK_NS);
		return;
	}
	d->no_room = false;
	log_info("the state directory has room again");
	if (d->sched)
		sched_look(d->sched);
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
	uint64_t now = now_ns();

	if (now - d->room_ns >= FRESH_NS) {
		d->room_ns = now;
		depot_look(d->depot);
		d->state_gone = depot_is_gone(d->depot);
		if (d->state_gone)
			log_error("%s: %s", depot_dir(d->depot), GONE);
	}
	if (d->state_gone || !depot_is_full(d->depot))
		return;
	d->no_room = true;
	log_warn("%s: %s", depot_dir(d->depot), FULL);
	d->room_timer.fn = on_timer;
	d->room_timer.arg = d;
	loop_timer_set(d->loop, &d->room_timer, LOOK_NS);
}

const char *room_problem(struct fsd *d)
{
	if (!d->no_room && !d->state_gone)
		look(d);
	return d->state_gone ? GONE : d->no_room ? FULL : NULL;
}

void room_noticed(struct fsd *d)
{
	if (depot_is_full(d->depot))
		room_problem(d);
}

void room_done(struct fsd *d)
{
	loop_timer_del(&d->room_timer);
}
