/* SPDX-License-Identifier: Apache-2.0 */
/* The disk's room: store.h says what of it others ask for. For store.c. */
#ifndef FSD_DISK_RESERVE_H
#define FSD_DISK_RESERVE_H

#include <pthread.h>

#include "store.h"

struct disk_reserve {
	int root;          /* borrowed: STATE */
	int reserve;       /* owned: STATE/reserve, -1: there is none */
	pthread_mutex_t lock;
	bool reserved;     /* reserve has its room; under the lock */
	_Atomic bool full; /* something found none, and none came since */
};

struct disk_reserve *disk_reserve_of(struct store *s);
void disk_reserve_init(struct disk_reserve *r);
/* A disk that has no room for the reserve serves all the same. */
void disk_reserve_open(struct disk_reserve *r, int root);
void disk_reserve_close(struct disk_reserve *r);

#endif
