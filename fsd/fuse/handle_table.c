/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array of open objects, by the slot of their record in shared memory. The records are
 * for the next server; each server makes its own array.
 */
#include "handle_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

HANDOVER_TABLE(handle_records, "handles", 1, struct handle_record, 1u << 20,
	       .zeroed = offsetof(struct handle_record, number));

struct open_files {
	struct handover *handover; /* borrowed */
	/* owned array, by index of the record; objects are borrowed */
	void **object;
	uint32_t size;
	char *room;              /* owned */
	struct list handles;     /* list of struct handle */
	struct list listings;    /* list of struct guest_listing */
};

int open_files_new(struct handover *handover, struct open_files **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->room = malloc(OPEN_FILES_ROOM);
	if (!(*ret)->room) {
		free(take_ptr(*ret));
		return -ENOMEM;
	}
	(*ret)->handover = handover;
	list_init(&(*ret)->handles);
	list_init(&(*ret)->listings);
	return 0;
}

char *open_files_room(struct open_files *o)
{
	return o->room;
}

struct list *open_files_handles(struct open_files *o)
{
	return &o->handles;
}

struct list *open_files_listings(struct open_files *o)
{
	return &o->listings;
}

void open_files_free(struct open_files *o)
{
	if (!o)
		return;
	free(o->object);
	free(o->room);
	free(o);
}

static int put(struct open_files *o, uint32_t slot, void *object)
{
	uint32_t size = MAX(o->size, 64u);
	void **bigger;

	while (size <= slot)
		size *= 2;
	if (size > o->size) {
		bigger = realloc(o->object, size * sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		memset(bigger + o->size, 0,
		       (size - o->size) * sizeof(*bigger));
		o->object = bigger;
		o->size = size;
	}
	o->object[slot] = object;
	return 0;
}

struct handle_record *open_files_add(struct open_files *o,
				      enum open_kind kind,
				      uint64_t ino, void *object,
				      uint64_t *ret_fh)
{
	uint32_t slot;
	struct handle_record *k = handover_add(o->handover, &handle_records,
					       &slot);

	if (!k)
		return NULL;
	if (put(o, slot, object) < 0) {
		handover_del(o->handover, &handle_records, k);
		return NULL;
	}
	k->kind = kind;
	k->ino = ino;
	k->number++;
	*ret_fh = open_files_fh(o, k);
	return k;
}

int open_files_adopt(struct open_files *o, struct handle_record *k,
		     void *object)
{
	return put(o,
		   handover_slot(o->handover, &handle_records, k), object);
}

uint64_t open_files_fh(const struct open_files *o,
		       const struct handle_record *k)
{
	return (uint64_t)k->number << 32 |
	       (handover_slot(o->handover, &handle_records, k) + 1);
}

/* Returns the record of a number; NULL: it is not open. */
static struct handle_record *record_of(const struct open_files *o, uint64_t fh)
{
	uint32_t slot = (uint32_t)fh - 1;
	struct handle_record *k =
		slot < o->size
			? handover_at(o->handover, &handle_records, slot)
			: NULL;

	return k && k->number == fh >> 32 ? k : NULL;
}

void *open_files_at(const struct open_files *o, uint64_t fh,
		    enum open_kind kind)
{
	const struct handle_record *k = record_of(o, fh);

	return k && k->kind == kind ? o->object[(uint32_t)fh - 1]
				    : NULL;
}

void open_files_del(struct open_files *o, struct handle_record *k)
{
	if (!k)
		return;
	o->object[handover_slot(o->handover, &handle_records, k)] =
		NULL;
	handover_del(o->handover, &handle_records, k);
}

void open_files_drop(struct open_files *o, uint64_t fh)
{
	open_files_del(o, record_of(o, fh));
}
