/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The running cells. The restart of a context ends its cells, and their answers must
 * say so. Any thread.
 */
#ifndef GATEWAY_RUNNING_H
#define GATEWAY_RUNNING_H

#include <stdatomic.h>

#include "fsd/gateway/gateway.h"

struct running_cell {
	struct list node; /* link in the list of all cells; protected by the lock */
	const char *context; /* borrowed until running_remove() */
	atomic_bool restarted;
};

/* Makes the list. It stays until the process ends, because a cell may run
 * longer than the loop. Return: 0 or -ENOMEM. */
int running_open(struct gateway *g);
/* Adds a cell. Return: how many other cells of its context are in the list. */
uint64_t running_add(struct gateway *g, struct running_cell *cell);
void running_remove(struct gateway *g, struct running_cell *cell);
/* Marks the cells of a context that is about to be restarted. */
void running_restart(struct gateway *g, const char *context);

#endif
