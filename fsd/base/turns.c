/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One deferred call of the loop works on the first turn that waits, for one slice of
 * 2 ms. A turn that has more to do goes to the end of the list.
 */
#include "turns.h"

#define TURN_NS (2 * NS_PER_MS)

static void on_turn(struct loop_call *c)
{
	struct turns *turns = c->arg;
	struct turn *t = list_first(&turns->waiting, struct turn, node);

	if (!t)
		return;
	list_del(&t->node);
	turn_begin(turns, t);
}

void turns_init(struct turns *turns, struct loop *loop)
{
	*turns = (struct turns){ .loop = loop };
	turns->call.fn = on_turn;
	turns->call.arg = turns;
	list_init(&turns->waiting);
}

void turn_later(struct turns *turns, struct turn *t)
{
	list_add_tail(&turns->waiting, &t->node);
	loop_defer(turns->loop, &turns->call);
}

void turn_begin(struct turns *turns, struct turn *t)
{
	if (t->work(t, now_ns() + TURN_NS))
		list_add_tail(&turns->waiting, &t->node);
	if (!list_empty(&turns->waiting))
		loop_defer(turns->loop, &turns->call);
}

void turn_stop(struct turn *t)
{
	list_del(&t->node);
}

void turns_finish(struct turns *turns)
{
	struct turn *t;

	while ((t = list_first(&turns->waiting, struct turn, node))) {
		list_del(&t->node);
		while (t->work(t, UINT64_MAX))
			;
	}
	loop_call_del(&turns->call);
}
