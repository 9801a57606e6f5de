/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One list of the names of all open uploads, under one mutex. A new upload
 * marks earlier ones of its name as overtaken. An upload that removes its file
 * holds its name, so that it cannot remove the next one's file. On workers.
 */
#include "upload_name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct upload_names {
	pthread_mutex_t lock;
	pthread_cond_t removed;
	struct list all; /* struct upload_name */
};

int upload_names_open(struct gateway *g)
{
	struct upload_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	pthread_mutex_init(&names->lock, NULL);
	pthread_cond_init(&names->removed, NULL);
	list_init(&names->all);
	g->upload_names = names;
	return 0;
}

void upload_names_close(struct gateway *g)
{
	struct upload_names *names = g->upload_names;

	if (!names)
		return;
	g->upload_names = NULL;
	pthread_cond_destroy(&names->removed);
	pthread_mutex_destroy(&names->lock);
	free(names);
}

static bool is_removing(const struct upload_names *names, const char *path)
{
	list_for_each(pos, tmp, &names->all) {
		struct upload_name *n = list_entry(pos, struct upload_name, node);

		if (n->removing && !strcmp(n->path, path))
			return true;
	}
	return false;
}

void upload_name_take(struct gateway *g, struct upload_name *n, const char *path)
{
	struct upload_names *names = g->upload_names;

	pthread_mutex_lock(&names->lock);
	while (is_removing(names, path))
		pthread_cond_wait(&names->removed, &names->lock);
	list_for_each(pos, tmp, &names->all) {
		struct upload_name *other =
			list_entry(pos, struct upload_name, node);

		if (!strcmp(other->path, path))
			atomic_store(&other->overtaken, true);
	}
	n->path = path;
	atomic_store(&n->overtaken, false);
	list_add_tail(&names->all, &n->node);
	pthread_mutex_unlock(&names->lock);
}

void upload_name_leave(struct gateway *g, struct upload_name *n)
{
	struct upload_names *names = g->upload_names;

	pthread_mutex_lock(&names->lock);
	list_del(&n->node);
	n->removing = false;
	pthread_cond_broadcast(&names->removed);
	pthread_mutex_unlock(&names->lock);
}

bool upload_name_hold(struct gateway *g, struct upload_name *n)
{
	struct upload_names *names = g->upload_names;

	pthread_mutex_lock(&names->lock);
	n->removing = !atomic_load(&n->overtaken);
	pthread_mutex_unlock(&names->lock);
	return n->removing;
}
