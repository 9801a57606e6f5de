/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of jobs in the order of a key, filled and then read once. Used on the
 * loop.
 */
#ifndef FSD_SORTED_IDS_H
#define FSD_SORTED_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sorted_id {
	uint64_t key, no;
};

/* A zeroed struct is empty. */
struct sorted_ids {
	struct sorted_id *at; /* owned */
	size_t count, room, next;
};

/* Return: 0 or -ENOMEM. */
int sorted_ids_add(struct sorted_ids *o, uint64_t key, uint64_t no);
/* Sorts by key, then by number; call it before the first sorted_ids_next(). */
void sorted_ids_sort(struct sorted_ids *o);
/* Returns the next number and moves on; 0: the end, and the memory is freed. */
uint64_t sorted_ids_next(struct sorted_ids *o);
void sorted_ids_done(struct sorted_ids *o);

#endif
