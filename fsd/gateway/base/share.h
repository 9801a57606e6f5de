/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides one limited thing, such as workers or bytes, among owners. An owner
 * may have as much as is left free: a single owner gets half, two get a third
 * each, so some is always left for the next. Any thread.
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
	struct list owners; /* owners that have some */
};

void shares_init(struct shares *s, size_t total);
void shares_done(struct shares *s);
/* Takes amount. Return: false: the owner's share does not allow it now, or no
 * memory. */
bool shares_take(struct shares *s, const char *owner, size_t amount);
/* Gives amount back, at once or in parts. */
void shares_give(struct shares *s, const char *owner, size_t amount);

/* The amount that one holder has. Zeroed: none. */
struct holding {
	struct shares *shares;
	char owner[SHARE_OWNER];
	size_t amount;
};

/* Takes or gives back so that the holder has amount. Return: false: as
 * shares_take(), and the holder's amount is unchanged. */
bool holding_set(struct holding *h, size_t amount);

#endif
