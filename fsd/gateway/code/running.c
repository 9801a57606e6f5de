/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One list of all running cells, under one mutex. execute.c adds and removes
 * its cells, on workers and on the loop; contexts.c marks those of a context
 * that it restarts.
 */
#include "running.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct running {
	pthread_mutex_t lock;
	struct list all; /* struct running_cell */
};

int running_open(struct gateway *g)
{
	struct running *running = calloc(1, sizeof(*running));

	if (!running)
		return -ENOMEM;
	pthread_mutex_init(&running->lock, NULL);
	list_init(&running->all);
	g->running = running;
	return 0;
}

uint64_t running_add(struct gateway *g, struct running_cell *cell)
{
	struct running *running = g->running;
	uint64_t count = 0;

	pthread_mutex_lock(&running->lock);
	list_for_each(pos, tmp, &running->all)
		count += !strcmp(list_entry(pos, struct running_cell, node)->context,
				 cell->context);
	list_add_tail(&running->all, &cell->node);
	pthread_mutex_unlock(&running->lock);
	return count;
}

void running_remove(struct gateway *g, struct running_cell *cell)
{
	struct running *running = g->running;

	pthread_mutex_lock(&running->lock);
	list_del(&cell->node);
	pthread_mutex_unlock(&running->lock);
}

void running_restart(struct gateway *g, const char *context)
{
	struct running *running = g->running;

	pthread_mutex_lock(&running->lock);
	list_for_each(pos, tmp, &running->all) {
		struct running_cell *cell =
			list_entry(pos, struct running_cell, node);

		if (!strcmp(cell->context, context))
			atomic_store(&cell->restarted, true);
	}
	pthread_mutex_unlock(&running->lock);
}
