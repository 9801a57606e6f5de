/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An intrusive doubly linked ring. A node that is in no list is either zeroed
 * or points at itself; list_del() on either is a no-op.
 */
#ifndef LAYOUT_BASE_LIST_H
#define LAYOUT_BASE_LIST_H

#include "num.h"

struct list {
	struct list *next, *prev;
};

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
	return !l->next || l->next == l;
}

static inline void list_add_tail(struct list *head, struct list *node)
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

static inline void list_add(struct list *head, struct list *node)
{
	list_add_tail(head->next, node);
}

static inline void list_del(struct list *node)
{
	if (!node->next)
		return;
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

#define list_entry(node, type, member) container_of(node, type, member)

#define list_first(head, type, member) \
	(list_empty(head) ? NULL : list_entry((head)->next, type, member))

/* The current node may be removed inside the loop. */
#define list_for_each(pos, tmp, head)                          \
	for (struct list *pos = (head)->next, *tmp = pos->next; \
	     pos != (head); pos = tmp, tmp = pos->next)

#endif
