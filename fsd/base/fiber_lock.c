/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock for fibers. The fiber that leaves gives the lock to the first one that waits,
 * before that one runs, so no third fiber comes between.
 */
#include "fiber_lock.h"

/* A waiting fiber's place in the line, on that fiber's stack. */
struct lane_place {
	struct list node;
	struct fiber *fiber;
	bool enters;
};

void fiber_lock_init(struct fiber_lock *l)
{
	list_init(&l->waiting);
}

bool fiber_lock_is_free(const struct fiber_lock *l)
{
	return !l->owner || l->owner == fiber_self();
}

static void own(struct fiber_lock *l, struct fiber *f)
{
	l->owner = f;
	list_add_tail(fiber_held(f), &l->held);
}

static void wait_for(struct fiber_lock *l, bool enters)
{
	struct lane_place p = {.fiber = fiber_self(), .enters = enters};

	list_add_tail(&l->waiting, &p.node);
	fiber_pause();
}

bool fiber_lock_enter(struct fiber_lock *l)
{
	struct fiber *self = fiber_self();

	if (!self || l->owner == self)
		return false;
	if (l->owner)
		/* fiber_lock_leave() has made it the owner */
		wait_for(l, true);
	else
		own(l, self);
	return true;
}

bool fiber_lock_wait(struct fiber_lock *l)
{
	if (!fiber_self() || fiber_lock_is_free(l))
		return false;
	wait_for(l, false);
	return true;
}

/* Gives the lock to the first fiber that wants it. A fiber that only waits for
 * it to be free is woken before that one runs. */
void fiber_lock_leave(struct fiber_lock *l)
{
	struct lane_place *p;

	list_del(&l->held);
	l->owner = NULL;
	while (!l->owner &&
	       (p = list_first(&l->waiting, struct lane_place, node))) {
		list_del(&p->node);
		if (p->enters)
			own(l, p->fiber);
		fiber_wake(p->fiber);
	}
}
