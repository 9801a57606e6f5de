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

#define BLOCK 16384u
#define BLOCK_BYTES (BLOCK - sizeof(uint32_t))

struct block_record {
	uint32_t live;
	uint8_t data[BLOCK_BYTES];
};

static HANDOVER_TABLE(request_records, "requests", 1, struct request_record, 1u << 20);
static HANDOVER_TABLE(block_records, "request-blocks", 1, struct block_record, 1u << 16,
		      .zeroed = sizeof(uint32_t));

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

/* Returns how many blocks hold the whole request; 0: the record itself holds it. */
static uint32_t block_count(const struct request_record *k)
{
	return k->len <= REQUEST_SHORT
		       ? 0
		       : (k->len - 1) / (uint32_t)BLOCK_BYTES + 1;
}

/* Returns a block; NULL: the request is not complete. */
static struct block_record *block_at(struct handover *in,
				      const struct request_record *k,
				      uint32_t i)
{
	return i < ARRAY_SIZE(k->block)
		       ? handover_at(in, &block_records, k->block[i])
		       : NULL;
}

/* Removes the record before its blocks, so that a killed server leaves no half
 * record. */
static void drop_record(struct handover *in, struct request_record *k)
{
	struct request_record was = *k;

	handover_del(in, &request_records, k);
	for (uint32_t i = 0; i < MIN(block_count(&was), ARRAY_SIZE(was.block));
	     i++) {
		void *b = block_at(in, &was, i);

		if (b)
			handover_del(in, &block_records, b);
	}
}

void request_forget(struct fsd *d, struct pending *p)
{
	hash_del(&d->requests->by_unique, &p->node);
	drop_record(d->handover, p->kept);
	free(p);
}

static int keep_data(struct handover *in, struct request_record *k,
		     const uint8_t *data, uint32_t len)
{
	if (len <= REQUEST_SHORT) {
		k->len = len;
		memcpy(k->data, data, len);
		return 0;
	}
	for (uint32_t at = 0, i = 0; at < len; at += BLOCK_BYTES, i++) {
		uint32_t n = MIN(len - at, (uint32_t)BLOCK_BYTES);
		struct block_record *b =
			i < ARRAY_SIZE(k->block)
				? handover_add(in, &block_records, &k->block[i])
				: NULL;

		if (!b)
			return -ENOSPC;
		memcpy(b->data, data + at, n);
		handover_publish(&b->live);
		k->len = at + n;
	}
	return 0;
}

static struct pending *link_kept(struct requests *q, struct request_record *k,
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
static struct request_record *keep_record(struct fsd *d, const uint8_t *data,
					   uint32_t len, uint64_t seq,
					   const struct request_progress *p)
{
	uint32_t place;
	struct request_record *k = handover_add(d->handover, &request_records,
						&place);

	if (k && keep_data(d->handover, k, data, len) == 0) {
		k->progress = *p;
		k->seq = seq;
		handover_publish(&k->live);
		return k;
	}
	log_warn("no room to keep a request: it is lost if this process is "
		 "killed now");
	if (k)
		drop_record(d->handover, k);
	return NULL;
}

/* Stores a request whose answer will come later, or whose message slot the next
 * request needs. */
struct request_record *request_keep(struct fsd *d, const uint8_t *data,
				     uint32_t len, uint64_t seq,
				     const struct request_progress *p)
{
	struct request_record *k = keep_record(d, data, len, seq, p);

	if (k && !link_kept(d->requests, k, header_of(data)->unique)) {
		drop_record(d->handover, k);
		k = NULL;
	}
	return k;
}

/* --- replay ------------------------------------------------------------- */

/* Turns messages that the previous server was handling into stored requests. */
static void keep_messages(struct fsd *d)
{
	for (unsigned i = 0; i < MESSAGES; i++) {
		struct request_message *m = &d->requests->shared->message[i];
		uint32_t len = header_of(m->data)->len;

		if (len >= sizeof(struct fuse_in_header) &&
		    len <= sizeof(m->data))
			keep_record(d, m->data, len, m->seq, &m->progress);
		message_clear(m);
	}
}

/* Frees blocks of incomplete requests. */
static void drop_blocks(struct handover *in, struct request_record **list,
			uint32_t count)
{
	struct block_record *b;

	for (uint32_t i = 0; (b = handover_next(in, &block_records, &i)); )
		b->live = 2;
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t n = 0; n < block_count(list[i]); n++)
			if ((b = block_at(in, list[i], n)))
				b->live = 1;
	for (uint32_t i = 0; (b = handover_next(in, &block_records, &i)); )
		if (b->live == 2)
			b->live = 0;
	handover_recycle(in, &block_records);
}

/* Copies a request into room (MESSAGE_MAX bytes). Return: whether it is
 * complete. */
static bool copy_kept(struct fsd *d, const struct request_record *k,
		      uint8_t *room)
{
	if (k->len < sizeof(struct fuse_in_header) ||
	    k->len > MESSAGE_MAX)
		return false;
	if (k->len <= REQUEST_SHORT)
		memcpy(room, k->data, k->len);
	for (uint32_t i = 0; i < block_count(k); i++) {
		uint32_t at = i * (uint32_t)BLOCK_BYTES;
		const struct block_record *b = block_at(d->handover, k, i);

		if (!b)
			return false;
		memcpy(room + at, b->data,
		       MIN(k->len - at, (uint32_t)BLOCK_BYTES));
	}
	return header_of(room)->len == k->len;
}

static int by_seq(const void *a, const void *b)
{
	const struct request_record *const *x = a, *const *y = b;

	return (*x)->seq < (*y)->seq ? -1 : (*x)->seq > (*y)->seq;
}

/* Collects all complete requests, in their order. Return: how many. */
static uint32_t collect(struct fsd *d, struct request_record **list,
			uint8_t *room)
{
	uint32_t count = 0;

	struct request_record *k;

	for (uint32_t i = 0;
	     (k = handover_next(d->handover, &request_records, &i)); ) {
		/* A second copy exists if the server died while it stored the
		 * message. */
		if (copy_kept(d, k, room) &&
		    !request_find(d->requests, header_of(room)->unique) &&
		    link_kept(d->requests, k, header_of(room)->unique))
			list[count++] = k;
		else
			k->live = 0;
	}
	qsort(list, count, sizeof(struct request_record *), by_seq);
	return count;
}

static void look_again(struct fsd *d, struct request_record *k)
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
	struct handover *in = d->handover;
	uint8_t *room = malloc(MESSAGE_MAX);
	struct request_record **list;
	uint32_t count;

	keep_messages(d);
	list = calloc(handover_count(in, &request_records) + 1, sizeof(*list));

	if (!list || !room) {
		log_error("no memory to answer the requests of the server "
			  "before");
		free(list);
		free(room);
		return;
	}
	count = collect(d, list, room);
	handover_recycle(in, &request_records);
	drop_blocks(in, list, count);
	for (uint32_t i = 0; i < count; i++)
		look_again(d, list[i]);
	free(list);
	free(room);
}
