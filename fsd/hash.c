/* SPDX-License-Identifier: Apache-2.0 */
#include "hash.h"

#include <errno.h>
#include <stdlib.h>

#define HASH_MIN 64

void hash_done(struct hash *h)
{
	free(h->slot);
	*h = (struct hash){ 0 };
}

static void push(struct hash_node **slot, size_t size, struct hash_node *node)
{
	struct hash_node **head = &slot[node->hash & (size - 1)];

	node->next = *head;
	*head = node;
}

/* Keeps the chains short; without memory they only get longer. */
static int grow(struct hash *h)
{
	size_t size = h->size ? h->size * 2 : HASH_MIN;
	struct hash_node **slot = calloc(size, sizeof(*slot));

	if (!slot)
		return h->size ? 0 : -ENOMEM;
	for (size_t i = 0; i < h->size; i++) {
		struct hash_node *node = h->slot[i], *next;

		for (; node; node = next) {
			next = node->next;
			push(slot, size, node);
		}
	}
	free(h->slot);
	h->slot = slot;
	h->size = size;
	return 0;
}

int hash_add(struct hash *h, struct hash_node *node, uint64_t hash)
{
	if (h->count >= h->size && grow(h) < 0)
		return -ENOMEM;
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
	p = &h->slot[node->hash & (h->size - 1)];
	while (*p && *p != node)
		p = &(*p)->next;
	if (!*p)
		return;
	*p = node->next;
	h->count--;
}

struct hash_node *hash_any(const struct hash *h, size_t *from)
{
	for (; *from < h->size; ++*from)
		if (h->slot[*from])
			return h->slot[*from];
	return NULL;
}

struct hash_node *hash_first(const struct hash *h, uint64_t hash)
{
	struct hash_node *node;

	if (!h->size)
		return NULL;
	node = h->slot[hash & (h->size - 1)];
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
