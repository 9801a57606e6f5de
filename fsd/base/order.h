/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs by their numbers, in the order of a key, to be gone through once. */
#ifndef FSD_ORDER_H
#define FSD_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ordered {
	uint64_t key, no;
};

/* Zeroed: it is empty. */
struct order {
	struct ordered *at; /* owned */
	size_t count, room, next;
};

/* Return: 0 or -ENOMEM. */
int order_add(struct order *o, uint64_t key, uint64_t no);
/* By key, then by number; before the first order_next(). */
void order_sort(struct order *o);
/* The next one's number; 0: there is none, and all is given up. */
uint64_t order_next(struct order *o);
/* That one's key; UINT64_MAX: there is none. */
uint64_t order_key(const struct order *o);
void order_done(struct order *o);

#endif
