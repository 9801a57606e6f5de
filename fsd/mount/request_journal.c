/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that wait for their answer, in memory that outlives this process,
 * and the replay of those that the previous server left. Owns struct pending
 * and the records in shared memory. All functions run on the loop.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "requests_int.h"

/* A request is refused if this many servers have died while they handled it. */
#define TRIES_MAX 5u

#define BLOCK_BYTES (INHERIT_BLOCK - sizeof(uint32_t))

struct pending *request_find(struct requests *q, uint64_t unique)
{
	struct hash_node *n = hash_first(&q->by_unique, hash_u64(unique));

	for (; n; n = hash_next(n)) {
		struct pending *p = container_of(n, struct pending, node);

		if (p->unique == unique)
			return p;
	}
	return NULL;
}

/* Returns how many blocks hold what does not fit into the record. */
static uint32_t block_count(const struct inherit_request *k)
{
	return k->len <= INHERIT_SHORT
		       ? 0
		       : (k->len - 1) / (uint32_t)BLOCK_BYTES + 1;
}

/* Returns a block; NULL: the request is not complete. */
static struct inherit_block *block_at(struct inherit *in,
				      const struct inherit_request *k,
				      uint32_t i)
{
	return i < ARRAY_SIZE(k->block)
		       ? inherit_at(in, INHERIT_BLOCKS, k->block[i])
		       : NULL;
}

/* Removes the record before its blocks, so that a killed server leaves no half
 * record. */
static void drop_record(struct inherit *in, struct inherit_request *k)
{
	struct inherit_request was = *k;

	inherit_del(in, INHERIT_REQUESTS, k);
	for (uint32_t i = 0; i < MIN(block_count(&was), ARRAY_SIZE(was.block));
	     i++) {
		void *b = block_at(in, &was, i);

		if (b)
			inherit_del(in, INHERIT_BLOCKS, b);
	}
}

void request_forget(struct fsd *d, struct pending *p)
{
	hash_del(&d->requests->by_unique, &p->node);
	drop_record(d->inherit, p->kept);
	free(p);
}

static int keep_data(struct inherit *in, struct inherit_request *k,
		     const uint8_t *data, uint32_t len)
{
	if (len <= INHERIT_SHORT) {
		k->len = len;
		memcpy(k->data, data, len);
		return 0;
	}
	for (uint32_t at = 0, i = 0; at < len; at += BLOCK_BYTES, i++) {
		uint32_t n = MIN(len - at, (uint32_t)BLOCK_BYTES);
		struct inherit_block *b =
			i < ARRAY_SIZE(k->block)
				? inherit_add(in, INHERIT_BLOCKS, &k->block[i])
				: NULL;

		if (!b)
			return -ENOSPC;
		memcpy(b->data, data + at, n);
		inherit_publish(&b->live);
		k->len = at + n;
	}
	return 0;
}

static struct pending *link_kept(struct requests *q, struct inherit_request *k,
				 uint64_t unique)
{
	struct pending *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->unique = unique;
	p->kept = k;
	if (hash_add(&q->by_unique, &p->node, hash_u64(unique)) < 0) {
		free(p);
		return NULL;
	}
	return p;
}

/* Makes the record. NULL: the table is full. */
static struct inherit_request *keep_record(struct fsd *d, const uint8_t *data,
					   uint32_t len, uint64_t seq,
					   const struct inherit_progress *p)
{
	uint32_t place;
	struct inherit_request *k = inherit_add(d->inherit, INHERIT_REQUESTS,
						&place);

	if (k && keep_data(d->inherit, k, data, len) == 0) {
		k->progress = *p;
		k->seq = seq;
		inherit_publish(&k->live);
		return k;
	}
	log_warn("no room to keep a request: it is lost if this process is "
		 "killed now");
	if (k)
		drop_record(d->inherit, k);
	return NULL;
}

/* Stores a request whose answer will come later, or whose message is needed for
 * the next one. */
struct inherit_request *request_keep(struct fsd *d, const uint8_t *data,
				     uint32_t len, uint64_t seq,
				     const struct inherit_progress *p)
{
	struct inherit_request *k = keep_record(d, data, len, seq, p);

	if (k && !link_kept(d->requests, k, header_of(data)->unique)) {
		drop_record(d->inherit, k);
		k = NULL;
	}
	return k;
}

/* --- replay ------------------------------------------------------------- */

