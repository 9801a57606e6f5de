/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One bounded thing, such as workers or bytes, and what each owner has of it. An owner
 * may have as much as is left free: one alone gets half, two get a third each, and there
 * is always something for the next. Calls may come from any thread.
 */
#ifndef GATEWAY_SHARE_H
#define GATEWAY_SHARE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "layout/base/list.h"

#define SHARE_OWNER 49u /* a letter, ":", a name or an address, and a NUL */

struct shares {
	pthread_mutex_t lock;
	size_t total, used;
	struct list owners; /* those that have something */
};

void shares_init(struct shares *s, size_t total);
void shares_done(struct shares *s);
/* Return: false: amount more is more than owner's share now, or no memory. */
bool shares_take(struct shares *s, const char *owner, size_t amount);
/* Gives back what was taken, in one or in several pieces. */
void shares_give(struct shares *s, const char *owner, size_t amount);

/* The amount of a thing that one holder has. Zeroed: none. */
struct holding {
	struct shares *shares;
	char owner[SHARE_OWNER];
	size_t amount;
};

/* Takes until the holder has amount, or gives back. Return: false as shares_take(); the
 * holder has what it had. */
bool holding_set(struct holding *h, size_t amount);

#endif
