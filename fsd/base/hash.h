/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An intrusive hash table of chains that grows with its contents, a few slots
 * at each addition: no call takes long, however full it is. The owner compares
 * keys itself: walk the chain of a hash value with hash_first() and
 * hash_next().
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
	struct hash_node **old;  /* owned: what it grows from, or NULL */
	size_t old_size, moved;  /* slots before this one are empty */
};

void hash_done(struct hash *h); /* frees the slots, not the nodes */
/* Return: 0 or -ENOMEM (only the first insertion can fail). */
int hash_add(struct hash *h, struct hash_node *node, uint64_t hash);
void hash_del(struct hash *h, struct hash_node *node);
struct hash_node *hash_first(struct hash *h, uint64_t hash);
struct hash_node *hash_next(const struct hash_node *node);
/* Some node, NULL if there is none: to take all of them out, one by one. *from
 * is 0 at first and remembers which slots are empty. */
struct hash_node *hash_any(struct hash *h, size_t *from);

/* FNV-1a of a string, continued from seed; a mixer for integers. */
uint64_t hash_text(const char *text, uint64_t seed);
uint64_t hash_u64(uint64_t v);

#endif
