/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open addressing with linear search. A removed entry leaves a mark, so that a search
 * passes it; the table never grows.
 */
#include "place_index.h"

#include <errno.h>
#include <stdlib.h>

#define GONE UINT32_MAX /* a place that was given up, in the way of others */
#define SMALLEST 64

/* Never more than half full. */
int place_index_new(struct place_index *p, uint32_t count)
{
	size_t size = SMALLEST;

	while (size / 2 < count)
		size *= 2;
	p->at = calloc(size, sizeof(*p->at));
	p->mask = size - 1;
	return p->at ? 0 : -ENOMEM;
}

void place_index_done(struct place_index *p)
{
	free(p->at);
	*p = (struct place_index){ 0 };
}

void place_index_add(struct place_index *p, uint64_t hash, uint32_t place)
{
	size_t i = hash & p->mask;

	while (p->at[i].place && p->at[i].place != GONE)
		i = (i + 1) & p->mask;
	p->at[i] = (struct place_entry){ (uint32_t)(hash >> 32), place + 1 };
}

static struct place_entry *next(const struct place_index *p, uint64_t hash,
				size_t *i)
{
	struct place_entry *e;

	while (p->at && (e = &p->at[*i & p->mask])->place) {
		++*i;
		if (e->tag == (uint32_t)(hash >> 32) && e->place != GONE)
			return e;
	}
	return NULL;
}

int place_index_next(const struct place_index *p, uint64_t hash, size_t *i,
		uint32_t *ret_place)
{
	const struct place_entry *e = next(p, hash, i);

	if (!e)
		return -1;
	*ret_place = e->place - 1;
	return 0;
}

void place_index_del(struct place_index *p, uint64_t hash, uint32_t place)
{
	struct place_entry *e;
	size_t i = hash;

	while ((e = next(p, hash, &i)))
		if (e->place == place + 1)
			e->place = GONE;
}
