/* SPDX-License-Identifier: Apache-2.0 */
/* The disk's room: depot.h says what of it others ask for. For depot.c. */
#ifndef FSD_DEPOT_ROOM_H
#define FSD_DEPOT_ROOM_H

#include <pthread.h>

#include "depot.h"

struct depot_room {
	int root;          /* borrowed: STATE */
	int reserve;       /* owned: STATE/reserve, -1: there is none */
	pthread_mutex_t lock;
	bool reserved;     /* reserve has its room; under the lock */
	_Atomic bool full; /* something found none, and none came since */
};

struct depot_room *depot_room_of(struct depot *s);
void depot_room_init(struct depot_room *r);
/* A disk that has no room for the reserve serves all the same. */
void depot_room_open(struct depot_room *r, int root);
void depot_room_close(struct depot_room *r);

#endif
