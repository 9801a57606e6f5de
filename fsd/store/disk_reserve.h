/* SPDX-License-Identifier: Apache-2.0 */
/* The reserve, and whether the disk is full. Other rooms use the functions in store.h.
 * init, open and close are for store.c: at start and end, on the loop's thread. */
#ifndef FSD_DISK_RESERVE_H
#define FSD_DISK_RESERVE_H

#include <pthread.h>

#include "store.h"

struct disk_reserve {
	int root;          /* borrowed: STATE */
	int reserve;       /* owned: STATE/reserve; -1: it could not be made */
	pthread_mutex_t lock;
	bool reserved;     /* the blocks of the reserve are allocated; under the lock */
	_Atomic bool full; /* a call failed for want of space since the last check */
};

struct disk_reserve *disk_reserve_of(struct store *s);
void disk_reserve_init(struct disk_reserve *r);
/* Allocates the reserve; a disk without space for it is served, too. */
void disk_reserve_open(struct disk_reserve *r, int root);
void disk_reserve_close(struct disk_reserve *r);

#endif
