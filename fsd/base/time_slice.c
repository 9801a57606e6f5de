/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs slices of long work: one deferred call of the loop gives the first
 * waiting struct time_slice 2 ms. If it has more to do, it goes to the end of
 * the list. All functions run on the loop.
 */
#include "time_slice.h"

#define TIME_SLICE_NS (2 * NS_PER_MS)

static void on_slice(struct loop_call *c)
{
	struct time_slices *slices = c->arg;
	struct time_slice *t = list_first(&slices->waiting, struct time_slice, node);

	if (!t)
		return;
	list_del(&t->node);
	time_slice_begin(slices, t);
}

void time_slices_init(struct time_slices *slices, struct loop *loop)
{
	*slices = (struct time_slices){ .loop = loop };
	slices->call.fn = on_slice;
	slices->call.arg = slices;
	list_init(&slices->waiting);
}

void time_slice_later(struct time_slices *slices, struct time_slice *t)
{
	list_add_tail(&slices->waiting, &t->node);
	loop_defer(slices->loop, &slices->call);
}

void time_slice_begin(struct time_slices *slices, struct time_slice *t)
{
	if (t->work(t, now_ns() + TIME_SLICE_NS))
		list_add_tail(&slices->waiting, &t->node);
	if (!list_empty(&slices->waiting))
		loop_defer(slices->loop, &slices->call);
}

void time_slice_stop(struct time_slice *t)
{
	list_del(&t->node);
}

void time_slices_finish(struct time_slices *slices)
{
	struct time_slice *t;

	while ((t = list_first(&slices->waiting, struct time_slice, node))) {
		list_del(&t->node);
		while (t->work(t, UINT64_MAX))
			;
	}
	loop_call_del(&slices->call);
}
