/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A position in a list that other code may change meanwhile. Call
 * list_cursors_leave() before an element is taken out of the list; add new
 * elements at its end only. Used on the loop.
 */
#ifndef FSD_LIST_CURSOR_H
#define FSD_LIST_CURSOR_H

#include "layout/layout.h"

struct list_cursor {
	/* in the list's own list of cursors, after list_cursor_begin() */
	struct list node;
	struct list *head; /* borrowed; NULL: not begun */
	struct list *next; /* the element that comes next, or head */
};

static inline void list_cursor_begin(struct list_cursor *w, struct list *cursors,
				     struct list *head)
{
	w->head = head;
	w->next = head->next;
	list_add_tail(cursors, &w->node);
}

/* Ends the cursor. Does nothing if it was not begun. */
static inline void list_cursor_end(struct list_cursor *w)
{
	list_del(&w->node);
	w->head = NULL;
}

/* Returns the next element; NULL: the end. */
static inline struct list *list_cursor_next(struct list_cursor *w)
{
	struct list *at = w->next;

	if (at == w->head)
		return NULL;
	w->next = at->next;
	return at;
}

/* Moves back by one and returns that element; NULL: the beginning. */
static inline struct list *list_cursor_back(struct list_cursor *w)
{
	if (w->next->prev == w->head)
		return NULL;
	return w->next = w->next->prev;
}

static inline void list_cursors_leave(struct list *cursors, const struct list *element)
{
	list_for_each(pos, tmp, cursors) {
		struct list_cursor *w = list_entry(pos, struct list_cursor, node);

		if (w->next == element)
			w->next = element->next;
	}
}

#endif
