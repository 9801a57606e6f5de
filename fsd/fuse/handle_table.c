/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array of the open objects, by the place of their record in shared memory. The record
 * is the next server's; this array is made anew by each server.
 */
#include "handle_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct open_files {
	struct inherit *inherit; /* borrowed */
	/* owned array, by index of the record; objects are borrowed */
	void **object;
	uint32_t size;
	char *room;              /* owned */
	struct list handles;     /* of struct handle */
	struct list listings;    /* of struct guest_listing */
};

int open_files_new(struct inherit *inherit, struct open_files **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->room = malloc(OPEN_FILES_ROOM);
	if (!(*ret)->room) {
		free(take_ptr(*ret));
		return -ENOMEM;
	}
	(*ret)->inherit = inherit;
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

struct inherit_handle *open_files_add(struct open_files *o,
				      enum inherit_handle_kind kind,
				      uint64_t ino, void *object,
				      uint64_t *ret_fh)
{
	uint32_t slot;
	struct inherit_handle *k = inherit_add(o->inherit, INHERIT_HANDLES,
					       &slot);

	if (!k)
		return NULL;
	if (put(o, slot, object) < 0) {
		inherit_del(o->inherit, INHERIT_HANDLES, k);
		return NULL;
	}
	k->kind = kind;
	k->ino = ino;
	k->number = ++inherit_head(o->inherit)->opened;
	*ret_fh = open_files_fh(o, k);
	return k;
}

int open_files_adopt(struct open_files *o, struct inherit_handle *k,
		     void *object)
{
	return put(o,
		   inherit_slot(o->inherit, INHERIT_HANDLES, k), object);
}

uint64_t open_files_fh(const struct open_files *o,
		       const struct inherit_handle *k)
{
	return (uint64_t)k->number << 32 |
	       (inherit_slot(o->inherit, INHERIT_HANDLES, k) + 1);
}

/* Returns the record of a number; NULL: it is not open. */
static struct inherit_handle *record_of(const struct open_files *o, uint64_t fh)
{
	uint32_t slot = (uint32_t)fh - 1;
	struct inherit_handle *k =
		slot < o->size
			? inherit_at(o->inherit, INHERIT_HANDLES, slot)
			: NULL;

	return k && k->number == fh >> 32 ? k : NULL;
}

void *open_files_at(const struct open_files *o, uint64_t fh,
		    enum inherit_handle_kind kind)
{
	const struct inherit_handle *k = record_of(o, fh);

	return k && k->kind == kind ? o->object[(uint32_t)fh - 1]
				    : NULL;
}

void open_files_del(struct open_files *o, struct inherit_handle *k)
{
	if (!k)
		return;
	o->object[inherit_slot(o->inherit, INHERIT_HANDLES, k)] =
		NULL;
	inherit_del(o->inherit, INHERIT_HANDLES, k);
}

void open_files_drop(struct open_files *o, uint64_t fh)
{
	open_files_del(o, record_of(o, fh));
}
