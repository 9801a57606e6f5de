/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps a key's hash to a slot of a table in shared memory (handover.h). Open
 * addressing, 8 bytes an entry in one block, sized once: a new server may find
 * hundreds of thousands of records and use few of them. Before adding many keys
 * call slot_index_prefetch() PLACE_AHEAD entries ahead, which hides the cache
 * misses. Used on the loop.
 */
#ifndef FSD_SLOT_INDEX_H
#define FSD_SLOT_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct slot_entry {
	uint32_t tag;   /* the upper half of the key's hash */
	uint32_t slot; /* the slot + 1; 0: free */
};

struct slot_index {
	struct slot_entry *at;  /* owned */
	size_t mask;
};

#define PLACE_AHEAD 32

/* Makes an index for at most count keys. Return: 0 or -ENOMEM. */
int slot_index_new(struct slot_index *p, uint32_t count);
/* Frees the index. A zeroed struct is valid here and in a search. */
void slot_index_done(struct slot_index *p);
void slot_index_add(struct slot_index *p, uint64_t hash, uint32_t slot);
/* Finds the next slot whose key may have this hash; *i is the hash at first.
 * Return: 0, or -1: there is none. */
int slot_index_next(const struct slot_index *p, uint64_t hash, size_t *i,
		uint32_t *ret_place);
void slot_index_del(struct slot_index *p, uint64_t hash, uint32_t slot);

static inline void slot_index_prefetch(const struct slot_index *p, uint64_t hash)
{
	__builtin_prefetch(&p->at[hash & p->mask], 1);
}

#endif