/* Turns messages that the previous server was handling into stored requests. */
static void keep_messages(struct fsd *d)
{
	for (unsigned i = 0; i < INHERIT_MESSAGES; i++) {
		struct inherit_message *m = inherit_message(d->inherit, i);
		uint32_t len = header_of(m->data)->len;

		if (len >= sizeof(struct fuse_in_header) &&
		    len <= sizeof(m->data))
			keep_record(d, m->data, len, m->seq, &m->progress);
		message_clear(m);
	}
}

/* Frees blocks of incomplete requests. */
static void drop_blocks(struct inherit *in, struct inherit_request **list,
			uint32_t count)
{
	uint32_t blocks = inherit_count(in, INHERIT_BLOCKS);
	struct inherit_block *b;

	for (uint32_t i = 0; i < blocks; i++)
		if ((b = inherit_at(in, INHERIT_BLOCKS, i)))
			b->live = 2;
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t n = 0; n < block_count(list[i]); n++)
			if ((b = block_at(in, list[i], n)))
				b->live = 1;
	for (uint32_t i = 0; i < blocks; i++)
		if ((b = inherit_at(in, INHERIT_BLOCKS, i)) && b->live == 2)
			b->live = 0;
	inherit_recycle(in, INHERIT_BLOCKS);
}

/* Copies a request into room (INHERIT_MESSAGE_MAX bytes). Return: whether it is
 * complete. */
static bool copy_kept(struct fsd *d, const struct inherit_request *k,
		      uint8_t *room)
{
	if (k->len < sizeof(struct fuse_in_header) ||
	    k->len > INHERIT_MESSAGE_MAX)
		return false;
	if (k->len <= INHERIT_SHORT)
		memcpy(room, k->data, k->len);
	for (uint32_t i = 0; i < block_count(k); i++) {
		uint32_t at = i * (uint32_t)BLOCK_BYTES;
		const struct inherit_block *b = block_at(d->inherit, k, i);

		if (!b)
			return false;
		memcpy(room + at, b->data,
		       MIN(k->len - at, (uint32_t)BLOCK_BYTES));
	}
	return header_of(room)->len == k->len;
}

static int by_seq(const void *a, const void *b)
{
	const struct inherit_request *const *x = a, *const *y = b;

	return (*x)->seq < (*y)->seq ? -1 : (*x)->seq > (*y)->seq;
}

/* Collects all complete requests, in their order. Return: how many. */
static uint32_t collect(struct fsd *d, struct inherit_request **list,
			uint8_t *room)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < inherit_count(d->inherit, INHERIT_REQUESTS);
	     i++) {
		struct inherit_request *k =
			inherit_at(d->inherit, INHERIT_REQUESTS, i);

		if (!k)
			continue;
		/* A second copy exists if the server died while it stored the
		 * message. */
		if (copy_kept(d, k, room) &&
		    !request_find(d->requests, header_of(room)->unique) &&
		    link_kept(d->requests, k, header_of(room)->unique))
			list[count++] = k;
		else
			k->live = 0;
	}
	qsort(list, count, sizeof(struct inherit_request *), by_seq);
	return count;
}

static void look_again(struct fsd *d, struct inherit_request *k)
{
	uint8_t *copy = malloc(k->len);
	struct look *l = NULL;
	uint64_t unique;

	if (copy && copy_kept(d, k, copy))
		l = look_new(d, copy, k->len, &k->progress);
	if (!l) {
		free(copy);
		return;
	}
	l->copy = copy;
	unique = l->unique;
	if (k->progress.tries < TRIES_MAX) {
		bool answers = !l->answered;

		look_at(l);
		if (!answers)
			request_forget(d, request_find(d->requests, unique));
		return;
	}
	log_error("a request (operation %u) ended %u servers; it is refused",
		  header_of(copy)->opcode, TRIES_MAX);
	look_free(l);
	request_tell(d, unique, -EIO, NULL, 0);
	request_forget(d, request_find(d->requests, unique));
}

void requests_take_over(struct fsd *d)
{
	struct inherit *in = d->inherit;
	uint8_t *room = malloc(INHERIT_MESSAGE_MAX);
	struct inherit_request **list;
	uint32_t count;

	keep_messages(d);
	list = calloc(inherit_count(in, INHERIT_REQUESTS) + 1, sizeof(*list));

	if (!list || !room) {
		log_error("no memory to answer the requests of the server "
			  "before");
		free(list);
		free(room);
		return;
	}
	count = collect(d, list, room);
	inherit_recycle(in, INHERIT_REQUESTS);
	drop_blocks(in, list, count);
	for (uint32_t i = 0; i < count; i++)
		look_again(d, list[i]);
	free(list);
	free(room);
}
