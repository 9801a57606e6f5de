/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open addressing with linear search. A removed entry leaves a mark, so that a search
 * passes it; the table never grows.
 */
#include "slot_index.h"

#include <errno.h>
#include <stdlib.h>

#define GONE UINT32_MAX /* mark of a removed entry, so that searches go on */
#define SMALLEST 64

/* Makes an index with at least twice as many slots as keys. */
int slot_index_new(struct slot_index *p, uint32_t count)
{
	size_t size = SMALLEST;

	while (size / 2 < count)
		size *= 2;
	p->at = calloc(size, sizeof(*p->at));
	p->mask = size - 1;
	return p->at ? 0 : -ENOMEM;
}

void slot_index_done(struct slot_index *p)
{
	free(p->at);
	*p = (struct slot_index){ 0 };
}

void slot_index_add(struct slot_index *p, uint64_t hash, uint32_t slot)
{
	size_t i = hash & p->mask;

	while (p->at[i].slot && p->at[i].slot != GONE)
		i = (i + 1) & p->mask;
	p->at[i] = (struct slot_entry){ (uint32_t)(hash >> 32), slot + 1 };
}

static struct slot_entry *next(const struct slot_index *p, uint64_t hash,
			       size_t *i)
{
	struct slot_entry *e;

	while (p->at && (e = &p->at[*i & p->mask])->slot) {
		++*i;
		if (e->tag == (uint32_t)(hash >> 32) && e->slot != GONE)
			return e;
	}
	return NULL;
}

int slot_index_next(const struct slot_index *p, uint64_t hash, size_t *i,
		uint32_t *ret_place)
{
	const struct slot_entry *e = next(p, hash, i);

	if (!e)
		return -1;
	*ret_place = e->slot - 1;
	return 0;
}

void slot_index_del(struct slot_index *p, uint64_t hash, uint32_t slot)
{
	struct slot_entry *e;
	size_t i = hash;

	while ((e = next(p, hash, &i)))
		if (e->slot == slot + 1)
			e->slot = GONE;
}
