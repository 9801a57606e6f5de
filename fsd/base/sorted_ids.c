/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array of (key, number) that is filled, sorted once, and read once from the front. It
 * frees itself at the end.
 */
#include "sorted_ids.h"

#include <errno.h>
#include <stdlib.h>

int sorted_ids_add(struct sorted_ids *o, uint64_t key, uint64_t no)
{
	size_t room = o->room ? o->room * 2 : 256;
	struct sorted_id *at;

	if (o->count == o->room) {
		at = reallocarray(o->at, room, sizeof(*at));
		if (!at)
			return -ENOMEM;
		o->at = at;
		o->room = room;
	}
	o->at[o->count++] = (struct sorted_id){ key, no };
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct sorted_id *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->no < y->no ? -1 : x->no > y->no;
}

/* True if the numbers are in order already, which is usual. */
static bool is_sorted(const struct sorted_ids *o)
{
	for (size_t i = 1; i < o->count; i++)
		if (compare(&o->at[i - 1], &o->at[i]) > 0)
			return false;
	return true;
}

void sorted_ids_sort(struct sorted_ids *o)
{
	if (!is_sorted(o))
		qsort(o->at, o->count, sizeof(*o->at), compare);
}

uint64_t sorted_ids_next(struct sorted_ids *o)
{
	if (o->next < o->count)
		return o->at[o->next++].no;
	sorted_ids_done(o);
	return 0;
}

void sorted_ids_done(struct sorted_ids *o)
{
	free(o->at);
	*o = (struct sorted_ids){ 0 };
}
