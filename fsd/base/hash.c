/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chained buckets. When the table grows, both arrays of buckets exist for a while: each
 * addition moves a few old buckets, and each lookup moves the bucket that it needs.
 */
#include "hash.h"

#include <errno.h>
#include <stdlib.h>

#define HASH_MIN 64
#define MOVED_AT_ONCE 8

void hash_done(struct hash *h)
{
	free(h->slot);
	free(h->old);
	*h = (struct hash){ 0 };
}

static void push(struct hash_node **slot, size_t size, struct hash_node *node)
{
	struct hash_node **head = &slot[node->hash & (size - 1)];

	node->next = *head;
	*head = node;
}

static void move_slot(struct hash *h, size_t i)
{
	struct hash_node *node = h->old[i], *next;

	h->old[i] = NULL;
	for (; node; node = next) {
		next = node->next;
		push(h->slot, h->size, node);
	}
}

static void move_some(struct hash *h, size_t count)
{
	if (!h->old)
		return;
	for (; count && h->moved < h->old_size; count--)
		move_slot(h, h->moved++);
	if (h->moved < h->old_size)
		return;
	free(h->old);
	h->old = NULL;
}

/* Returns the chain of the hash, after moving it to the new table. */
static struct hash_node **chain_of(struct hash *h, uint64_t hash)
{
	if (h->old)
		move_slot(h, hash & (h->old_size - 1));
	return &h->slot[hash & (h->size - 1)];
}

/* Doubles the table. Without memory it stays, and chains only get longer. */
static int grow(struct hash *h)
{
	size_t size = h->size ? h->size * 2 : HASH_MIN;
	struct hash_node **slot = calloc(size, sizeof(*slot));

	if (!slot)
		return h->size ? 0 : -ENOMEM;
	move_some(h, SIZE_MAX); /* normally complete, unless memory was short */
	h->old = h->slot;
	h->old_size = h->size;
	h->moved = 0;
	h->slot = slot;
	h->size = size;
	return 0;
}

int hash_add(struct hash *h, struct hash_node *node, uint64_t hash)
{
	if (h->count >= h->size && grow(h) < 0)
		return -ENOMEM;
	move_some(h, MOVED_AT_ONCE);
	node->hash = hash;
	push(h->slot, h->size, node);
	h->count++;
	return 0;
}

void hash_del(struct hash *h, struct hash_node *node)
{
	struct hash_node **p;

	if (!h->size)
		return;
	p = chain_of(h, node->hash);
	while (*p && *p != node)
		p = &(*p)->next;
	if (!*p)
		return;
	*p = node->next;
	h->count--;
}

struct hash_node *hash_any(struct hash *h, size_t *from)
{
	move_some(h, SIZE_MAX);
	for (; *from < h->size; ++*from)
		if (h->slot[*from])
			return h->slot[*from];
	return NULL;
}

struct hash_node *hash_first(struct hash *h, uint64_t hash)
{
	struct hash_node *node;

	if (!h->size)
		return NULL;
	node = *chain_of(h, hash);
	while (node && node->hash != hash)
		node = node->next;
	return node;
}

struct hash_node *hash_next(const struct hash_node *node)
{
	struct hash_node *next = node->next;

	while (next && next->hash != node->hash)
		next = next->next;
	return next;
}

uint64_t hash_text(const char *text, uint64_t seed)
{
	uint64_t h = seed ^ 0xcbf29ce484222325ull;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3ull;
	return hash_u64(h);
}

uint64_t hash_u64(uint64_t v)
{
	v ^= v >> 33;
	v *= 0xff51afd7ed558ccdull;
	v ^= v >> 33;
	v *= 0xc4ceb9fe1a85ec53ull;
	return v ^ (v >> 33);
}
