/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What any thread puts in and one takes out, all at once. Nobody ever waits:
 * neither for a lock nor for a thread that lost its processor while it had one.
 * A zeroed one is empty.
 */
#ifndef LAYOUT_BASE_INBOX_H
#define LAYOUT_BASE_INBOX_H

#include <stdatomic.h>

#include "list.h"

struct inbox {
	_Atomic(struct list *) last; /* the others by their `next`, NULL ends */
};

/* node: in no list. */
static inline void inbox_put(struct inbox *in, struct list *node)
{
	struct list *last = atomic_load(&in->last);

	do {
		node->next = last;
	} while (!atomic_compare_exchange_weak(&in->last, &last, node));
}

static inline bool inbox_empty(struct inbox *in)
{
	return !atomic_load(&in->last);
}

/* Appends all to `to`, in the order of their coming. */
static inline void inbox_take(struct inbox *in, struct list *to)
{
	struct list *node = atomic_exchange(&in->last, NULL);
	struct list *end = to->prev;

	while (node) {
		struct list *before = node->next;

		list_add(end, node);
		node = before;
	}
}

#endif
