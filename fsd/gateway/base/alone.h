/* SPDX-License-Identifier: Apache-2.0 */
/* A lock by name: of the workers that use one thing, one at a time has it. */
#ifndef GATEWAY_ALONE_H
#define GATEWAY_ALONE_H

#include <pthread.h>

#include "layout/base/list.h"

/* The names that are taken. */
struct alones {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	struct list taken;
};

struct alone {
	struct alones *all; /* borrowed until alone_end() */
	const char *what;   /* the same */
	struct list node;
};

void alones_init(struct alones *all);
/* When no worker runs any more. */
void alones_done(struct alones *all);

/* On a worker: waits until no other one has a thing of that name. Things of other names
 * do not wait for it. */
void alone_begin(struct alones *all, struct alone *a, const char *what);
void alone_end(struct alone *a);

#endif
