/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which place of a table (inherit.h) the record of a key is, for hundreds of
 * thousands that a server finds when it takes over, most of which nobody asks
 * for: eight bytes for each, in one block. Memory is slow: who adds many says a
 * little before where it will look.
 */
#ifndef FSD_SLOT_INDEX_H
#define FSD_SLOT_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct slot_entry {
	uint32_t tag;   /* the upper half of the key's hash */
	uint32_t slot;  /* + 1; 0: free */
};

struct slot_index {
	struct slot_entry *at;  /* owned */
	size_t mask;
};

#define PLACE_AHEAD 32

/* For so many keys and no more. Return: 0 or -ENOMEM. */
int slot_index_new(struct slot_index *p, uint32_t count);
void slot_index_done(struct slot_index *p);   /* zeroed is fine, here and in a search */
void slot_index_add(struct slot_index *p, uint64_t hash, uint32_t slot);
/* The next place whose key may have this hash, *i is the hash at first. Return:
 * 0, or -1: there is none. */
int slot_index_next(const struct slot_index *p, uint64_t hash, size_t *i,
		uint32_t *ret_place);
void slot_index_del(struct slot_index *p, uint64_t hash, uint32_t slot);

static inline void slot_index_prefetch(const struct slot_index *p, uint64_t hash)
{
	__builtin_prefetch(&p->at[hash & p->mask], 1);
}

#endif
