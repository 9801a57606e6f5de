/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place in a list that others change meanwhile. Who takes an element out of
 * the list tells walks_leave() before; new ones only come in at its end.
 */
#ifndef FSD_WALK_H
#define FSD_WALK_H

#include "layout/layout.h"

struct walk {
	struct list node;  /* in the list's walks, from walk_begin() on */
	struct list *head; /* borrowed; NULL: not begun */
	struct list *next; /* the element that comes next, or head */
};

static inline void walk_begin(struct walk *w, struct list *walks,
			      struct list *head)
{
	w->head = head;
	w->next = head->next;
	list_add_tail(walks, &w->node);
}

/* No-op if it was not begun. */
static inline void walk_end(struct walk *w)
{
	list_del(&w->node);
	w->head = NULL;
}

/* NULL at the end. */
static inline struct list *walk_next(struct walk *w)
{
	struct list *at = w->next;

	if (at == w->head)
		return NULL;
	w->next = at->next;
	return at;
}

/* One back. NULL at the beginning. */
static inline struct list *walk_back(struct walk *w)
{
	if (w->next->prev == w->head)
		return NULL;
	return w->next = w->next->prev;
}

static inline void walks_leave(struct list *walks, const struct list *element)
{
	list_for_each(pos, tmp, walks) {
		struct walk *w = list_entry(pos, struct walk, node);

		if (w->next == element)
			w->next = element->next;
	}
}

#endif
