/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores the entries of a spool: a hash table by name, which owns them, and binary heaps
 * for what is due next. Both are made for 100,000 entries in 64 MB.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "entries_int.h"

#define TABLE_MIN 64

/* --- by name ------------------------------------------------------------------- */

static size_t head_of(const struct table *t, const char *name)
{
	uint64_t hash = 0xcbf29ce484222325u; /* the hash function FNV-1a */

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
	return (size_t)(hash ^ (hash >> 32)) & (t->size - 1);
}

int table_init(struct table *t)
{
	*t = (struct table){ .size = TABLE_MIN };
	t->heads = calloc(t->size, sizeof(struct entry *));
	return t->heads ? 0 : -ENOMEM;
}

void table_free(struct table *t)
{
	for (size_t i = 0; t->heads && i < t->size; i++) {
		while (t->heads[i])
			table_remove(t, t->heads[i]);
	}
	free(t->heads);
}

static struct entry **link_of(const struct table *t, const char *name)
{
	struct entry **p = &t->heads[head_of(t, name)];

	while (*p && strcmp((*p)->name, name) != 0)
		p = &(*p)->same_hash;
	return p;
}

struct entry *table_find(const struct table *t, const char *name)
{
	return *link_of(t, name);
}

static int grow(struct table *t)
{
	struct table larger = { .size = t->size * 2, .count = t->count };
	struct entry *x;

	larger.heads = calloc(larger.size, sizeof(struct entry *));
	if (!larger.heads)
		return -ENOMEM;
	for (size_t i = 0; i < t->size; i++) {
		while ((x = t->heads[i])) {
			struct entry **head = &larger.heads[head_of(&larger, x->name)];

			t->heads[i] = x->same_hash;
			x->same_hash = *head;
			*head = x;
		}
	}
	free(t->heads);
	*t = larger;
	return 0;
}

struct entry *table_add(struct table *t, const char *name)
{
	size_t size = strlen(name) + 1;
	struct entry *x, **head;

	if (t->count >= t->size && grow(t) < 0)
		return NULL;
	x = calloc(1, sizeof(*x) + size);
	if (!x)
		return NULL;
	memcpy(x->name, name, size);
	head = &t->heads[head_of(t, name)];
	x->same_hash = *head;
	*head = x;
	t->count++;
	return x;
}

void table_remove(struct table *t, struct entry *x)
{
	struct entry **p = link_of(t, x->name);

	*p = x->same_hash;
	t->count--;
	free(x);
}

/* --- queues --------------------------------------------------------------------- */

static bool is_before(const struct entry *a, const struct entry *b)
{
	return a->key != b->key ? a->key < b->key : a->order < b->order;
}

static void put(struct queue *q, size_t i, struct entry *x)
{
	q->at[i] = x;
	x->slot = (uint32_t)i;
}

static void sift_up(struct queue *q, size_t i, struct entry *x)
{
	for (; i > 0 && is_before(x, q->at[(i - 1) / 2]); i = (i - 1) / 2)
		put(q, i, q->at[(i - 1) / 2]);
	put(q, i, x);
}

static void sift_down(struct queue *q, size_t i, struct entry *x)
{
	for (size_t child; (child = 2 * i + 1) < q->count; i = child) {
		if (child + 1 < q->count && is_before(q->at[child + 1], q->at[child]))
			child++;
		if (!is_before(q->at[child], x))
			break;
		put(q, i, q->at[child]);
	}
	put(q, i, x);
}

struct entry *queue_first(const struct queue *q)
{
	return q->count ? q->at[0] : NULL;
}

int queue_reserve(struct queue *q, size_t count)
{
	size_t size = MAX(q->size, TABLE_MIN);
	struct entry **at;

	while (size < count)
		size *= 2;
	if (size == q->size)
		return 0;
	at = realloc(q->at, size * sizeof(struct entry *));
	if (!at)
		return -ENOMEM;
	q->at = at;
	q->size = size;
	return 0;
}

void queue_add(struct queue *q, struct entry *x)
{
	sift_up(q, q->count++, x);
}

void queue_remove(struct queue *q, struct entry *x)
{
	struct entry *last = q->at[--q->count];

	if (last == x)
		return;
	sift_down(q, x->slot, last);
	sift_up(q, last->slot, last);
}
