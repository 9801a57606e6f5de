/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves the entries of a spool from state to state. It alone changes an entry's state and
 * its queue, so both always agree.
 */
#include "entries_int.h"

struct entry *entries_add(struct entries *e, const char *name, int64_t now)
{
	struct entry *x;

	if (queue_reserve(&e->waiting, e->table.count + 1) < 0 ||
	    queue_reserve(&e->complete, e->table.count + 1) < 0)
		return NULL;
	x = table_add(&e->table, name);
	if (!x)
		return NULL;
	x->order = ++e->last_order;
	x->seen = now;
	x->scan = e->scan;
	list_add_tail(&e->all, &x->in_all);
	list_add_tail(&e->fresh, &x->in_fresh);
	return x;
}

static void unqueue(struct entries *e, struct entry *x)
{
	if (x->state == ENTRY_FRESH)
		list_del(&x->in_fresh);
	else
		queue_remove(x->state == ENTRY_COMPLETE ? &e->complete : &e->waiting, x);
	if (x->state == ENTRY_AHEAD)
		e->ahead--;
}

void entries_forget(struct entries *e, struct entry *x)
{
	unqueue(e, x);
	list_del(&x->in_all);
	table_remove(&e->table, x);
}

void entries_wait(struct entries *e, struct entry *x, enum entry_state state,
		  int64_t due)
{
	unqueue(e, x);
	x->state = state;
	if (state == ENTRY_AHEAD)
		e->ahead++;
	x->key = due;
	queue_add(&e->waiting, x);
}

void entries_set_complete(struct entries *e, struct entry *x)
{
	unqueue(e, x);
	x->state = ENTRY_COMPLETE;
	x->key = 0;
	queue_add(&e->complete, x);
}

void entries_restart(struct entries *e, struct entry *x, int64_t now)
{
	x->renamed = false;
	x->sight.type = 0;
	entries_wait(e, x, ENTRY_AHEAD, now);
}
