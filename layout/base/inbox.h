/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue that any thread puts into; one thread takes all at once. Lock-free,
 * so a thread never waits for another one that lost its processor. A zeroed
 * struct is empty.
 */
#ifndef LAYOUT_BASE_INBOX_H
#define LAYOUT_BASE_INBOX_H

#include <stdatomic.h>

#include "list.h"

struct inbox {
	/* linked by `next`, newest first; ends with NULL */
	_Atomic(struct list *) last;
};

/* Puts a node that is in no list. Any thread. */
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

/* Appends all nodes to `to`, in the order in which they were put. */
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
