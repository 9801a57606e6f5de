/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks by name: one list of the held names, under one mutex. A worker that
 * ends with its name wakes all that wait, and each searches again for its own
 * name. Any worker.
 */
#include "alone.h"

#include <stdbool.h>
#include <string.h>

void alones_init(struct alones *all)
{
	pthread_mutex_init(&all->lock, NULL);
	pthread_cond_init(&all->ended, NULL);
	list_init(&all->taken);
}

void alones_done(struct alones *all)
{
	pthread_cond_destroy(&all->ended);
	pthread_mutex_destroy(&all->lock);
}

static bool is_taken(const struct alones *all, const char *what)
{
	list_for_each(pos, tmp, &all->taken)
		if (!strcmp(list_entry(pos, struct alone, node)->what, what))
			return true;
	return false;
}

void alone_begin(struct alones *all, struct alone *a, const char *what)
{
	pthread_mutex_lock(&all->lock);
	while (is_taken(all, what))
		pthread_cond_wait(&all->ended, &all->lock);
	a->all = all;
	a->what = what;
	list_add_tail(&all->taken, &a->node);
	pthread_mutex_unlock(&all->lock);
}

void alone_end(struct alone *a)
{
	struct alones *all = a->all;

	pthread_mutex_lock(&all->lock);
	list_del(&a->node);
	pthread_cond_broadcast(&all->ended);
	pthread_mutex_unlock(&all->lock);
}
