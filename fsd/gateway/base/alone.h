/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks by name: of the workers that use one thing, only one at a time has its
 * lock. For workers; they block.
 */
#ifndef GATEWAY_ALONE_H
#define GATEWAY_ALONE_H

#include <pthread.h>

#include "layout/base/list.h"

/* All locks that are held. */
struct alones {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	struct list taken;
};

struct alone {
	struct alones *all; /* borrowed until alone_end() */
	const char *what; /* borrowed until alone_end() */
	struct list node;
};

void alones_init(struct alones *all);
/* Call it when no worker runs any more. */
void alones_done(struct alones *all);

/* Waits until no other worker has the lock of that name. Other names do not
 * delay it. */
void alone_begin(struct alones *all, struct alone *a, const char *what);
void alone_end(struct alone *a);

#endif
