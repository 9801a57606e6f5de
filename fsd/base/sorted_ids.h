/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs by their numbers, in the order of a key, to be gone through once. */
#ifndef FSD_SORTED_IDS_H
#define FSD_SORTED_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sorted_id {
	uint64_t key, no;
};

/* Zeroed: it is empty. */
struct sorted_ids {
	struct sorted_id *at; /* owned */
	size_t count, room, next;
};

/* Return: 0 or -ENOMEM. */
int sorted_ids_add(struct sorted_ids *o, uint64_t key, uint64_t no);
/* By key, then by number; before the first sorted_ids_next(). */
void sorted_ids_sort(struct sorted_ids *o);
/* The next one's number; 0: there is none, and all is given up. */
uint64_t sorted_ids_next(struct sorted_ids *o);
void sorted_ids_done(struct sorted_ids *o);

#endif
