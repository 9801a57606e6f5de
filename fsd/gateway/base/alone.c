/* SPDX-License-Identifier: Apache-2.0 */
#include "alone.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static struct list taken = { &taken, &taken };

static bool is_taken(const char *what)
{
	list_for_each(pos, tmp, &taken)
		if (!strcmp(list_entry(pos, struct alone, node)->what, what))
			return true;
	return false;
}

void alone_begin(struct alone *a, const char *what)
{
	pthread_mutex_lock(&lock);
	while (is_taken(what))
		pthread_cond_wait(&ended, &lock);
	a->what = what;
	list_add_tail(&taken, &a->node);
	pthread_mutex_unlock(&lock);
}

void alone_end(struct alone *a)
{
	pthread_mutex_lock(&lock);
	list_del(&a->node);
	pthread_cond_broadcast(&ended);
	pthread_mutex_unlock(&lock);
}
