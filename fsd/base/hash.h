/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table of chains, whose nodes lie in their owners. It grows by moving a
 * few slots at each addition, so no call takes long, however full it is. The
 * caller compares keys: it walks the chain of a hash with hash_first() and
 * hash_next(). Each table is used by one thread at a time.
 */
#ifndef FSD_HASH_H
#define FSD_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash_node {
	struct hash_node *next;
	uint64_t hash;
};

struct hash {
	struct hash_node **slot; /* owned */
	size_t size, count;      /* size is a power of two or 0 */
	/* owned: the smaller table that it grows from, or NULL */
	struct hash_node **old;
	size_t old_size, moved; /* slots of `old` below `moved` are empty */
};

void hash_done(struct hash *h); /* frees the slots, not the nodes */
/* Return: 0 or -ENOMEM (only the first insertion can fail). */
int hash_add(struct hash *h, struct hash_node *node, uint64_t hash);
void hash_del(struct hash *h, struct hash_node *node);
struct hash_node *hash_first(struct hash *h, uint64_t hash);
struct hash_node *hash_next(const struct hash_node *node);
/* Returns any node, NULL: there is none. For taking all nodes out one by one:
 * *from is 0 at first and notes which slots are empty. */
struct hash_node *hash_any(struct hash *h, size_t *from);

/* hash_text(): FNV-1a of a string, continued from seed. hash_u64(): mixes an
 * integer. */
uint64_t hash_text(const char *text, uint64_t seed);
uint64_t hash_u64(uint64_t v);

#endif
